"""Histories in which a node, an API or one operator of both once got something out of the client, each once.

The judge is that of the drawn plays: by the true chain, and by what left the client. Of the larger tables some rows are
drawn by SERVICE_CAMPAIGN_SEED, and all of them played in a campaign.
"""

import io
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import product

import pytest
from bounty_protocol.chain.abi import hub_abi
from bounty_protocol.domain.envelope.document import parse_envelope
from bounty_protocol.types import UnixSeconds
from service_cli.chain.transactions import AUTHORIZED
from service_cli.ui.text import moment

from tests.campaign import some
from tests.cli.plays.acts import ACTS, creations, verdicts
from tests.cli.plays.facts import By
from tests.cli.plays.forgeries.bounties import other_page
from tests.cli.plays.forgeries.chain import KEPT_BACK
from tests.cli.plays.forgeries.subject import Forgery
from tests.cli.plays.judge import Judge
from tests.cli.plays.play import Between, Forged, Play, Point, Run, forged_by, perform
from tests.cli.plays.wire import Heard
from tests.cli.plays.world import DAYS, HOURS, World
from tests.cli.work.test_submission import CASES, sealed_of
from tests.copier import in_own_envelope

SIGNED = Point("eth_sendRawTransaction", 1, "before")
SENT = Point("eth_sendRawTransaction", 1, "after")


def history(act: str, *runs: Run) -> Play:
    return Play(ACTS[act], runs)


def hostile(*names: str, by: By = By.NODE, kill: Point | None = None, then: Between = Between.NOTHING) -> Run:
    return Run(tuple(forged_by(name, by) for name in names), kill, then)


def assert_nothing_found(world: World, play: Play) -> None:
    if found := perform(world, play).findings:
        pytest.fail("\n".join([str(play), *(f"  found: {one}" for one in found)]), pytrace=False)


# -------------------------------------------------------------------- paid twice

DEAD = "the finalized block: two hours later"
DEARER = "the fee policy: a basis point more"


@pytest.mark.parametrize("kill", [SIGNED, SENT], ids=["signed", "sent"])
def test_uncancelled_authorization_is_not_signed_anew(world: World, kill: Point) -> None:
    cancelled = "what became of an authorization: cancelled, with its log"
    held_back = hostile(KEPT_BACK, kill=kill)
    assert_nothing_found(world, history("fund", held_back, hostile(cancelled)))


@pytest.mark.parametrize("kill", [SIGNED, SENT], ids=["signed", "sent"])
def test_false_fees_and_time_pay_once(world: World, kill: Point) -> None:
    held_back = hostile(KEPT_BACK, kill=kill)
    assert_nothing_found(world, history("fund", held_back, hostile(DEARER, DEAD)))


def test_raised_fees_and_false_time_pay_once(world: World) -> None:
    interrupted = hostile(KEPT_BACK, kill=SIGNED, then=Between.FEES)
    assert_nothing_found(world, history("fund", interrupted, hostile(DEAD)))


def test_branch_two_hours_later_pays_once(world: World) -> None:
    interrupted = hostile(KEPT_BACK, kill=SIGNED, then=Between.FEES)
    assert_nothing_found(
        world, history("fund", interrupted, hostile("the newest block's time: two hours ahead, mined"))
    )


def test_an_allowance_that_shows_again__pays_once(world: World) -> None:
    created = Point("eth_sendRawTransaction", 2, "after")
    held_back = hostile(KEPT_BACK, kill=created)
    again = hostile("the receipt of a transaction: reverted", "the allowance: none")
    assert_nothing_found(world, history("fund by allowance", held_back, again))


def test_gone_allowance_and_creation_are_done_again(world: World) -> None:
    """A receipt of failure had the client give the creation up, and then the chain had neither."""
    interrupted = Run(kill=Point("eth_getTransactionReceipt", 1, "before"))
    failed = hostile(
        "the receipt of a transaction: reverted, with its events",
        "the Hub's log of bounties: hidden",
        by=By.NODE,
        then=Between.DEEP_REORG,
    )
    assert_nothing_found(world, history("fund by allowance", interrupted, failed))


def test_later_nonces_pay_once(world: World) -> None:
    """They wait until the account has sent two transactions: those of the honest run."""
    later = hostile(
        "the account's nonce: two more",
        "the receipt of a transaction: a success without its event",
        "what a call would do: succeed",
    )
    assert_nothing_found(world, history("fund by allowance", later))


