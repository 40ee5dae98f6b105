"""Histories in which a node, an API or one operator of both once got something out of the client, each once.

The judge is that of the drawn plays: by the true chain, and by what left the client. Of the larger tables some rows are
drawn by SERVICE_CAMPAIGN_SEED, and all of them played in a campaign.
"""

import io
import sys
from itertools import product

import pytest
from service_common.chain.eip3009 import AUTHORIZATION_SECONDS

from tests.campaign import some
from tests.cli.plays.acts import ACTS, verdicts
from tests.cli.plays.forgeries.chain import KEPT_BACK
from tests.cli.plays.forgeries.subject import By
from tests.cli.plays.play import Between, Play, Point, Run, forged_by, perform
from tests.cli.plays.wire import Heard
from tests.cli.plays.world import World

pytestmark = pytest.mark.attack

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
def test_an_authorization_that_was_not_cancelled__is_not_signed_anew(world: World, kill: Point) -> None:
    cancelled = "what became of an authorization: cancelled, with its log"
    held_back = hostile(KEPT_BACK, kill=kill)
    assert_nothing_found(world, history("fund", held_back, hostile(cancelled)))


@pytest.mark.parametrize("kill", [SIGNED, SENT], ids=["signed", "sent"])
def test_fees_that_did_not_rise_and_a_time_that_did_not_come__pay_once(world: World, kill: Point) -> None:
    held_back = hostile(KEPT_BACK, kill=kill)
    assert_nothing_found(world, history("fund", held_back, hostile(DEARER, DEAD)))


def test_fees_that_rose_and_a_time_that_did_not_come__pay_once(world: World) -> None:
    interrupted = hostile(KEPT_BACK, kill=SIGNED, then=Between.FEES)
    assert_nothing_found(world, history("fund", interrupted, hostile(DEAD)))


def test_everything_two_hours_later_on_a_branch__pays_once(world: World) -> None:
    interrupted = hostile(KEPT_BACK, kill=SIGNED, then=Between.FEES)
    assert_nothing_found(
        world, history("fund", interrupted, hostile("the newest block's time: two hours ahead, mined"))
    )


def test_an_allowance_that_shows_again__pays_once(world: World) -> None:
    created = Point("eth_sendRawTransaction", 2, "after")
    held_back = hostile(KEPT_BACK, kill=created)
    again = hostile("the receipt of a transaction: reverted", "the allowance: none")
    assert_nothing_found(world, history("fund by allowance", held_back, again))


def test_an_allowance_and_a_creation_that_are_gone__are_done_again(world: World) -> None:
    """A receipt of failure had the client give the creation up, and then the chain had neither."""
    interrupted = Run(kill=Point("eth_getTransactionReceipt", 1, "before"))
    failed = hostile(
        "the receipt of a transaction: reverted, with its events",
        "the Hub's log of bounties: hidden",
        by=By.NODE,
        then=Between.DEEP_REORG,
    )
    assert_nothing_found(world, history("fund by allowance", interrupted, failed))


def test_an_allowance_and_a_creation_over_later_nonces__pay_once(world: World) -> None:
    """They wait until the account has sent two transactions: those of the honest run."""
    later = hostile(
        "the account's nonce: two more",
        "the receipt of a transaction: a success without its event",
        "what a call would do: succeed",
    )
    assert_nothing_found(world, history("fund by allowance", later))


# -------------------------------------------------------------------- the wrong Submission, the wrong key


@pytest.mark.parametrize("act", ["award by number", "replace a Verdict"])
@pytest.mark.parametrize(
    "how", ["the first hidden", "in another order", "of the other Solver", "an earlier one invented"]
)
def test_a_number_names_what_was_opened__whatever_the_log_shows_later(world: World, act: str, how: str) -> None:
    assert_nothing_found(world, history(act, hostile(f"the Hub's log of Submissions: {how}")))


PLACES = list(
    product(
        ("the first hidden", "in another order", "an earlier one invented"),
        ("honest", "in another order", "the last hidden"),
    )
)


@pytest.mark.parametrize(("how", "later"), some("places that moved", PLACES, 5))
def test_places_that_moved_between_opening_and_judging__name_what_was_opened(
    world: World, how: str, later: str
) -> None:
    opened = hostile(f"the Hub's log of Submissions: {how}")
    judged = Run() if later == "honest" else hostile(f"the Hub's log of Submissions: {later}")
    assert_nothing_found(world, history("open and award by number", opened, judged))


