"""The story of a bounty, told to a node and to the double in memory: both log the same and refuse the same."""

from collections.abc import Callable

import pytest
from bounty_protocol.domain.lifecycle.hub_events import (
    AwardClaimed,
    BountyCreated,
    BountyFinalized,
    GuardianFeeClaimed,
    HubEvent,
    RefundClaimed,
    SubmissionRecorded,
    VerdictRecorded,
)
from bounty_protocol.domain.lifecycle.states import Outcome, SettlementReason
from local_stack.process import StackError

from tests.fakes.story import HubInMemory
from tests.world import ESCROW, Story

PAID = (AwardClaimed, RefundClaimed, GuardianFeeClaimed)


@pytest.fixture(params=["node", "memory"])
def story(request: pytest.FixtureRequest) -> Story:
    """The same people and verbs on each."""
    return request.getfixturevalue("world") if request.param == "node" else HubInMemory()


def refusal(act: Callable[[], object]) -> str:
    """The Hub's error."""
    with pytest.raises(StackError) as refused:
        act()
    return str(refused.value).rpartition(": ")[2]


def kinds(events: list[HubEvent]) -> list[type]:
    return [type(event) for event in events]


def test_award_is_logged_and_paid_once(story: Story) -> None:
    bounty, solver, poster = story.fund(), story.solver(2), story.people.poster.wallet
    commitment = story.submit(bounty, solver)
    assert refusal(lambda: story.judge(bounty, story.guardian(1), solver)) == "JudgingNotStarted"
    story.advance_to(story.reveal_at(bounty))
    assert refusal(lambda: story.submit(bounty, solver)) == "SubmissionsClosed"
    story.judge(bounty, story.guardian(1), solver)
    assert refusal(lambda: story.claim(bounty, solver)) == "BountyOpen"
    story.judge(bounty, story.guardian(2), solver)
    for claimant in (solver, poster, story.guardian(1)):
        story.claim(bounty, claimant)
    assert refusal(lambda: story.claim(bounty, solver)) == "AlreadyClaimed"
    assert refusal(lambda: story.claim(bounty, story.solver(1))) == "NotWinner"
    events = story.events(bounty)
    judged = [VerdictRecorded, VerdictRecorded, BountyFinalized]
    assert kinds(events) == [
        *(BountyCreated, SubmissionRecorded, *judged),
        *PAID,
    ]
    paid = [(each.bounty_id, each.amount) for each in events[5:] if isinstance(each, PAID)]
    assert paid == [(bounty, ESCROW * 96 // 100), (bounty, ESCROW // 100), (bounty, ESCROW // 100)]
    assert isinstance(final := events[4], BountyFinalized)
    assert (final.outcome, final.winner, final.submission_commitment) == (Outcome.AWARDED, solver.address, commitment)


def test_silence_is_settled_and_refunded(story: Story) -> None:
    bounty = story.fund()
    story.submit(bounty, story.solver(1))
    story.advance_to(story.judging_deadline(bounty) - 10)
    assert refusal(lambda: story.settle(bounty)) == "SettlementTooEarly"
    story.advance_to(story.judging_deadline(bounty))
    story.settle(bounty)
    story.claim(bounty, story.people.poster.wallet)
    final, refund = story.events(bounty)[2:]
    assert isinstance(final, BountyFinalized)
    assert final.reason == SettlementReason.GUARDIANS_SILENT
    assert isinstance(refund, RefundClaimed)
    assert refund.amount == ESCROW


def test_reorg_takes_a_claim_back_and_it_is_paid(story: Story) -> None:
    bounty, solver = story.fund(), story.solver(1)
    story.submit(bounty, solver)
    story.advance_to(story.reveal_at(bounty))
    for number in (1, 2):
        story.judge(bounty, story.guardian(number), solver)
    story.finalize()
    before = story.events(bounty)
    story.claim(bounty, solver)
    tip = story.tip()
    story.reorganize(1)
    assert (story.tip(), story.events(bounty)) == (tip, before)
    story.claim(bounty, solver)
    assert kinds(story.events(bounty)) == [*kinds(before), AwardClaimed]
