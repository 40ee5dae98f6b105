"""Drawn plays on the pages: an act in one to three visits against what the wallet's node or the API forges, each visit
ended wherever it is drawn, and then an honest one. The true chain, and what the wallet signed, judge.

A few of the acts that move most by default, drawn by SERVICE_CAMPAIGN_SEED; 500 in a campaign, every single forgery
among them.
"""

import random
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pytest
import urllib3
from bounty_protocol.domain.challenge.commitments import spec_commitment
from bounty_protocol.domain.envelope.document import parse_envelope
from demo.bounty import Cast
from demo.bounty import Submitted as Work
from demo.examples import artifact, challenge_page
from eth_utils.abi import function_signature_to_4byte_selector

from tests.campaign import FULL, SEED, size, some
from tests.cli.liar import After, all_of, blocks_at, number_of, view_with, without_logs
from tests.cli.lies import Tell, listen
from tests.cli.plays.facts import Fact
from tests.cli.servers import Params, RpcProxy, Server
from tests.e2e.wallet_acts import (
    GO_ON,
    LONG,
    SEND,
    SIGN,
    Act,
    Bounties,
    forward,
    keys_of,
    path_of,
)
from tests.e2e.wallet_plays import CREATED, FORGERIES, Forgery, api_answer, call_of, facts_with, funded, together
from tests.pages.driver import Browser, Page, TestWallet, browsing, files_below

CHAIN_ID: Final = 31_337
HONEST_SECONDS: Final = 60.0
LYING_SECONDS: Final = 3.0
SEALING_SECONDS: Final = 10.0
"""In which a page shows nothing new: it seals and uploads meanwhile."""
HOUR: Final = 3_600
DAY: Final = 86_400
REVEAL_DELAY: Final = function_signature_to_4byte_selector("revealDelay()").hex()
SLACK: Final = 30
"""Between a block's time and the moment at which it is looked at."""
PARTS: Final = 10
AGAIN: Final = "Send it again"
OUTSTANDING: Final = "what you signed before is valid until"
FUNDED: Final = "This page was funded before"
SPENT: Final = "This page may already be funded"


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
    Play(act, (Visit((forgery,), MANY if act != "publish" else 4),)) for forgery in FORGERIES for act in forgery.acts
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


SIGNED: Final = 3
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
    *(drawn(f"wallet play {SEED}.{number}") for number in range(size(3, 500) - len(CHOSEN))),
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
            self.visit(act, seen, fresh=first, presses=visit.presses, patience=LYING_SECONDS)
            first = False
        self.rpc.honest()
        listen(self.api, lambda _question, answer: answer)
        seen.ended = self.visit(act, seen, fresh=False, presses=MANY * 2, patience=HONEST_SECONDS)
        return [*longer_than_an_hour(seen), *judge(seen)]

    def visit(self, act: Act, seen: Seen, *, fresh: bool, presses: int, patience: float) -> str:
        page = self.open(act, fresh=fresh)
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

    def open(self, act: Act, *, fresh: bool, stated: Mapping[str, object] | None = None) -> Page:
        """The act's page with a wallet that is connected; it states this of its bounty."""
        person = self.cast.stack.people.by_name()[act.who]
        wallet = TestWallet(person.wallet.private_key, self.rpc.url, CHAIN_ID)
        api = (self.cast.stack.api_base_url, self.api.url)
        url = f"{self.cast.stack.pages_url}{act.path}"
        page = self.browser.open(url, wallet, fresh=fresh, api=api, fixed_lots=False)
        page.do("settings", changes={"hasMovedTime": False})
        if stated is not None:
            page.do("state", changes=dict(stated))
        page.connect()
        return page

    def publish(self) -> tuple[Act, Any]:
        """A page is published and funded: once."""
        self._count += 1
        deadline = self.cast.chain_time() + LONG
        path = challenge_page(
            self._folder(), submission_deadline=deadline, judging_window_seconds=LONG, title=f"Played {self._count}"
        )
        text = path.read_text(encoding="utf-8")
        buttons = (GO_ON, SIGN, SEND, AGAIN)
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
        buttons = ("Submit work", "Continue with it", "Seal it", SIGN, SEND, AGAIN)
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
        fields: dict[str, Mapping[str, object]] = {work.commitment: {"tick": True}, "Reasons": reasons}
        buttons = ("Judge", GO_ON, SIGN, SEND, AGAIN)
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
        """The key of the winning work is delivered, and no other."""
        bounty, work = self.bounties.awarded()
        fields = {"File with your encryption keys": keys_of(self.cast, "guardian-1")}
        act = Act("guardian-1", path_of(bounty), ("Deliver the key", GO_ON, SIGN), fields, ("is delivered",))

        def judge(seen: Seen) -> Iterator[str]:
            yield from self._handed_over(work)
            if "is delivered" not in seen.ended:
                yield f"not handed over: {seen.ended}"

        return act, judge

    def deliver_undecided(self) -> tuple[Act, Any]:
        """The key of work that is not decided on is never handed over."""
        bounty, work = self.bounties.judged()
        self.work = (self.cast.address("solver-3"), work.commitment)
        fields = {"File with your encryption keys": keys_of(self.cast, "guardian-1")}
        ends = ("Judge",)
        act = Act("guardian-1", path_of(bounty), ("Deliver the key", GO_ON, SIGN), fields, ends)

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

    def _handed_over(self, work: Work | None) -> Iterator[str]:
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


