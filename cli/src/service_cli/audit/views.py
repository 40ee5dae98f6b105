"""The Hub's own views at the finalized block, held against what its log tells.

Promises: an endpoint that hides or invents a log must lie in these answers, too. Every field of ``getBounty`` is
compared, each Guardian's Verdict and each Solver's Submission. The roster comes from a view and is held by ``rules``
against the hash that the log pins.
"""

from collections.abc import Iterator, Mapping

from service_common.chain.events import (
    AwardClaimed,
    GuardianFeeClaimed,
    ProtocolFeeClaimed,
    RefundClaimed,
)
from service_common.types import ZERO_ADDRESS, ZERO_BYTES32

from service_cli.audit.evidence import Read
from service_cli.audit.reads import answer_of
from service_cli.audit.report import Difference, Report, differing
from service_cli.audit.rules import claimable, claimant
from service_cli.audit.story import Story


def check_views(story: Story, report: Report) -> None:
    """Log and views tell the same."""
    reads = {(read.function, read.arguments): read for read in story.chain.reads}
    found = [
        difference for name, expected in _expected(story).items() for difference in _differences(reads, name, expected)
    ]
    count = len(story.events)
    report.judge(
        "chain.views", found, f"{count} logs tell what the Hub's views say at block {story.chain.finalized.number}"
    )


Name = tuple[str, tuple[str, ...]]


def _expected(story: Story) -> dict[Name, Mapping[str, object]]:
    bounty_id = str(story.chain.bounty_id)
    latest = story.latest_verdicts()
    expected: dict[Name, Mapping[str, object]] = {
        ("getBounty", (bounty_id,)): _bounty(story),
    }
    for each in story.active_submissions():
        name: Name = ("getSubmission", (bounty_id, each.event.solver))
        expected[name] = {"": each.event.submission_commitment}
    for guardian in story.roster.accounts:
        verdict = latest[guardian].event if guardian in latest else None
        expected["getVerdict", (bounty_id, guardian)] = {
            "kind": verdict.kind if verdict else 0,
            "solver": verdict.solver if verdict else ZERO_ADDRESS,
            "submission_commitment": verdict.submission_commitment if verdict else ZERO_BYTES32,
        }
    return expected


def _bounty(story: Story) -> dict[str, object]:
    created, end = story.created.event, story.finalized.event
    due = claimable(end, story)
    for each in story.claims:
        due.pop((type(each.event), claimant(each.event)), None)
    kinds = {type(each.event) for each in story.claims}
    same = (
        "poster", "escrow_amount", "spec_commitment", "submission_deadline", "reveal_at", "judging_deadline",
        "roster_version", "guardian_roster_hash", "protocol_fee", "guardian_fee", "protocol_fee_recipient",
    )  # fmt: skip
    return {name: getattr(created, name) for name in same} | {
        "has_submissions": bool(story.submissions),
        "verdict_count": len(story.latest_verdicts()),
        "outcome": end.outcome,
        "reason": end.reason,
        "winner": end.winner,
        "winning_submission": end.submission_commitment,
        "award_due": due.get((AwardClaimed, end.winner), 0),
        "refund_due": due.get((RefundClaimed, created.poster), 0),
        "protocol_fee_due": due.get((ProtocolFeeClaimed, created.protocol_fee_recipient), 0),
        "guardian_fees_due": sum(amount for (kind, _), amount in due.items() if kind is GuardianFeeClaimed),
        "award_claimed": AwardClaimed in kinds,
        "refund_claimed": RefundClaimed in kinds,
        "protocol_fee_claimed": ProtocolFeeClaimed in kinds,
    }


def _differences(reads: Mapping[Name, Read], name: Name, expected: Mapping[str, object]) -> Iterator[Difference]:
    function, arguments = name
    path = f"{function}({', '.join(arguments)})"
    read = reads.get(name)
    fields = None if read is None else answer_of(read)
    if fields is None:
        yield differing(path, "no answer of the Hub's shape", "one")
        return
    for field, ours in expected.items():
        if fields.get(field) != ours:
            yield differing(f"{path}.{field}" if field else path, fields.get(field), ours)