SIMULATED = Point("0x" + hub_abi().functions[AUTHORIZED].selector.hex(), 1, "before")
"""An authorization is signed, and no transaction."""


def refusals(world: World, play: Play) -> tuple[list[object], Judge]:
    """How each run is refused, where it is; nobody is honest at the end."""
    found: list[object] = []

    def note(text: str) -> None:
        events = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
        found.append(events[-1].get("code") if events else None)

    world.transcript = note
    judge = perform(world, replace(play, ends_honestly=False))
    world.transcript = lambda _text: None
    assert not judge.findings
    return found, judge


ALLOWED = Point("eth_sendRawTransaction", 2, "before")
"""The escrow is allowed, and its creation signed."""


@pytest.mark.parametrize("how", [DEARER, "the fee policy: all of it", "the Guardians' keys: the operator's"])
@pytest.mark.parametrize(("act", "kill"), [("fund", SIGNED), ("fund by allowance", ALLOWED)])
def test_conditions_of_one_node_are_signed_by_nobody(world: World, act: str, kill: Point, how: str) -> None:
    interrupted = Run(kill=kill, between=Between.HOUR)
    found, _ = refusals(world, history(act, interrupted, hostile(how)))
    assert found[-1] == "publication_mismatch"


@pytest.mark.parametrize(
    ("kill", "then", "expected"),
    [
        (SIMULATED, Between.NOTHING, "unexpected_error"),
        (SIGNED, Between.NOTHING, None),
        (SIGNED, Between.HOUR, "unexpected_error"),
    ],
    ids=["authorized", "sent", "over"],
)
def test_authorization_is_signed_after_asking_the_api(
    world: World, kill: Point, then: Between, expected: str | None
) -> None:
    """What is signed already, and still good, is sent without it."""
    broken = hostile("that the API does its work: broken", by=By.API)
    found, _ = refusals(world, history("fund", Run(kill=kill, between=then), broken))
    assert found[-1] == expected


UNSEEN = "the Hub's log of bounties: hidden"


def test_seen_funding_elsewhere_is_hidden_by_nobody(world: World) -> None:
    judge = perform(world, history("fund what another machine funded", Run(), hostile(UNSEEN, by=By.BOTH)))
    assert not judge.findings
    assert not judge.together


def test_final_funding_here_is_hidden_by_nobody(world: World) -> None:
    """The first authorization is over, and fees that rose would let other terms be signed."""
    together = (UNSEEN, "the page of the bounty: another one", DEARER)
    by_node = (
        "what became of an authorization: unused",
        "the receipt of a transaction: none",
        "a transaction by its hash: unknown",
    )
    forged = Run((*(forged_by(name, By.BOTH) for name in together), *map(forged_by, by_node)))
    judge = perform(world, history("fund", Run(between=Between.HOUR), Run(), forged))
    assert not judge.findings
    assert not judge.together


def test_escrow_nobody_has_is_funded_if_told(world: World) -> None:
    """Node and API had one of a branch as final: this machine cannot know who of then and now is wrong."""
    with world.living():
        world.reset()
        home, other = world.home("poster"), world.home("poster+other")
        (other.home / "page.md").write_bytes((home.home / "page.md").read_bytes())
        words = ("poster:publish-fund", "page.md")
        with world.branch():
            world.run(other, *words)
            world.finalize()
            assert world.run(home, *words).last["code"] == "already_funded"
        refused = world.run(home, *words)
        assert refused.last["code"] == "sources_disagree"
        assert "This machine, which saw bounty" in str(refused.last["message"])
        assert "add --again" in str(refused.last["next_action"])
        assert not creations(world)
        assert world.run(home, words[0], "--again", words[1]).last["event"] == "publish_fund.bounty_created"
        assert len(creations(world)) == 1


# -------------------------------------------------------------------- the wrong Submission, the wrong key


PLACES = list(
    product(
        ("the first hidden", "in another order", "of the other Solver", "an earlier one invented"),
        ("honest", "in another order", "the last hidden"),
    )
)


@pytest.mark.parametrize(("how", "later"), some("lists that changed", PLACES, 6))
def test_what_was_opened_is_judged_whatever_is_listed(world: World, how: str, later: str) -> None:
    opened = hostile(f"the Hub's log of Submissions: {how}")
    judged = Run() if later == "honest" else hostile(f"the Hub's log of Submissions: {later}")
    assert_nothing_found(world, history("open and award", opened, judged))