@pytest.mark.nightly
@pytest.mark.parametrize("part", range(min(PARTS, len(PLAYS))))
def test_forgeries_get_nothing_out_of_a_page(theatre: Theatre, part: int) -> None:
    wrong = [(str(play), found) for play in PLAYS[part::PARTS] if (found := theatre.perform(play))]
    assert not wrong, "\n".join(f"{play}\n  {found}" for play, found in wrong)


# -------------------------------------------------------------------- node and API, both alike


@pytest.mark.nightly
def test_final_escrow_is_funded_again_by_nobody(theatre: Theatre) -> None:
    act, judge = theatre.publish()
    act = replace(act, ends=(FUNDED, "Funded as"))
    theatre.began, seen = theatre.cast.stack.anvil.w3.eth.block_number, Seen()
    assert theatre.visit(act, seen, fresh=True, presses=MANY, patience=HONEST_SECONDS) == "Funded as"
    theatre.cast.wait_for(theatre.cast.chain_time() + 4)
    assert theatre.visit(act, seen, fresh=False, presses=MANY, patience=HONEST_SECONDS) == FUNDED
    theatre.rpc.after = without_logs(CREATED)
    listen(theatre.api, funded())
    assert theatre.visit(act, seen, fresh=False, presses=MANY, patience=HONEST_SECONDS) == FUNDED
    theatre.rpc.honest()
    listen(theatre.api, lambda _question, answer: answer)
    assert not list(judge(seen))


def test_forgotten_escrow_is_funded_again_by_nobody(
    theatre: Theatre,
) -> None:
    """Its data was deleted, and a new salt was drawn: the page was funded a second time."""
    act, judge = theatre.publish()
    act = replace(act, ends=(SPENT, "Funded as"))
    theatre.began, seen = theatre.cast.stack.anvil.w3.eth.block_number, Seen()
    assert theatre.visit(act, seen, fresh=True, presses=MANY, patience=HONEST_SECONDS) == "Funded as"
    theatre.rpc.after = without_logs(CREATED)
    listen(theatre.api, funded())
    assert theatre.visit(act, seen, fresh=True, presses=MANY, patience=HONEST_SECONDS) == SPENT
    theatre.rpc.honest()
    listen(theatre.api, lambda _question, answer: answer)
    assert not list(judge(seen))


# -------------------------------------------------------------------- node, API and the page itself, all alike


