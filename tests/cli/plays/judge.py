"""The judge: what must be true of every play, by the true chain and by what left the client, with anything forged.

There are no exceptions here. A finding is a sentence that begins with what it breaks. Where one operator forges alike
in node and API, nothing but this machine's clock, journal and configuration contradicts it: what no client of these two
could know is kept apart, in ``together``.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from bounty_protocol.chain.abi import hub_abi
from bounty_protocol.chain.rpc import RpcRefused, quantity
from bounty_protocol.crypto import sealed_box
from bounty_protocol.crypto.failures import SealedDataError
from bounty_protocol.crypto.timelock import read_timelock
from bounty_protocol.domain.envelope.document import parse_envelope
from bounty_protocol.domain.lifecycle.hub_events import (
    AwardClaimed,
    GuardianFeeClaimed,
    RefundClaimed,
    SubmissionRecorded,
)
from bounty_protocol.domain.lifecycle.states import Outcome
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import ZERO_BYTES32, BlockNumber, BountyId
from eth_abi.abi import decode
from eth_account.typed_transactions.typed_transaction import TypedTransaction
from hexbytes import HexBytes

from tests.cli.plays.acts import Act, Kind, creations, hub_events, verdicts
from tests.cli.plays.facts import By
from tests.cli.plays.sealed import content_key, find_sealed, work_for_guardians
from tests.cli.plays.wire import Heard, Killed
from tests.cli.plays.world import HOURS, MARK, World
from tests.cli.submitted import files_below
from tests.cli.terminal import Ran, Terminal

AUTHORIZED: Final = "createBountyWithAuthorization"
MOST_SENT: Final = 1_000
"""Transactions that an account comes to send before a deadline."""
CLOCKS: Final = 30
"""Seconds by which the true chain may be ahead of the machine's clock."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call of the Hub that an endpoint saw, in a transaction (``raw``) or in a query."""

    function: str
    arguments: tuple[Any, ...]
    data: str
    at: float
    raw: str | None


_SELECTORS: Final = {"0x" + found.selector.hex(): found for found in hub_abi().functions.values()}


def hub_calls(world: World, heard: Iterable[Heard]) -> Iterator[Call]:
    """Every call of the Hub in what the node was sent, in order."""
    for each in heard:
        for call in _calls(each):
            method, params = call.get("method"), call.get("params") or [None]
            if method == "eth_sendRawTransaction":
                fields = TypedTransaction.from_bytes(HexBytes(params[0])).as_dict()
                target, data, raw = "0x" + bytes(fields["to"]).hex(), "0x" + bytes(fields["data"]).hex(), str(params[0])
            elif method in {"eth_call", "eth_estimateGas"}:
                target, data, raw = str(params[0].get("to")), str(params[0].get("data", "")), None
            else:
                continue
            found = _SELECTORS.get(data[:10])
            if found is not None and target.lower() == world.hub_address:
                values = decode([part.type for part in found.inputs], bytes.fromhex(data[10:]))
                yield Call(found.name, values, data, each.at, raw)


def _calls(heard: Heard) -> list[dict[str, Any]]:
    if heard.server != "node":
        return []
    sent = json.loads(heard.request.body)
    return sent if isinstance(sent, list) else [sent]


def release(world: World, heard: Iterable[Heard]) -> None:
    """Send every transaction that left a client to the true chain, where that has not happened."""
    for each in list(heard):
        for call in _calls(each):
            if call.get("method") == "eth_sendRawTransaction":
                world.forward(call["params"][0])


def make_due(world: World) -> None:
    """Let transactions over a later nonce happen, too: the account only has to send as many others before."""
    content = world.rpc.call("txpool_content")
    assert isinstance(content, dict)
    for account, queued in content["queued"].items():
        used, first = quantity(world.rpc.call("eth_getTransactionCount", account, "latest")), min(map(int, queued))
        if first - used <= MOST_SENT:
            world.rpc.call("anvil_setNonce", account, hex(first))
            world.mine()


