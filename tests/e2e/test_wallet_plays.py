"""Drawn plays on the pages: an act in one to three visits against what the wallet's node or the API forges, each visit
ended wherever it is drawn, and then an honest one. The true chain, and what the wallet signed, judge.

A few of the acts that move most by default, drawn by SERVICE_CAMPAIGN_SEED; 500 in a campaign, every single forgery
among them.
"""

import random
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest
from demo.bounty import Cast, Submitted
from demo.examples import artifact, challenge_page
from service_cli.witnesses.table import Fact
from service_common.domain.commitments import spec_commitment
from service_common.domain.envelope import parse_envelope

from tests.campaign import FULL, SEED, size, some
from tests.cli.lies import listen
from tests.cli.servers import RpcProxy, Server
from tests.e2e.wallet_acts import GO_ON, LONG, SEND, SIGN, Act, Bounties, forward, keys_of, path_of
from tests.e2e.wallet_plays import FORGERIES, Forgery, together
from tests.web.driver import Browser, TestWallet, browsing, files_below

CHAIN_ID: Final = 31_337
HONEST_SECONDS: Final = 60.0
LYING_SECONDS: Final = 3.0
HOUR: Final = 3_600
SLACK: Final = 30
"""Between a block's time and the moment at which it is looked at."""
PARTS: Final = 10
AGAIN: Final = "Have it sent again"
OUTSTANDING: Final = "what you signed before is good until"
FUNDED: Final = "This page was funded before"


@dataclass(frozen=True)
class Visit:
    """What is told while somebody is on the page, and after how many pressed buttons the page is closed."""

    told: tuple[Forgery, ...]
    presses: int

    def __str__(self) -> str:
        told = "; ".join(map(str, self.told)) or "nobody forges"
        return f"[{told}; closed after {self.presses} presses]"


@dataclass(frozen=True)
class Play:
    """An act, and the visits before the honest one."""

    act: str
    visits: tuple[Visit, ...]

    def __str__(self) -> str:
        return f"{self.act}: {' '.join(map(str, self.visits))}"


@dataclass
class Seen:
    """What a wallet was asked to sign in all visits, with the moment, and how the honest visit ended."""

    signed: list[tuple[float, Mapping[str, Any]]] = field(default_factory=list)
    sent: list[Mapping[str, Any]] = field(default_factory=list)
    ended: str = ""


MANY: Final = 12
"""Presses that no act needs."""
SINGLES: Final = [
    Play(act, (Visit((forgery,), MANY if act != "publish" else 5),)) for forgery in FORGERIES for act in forgery.acts
]


QUICK: Final = ("publish", "publish", "submit")
"""Acts for which nothing has to be waited for."""
DRAWN: Final = (*QUICK, "judge", "deliver", "deliver_undecided") if FULL else QUICK


def drawn(seed: str) -> Play:
    """Two or three forgeries over one to three visits; node and API never forge the same fact."""
    dice = random.Random(seed)
    act = dice.choice(DRAWN)
    able = [forgery for forgery in FORGERIES if act in forgery.acts]
    chosen: list[Forgery] = []
    for forgery in dice.sample(able, min(len(able), dice.choice((2, 3)))):
        if all(each.fact != forgery.fact or each.by == forgery.by for each in chosen):
            chosen.append(forgery)
    visits = []
    for _ in range(dice.choice((1, 2, 3))):
        told = tuple(each for each in chosen if dice.random() < 0.6)
        visits.append(Visit(told, dice.choice((2, 3, 4, 5, 6, MANY))))
    return Play(act, tuple(visits))


SIGNED: Final = 4
"""Presses after which an escrow is signed, and not sent."""
HISTORIES: Final = [
    Play("publish", (Visit((), SIGNED), Visit((forgery,), MANY)))
    for forgery in FORGERIES
    if forgery.fact in {Fact.CONDITIONS, Fact.AUTHORIZATION_OVER}
]
"""An escrow that was signed, and then that it is over, or that it has to be signed over other terms."""
CHOSEN: Final = [
    *some("wallet histories", HISTORIES, 1),
    *some("wallet plays", [play for play in SINGLES if FULL or play.act in QUICK], 1),
]
PLAYS: Final = [
    *CHOSEN,
    *(drawn(f"wallet play {SEED}.{number}") for number in range(size(4, 500) - len(CHOSEN))),
]


