"""What an audit comes to, for people: who won, how much, by which Verdicts, and what could not be checked.

Everything is taken from the Hub's log, never from the service. The checks that hold are folded into one line; what
differs and what was not checked is listed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from service_common.domain.hub_events import AwardClaimed, GuardianFeeClaimed, RefundClaimed
from service_common.domain.lifecycle import Outcome, SettlementReason, VerdictKind
from service_common.types import Address

from service_cli.audit.history import BountyHistory
from service_cli.audit.report import Check, Report, Result
from service_cli.shell.output import remark

_REASONS: Final = {
    SettlementReason.JUDGED: "a quorum of Guardians found no valid Submission",
    SettlementReason.NO_SUBMISSIONS: "nothing was submitted",
    SettlementReason.GUARDIANS_SILENT: "no Guardian recorded a Verdict in time",
    SettlementReason.QUORUM_NOT_REACHED: "not enough Guardians agreed in time",
}


@dataclass(frozen=True, slots=True)
class Verdicts:
    """The Guardians of the pinned roster by what their last Verdict named."""

    supporting: tuple[Address, ...]
    others: tuple[Address, ...]
    silent: tuple[Address, ...]


def verdicts_of(history: BountyHistory) -> Verdicts:
    """Who recorded the outcome, who recorded something else, who nothing."""
    ending, latest = history.finalized.event, history.latest_verdicts()
    kind = VerdictKind.AWARDED if ending.outcome is Outcome.AWARDED else VerdictKind.NO_VALID_SUBMISSION
    decided = (kind, ending.winner, ending.submission_commitment)
    same = [
        account
        for account, one in latest.items()
        if (one.event.kind, one.event.solver, one.event.submission_commitment) == decided
    ]
    accounts = history.roster.accounts
    return Verdicts(
        tuple(account for account in accounts if account in same),
        tuple(account for account in accounts if account in latest and account not in same),
        tuple(account for account in accounts if account not in latest),
    )


def paragraph(history: BountyHistory, report: Report, shown: Callable[[int], str]) -> str:
    """The audit in a few sentences."""
    return " ".join([_outcome(history), _money(history, shown), _judges(history), _checks(report)])


def show(summary: str, report: Report) -> None:
    """Beside JSON: the paragraph, then what differs and what was not checked, then what holds in one line."""
    remark(summary)
    for check in report.checks:
        if check.result is not Result.HOLDS:
            for line in lines(check):
                remark(line, urgent=True)
    remark(f"holds        {', '.join(report.holding)}")


def lines(check: Check) -> list[str]:
    """A check that does not hold, and each place where it differs."""
    if check.result is Result.NOT_CHECKED:
        return [f"not checked  {check.title}: {check.detail}"]
    found = [f"             {one.path}: found {one.found}, expected {one.expected}" for one in check.differences]
    return [f"DIFFERS      {check.title} (should be: {check.detail})", *found]


def _outcome(history: BountyHistory) -> str:
    ending, name = history.finalized.event, f"Bounty {history.chain.bounty_id}"
    if ending.outcome is Outcome.AWARDED:
        return f"{name} was awarded to {ending.winner} for Submission {ending.submission_commitment}."
    return f"{name} ended without a winner: {_REASONS[ending.reason]}."


def _money(history: BountyHistory, shown: Callable[[int], str]) -> str:
    created, ending = history.created.event, history.finalized.event
    claimed = [one.event for one in history.claims]
    shares = sum(isinstance(one, GuardianFeeClaimed) for one in claimed)
    parts = []
    if ending.award:
        parts.append(f"the winner {shown(ending.award)}{_taken(any(isinstance(one, AwardClaimed) for one in claimed))}")
    if ending.refund:
        taken = _taken(any(isinstance(one, RefundClaimed) for one in claimed))
        parts.append(f"the Poster {shown(ending.refund)}{taken}")
    if ending.guardian_fee_count:
        count = f"{shares} of {ending.guardian_fee_count} claimed"
        parts.append(f"each judging Guardian {shown(ending.guardian_fee_each)} ({count})")
    return f"Of the escrow of {shown(created.escrow_amount)} it gives {'; '.join(parts)}."


def _taken(claimed: bool) -> str:
    return " (claimed)" if claimed else " (not claimed yet)"


def _judges(history: BountyHistory) -> str:
    verdicts, roster = verdicts_of(history), history.roster
    recorded = len(verdicts.supporting) + len(verdicts.others)
    whole = f"{recorded} of {len(roster.accounts)} Guardians recorded a Verdict, {roster.quorum} had to agree"
    if not verdicts.supporting:
        return f"{whole}."
    others = f"; {', '.join(verdicts.others)} recorded another" if verdicts.others else ""
    return f"{whole}: {', '.join(verdicts.supporting)} recorded this outcome{others}."


def _checks(report: Report) -> str:
    differs, unchecked = report.counts[Result.DIFFERS], report.counts[Result.NOT_CHECKED]
    names = ", ".join(dict.fromkeys(check.name for check in report.checks if check.result is Result.NOT_CHECKED))
    left = f"{unchecked} could not be checked ({names})" if unchecked else "all were made"
    return f"Of {sum(report.counts.values())} checks {differs or 'none'} {_differ(differs)}; {left}."


def _differ(count: int) -> str:
    return "differs from the chain" if count <= 1 else "differ from the chain"
