"""What people do on the pages with a wallet, each as one act that can be played again.

The wallet signs what it is asked for, and declines to send, so that a bounty stays as it is.
"""

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

import urllib3
from bounty_protocol.auth.typed_data import body_hash
from bounty_protocol.domain.envelope.document import parse_envelope
from demo.bounty import Cast, Funded, Submitted
from demo.examples import artifact, challenge_page

from tests.cli.servers import Reply, Request
from tests.pages.driver import Browser, TestWallet, files_below
from tests.waiting import wait_until

LONG: Final = 7_200
SHORT: Final = 25
SIGN: Final = "Sign with the wallet"
SEND: Final = "Send with the wallet"
GO_ON: Final = "Continue"
SAVED: Final = "Save the work"

FORWARDED: Final[tuple[str, ...]] = ("authorization", "content-type")
"""What the API reads of a request's headers."""


def forward(url: str, request: Request) -> Reply:
    """The API's answer to a request that a browser sent to somebody else's server."""
    address = f"{url}{request.path}{'?' if request.query else ''}{request.query}"
    headers = {name: request.headers[name] for name in FORWARDED if name in request.headers}
    found = urllib3.request(request.method, address, body=request.body or None, headers=headers, retries=False)
    return found.status, found.data, {"Content-Type": found.headers["Content-Type"]}


@dataclass(frozen=True)
class Act:
    """One thing that somebody does on a page, by the texts of its buttons and the labels of its fields."""

    who: str
    path: str
    buttons: tuple[str, ...]
    fields: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    ends: tuple[str, ...] = ()
    """Texts that show it done, of what needs no transaction."""


@dataclass(frozen=True)
class Played:
    """What became of an act: what the wallet was asked, the facts shown above it, and the files that were saved."""

    ended: str
    asked: tuple[Mapping[str, Any], ...]
    shown: tuple[Sequence[Sequence[str]], ...]
    addresses: tuple[str, ...]
    """Of the page's requests."""
    saved: bytes = b""


def play(
    browser: Browser,
    url: str,
    wallet: TestWallet,
    api: tuple[str, str],
    act: Act,
    stated: Mapping[str, object],
    patience: float,
) -> Played:
    """Do it on a page that finds nothing from before, and states this of its bounty; ``patience``: for how many seconds
    it may do nothing that can be seen."""
    page = browser.open(url, wallet, fresh=True, api=api)
    if stated:
        page.do("state", changes=dict(stated))
    page.wallet(declines_to_send=True)
    page.connect()
    done = page.do("act", buttons=act.buttons, fields=act.fields, ends=act.ends, patience=round(patience * 1_000))
    saved = page.saved(SAVED) if done["ended"] == SAVED else b""
    played = Played(done["ended"], tuple(page.asked()), tuple(done["shown"]), tuple(page.requests()), saved)
    page.close()
    return played