@dataclass(repr=False)
class Judge:
    """Of one play."""

    world: World
    act: Act
    home: Terminal
    findings: list[str] = field(default_factory=list)
    together: list[str] = field(default_factory=list)
    """What one operator of node and API got by forging alike in both."""
    _reports: dict[str, Mapping[str, object]] = field(default_factory=dict)
    """What was reported as done last, by the event's name: a later run may find it gone and do it again."""
    _opened: set[str] = field(default_factory=set)
    """The commitment of what the Guardian opened under which number."""
    _heard: int = 0
    _offers: int = 0
    _places: int = 0
    """How often the Submissions that the chain has were recorded again, each in a later place."""
    _has_seen: bool = False
    """Whether an honest run has found what another machine funded; that was final before the play."""

    def find(self, what: str) -> None:
        """Note it, once."""
        if what not in self.findings:
            self.findings.append(what)

    def _find_unless_together(self, what: str, forgers: set[By]) -> None:
        noted = self.together if By.BOTH in forgers else self.findings
        if what not in noted:
            noted.append(what)

    # ---------------------------------------------------------------- after each run

    def see(self, words: tuple[str, ...], ran: Ran, forgers: set[By]) -> None:
        """A run of these words and what it sent, right after it; ``forgers`` is empty where everybody was honest."""
        self._ending(ran)
        self._has_seen |= not forgers and any(event.get("code") == "already_funded" for event in ran.events)
        self._reports |= {str(event["event"]): event for event in ran.events if event["event"] in _REPORTS}
        heard = self.world.wire.heard[self._heard :]
        self._heard = len(self.world.wire.heard)
        self._secrets(heard)
        self._artifacts(ran)
        calls = list(hub_calls(self.world, heard))
        for call in calls:
            if call.function == AUTHORIZED:
                self._validity(call)
            if call.function == "recordVerdict" and call.raw is not None:
                self._verdict(call, words)
        for each in heard:
            if each.server == "api":
                self._key(each, forgers)
                self._envelope(each, forgers)
        self._place(words, forgers)

    def consider(self, forgers: set[By]) -> None:
        """What could be done now with all that left the client: whether the page can be paid twice.

        What another machine did is in no journal here, so that node and API together can hide it until an honest run
        has seen it.
        """
        if Kind.FUNDS not in self.act.kinds:
            return
        calls = [call for call in hub_calls(self.world, self.world.wire.heard) if call.function.startswith("create")]
        if len({call.data for call in calls}) == self._offers:
            return
        self._offers = len({call.data for call in calls})
        with self.world.branch():
            self.world.set_fees(0, 0)  # an owner in league with them lowers them for this
            release(self.world, self.world.wire.heard)
            make_due(self.world)
            for data in dict.fromkeys(call.data for call in calls if call.function == AUTHORIZED):
                with suppress(RpcRefused):
                    self.world.as_account(self.world.mallory.address, self.world.hub_address, data)
            if len(found := creations(self.world)) > 1:
                paid = sum(one.escrow_amount for one in found)
                is_known = Kind.ELSEWHERE not in self.act.kinds or self._has_seen
                known = set[By]() if is_known else forgers
                self._find_unless_together(
                    f"paid twice: {len(found)} bounties on one page, {paid} base units in escrow", known
                )

    def _ending(self, ran: Ran) -> None:
        """A refusal is one line with all its fields, the last one; nothing else ends a run."""
        refusals = [event for event in ran.events if str(event["event"]).endswith((".refused", ".failed"))]
        if ran.code == Killed.CODE:
            return
        if ran.code == 1:
            last = ran.events[-1] if ran.events else {}
            whole = all(last.get(name) for name in ("code", "message", "next_action"))
            if refusals != [last] or not whole:
                self.find(f"a refusal that is none: {ran.stdout[-300:]!r}")
            elif last["code"] == "unexpected":
                self.find(f"a crash: {last['message']}")
        elif refusals:
            self.find(f"refused, and exit code {ran.code}: {refusals}")

    def _secrets(self, heard: list[Heard]) -> None:
        keys = [value for name, value in self.home.environment.items() if "PRIVATE_KEY" in name]
        needles = [
            key.removeprefix("0x") for value in keys for key in (json.loads(value) if value[:1] == "[" else [value])
        ]
        for each in heard:
            request = each.request
            sent = f"{request.path}{request.query}{request.headers}".encode() + request.body
            if any(needle.encode() in sent for needle in needles):
                self.find(f"a private key was sent: {request.method} {request.path}")
            if MARK.encode() in sent:
                self.find(f"plaintext was sent: {request.method} {request.path}")

    def _artifacts(self, ran: Ran) -> None:
        """Opened files are the work of the Submission that the event names; it keeps the number it was listed with."""
        works = {
            work.commitment: work for work in (*self.world.bounties.awarded_works, *self.world.bounties.judged_works)
        }
        for event in ran.events:
            if str(event["event"]).endswith(".artifact_opened"):
                self._opened.add(str(event["submission_commitment"]))
                work = works.get(str(event["submission_commitment"]))
                files = files_below(self.home.home / str(event["output_dir"]))
                if work is None or files != work.files:
                    self.find(f"opened files are not the work of {event['submission_commitment']}")

    def _validity(self, call: Call) -> None:
        seconds = int(call.arguments[3]) - call.at
        if seconds > HOURS + CLOCKS:
            self.find(f"an authorization is good for {seconds / HOURS:.1f} hours")

    def _verdict(self, call: Call, words: tuple[str, ...]) -> None:
        bounty, kind, solver, commitment, _ = call.arguments
        named = "0x" + commitment.hex()
        wanted = "no_valid_submission" if kind == 2 else "awarded"
        if str(bounty) not in words or wanted not in words:
            self.find(f"a Verdict that the command does not name: {wanted} on bounty {bounty}")
        elif "--submission" in words:
            beginning = words[words.index("--submission") + 1]
            if named not in self._opened or not named.startswith(beginning):
                self.find(f"a Verdict for {named} of {solver}, and {beginning} was meant; opened are {self._opened}")
        elif kind == 1 and named not in words:
            self.find(f"a Verdict for {named}, which the command does not name")

    def _key(self, heard: Heard, forgers: set[By]) -> None:
        """Only the finalized winner's content key is sent, to the true delivery key."""
        if not heard.request.path.endswith("/delivery/wrap"):
            return
        sent, bounty = heard.request.json(), heard.request.path.split("/")[3]
        final = self.world.rpc.call("eth_getBlockByNumber", "finalized", False)
        assert isinstance(final, dict)
        view = self.world.api.hub.bounty(BountyId(int(bounty)), BlockNumber(int(final["number"], 16)))
        winner = view.winning_submission if view is not None and view.outcome is Outcome.AWARDED else None
        commitment = str(sent["submission_commitment"])
        if commitment != winner:
            what = f"the key of {commitment} was sent, and the finalized winner of bounty {bounty} is {winner}"
            self._find_unless_together(what, forgers)
        with suppress(SealedDataError):
            content = parse_envelope(self.world.api.envelopes[commitment]).content_public_key
            sealed_box.unwrap(str(sent["wrapped_key"]), self.world.operators_keys, content)
            self._find_unless_together("a content key was sealed to the operator's own delivery key", forgers)

    def _envelope(self, heard: Heard, forgers: set[By]) -> None:
        """What is sent to be prepared opens neither at once, nor before the true reveal point, nor for others."""
        if not heard.request.path.endswith("/prepare"):
            return
        with suppress(ServiceError):
            envelope = parse_envelope(heard.request.body)
            view = self.world.api.hub.bounty(envelope.bounty_id)
            due = self.world.ledger.beacon.info.time_of(read_timelock(envelope.key_capsule).round)
            if due <= heard.at:  # this machine's clock knows that
                self.find("sealed work was sent that can be opened at once")
            elif view is not None and due < view.reveal_at:
                self._find_unless_together("sealed work was sent that opens before the true reveal point", forgers)
            if content_key(self.world, envelope, self.world.operators_keys) is not None:
                self._find_unless_together("sealed work was sent that the operator can open", forgers)

    def _place(self, words: tuple[str, ...], forgers: set[By]) -> None:
        """What is recorded keeps its place, unless the person or all that the client asks have it otherwise."""
        found = [(one.bounty_id, one.solver, one.submission_commitment) for one in _submissions(self.world)]
        before, self._places = self._places, len(found) - len(set(found))
        if self._places > before and "--replace" not in words:
            alone = {By.BOTH} if "--without-api" in words else forgers
            self._find_unless_together("a recorded Submission was moved to a later place", alone)

    # ---------------------------------------------------------------- at the end

    def conclude(self, permitted: Callable[[], bool]) -> None:
        """After an honest run, and final: what was reported is there, what is recorded opens, the act is achieved."""
        for name, event in self._reports.items():
            if not self._is_true(event):
                names = {field: event.get(field) for field in ("bounty_id", "submission_commitment", "tx_hash")}
                self.find(f"a false success: {name} {names} was reported, and it is not there")
        if self.act.kinds & {Kind.SEALS, Kind.JUDGES}:
            self._recorded("")
            with self.world.branch():
                release(self.world, self.world.wire.heard)
                make_due(self.world)
                self._recorded(", once all that left the client is mined")
                self._last_verdict()
        if not self.act.achieved(self.world, self.home) and permitted():
            self.find("wedged: honest runs and the ways out that they name do not achieve it, a new home does")

    def _is_true(self, event: Mapping[str, object]) -> bool:
        world, name = self.world, event["event"]
        bounty = str(event.get("bounty_id"))
        if name == "publish_fund.bounty_created":
            return bounty in {str(one.bounty_id) for one in creations(world)}
        if name == "submit.submission_recorded":
            topics = [(one.bounty_id, one.solver, one.submission_commitment) for one in _submissions(world)]
            return (int(bounty), event["solver"], event["submission_commitment"]) in topics
        if name == "guardian_verdict.recorded":
            found = verdicts(world, str(event["guardian"]))
            return event["report_commitment"] in {one.report_commitment for one in found}
        if name == "guardian_deliver_key.stored":
            return event["submission_commitment"] in world.api.wraps
        kinds = {"guardian_claim_fee.claimed": (GuardianFeeClaimed,)}.get(str(name), (AwardClaimed, RefundClaimed))
        number = int(str(self.act.bounty(world)))
        return any(isinstance(one, kinds) and one.bounty_id == number for one in hub_events(world))

    def _recorded(self, when: str) -> None:
        """What the Hub has of this Solver is opened by the true roster at the true reveal point, by nobody before."""
        world = self.world
        solver, bounty = world.ledger.people.solvers[0].address, int(world.bounties.accepting)
        commitment = world.ledger.submission(bounty, solver)
        if Kind.SEALS not in self.act.kinds or commitment == ZERO_BYTES32:
            return
        sealed = find_sealed(world, self.home, commitment)
        if sealed is None:
            self.find(f"the sealed bytes of {commitment} are lost{when}")
        elif work_for_guardians(world, sealed) is None:
            self.find(f"what is recorded is not opened by the Guardians at the reveal point{when}")
        elif content_key(world, sealed.envelope, world.operators_keys) is not None:
            self.find(f"what is recorded is opened by the operator{when}")

    def _last_verdict(self) -> None:
        """The Verdict that was reported last is the Guardian's last one."""
        if (reported := self._reports.get("guardian_verdict.recorded")) is not None:
            found = verdicts(self.world, str(reported["guardian"]))
            if found and found[-1].report_commitment != reported["report_commitment"]:
                self.find("an older Verdict takes the place of the last one, once all that left the client is mined")


def _submissions(world: World) -> list[SubmissionRecorded]:
    return [one for one in hub_events(world) if isinstance(one, SubmissionRecorded)]


_REPORTS: Final = frozenset(
    {
        "publish_fund.bounty_created",
        "submit.submission_recorded",
        "guardian_verdict.recorded",
        "guardian_deliver_key.stored",
        "claim.claimed",
        "guardian_claim_fee.claimed",
    }
)