@pytest.mark.parametrize("act", ["deliver the key", "deliver the key of undecided work"])
@pytest.mark.parametrize("how", ["awarded to the loser", "voted for on a branch"])
def test_losing_key_is_not_delivered(world: World, act: str, how: str) -> None:
    assert_nothing_found(world, history(act, hostile(f"the outcome: {how}")))


@pytest.mark.parametrize(
    ("how", "code"),
    [("commitment", "envelope_refused"), ("bytes", "sealed_for_another"), ("unbound", "binding_missing")],
)
def test_copied_work_opens_for_its_author_alone(world: World, how: str, code: str) -> None:
    with world.living():
        world.reset()
        bounty, copier = world.bounties.accepting, world.mallory.address
        sent = world.run(world.home("solver-1"), "solver:submit", bounty, "work").event("submit.submission_recorded")
        author, commitment = sent["solver"], str(sent["submission_commitment"])
        copied = copy_of(world, commitment, how)
        roster = bytes.fromhex(world.ledger.hub.roster_hash[2:])
        world.hub(copier, "submit", int(bounty), bytes.fromhex(copied[2:]), roster)
        world.advance(20 * DAYS + HOURS)
        events = world.run(world.home("guardian-1+new"), "guardian:open", bounty).events
        ended = [(each["solver"], each.get("code")) for each in events if each["event"] in OPENED_OR_NOT]
        assert ended == [(author, None), (copier, code)]


OPENED_OR_NOT = {"guardian_open.artifact_opened", "guardian_open.submission_not_opened"}


def copy_of(world: World, commitment: str, how: str) -> str:
    """What the copier records: the commitment itself, the same sealed bytes in an envelope of its own, or an envelope
    whose capsule names no Solver."""
    if how == "commitment":
        return commitment
    author = parse_envelope(world.api.envelopes[commitment])
    envelope = in_own_envelope(author, world.mallory.address)
    ciphertext = world.api.objects[author.ciphertext.storage_locator]
    if how == "unbound":
        case = CASES["a capsule that names nobody"]
        envelope, ciphertext = sealed_of(world.ledger, int(world.bounties.accepting), world.mallory, case)
    world.api.envelopes[envelope.commitment()] = envelope.canonical_bytes()
    world.api.objects[envelope.ciphertext.storage_locator] = ciphertext
    return envelope.commitment()


# -------------------------------------------------------------------- sealed work


def test_a_reveal_point_of_a_minute_ago__seals_nothing(world: World) -> None:
    assert_nothing_found(world, history("submit", hostile("the reveal point: a minute ago", by=By.BOTH)))


def test_reveal_point_without_the_delay_seals_nothing(world: World) -> None:
    judge = perform(world, history("submit", hostile("the reveal point: in a minute", by=By.BOTH)))
    assert not judge.findings
    assert not judge.together


SENT_TO_THE_API = ("/prepare", "/artifact-upload-url")


def screens_before(*ends: str) -> tuple[list[str], Callable[[str, Heard], None]]:
    """What is on the screen whenever a request for such a path leaves, and what has to watch for it."""
    shown: list[str] = []

    def watch(moment: str, heard: Heard) -> None:
        if moment == "before" and heard.request.path.endswith(ends):
            sys.stderr.flush()
            assert isinstance(sys.stderr.buffer, io.BytesIO)  # click's runner keeps what is printed
            shown.append(sys.stderr.buffer.getvalue().decode())

    return shown, watch


@pytest.mark.parametrize("how", ["the operator's", "the operator's but for one"])
def test_operators_roster_seals_nothing_unwarned(world: World, how: str) -> None:
    """Where nothing but these two vouches for the roster, who can read is on the screen before anything is sent."""
    shown, watch = screens_before(*SENT_TO_THE_API)
    play = history("submit", hostile(f"the Guardians' keys: {how}", by=By.BOTH))
    judge = perform(world, play, watch)
    assert not judge.findings
    read = [one for one in judge.together if "the operator can open" in one]
    assert not read or (shown and all("could read" in text for text in shown)), shown


def another_deadline(seconds: int) -> Run:
    """Node, API and page agree on one in so many seconds, and on all that follows; for the node it is a month ago."""
    forged = Forgery("deadline", f"in {seconds} s", ACTS["submit"].kinds, (By.BOTH,), other_page(seconds))
    return Run((Forged(forged, By.BOTH), forged_by("the newest block's time: a month behind")))


