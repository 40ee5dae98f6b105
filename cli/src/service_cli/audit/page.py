"""``--html``: an audit as one page of its own, for somebody who was not there.

No script and no request: style is in the page, and a policy in it forbids everything else. Every value is escaped,
bounded and without control characters, since what the audited side wrote may be among them.
"""

import os
from collections.abc import Callable, Iterable
from html import escape
from pathlib import Path
from typing import Final

from service_common.clock import iso_utc

from service_cli import __version__
from service_cli.audit.history import BountyHistory
from service_cli.audit.report import Check, Report, Result
from service_cli.audit.summary import paragraph, verdicts_of
from service_cli.errors import CommandFailed
from service_cli.shell.text import printable

_MOST: Final = 2_000
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
td:first-child { min-width: 7rem; } code { font-size: .9em; }
.bad { color: var(--bad); } .quiet { color: var(--quiet); }
summary { cursor: pointer; padding: .5rem 0; }
"""
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def write_page(path: Path, history: BountyHistory, report: Report, shown: Callable[[int], str]) -> None:
    """Write the page into a new file."""
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644), "w", encoding="utf-8") as file:
            file.write(page(history, report, shown))
    except OSError as error:
        message = f"{path} cannot be written: {error.strerror}."
        raise CommandFailed("file_not_written", message, next_action="Name a new file that can be written.") from None


def page(history: BountyHistory, report: Report, shown: Callable[[int], str]) -> str:
    """The whole page."""
    title = f"Audit of bounty {history.chain.bounty_id}"
    body = [f"<h1>{_text(title)}</h1>", f"<p>{_text(paragraph(history, report, shown))}</p>"]
    body += ["<h2>What it rests on</h2>", _table((), _facts(history))]
    body += ["<h2>Verdicts</h2>", _table(("Guardian", "last Verdict"), _verdicts(history))]
    body += _section(report, Result.DIFFERS, "What differs from the chain", "Nothing differs.")
    body += _section(report, Result.NOT_CHECKED, "What was not checked", "Everything was checked.")
    holding = [check for check in report.checks if check.result is Result.HOLDS]
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


def _section(report: Report, result: Result, heading: str, none: str) -> list[str]:
    """A heading, and a table of the checks that ended so, with every place that differs."""
    found = [check for check in report.checks if check.result is result]
    if not found:
        return [f"<h2>{_text(heading)}</h2>", f"<p>{_text(none)}</p>"]
    mark = ' class="bad"' if result is Result.DIFFERS else ""
    rows = [row for check in found for row in _rows(check)]
    return [f"<h2{mark}>{_text(heading)}</h2>", _table(("where", "what"), rows)]


def _rows(check: Check) -> list[tuple[str, str]]:
    places = [(one.path, f"found {one.found}, expected {one.expected}") for one in check.differences]
    return [(check.title, check.detail), *places]


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, str]]) -> str:
    first = f"<tr>{''.join(f'<th>{_text(name)}</th>' for name in head)}</tr>" if head else ""
    lines = "".join(f"<tr><td>{_text(left)}</td><td><code>{_text(right)}</code></td></tr>" for left, right in rows)
    return f"<table>{first}{lines}</table>"


def _text(value: object) -> str:
    return escape(printable(value, _MOST))