class Bounties:
    """The bounties that acts need, each made when the first act needs it."""

    def __init__(self, cast: Cast, folder: Path) -> None:
        self.cast, self.folder = cast, folder
        self._made: dict[str, tuple[Funded, Submitted | None]] = {}

    def open(self) -> Funded:
        """It accepts Submissions."""
        return self._once("open", self._fund)[0]

    def judged(self) -> tuple[Funded, Submitted]:
        """Its reveal point is past."""
        bounty, work = self._once("judged", self._revealed)
        assert work is not None
        return bounty, work

    def awarded(self) -> tuple[Funded, Submitted]:
        """Its award is claimable, its key delivered, all of it final."""
        bounty, work = self._once("awarded", self._award)
        assert work is not None
        return bounty, work

    def due(self) -> Funded:
        """Nobody submitted in time; not settled."""
        return self._once("due", self._expired)[0]

    def refundable(self) -> Funded:
        """Nobody submitted, and it is settled."""
        return self._once("refundable", self._settled)[0]

    def _once(self, name: str, make: Callable[[], tuple[Funded, Submitted | None]]) -> tuple[Funded, Submitted | None]:
        if name not in self._made:
            self._made[name] = make()
        return self._made[name]

    def _fund(self, seconds: int = LONG) -> tuple[Funded, None]:
        bounty = self.cast.fund(submission_seconds=seconds, judging_seconds=LONG, title="Told lies about")
        page = self.cast.page_address(bounty)
        wait_until(
            lambda: urllib3.request("GET", page, retries=False).status == HTTPStatus.OK
        )  # until the index has the bounty
        return bounty, None

    def _revealed(self) -> tuple[Funded, Submitted]:
        bounty, _ = self._fund(SHORT)
        work = self.cast.submit(bounty, "solver-3")
        self.cast.wait_for(bounty.reveal_at)
        return bounty, work

    def _award(self) -> tuple[Funded, Submitted]:
        bounty, work = self._revealed()
        for guardian in ("guardian-1", "guardian-2"):
            self.cast.award(bounty, guardian, work, "Every criterion holds.\n", opened=False)
        self._finalize()
        self.cast.person("guardian-1").run("guardian:deliver-key", bounty.bounty_id)
        return bounty, work

    def _expired(self) -> tuple[Funded, None]:
        bounty, _ = self._fund(SHORT)
        self.cast.wait_for(bounty.submission_deadline)
        return bounty, None

    def _settled(self) -> tuple[Funded, None]:
        bounty, _ = self._expired()
        self.cast.stack.hub.hub.transact(self.cast.stack.people.settler.wallet, "settle", int(bounty.bounty_id))
        self._finalize()
        return bounty, None

    def _finalize(self) -> None:
        self.cast.wait_for(self.cast.chain_time() + 4)


def path_of(bounty: Funded) -> str:
    """Of its page."""
    return f"/bounties/{bounty.bounty_id}"


def keys_of(cast: Cast, name: str) -> Mapping[str, object]:
    """A Guardian's file of keys."""
    identity = cast.stack.people.by_name()[name].identity
    assert identity is not None
    return {"files": [["keys.txt", base64.b64encode(identity.to_text().encode()).decode()]]}


def work_label(cast: Cast, number: int, solver: str) -> str:
    """How the pages name a Submission: ``solver`` is a person or an account."""
    account = solver if solver.startswith("0x") else cast.address(solver)
    return f"Submission {number} · {short_of(account)}"


def short_of(account: str) -> str:
    """An account as a line has it."""
    return f"{account[:6]}…{account[-4:]}"


def publish(bounties: Bounties) -> Act:
    """A page is published and funded."""
    deadline = bounties.cast.chain_time() + LONG
    path = challenge_page(
        bounties.folder, submission_deadline=deadline, judging_window_seconds=LONG, title="Told lies about"
    )
    buttons = (GO_ON, SIGN, SEND)
    return Act("poster", "/publish", buttons, {"Page": {"text": path.read_text(encoding="utf-8")}})


def submit(bounties: Bounties) -> Act:
    """Work is sealed, uploaded, prepared and recorded."""
    work = files_below(artifact(bounties.folder, note="Sealed in a browser."))
    buttons = ("Submit work", "Seal it", SIGN, SEND)
    return Act("solver-1", path_of(bounties.open()), buttons, {"Directory with the work": {"files": work}})


def judge(bounties: Bounties) -> Act:
    """A Verdict's reasons are published, and it is recorded."""
    bounty, work = bounties.judged()
    fields: dict[str, Mapping[str, object]] = {
        work.commitment: {"tick": True},
        "Reasons": {"text": "Every criterion holds."},
    }
    return Act("guardian-1", path_of(bounty), ("Judge", GO_ON, SIGN, SEND), fields)


def open_work(bounties: Bounties) -> Act:
    """A Guardian opens a Submission."""
    bounty, _ = bounties.judged()
    fields = {"File with your encryption keys": keys_of(bounties.cast, "guardian-1")}
    return Act("guardian-1", path_of(bounty), ("Judge", "Open", SIGN), fields, (SAVED,))


def claim(bounties: Bounties) -> Act:
    """The winner claims the award."""
    return Act("solver-3", path_of(bounties.awarded()[0]), ("Claim …", SEND))


def claim_share(bounties: Bounties) -> Act:
    """A Guardian claims its share."""
    return Act("guardian-2", path_of(bounties.awarded()[0]), ("Claim …", SEND))