class Theatre:
    """A browser, the servers through which its pages see everything, and the bounties that acts need."""

    def __init__(self, cast: Cast, browser: Browser, folder: Path) -> None:
        self.cast, self.browser, self.folder = cast, browser, folder
        self.bounties = Bounties(cast, folder)
        self.api = Server(lambda request: forward(cast.stack.api_base_url, request))
        self.rpc = RpcProxy(cast.stack.anvil.url)
        self._count = 0
        self.work: tuple[str, str] | None = None
        """Whose work an act is about, and which."""

    def close(self) -> None:
        self.api.close()
        self.rpc.close()

    def perform(self, play: Play) -> list[str]:
        """What is wrong afterwards."""
        act, judge = getattr(self, play.act)()
        first, seen, self.began = True, Seen(), self.cast.stack.anvil.w3.eth.block_number
        self.api.requests.clear()
        for visit in play.visits:
            self.rpc.before, self.rpc.after, tell = together(visit.told, self.work)
            listen(self.api, tell)
            self._visit(act, seen, fresh=first, presses=visit.presses, patience=LYING_SECONDS)
            first = False
        self.rpc.honest()
        listen(self.api, lambda _question, answer: answer)
        seen.ended = self._visit(act, seen, fresh=False, presses=MANY * 2, patience=HONEST_SECONDS)
        return [*longer_than_an_hour(seen), *judge(seen)]

    def _visit(self, act: Act, seen: Seen, *, fresh: bool, presses: int, patience: float) -> str:
        person = self.cast.stack.people.by_name()[act.who]
        wallet = TestWallet(person.wallet.private_key, self.rpc.url, CHAIN_ID)
        api = (self.cast.stack.api_base_url, self.api.url)
        page = self.browser.open(
            f"{self.cast.stack.pages_url}{act.path}", wallet, fresh=fresh, api=api, fixed_lots=False
        )
        page.do("settings", changes={"has_moved_time": False})
        page.connect()
        done = page.do(
            "act",
            buttons=act.buttons,
            fields=act.fields,
            ends=act.ends,
            patience=round(patience * 1_000),
            presses=presses,
        )
        for asked in page.asked():
            if asked["method"] == "eth_signTypedData_v4":
                seen.signed.append((time.time(), asked["typedData"]))
            else:
                seen.sent.append(asked["transaction"])
        page.close()
        return str(done["ended"])

    def publish(self) -> tuple[Act, Any]:
        """A page is published and funded: once."""
        self._count += 1
        deadline = self.cast.chain_time() + LONG
        path = challenge_page(
            self._folder(), submission_deadline=deadline, judging_window_seconds=LONG, title=f"Played {self._count}"
        )
        text = path.read_text(encoding="utf-8")
        buttons = ("Write or choose the page", GO_ON, SIGN, SEND, AGAIN)
        act = Act("poster", "/publish", buttons, {"Page": {"text": text}}, ("Funded ", FUNDED))
        poster, commitment = self.cast.address("poster"), spec_commitment(text.encode())

        def judge(seen: Seen) -> Iterator[str]:
            hub = self._contract()
            names = {"poster": self.cast.stack.anvil.w3.to_checksum_address(poster), "specCommitment": commitment}
            made = hub.events.BountyCreated.get_logs(from_block=self.began, argument_filters=names)
            if len(made) > 1:
                yield f"paid {len(made)} times"
            if len(made) != 1 and OUTSTANDING not in seen.ended:
                yield f"funded {len(made)} times: {seen.ended}"
            yield from signed_twice(seen)

        return act, judge

    def submit(self) -> tuple[Act, Any]:
        """Work is sealed for the bounty's own Guardians and reveal point, and recorded."""
        self._count += 1
        bounty = self.bounties.open()
        work = files_below(artifact(self._folder(), note=f"Played {self._count}."))
        buttons = ("Choose the work", GO_ON, "Go on with it", "Seal it", SIGN, SEND, AGAIN)
        act = Act("solver-1", path_of(bounty), buttons, {"Directory with the work": {"files": work}}, ("is recorded",))
        true = self.cast.stack.hub.hub.call("getBounty", int(bounty.bounty_id))

        def judge(seen: Seen) -> Iterator[str]:
            prepared = [parse_envelope(each.body) for each in self.api.requests if each.path.endswith("/prepare")]
            wrong = [
                each
                for each in prepared
                if (each.reveal_policy.reveal_at, each.guardian_roster_hash) != (true[4], "0x" + bytes(true[7]).hex())
            ]
            if wrong:
                yield "work was sealed for other Guardians, or another reveal point"
            kept = self.cast.stack.hub.hub.call("getSubmission", int(bounty.bounty_id), self.cast.address("solver-1"))
            recorded = "0x" + bytes(kept).hex()
            if recorded not in {each.commitment() for each in prepared}:
                yield f"not recorded: {seen.ended}"

        return act, judge

    def judge(self) -> tuple[Act, Any]:
        """A Verdict is recorded for the Submission that was chosen, and for no other."""
        self._count += 1
        bounty, work = self.bounties.judged()
        reasons = {"text": f"Every criterion holds, time {self._count}."}
        fields = {"Verdict": {"option": work.commitment}, "Reasons": reasons}
        buttons = ("Write the Verdict", GO_ON, SIGN, SEND, AGAIN)
        act = Act("guardian-1", path_of(bounty), buttons, fields, ("Your Verdict is recorded",))

        def judge(seen: Seen) -> Iterator[str]:
            hub = self._contract()
            made = hub.events.VerdictRecorded.get_logs(
                from_block=self.began + 1, argument_filters={"bountyId": int(bounty.bounty_id)}
            )
            others = {bytes(each["args"]["submissionCommitment"]).hex() for each in made} - {work.commitment[2:]}
            if others:
                yield f"a Verdict for another Submission: {others}"
            if not made:
                yield f"not recorded: {seen.ended}"

        return act, judge

    def deliver(self) -> tuple[Act, Any]:
        """The winning key is handed over, and no other."""
        bounty, work = self.bounties.awarded()
        fields = {"File with your encryption keys": keys_of(self.cast, "guardian-1")}
        act = Act("guardian-1", path_of(bounty), ("Hand it over", GO_ON, SIGN), fields, ("is handed over",))

        def judge(seen: Seen) -> Iterator[str]:
            yield from self._handed_over(work)
            if "handed over" not in seen.ended:
                yield f"not handed over: {seen.ended}"

        return act, judge

    def deliver_undecided(self) -> tuple[Act, Any]:
        """The key of work that is not decided on is never handed over."""
        bounty, work = self.bounties.judged()
        self.work = (self.cast.address("solver-3"), work.commitment)
        fields = {"File with your encryption keys": keys_of(self.cast, "guardian-1")}
        ends = ("Write the Verdict",)
        act = Act("guardian-1", path_of(bounty), ("Hand it over", GO_ON, SIGN), fields, ends)

        def judge(_seen: Seen) -> Iterator[str]:
            yield from self._handed_over(None)

        return act, judge

    def _folder(self) -> Path:
        """A new one for each play."""
        made = self.folder / str(self._count)
        made.mkdir(exist_ok=True)
        return made

    def _contract(self) -> Any:
        hub = self.cast.stack.hub.hub
        return hub.w3.eth.contract(hub.w3.to_checksum_address(hub.address), abi=hub.abi)

    def _handed_over(self, work: Submitted | None) -> Iterator[str]:
        wraps = [each.json() for each in self.api.requests if each.path.endswith("/delivery/wrap")]
        right = None if work is None else work.commitment
        for wrap in wraps:
            if wrap["submission_commitment"] != right:
                yield f"the key of {wrap['submission_commitment']} was handed over"


