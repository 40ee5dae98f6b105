"""The report of an audit: its checks, the sentences of what they came to, and all of it as a page.

Each check is one event, printed as soon as it is made; a difference names its place, what was found and what the chain
has. What the audited side wrote is shown bounded and without control characters.

In the sentences, everything is taken from the Hub's log, never from the service. The checks that hold are folded into
one line; what differs and what was not checked is listed.

The page of ``--html`` is for somebody who was not there: whether all of it holds, then the bounty by its title, its
money, and each Guardian's reasons; of the service's documents only those that hash to what the chain has. It has no
script and makes no request: style is in the page, and a policy in it forbids everything else. Every value is escaped.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Final

from bounty_protocol.clock import iso_utc
from bounty_protocol.domain.challenge import parse_challenge
from bounty_protocol.domain.commitments import report_commitment, spec_commitment
from bounty_protocol.domain.hub_events import AwardClaimed, GuardianFeeClaimed, RefundClaimed
from bounty_protocol.domain.lifecycle import Outcome, SettlementReason, VerdictKind
from bounty_protocol.domain.verdict import parse_verdict
from bounty_protocol.errors import ServiceError
from bounty_protocol.foreign_json import read_object
from bounty_protocol.types import Address
from bounty_protocol.wire.reading import read

from service_cli import __version__
from service_cli.audit.events import AuditCheck, CheckResult, Difference
from service_cli.audit.history import BountyHistory, ServiceEvidence
from service_cli.errors import CommandFailed
from service_cli.ui.new_files import new_file
from service_cli.ui.output import emit, say, warn
from service_cli.ui.text import printable

MOST_DIFFERENCES: Final = 50
_MOST_SHOWN: Final = 160
ABSENT: Final = object()
"""Where a key is not there at all: something else than null."""


@dataclass(frozen=True, slots=True)
class Check:
    """One check as it ended; ``subject`` is the document it was made of, where there are several."""

    name: str
    subject: str | None
    result: CheckResult
    detail: str
    differences: tuple[Difference, ...]

    @property
    def title(self) -> str:
        """Its name, with its subject."""
        return self.name if self.subject is None else f"{self.name} {self.subject}"

    def show(self) -> None:
        """Print its event."""
        emit(AuditCheck(self.name, self.subject, self.result, self.detail, self.differences))


@dataclass(slots=True)
class Report:
    """Collects the checks of one audit, and prints the event of each."""

    checks: list[Check] = field(default_factory=list)

    @property
    def counts(self) -> Counter[CheckResult]:
        """How many checks ended how."""
        return Counter(check.result for check in self.checks)

    @property
    def differing(self) -> list[str]:
        """The checks that do not hold."""
        return [check.title for check in self.checks if check.result is CheckResult.DIFFERS]

    @property
    def holding(self) -> list[str]:
        """The names of the checks that hold."""
        return list(dict.fromkeys(check.name for check in self.checks if check.result is CheckResult.HOLDS))

    def holds(self, name: str, detail: str, subject: str | None = None) -> None:
        """The check was made and holds."""
        self._add(name, subject, CheckResult.HOLDS, detail, ())

    def not_checked(self, name: str, reason: str, subject: str | None = None) -> None:
        """The check could not be made, and why."""
        self._add(name, subject, CheckResult.NOT_CHECKED, reason, ())

    def judge(self, name: str, differences: Iterable[Difference], detail: str, subject: str | None = None) -> None:
        """The check holds exactly when there is no difference; ``detail`` is what was compared."""
        found = list(differences)
        self._add(name, subject, CheckResult.DIFFERS if found else CheckResult.HOLDS, detail, found[:MOST_DIFFERENCES])

    def compare(self, name: str, found: object, expected: object, detail: str, *, closed: bool = False) -> None:
        """Two trees of JSON, the first the audited side's; ``closed`` refuses keys that are not expected."""
        self.judge(name, tree_differences(found, expected, name, closed=closed), detail)

    def _add(
        self, name: str, subject: str | None, result: CheckResult, detail: str, differences: Sequence[Difference]
    ) -> None:
        check = Check(name, subject, result, detail, tuple(differences))
        self.checks.append(check)
        check.show()