@pytest.mark.parametrize("act", ["deliver the key", "deliver the key of undecided work"])
@pytest.mark.parametrize("how", ["awarded to the loser", "voted for on a branch"])
def test_the_key_of_work_that_did_not_win__is_not_delivered(world: World, act: str, how: str) -> None:
    assert_nothing_found(world, history(act, hostile(f"the outcome: {how}")))


# -------------------------------------------------------------------- sealed work


def test_a_reveal_point_of_a_minute_ago__seals_nothing(world: World) -> None:
    assert_nothing_found(world, history("submit", hostile("the reveal point: a minute ago", by=By.BOTH)))


def test_a_reveal_point_without_the_hubs_delay__seals_nothing(world: World) -> None:
    judge = perform(world, history("submit", hostile("the reveal point: in a minute", by=By.BOTH)))
    assert not judge.findings
    assert not judge.together


@pytest.mark.parametrize("how", ["the operator's", "the operator's but for one"])
def test_a_roster_of_the_operators_own_keys__seals_nothing_unless_the_solver_was_warned(world: World, how: str) -> None:
    """Where nothing but these two vouches for the roster, who can read is on the screen before anything is sent."""
    shown: list[str] = []

    def watch(moment: str, heard: Heard) -> None:
        if moment == "before" and heard.request.path.endswith(("/prepare", "/artifact-upload-url")):
            sys.stderr.flush()
            assert isinstance(sys.stderr.buffer, io.BytesIO)  # click's runner keeps what is printed
            shown.append(sys.stderr.buffer.getvalue().decode())

    play = history("submit", hostile(f"the Guardians' keys: {how}", by=By.BOTH))
    judge = perform(world, play, watch)
    assert not judge.findings
    read = [one for one in judge.together if "the operator can open" in one]
    assert not read or (shown and all("could read" in text for text in shown)), shown


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


@pytest.mark.parametrize(("act", "how", "kill"), some("forged terms", TERMS, 10))
def test_work_sealed_under_forged_terms__is_sealed_anew_under_true_ones(
    world: World, act: str, how: str, kill: Point | None
) -> None:
    by = By.BOTH if act == "submit" else By.NODE
    assert_nothing_found(world, history(act, hostile(how, by=by, kill=kill)))


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


@pytest.mark.parametrize(("act", "how"), some("successes that are none", SUCCESSES, 10))
def test_a_success_that_is_not_there__is_looked_for_again(world: World, act: str, how: str) -> None:
    assert_nothing_found(world, history(act, hostile(f"the receipt of a transaction: {how}")))


@pytest.mark.parametrize("act", some("replaced blocks", SENDING, 6))
def test_a_block_that_was_replaced_after_success__is_made_good(world: World, act: str) -> None:
    assert_nothing_found(world, history(act, Run(between=Between.REORG)))


@pytest.mark.parametrize("act", ["award nothing", "award by name", "replace a Verdict"])
def test_a_verdict_that_did_not_revert__is_followed_by_none_but_the_same(world: World, act: str) -> None:
    """Sent again it takes its own place: that costs gas, and nothing else."""
    reverted = hostile("the receipt of a transaction: reverted", "the Verdict on record: none")
    assert_nothing_found(world, history(act, reverted, reverted))
    recorded = [one.report_commitment for one in verdicts(world, world.ledger.people.guardians[0].address)]
    assert len(set(recorded)) == (2 if act == "replace a Verdict" else 1)


# -------------------------------------------------------------------- years, and for ever


@pytest.mark.attack(f"an authorization, by the clock of who signs it: {AUTHORIZATION_SECONDS:,} s")
@pytest.mark.parametrize("how", ["five years ahead", "two hours ahead", "two hours ahead, mined"])
@pytest.mark.parametrize("kill", [None, SIGNED], ids=["ended", "killed"])
def test_an_authorization__is_good_for_an_hour_of_this_machine(world: World, how: str, kill: Point | None) -> None:
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


@pytest.mark.parametrize(("act", "how"), some("wedges", WEDGES, 16))
def test_what_a_node_said_of_gas_and_nonce__is_not_kept(world: World, act: str, how: str) -> None:
    assert_nothing_found(world, history(act, hostile(how, KEPT_BACK, kill=SENT)))