def longer_than_an_hour(seen: Seen) -> Iterator[str]:
    for when, typed in seen.signed:
        if typed["primaryType"] == "ReceiveWithAuthorization":
            good = int(typed["message"]["validBefore"]) - when
            if good > HOUR + SLACK:
                yield f"an authorization is good for {good:.0f} seconds"


def signed_twice(seen: Seen) -> Iterator[str]:
    """Two authorizations over different terms, the second while the first one may be used."""
    ends = dict[str, int]()
    for when, typed in seen.signed:
        if typed["primaryType"] != "ReceiveWithAuthorization":
            continue
        nonce, until = str(typed["message"]["nonce"]), int(typed["message"]["validBefore"])
        if any(other != nonce and end > when for other, end in ends.items()):
            yield "a second authorization was signed while an earlier one may be used"
        ends[nonce] = max(until, ends.get(nonce, 0))


@pytest.fixture(scope="module")
def theatre(cast: Cast, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Theatre]:
    with browsing(tmp_path_factory.mktemp("browser")) as browser:
        theatre = Theatre(cast, browser, tmp_path_factory.mktemp("plays"))
        yield theatre
        theatre.close()


@pytest.mark.parametrize("part", range(min(PARTS, len(PLAYS))))
def test_page__played_against_forgeries__does_nothing_that_cannot_be_taken_back_on_them(
    theatre: Theatre, part: int
) -> None:
    wrong = [(str(play), found) for play in PLAYS[part::PARTS] if (found := theatre.perform(play))]
    assert not wrong, "\n".join(f"{play}\n  {found}" for play, found in wrong)