def tree_differences(found: object, expected: object, path: str, *, closed: bool = False) -> Iterator[Difference]:
    """Every leaf at which two JSON trees differ: in type, in value, by absence or, with ``closed``, by presence."""
    if isinstance(expected, Mapping) and isinstance(found, Mapping):
        for key, ours in expected.items():
            yield from tree_differences(found.get(key, ABSENT), ours, f"{path}.{key}", closed=closed)
        for key in sorted(set(found) - set(expected), key=str) if closed else ():
            yield Difference(f"{path}.{printable(key, _MOST_SHOWN + 1)}", shown(found[key]), "nothing of that name")
    elif isinstance(expected, list) and isinstance(found, list):
        for index in range(max(len(expected), len(found))):
            ours = expected[index] if index < len(expected) else ABSENT
            theirs = found[index] if index < len(found) else ABSENT
            yield from tree_differences(theirs, ours, f"{path}[{index}]", closed=closed)
    elif found is ABSENT or expected is ABSENT or type(found) is not type(expected) or found != expected:
        yield Difference(path, shown(found), shown(expected))


def differing(path: str, found: object, expected: object) -> Difference:
    """A difference as text for a terminal."""
    return Difference(path, shown(found), shown(expected))


def shown(value: object) -> str:
    """A value as a person sees it."""
    if value is ABSENT:
        return "nothing"
    try:
        text = printable(value, _MOST_SHOWN + 1)
    except RecursionError:
        return "a tree too deep to show"
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"


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


def paragraph(history: BountyHistory, report: Report, in_tokens: Callable[[int], str]) -> str:
    """The audit in a few sentences."""
    return " ".join([_outcome(history), _money(history, in_tokens), _judges(history), _checks(report)])


def show_summary(summary: str, report: Report) -> None:
    """Beside JSON: the paragraph, then what differs and what was not checked, then what holds in one line."""
    say(summary)
    for check in report.checks:
        if check.result is not CheckResult.HOLDS:
            for line in lines(check):
                warn(line)
    say(f"holds        {', '.join(report.holding)}")


def lines(check: Check) -> list[str]:
    """A check that does not hold, and each place where it differs."""
    if check.result is CheckResult.NOT_CHECKED:
        return [f"not checked  {check.title}: {check.detail}"]
    found = [f"             {one.path}: found {one.found}, expected {one.expected}" for one in check.differences]
    return [f"DIFFERS      {check.title} (should be: {check.detail})", *found]


def _outcome(history: BountyHistory) -> str:
    ending, name = history.finalized.event, f"Bounty {history.chain.bounty_id}"
    if ending.outcome is Outcome.AWARDED:
        return f"{name} was awarded to {ending.winner} for Submission {ending.submission_commitment}."
    return f"{name} ended without a winner: {_REASONS[ending.reason]}."


def _money(history: BountyHistory, in_tokens: Callable[[int], str]) -> str:
    created, ending = history.created.event, history.finalized.event
    claimed = [one.event for one in history.claims]
    shares = sum(isinstance(one, GuardianFeeClaimed) for one in claimed)
    parts = []
    if ending.award:
        parts.append(
            f"the winner {in_tokens(ending.award)}{_taken(any(isinstance(one, AwardClaimed) for one in claimed))}"
        )
    if ending.refund:
        taken = _taken(any(isinstance(one, RefundClaimed) for one in claimed))
        parts.append(f"the Poster {in_tokens(ending.refund)}{taken}")
    if ending.guardian_fee_count:
        count = f"{shares} of {ending.guardian_fee_count} claimed"
        parts.append(f"each judging Guardian {in_tokens(ending.guardian_fee_each)} ({count})")
    return f"Of the escrow of {in_tokens(created.escrow_amount)} it gives {'; '.join(parts)}."


def _taken(claimed: bool) -> str:
    return " (claimed)" if claimed else " (not claimed yet)"


def _judges(history: BountyHistory) -> str:
    verdicts, roster = verdicts_of(history), history.roster
    recorded = len(verdicts.supporting) + len(verdicts.others)
    whole = f"{recorded} of {len(roster.accounts)} Guardians recorded a Verdict, {roster.quorum} had to agree"
    if not verdicts.supporting:
        return f"{whole}."
    others = f"; {', '.join(verdicts.others)} recorded another" if verdicts.others else ""
    decided = history.finalized.event.reason is SettlementReason.JUDGED
    outcome = "this outcome" if decided else "this outcome, which no quorum decided"
    return f"{whole}: {', '.join(verdicts.supporting)} recorded {outcome}{others}."