def deliver(bounties: Bounties) -> Act:
    """A Guardian hands the winning key over."""
    fields = {"File with your encryption keys": keys_of(bounties.cast, "guardian-1")}
    end = "The key of the winning work is delivered"
    return Act("guardian-1", path_of(bounties.awarded()[0]), ("Deliver the key", GO_ON, SIGN), fields, (end,))


def open_winning(bounties: Bounties) -> Act:
    """The Poster opens the winning work."""
    return Act("poster", path_of(bounties.awarded()[0]), ("Get the work", SIGN), {}, (SAVED,))


def settle(bounties: Bounties) -> Act:
    """Anyone ends a bounty whose time is up."""
    return Act("solver-2", path_of(bounties.due()), ("Settle it", SEND))


def refund(bounties: Bounties) -> Act:
    """The Poster claims its escrow back."""
    return Act("poster", path_of(bounties.refundable()), ("Claim …", SEND))


def heartbeat(bounties: Bounties) -> Act:
    """A Guardian gives a sign of life."""
    return Act("guardian-3", "/guardians", ("Show that you are active", SEND))


ACTS: Final = (
    publish,
    submit,
    judge,
    open_work,
    claim,
    claim_share,
    deliver,
    open_winning,
    settle,
    refund,
    heartbeat,
)


def meaning_of(cast: Cast, asked: Mapping[str, Any], sent: Sequence[Request]) -> object:
    """What a wallet was asked for, without what differs from one honest time to the next.

    That is the block that a request names, an authorization's last second and the signature over it, and what sealing
    draws by lot: a Submission is its envelope, of which the key, its capsule and the ciphertext's digest are left out.
    """
    if asked["method"] == "eth_sendTransaction":
        transaction = dict(asked["transaction"])
        hub = cast.stack.hub.hub
        contract = hub.w3.eth.contract(hub.w3.to_checksum_address(hub.address), abi=hub.abi)
        function, args = contract.decode_function_input(transaction.pop("data"))
        return transaction, function.fn_name, _without_lots(function.fn_name, args, sent)
    typed = asked["typedData"]
    message = dict(typed["message"])
    if typed["primaryType"] == "ApiRequestApproval":
        del message["blockNumber"], message["blockHash"]
        body = next((each.body for each in sent if body_hash(each.body) == message["bodyHash"]), None)
        if body is not None and body[:1] == b"{":
            message["bodyHash"] = _sealed_alike(json.loads(body))
    elif typed["primaryType"] == "ReceiveWithAuthorization":
        del message["validBefore"]
    return typed["domain"], typed["types"], typed["primaryType"], message


def _without_lots(name: str, args: Mapping[str, object], sent: Sequence[Request]) -> object:
    if name == "createBountyWithAuthorization":
        return {key: value for key, value in args.items() if key not in {"validBefore", "signature"}}
    if name == "submit":
        commitment = "0x" + bytes(args["submissionCommitment"]).hex()  # type: ignore[call-overload]
        prepared = [parse_envelope(each.body) for each in sent if each.path.endswith("/prepare")]
        envelopes = [json.loads(each.canonical_bytes()) for each in prepared if each.commitment() == commitment]
        return {**args, "submissionCommitment": [_sealed_alike(each) for each in envelopes]}
    return args


def _sealed_alike(body: dict[str, Any]) -> object:
    """A request's JSON without what sealing draws by lot."""
    lots = {"key_capsule", "key_capsule_sha256", "content_public_key", "ciphertext_sha256", "sha256", "storage_locator"}
    return {
        name: _sealed_alike(value) if isinstance(value, dict) else value
        for name, value in body.items()
        if name not in lots
    }


LEFT_OUT: Final = frozenset(
    {"The signature is valid until", "Commitment of the work", "Your earlier Verdict", "Why again"}
)
"""Names of facts that differ from one honest time to the next, and of those that nobody but the wallet's node knows."""


def facts_of(shown: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    """What a person was shown above a button, without what differs from time to time."""
    return tuple(tuple(fact) for fact in shown if fact[0] not in LEFT_OUT)
