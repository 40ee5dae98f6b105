"""Each rule of the Hub, broken once in an otherwise true life: the audit's check of that rule says so, and no other."""

from collections.abc import Callable
from dataclasses import replace
from typing import cast

import pytest
from bounty_protocol.domain.hub_events import (
    AwardClaimed,
    BountyCreated,
    BountyFinalized,
    HubEvent,
    Logged,
    SubmissionRecorded,
    VerdictRecorded,
)
from bounty_protocol.domain.lifecycle import Outcome, SettlementReason
from bounty_protocol.types import ZERO_ADDRESS, ZERO_BYTES32, Address, Bytes32, UnixSeconds
from service_cli.audit.history import BountyHistory
from service_cli.audit.report import Report
from service_cli.audit.rules import check_rules

from tests.cli.audited import Audited
from tests.cli.terminal import events_of

STRANGER = Address("0x" + "ab" * 20)
OTHER = Bytes32("0x" + "cd" * 32)
Change = Callable[[BountyHistory], BountyHistory]


def broken(history: BountyHistory, capsys: pytest.CaptureFixture[str]) -> set[str]:
    """The rules that an audit finds broken."""
    capsys.readouterr()
    check_rules(history, Report())
    return {str(event["check"]) for event in events_of(capsys.readouterr().out) if event["result"] == "differs"}


def with_events(history: BountyHistory, events: list[Logged[HubEvent]]) -> BountyHistory:
    """The same bounty with other events."""
    created = next(each for each in events if isinstance(each.event, BountyCreated))
    finalized = next(each for each in events if isinstance(each.event, BountyFinalized))
    return replace(
        history,
        events=tuple(events),
        created=cast("Logged[BountyCreated]", created),
        finalized=cast("Logged[BountyFinalized]", finalized),
    )


def with_event(
    kind: type, index: int = 0, *, at: Callable[[BountyHistory], int] | None = None, **fields: object
) -> Change:
    """Alter one event's fields, or its block's time."""

    def change(history: BountyHistory) -> BountyHistory:
        events = list(history.events)
        place = [i for i, each in enumerate(events) if isinstance(each.event, kind)][index]
        found = events[place]
        event = replace(found.event, **fields)  # type: ignore[arg-type]
        origin = found.origin if at is None else replace(found.origin, time=UnixSeconds(at(history)))
        events[place] = Logged(event, origin)
        return with_events(history, events)

    return change


def without(kind: type, index: int = -1) -> Change:
    """Leave one event out."""

    def change(history: BountyHistory) -> BountyHistory:
        events = list(history.events)
        del events[[i for i, each in enumerate(events) if isinstance(each.event, kind)][index]]
        return with_events(history, events)

    return change


def again(kind: type) -> Change:
    """The last of these events once more, at the end."""

    def change(history: BountyHistory) -> BountyHistory:
        found = next(each for each in reversed(history.events) if isinstance(each.event, kind))
        last = history.events[-1].origin
        return with_events(
            history, [*history.events, replace(found, origin=replace(last, log_index=last.log_index + 1))]
        )

    return change


def created(**fields: object) -> Change:
    return with_event(BountyCreated, 0, at=None, **fields)


def ended(at: Callable[[BountyHistory], int] | None = None, **fields: object) -> Change:
    return with_event(BountyFinalized, 0, at=at, **fields)


def another_transaction(history: BountyHistory) -> BountyHistory:
    """The end in another transaction than the deciding Verdict's."""
    events = [
        replace(each, origin=replace(each.origin, tx_hash=OTHER)) if isinstance(each.event, BountyFinalized) else each
        for each in history.events
    ]
    return with_events(history, events)


def members(**fields: object) -> Change:
    """One member altered."""

    def change(history: BountyHistory) -> BountyHistory:
        first, *others = history.roster.members
        return replace(history, roster=replace(history.roster, members=(replace(first, **fields), *others)))  # type: ignore[arg-type]

    return change


def weak(history: BountyHistory) -> BountyHistory:
    """A roster of which one decides, its hash right."""
    roster = replace(history.roster, quorum=1)
    pinned = roster.compute_hash(history.chain.chain_id, history.chain.hub_address)
    return created(guardian_roster_hash=pinned)(replace(history, roster=replace(roster, guardian_roster_hash=pinned)))