def _checks(report: Report) -> str:
    differs, unchecked = report.counts[CheckResult.DIFFERS], report.counts[CheckResult.NOT_CHECKED]
    names = ", ".join(dict.fromkeys(check.name for check in report.checks if check.result is CheckResult.NOT_CHECKED))
    left = f"{unchecked} could not be checked ({names})" if unchecked else "all were made"
    return f"Of {sum(report.counts.values())} checks {differs or 'none'} {_differ(differs)}; {left}."


def _differ(count: int) -> str:
    return "differs from the chain" if count <= 1 else "differ from the chain"


_MOST_ON_PAGE: Final = 2_000
_MOST_OF_REASONS: Final = 64 * 1024
_STYLE: Final = """
:root { color-scheme: light; --ground: #fff; --ink: #1b1b1f; --line: #d0d0d6; --bad: #b3261e; --quiet: #5c5c66; }
@media (prefers-color-scheme: dark) {
  :root { color-scheme: dark; --ground: #16171b; --ink: #e6e6ea; --line: #3a3b42; --bad: #ff8a80; --quiet: #a9a9b3; }
}
body { font: 16px/1.5 system-ui, sans-serif; background: var(--ground); color: var(--ink); margin: 0; }
main { max-width: 60rem; margin: 0 auto; padding: 1.5rem 1rem; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; }
th, td { border-bottom: 1px solid var(--line); padding: .35rem .5rem; text-align: left; vertical-align: top; }
td:first-child { min-width: 7rem; } .code { font: .9em ui-monospace, monospace; }
.banner { border: 2px solid currentColor; padding: .75rem 1rem; } h3 { font-size: 1rem; }
blockquote { border-left: 3px solid var(--line); margin: 0; padding: 0 1rem; white-space: pre-wrap; }
.bad { color: var(--bad); } .quiet { color: var(--quiet); }
summary { cursor: pointer; padding: .5rem 0; }
"""
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def write_page(
    path: Path, history: BountyHistory, report: Report, service: ServiceEvidence, in_tokens: Callable[[int], str]
) -> None:
    """Write the page into a new file."""
    try:
        with new_file(path) as file:
            file.write(page(history, report, service, in_tokens).encode())
    except OSError as error:
        message = f"{path} cannot be written: {error.strerror}."
        raise CommandFailed("file_not_written", message, next_action="Name a new file that can be written.") from None


def page(history: BountyHistory, report: Report, service: ServiceEvidence, in_tokens: Callable[[int], str]) -> str:
    """The whole page: the audit's own verdict first, then what it is about."""
    title = f"Audit of bounty {history.chain.bounty_id}"
    named = _page_title(history, service)
    body = [_banner(report), f"<h1>{_text(title)}{'' if named is None else f': {_text(named)}'}</h1>"]
    body += [f"<p>{_text(paragraph(history, report, in_tokens))}</p>"]
    body += ["<h2>What it rests on</h2>", _table((), _facts(history))]
    body += ["<h2>Verdicts</h2>", _table(("Guardian", "last Verdict"), _verdicts(history))]
    body += _reasons(history, service)
    body += _section(report, CheckResult.DIFFERS, "What differs from the chain", "Nothing differs.")
    body += _section(report, CheckResult.NOT_CHECKED, "What was not checked", "Everything was checked.")
    holding = [check for check in report.checks if check.result is CheckResult.HOLDS]
    folded = _table(("check", "what was compared"), ((check.title, check.detail) for check in holding))
    body += ["<h2>What holds</h2>", f"<details><summary>{len(holding)} checks</summary>{folded}</details>"]
    made = f"service-audit {__version__}, from the Hub's log; anyone can derive it again."
    body.append(f'<p class="quiet">{_text(made)}</p>')
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(_POLICY)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_text(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(body)
        + "\n</main>\n</body>\n</html>\n"
    )