def prepared(world: World) -> list[UnixSeconds]:
    """The reveal points of all envelopes that left the client."""
    sent = [heard.request for heard in world.wire.heard if heard.request.path.endswith("/prepare")]
    return [parse_envelope(request.body).reveal_policy.reveal_at for request in sent]


def is_sealed(judge: Judge) -> bool:
    """Whether there are sealed bytes for the bounty on the Solver's machine."""
    return any(judge.home.home.rglob(f"submit-{judge.world.bounties.accepting}-*/ciphertext.age"))


@pytest.mark.parametrize("seconds", [1, 60, DAYS])
def test_forged_deadline_seals_for_the_delay(world: World, seconds: int) -> None:
    """Nobody else vouches for the deadline: so until when it is sealed, by this machine's clock, is on the screen."""
    shown, watch = screens_before(*SENT_TO_THE_API)
    play = Play(ACTS["submit"], (another_deadline(seconds),), ends_honestly=False)
    judge = perform(world, play, watch)
    delay = world.ledger.hub.terms.reveal_delay
    assert not judge.findings
    assert judge.together == ["sealed work was sent that opens before the true reveal point"]
    began = world.wire.heard[0].at
    assert prepared(world) == [int(began) + seconds + delay]
    assert len(shown) == 2
    for text in shown:
        assert f"until {moment(int(began) + seconds + delay, int(began))}" in text
        assert text.index("anyone who runs all of them could read the work early") < text.index("sealing work")


@pytest.mark.parametrize("act", ["submit", "submit without the API"])
@pytest.mark.parametrize("seconds", [0, -30, -DAYS])
def test_forged_past_deadline_seals_nothing(world: World, act: str, seconds: int) -> None:
    found, judge = refusals(world, Play(ACTS[act], (another_deadline(seconds),)))
    assert found == ["reveal_point_wrong"]
    assert not judge.together
    assert not is_sealed(judge)


def test_forged_reveal_delay_seals_nothing(world: World) -> None:
    """The network's record, or what is configured in its place, has another one."""
    early = forged_by("the reveal point: in a minute", By.BOTH)
    play = Play(ACTS["submit"], (Run((early, forged_by("which deployment it is: another reveal delay"))),))
    judge = perform(world, play)
    assert not judge.findings
    assert not judge.together


def test_work_that_would_open_at_once_stays_here(world: World) -> None:
    """Sealing and uploading took longer than the delay."""

    def be_slow(moment: str, heard: Heard) -> None:
        if moment == "before" and heard.request.method == "PUT":
            world.clock.advance(world.ledger.hub.terms.reveal_delay + 2)

    judge = perform(world, Play(ACTS["submit"], (another_deadline(1),), ends_honestly=False), be_slow)
    assert not judge.findings
    assert not prepared(world)
    assert is_sealed(judge)


TERMS = list(
    product(
        ("submit", "submit without the API"),
        (
            "the reveal point: a year later",
            "the reveal point: in a minute",
            "the submission deadline: a month later, with its page",
            "the Guardians' keys: the operator's",
            "the page of the bounty: another one",
        ),
        (None, SIGNED, SENT),
    )
)


@pytest.mark.parametrize(("act", "how", "kill"), some("forged terms", TERMS, 6))
def test_work_under_forged_terms_is_sealed_anew(world: World, act: str, how: str, kill: Point | None) -> None:
    by = By.BOTH if act == "submit" else By.NODE
    assert_nothing_found(world, history(act, hostile(how, by=by, kill=kill)))


# -------------------------------------------------------------------- moved to a later place

UNRECORDED = hostile(
    "the receipt of a transaction: reverted",
    "the Hub's log of Submissions: all hidden",
    "the Submission on record: none",
    "a transaction by its hash: unknown",
)


@pytest.mark.parametrize("first", [Run(), Run(kill=SENT)], ids=["reported", "killed"])
def test_node_alone_moves_no_submission(world: World, first: Run) -> None:
    """It shows a failure, and nothing of what is recorded, in one run after the other."""
    assert_nothing_found(world, history("submit", first, UNRECORDED, UNRECORDED, UNRECORDED))