AWARDED: list[tuple[str, Change, str]] = [
    ("another member", members(guardian_address=STRANGER), "rules.roster"),
    ("another key", members(encryption_public_key=OTHER), "rules.roster"),
    ("another roster", created(guardian_roster_hash=OTHER), "rules.roster"),
    ("a small quorum", weak, "rules.roster"),
    ("protocol fee over its cap", created(protocol_fee=2_500_001), "rules.terms"),
    ("guardian fee over its cap", created(guardian_fee=5_000_001), "rules.terms"),
    ("a Poster on the roster", lambda s: created(poster=s.roster.accounts[0])(s), "rules.terms"),
    ("a deadline of the past", lambda s: created(submission_deadline=s.created.origin.time)(s), "rules.terms"),
    ("a Submission too late", with_event(SubmissionRecorded, at=lambda s: s.created.event.submission_deadline),
     "rules.submissions"),
    ("a Submission by the Poster", lambda s: with_event(SubmissionRecorded, 1, solver=s.created.event.poster)(s),
     "rules.submissions"),
    ("a Submission by a Guardian", lambda s: with_event(SubmissionRecorded, 1, solver=s.roster.accounts[2])(s),
     "rules.submissions"),
    ("a Submission of nothing", with_event(SubmissionRecorded, 1, submission_commitment=ZERO_BYTES32),
     "rules.submissions"),
    ("a Verdict too early", with_event(VerdictRecorded, at=lambda s: s.created.event.reveal_at - 1), "rules.verdicts"),
    ("a Verdict too late", with_event(VerdictRecorded, at=lambda s: s.created.event.judging_deadline),
     "rules.verdicts"),
    ("a Verdict by a stranger", with_event(VerdictRecorded, guardian=STRANGER), "rules.verdicts"),
    ("a Verdict on what is not active", with_event(VerdictRecorded, 1, submission_commitment=OTHER), "rules.verdicts"),
    ("a Verdict for nobody that names one", with_event(VerdictRecorded, solver=STRANGER), "rules.verdicts"),
    ("a Verdict without reasons", with_event(VerdictRecorded, report_commitment=ZERO_BYTES32), "rules.verdicts"),
    ("an award without a quorum", without(VerdictRecorded), "rules.outcome"),
    ("another winner", ended(winner=STRANGER), "rules.outcome"),
    ("another Submission", ended(submission_commitment=OTHER), "rules.outcome"),
    ("another outcome", ended(outcome=Outcome.NO_VALID_SUBMISSION), "rules.outcome"),
    ("another reason", ended(reason=SettlementReason.QUORUM_NOT_REACHED), "rules.outcome"),
    ("an end in another transaction", another_transaction, "rules.outcome"),
    ("a claim twice", again(AwardClaimed), "rules.claims"),
    ("a claim of more", with_event(AwardClaimed, amount=24_000_001), "rules.claims"),
    ("a claim by another", with_event(AwardClaimed, solver=STRANGER), "rules.claims"),
]  # fmt: skip
ALSO: dict[str, set[str]] = {
    "another member": {"rules.verdicts"},
    "a Verdict by a stranger": {"rules.amounts"},
    "a Verdict on what is not active": {"rules.outcome"},
    "an award without a quorum": {"rules.amounts"},
    "another winner": {"rules.claims"},
    "another outcome": {"rules.amounts"},
    "a small quorum": {"rules.outcome"},
    "protocol fee over its cap": {"rules.amounts"},
    "guardian fee over its cap": {"rules.amounts"},
    "a deadline of the past": {"rules.submissions"},
}
"""What follows from a broken rule: other rules that cannot hold beside it."""


def test_rules__of_a_true_life__hold(
    histories: dict[str, BountyHistory], audited: Audited, capsys: pytest.CaptureFixture[str]
) -> None:
    assert [broken(history, capsys) for history in histories.values()] == [set(), set(), set()]


@pytest.mark.parametrize(("what", "change", "rule"), AWARDED, ids=[what for what, _, _ in AWARDED])
def test_rules__one_broken_in_an_award__is_the_one_that_is_named(
    histories: dict[str, BountyHistory],
    audited: Audited,
    capsys: pytest.CaptureFixture[str],
    what: str,
    change: Change,
    rule: str,
) -> None:
    found = broken(change(histories[audited.awarded]), capsys)
    assert rule in found
    assert found <= {rule} | ALSO.get(what, set())


@pytest.mark.parametrize("figure", ["award", "refund", "protocol_fee", "guardian_fee_each", "guardian_fee_count"])
def test_amounts__any_figure_off_by_one__is_named(
    histories: dict[str, BountyHistory], audited: Audited, capsys: pytest.CaptureFixture[str], figure: str
) -> None:
    for history in histories.values():
        true = getattr(history.finalized.event, figure)
        assert "rules.amounts" in broken(ended(**{figure: true + 1})(history), capsys)


def test_silence__settled_early_or_for_another_reason__is_named(
    histories: dict[str, BountyHistory], audited: Audited, capsys: pytest.CaptureFixture[str]
) -> None:
    silent = histories[audited.silent]
    early = ended(at=lambda history: history.created.event.judging_deadline - 1)(silent)
    assert broken(early, capsys) == {"rules.outcome"}
    for reason in set(SettlementReason) - {SettlementReason.GUARDIANS_SILENT}:
        assert broken(ended(reason=reason)(silent), capsys) == {"rules.outcome"}
    nothing = ended(
        reason=SettlementReason.NO_SUBMISSIONS, at=lambda history: history.created.event.submission_deadline
    )(silent)
    assert broken(without(SubmissionRecorded)(nothing), capsys) == set()
    refunded = histories[audited.refunded]
    assert broken(without(VerdictRecorded)(refunded), capsys) >= {"rules.outcome"}
    assert silent.finalized.event.winner == ZERO_ADDRESS