def _banner(report: Report) -> str:
    """Whether everything holds, in a word and a sentence."""
    differs, unchecked = report.counts[CheckResult.DIFFERS], report.counts[CheckResult.NOT_CHECKED]
    left = f" {unchecked} could not be checked; they are listed below." if unchecked else ""
    if differs:
        return f'<p class="banner bad" role="status"><strong>Differs.</strong> {differs} {_differ(differs)}.{left}</p>'
    holding = report.counts[CheckResult.HOLDS]
    return (
        f'<p class="banner" role="status"><strong>Holds.</strong> All {holding} checks that were made hold.{left}</p>'
    )


def _page_title(history: BountyHistory, service: ServiceEvidence) -> str | None:
    """The title of the challenge page, where the bytes hash to what the chain has."""
    try:
        content = read(str, read_object(service.detail or b"").get("challenge")).encode()
        if spec_commitment(content) != history.created.event.spec_commitment:
            return None
        return printable(parse_challenge(content).title, 200)
    except (ServiceError, ValueError):
        return None


def _reasons(history: BountyHistory, service: ServiceEvidence) -> list[str]:
    """The written reasons of each Guardian's last Verdict, where the document hashes to what the chain has."""
    parts = []
    for guardian, recorded in history.latest_verdicts().items():
        document = service.verdicts.get(recorded.event.report_commitment)
        if document is None or report_commitment(document) != recorded.event.report_commitment:
            text = '<p class="quiet">The document is not here, or not the one that was recorded.</p>'
        else:
            try:
                written = parse_verdict(document).body
            except ServiceError:
                written = document.decode("utf-8", "replace")
            lines = [printable(line, _MOST_ON_PAGE) for line in written[:_MOST_OF_REASONS].strip().splitlines()]
            if len(written) > _MOST_OF_REASONS:
                lines.append("[…]")
            text = f"<blockquote>{escape(chr(10).join(lines))}</blockquote>"
        parts += [f"<h3>Reasons of {_text(guardian)}</h3>", text]
    return parts


def _facts(history: BountyHistory) -> list[tuple[str, str]]:
    chain, created = history.chain, history.created.event
    return [
        ("chain", str(chain.chain_id)),
        ("Hub", chain.hub_address),
        ("read up to finalized block", f"{chain.finalized.number}, {iso_utc(chain.finalized.time)}"),
        ("Poster", created.poster),
        ("challenge page (spec_commitment)", created.spec_commitment),
        ("settled in transaction", history.finalized.origin.tx_hash),
        ("digest of the bounty's log", history.digest()),
    ]


def _verdicts(history: BountyHistory) -> list[tuple[str, str]]:
    verdicts = verdicts_of(history)
    named = [
        (verdicts.supporting, "this outcome"),
        (verdicts.others, "another outcome"),
        (verdicts.silent, "none recorded"),
    ]
    return [(account, what) for accounts, what in named for account in accounts]


def _section(report: Report, result: CheckResult, heading: str, none: str) -> list[str]:
    """A heading, and a table of the checks that ended so, with every place that differs."""
    found = [check for check in report.checks if check.result is result]
    if not found:
        return [f"<h2>{_text(heading)}</h2>", f"<p>{_text(none)}</p>"]
    mark = ' class="bad"' if result is CheckResult.DIFFERS else ""
    rows = [row for check in found for row in _rows(check)]
    return [f"<h2{mark}>{_text(heading)}</h2>", _table(("where", "what"), rows)]


def _rows(check: Check) -> list[tuple[str, str]]:
    places = [(one.path, f"found {one.found}, expected {one.expected}") for one in check.differences]
    return [(check.title, check.detail), *places]


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, str]]) -> str:
    first = f"<tr>{''.join(f'<th>{_text(name)}</th>' for name in head)}</tr>" if head else ""
    lines = "".join(f"<tr><td>{_text(left)}</td>{_cell(right)}</tr>" for left, right in rows)
    return f"<table>{first}{lines}</table>"


def _cell(value: str) -> str:
    """Prose in the face of text; a single value, such as a hash, in that of code."""
    face = "" if " " in value else ' class="code"'
    return f"<td{face}>{_text(value)}</td>"


def _text(value: object) -> str:
    return escape(printable(value, _MOST_ON_PAGE))