@dataclass(frozen=True)
class Plot:
    """What all three state of a bounty: submissions until then, this delay after it, and a challenge that fits.

    For the node it is a day ago, so that a deadline which this machine has behind it is to come there.
    """

    deadline: int
    delay: int

    @property
    def times(self) -> dict[str, int]:
        reveal_at = self.deadline + self.delay
        return {
            "submission_deadline": self.deadline,
            "reveal_at": reveal_at,
            "judging_deadline": reveal_at + LONG,
        }

    def challenge(self, true: str) -> str:
        made = re.sub(r"submission_deadline: \d+", f"submission_deadline: {self.deadline}", true)
        assert made != true
        return made

    def node(self, challenge: str) -> After:
        """The wallet's node."""
        named = {re.sub("_(.)", lambda found: found[1].upper(), name): time for name, time in self.times.items()}
        commitment = number_of(spec_commitment(challenge.encode()))
        view = view_with("getBounty", **named, specCommitment=commitment)
        return all_of(view, call_of(REVEAL_DELAY, self.delay), blocks_at(lambda time: time - DAY))

    def tell(self, challenge: str) -> Tell:
        """The API."""
        facts = facts_with(**self.times, spec_commitment=spec_commitment(challenge.encode()))
        page = api_answer("/bounties/…", lambda answer: {**answer, "challenge": challenge})
        delay = api_answer("/deployment", lambda answer: {**answer, "reveal_delay_seconds": self.delay})
        return lambda question, answer: delay(question, page(question, facts(question, answer)))


@dataclass(frozen=True)
class Submitted:
    """The reveal points of what left a page, what it showed before it sealed anything, and how it ended."""

    reveal_points: list[int]
    shown: str
    ended: str


def submit_under(
    theatre: Theatre,
    plot: Plot,
    more: After = lambda _method, _params, result: result,
    patience: float = HONEST_SECONDS,
) -> Submitted:
    """A Solver's first visit; ``more`` is what the node answers beside that."""
    act, _ = theatre.submit()
    bounty = theatre.bounties.open()
    found = urllib3.request("GET", f"{theatre.cast.stack.api_base_url}/api/bounties/{bounty.bounty_id}", retries=False)
    challenge = plot.challenge(found.json()["challenge"])
    theatre.rpc.after = all_of(plot.node(challenge), more)
    listen(theatre.api, plot.tell(challenge))
    theatre.api.requests.clear()
    stated = {**plot.times, "spec_commitment": spec_commitment(challenge.encode())}
    page = theatre.open(act, fresh=True, stated=stated)
    steps: dict[str, object] = {"fields": act.fields, "patience": round(patience * 1_000)}
    asked = page.do("act", buttons=("Submit work",), ends=("What will be sealed",), **steps)
    shown, ended = page.text("#acting"), str(asked["ended"])
    if ended == "What will be sealed":
        steps["fields"] = {}  # they are filled in
        ended = str(page.do("act", buttons=("Seal it", SIGN), ends=(), **steps)["ended"])
    page.close()
    theatre.rpc.honest()
    listen(theatre.api, lambda _question, answer: answer)
    sent = [parse_envelope(each.body) for each in theatre.api.requests if each.path.endswith("/prepare")]
    return Submitted([each.reveal_policy.reveal_at for each in sent], shown, ended)


def test_forged_deadline_seals_for_the_delay(
    theatre: Theatre,
) -> None:
    """Nobody else vouches for a deadline."""
    deadline = int(time.time()) + 60
    found = submit_under(theatre, Plot(deadline, 90), patience=SEALING_SECONDS)
    assert set(found.reveal_points) == {deadline + 90}
    until = datetime.fromtimestamp(deadline + 90, UTC)
    assert f"It is sealed until {until.day} {until:%B %Y, %H:%M:%S} UTC." in found.shown
    assert "one operator of both could read the work early." in found.shown


def test_forged_past_deadline_seals_nothing(theatre: Theatre) -> None:
    found = submit_under(theatre, Plot(int(time.time()) - 1, 600))
    assert "work sealed now could be opened too soon" in found.ended
    assert not found.reveal_points
    assert "What will be sealed" not in found.shown


def test_work_that_would_open_sends_no_envelope(theatre: Theatre) -> None:
    """Sealing and uploading took longer than the delay, by the time of a block."""

    def later(method: str, params: Params, result: object) -> object:
        is_uploaded = any(each.path.endswith("/artifact-upload-url") for each in theatre.api.requests)
        return blocks_at(lambda time: time + 2 * DAY)(method, params, result) if is_uploaded else result

    found = submit_under(theatre, Plot(int(time.time()) + 60, 90), later)
    assert "anyone who has the Guardians' keys could open this" in found.ended
    assert not found.reveal_points