@pytest.mark.parametrize("act", ["submit", "submit without the API"])
@pytest.mark.parametrize("then", [Between.NOTHING, Between.REORG], ids=["kept", "dropped"])
def test_late_logs_move_no_submission(world: World, act: str, then: Between) -> None:
    late = hostile("the Hub's log of Submissions: half a minute late", then=then)
    assert_nothing_found(world, history(act, late, late))


# -------------------------------------------------------------------- success that is none

SENDING = [
    "fund",
    "fund by allowance",
    "submit",
    "submit without the API",
    "submit changed files",
    "award by name",
    "award nothing",
    "replace a Verdict",
    "claim the award",
    "claim the refund",
    "claim the Guardian fee",
]


SUCCESSES = list(product(SENDING, ("a success without its event", "a success that never was")))


@pytest.mark.parametrize(("act", "how"), some("successes that are none", SUCCESSES, 6))
def test_absent_success_is_looked_for_again(world: World, act: str, how: str) -> None:
    assert_nothing_found(world, history(act, hostile(f"the receipt of a transaction: {how}")))


def reported(world: World, play: Play) -> list[bool]:
    """Whether each run reports the act as done; nobody is honest at the end."""
    done: list[bool] = []
    world.transcript = lambda text: done.append(f'"event": "{play.act.done}"' in text)
    judge = perform(world, replace(play, ends_honestly=False))
    world.transcript = lambda _text: None
    assert not judge.findings
    return done


@pytest.mark.parametrize("act", SENDING)
def test_receipt_without_event_is_no_success(world: World, act: str) -> None:
    """A later run would find out; this one already says so."""
    assert reported(world, history(act, hostile("the receipt of a transaction: a success without its event"))) == [
        False
    ]


@pytest.mark.parametrize("act", ["submit", "submit without the API", "award by name", "award nothing"])
def test_receipt_of_what_was_given_up_is_no_success(world: World, act: str) -> None:
    """It was given up for a failure, on a branch that is gone."""
    failed = hostile("the receipt of a transaction: reverted", "the receipt of a transaction: a success that never was")
    invented = hostile("the receipt of a transaction: a success without its event")
    assert reported(world, history(act, failed, invented)) == [False, False]


@pytest.mark.parametrize("act", some("replaced blocks", SENDING, 6))
def test_replaced_block_is_made_good(world: World, act: str) -> None:
    assert_nothing_found(world, history(act, Run(between=Between.REORG)))


@pytest.mark.parametrize("act", ["award nothing", "award by name", "replace a Verdict"])
def test_unreverted_verdict_is_followed_by_the_same(world: World, act: str) -> None:
    """Sent again it takes its own place: that costs gas, and nothing else."""
    reverted = hostile("the receipt of a transaction: reverted", "the Verdict on record: none")
    assert_nothing_found(world, history(act, reverted, reverted))
    recorded = [one.report_commitment for one in verdicts(world, world.ledger.people.guardians[0].address)]
    assert len(set(recorded)) == (2 if act == "replace a Verdict" else 1)


# -------------------------------------------------------------------- years, and for ever


@pytest.mark.parametrize("how", ["five years ahead", "two hours ahead", "two hours ahead, mined"])
@pytest.mark.parametrize("kill", [None, SIGNED], ids=["ended", "killed"])
def test_authorization_is_good_for_an_hour_here(world: World, how: str, kill: Point | None) -> None:
    assert_nothing_found(world, history("fund", hostile(f"the newest block's time: {how}", kill=kill)))


WEDGES = list(
    product(
        SENDING,
        (
            "the account's nonce: a million",
            "the account's nonce: one more",
            "the gas that a call takes: 10,000",
            "the gas that a call takes: 21,000",
            "the gas that a call takes: not quite enough",
            "the price of gas: 2.5 gwei",
            "the price of gas: zero",
            "the usual tip: 3 gwei",
        ),
    )
)


@pytest.mark.parametrize("act", ["fund", "submit", "award nothing", "claim the award"])
def test_a_later_nonce_wedges_nothing(world: World, act: str) -> None:
    assert_nothing_found(world, history(act, hostile("the account's nonce: a million", KEPT_BACK, kill=SENT)))


@pytest.mark.parametrize(("act", "how"), some("wedges", WEDGES, 8))
def test_gas_and_nonce_of_a_node_are_not_kept(world: World, act: str, how: str) -> None:
    assert_nothing_found(world, history(act, hostile(how, KEPT_BACK, kill=SENT)))
