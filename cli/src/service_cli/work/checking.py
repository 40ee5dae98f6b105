"""``poster:check``: a page reviewed on this machine, as a linter shows it.

The rules are those of the service's own readiness review; the Hub's bounds are
checked where its values are known. What is found is a line of the page, a field and a sentence. Nothing is sent and no
key is needed.
"""

import re
import time
from collections.abc import Iterable, Iterator
from typing import Final

from bounty_protocol.chain.hub_constants import term_issues
from bounty_protocol.domain.challenge.commitments import spec_commitment
from bounty_protocol.domain.challenge.page import parse_challenge
from bounty_protocol.errors import MAX_ISSUE_PATH, Issue, ServiceError
from bounty_protocol.readiness.material import Material
from bounty_protocol.readiness.review import review
from bounty_protocol.types import UnixSeconds

from service_cli.chain.session import ChainClient
from service_cli.config.keys import check_document
from service_cli.config.settings import CHAIN, Settings
from service_cli.errors import CommandRefused
from service_cli.queries.conditions import HubConditions, read_conditions
from service_cli.ui.output import emit, warn
from service_cli.ui.text import argument, counted, moment, printable
from service_cli.work.page_events import CheckedPage, PageIssue
from service_cli.work.template import leftovers

_ENTRY: Final = re.compile(r"(?P<key>[a-z_]+)\[(?P<index>[0-9]{1,4})\]")
_IN_BODY: Final = re.compile(r"Line (?P<line>[0-9]{1,7}): ")


STDIN: Final = "<stdin>"
"""The name of a page that was piped in."""


def review_page(settings: Settings, page: bytes, *, offline: bool = False) -> tuple[PageIssue, ...]:
    """Return the reasons against publishing a page, by the rules and, where they are known, the Hub's bounds."""
    check_document(settings.environment, page, "The page")
    conditions, now = None, UnixSeconds(int(time.time()))
    if _is_online(settings, offline=offline):
        conditions = read_conditions(ChainClient(settings))
        now = conditions.now
    return tuple(dict.fromkeys(find(page, now, conditions)))


def _is_online(settings: Settings, *, offline: bool) -> bool:
    return not offline and all(settings.knows(value) for value in CHAIN)


def check_page_file(settings: Settings, page: bytes, name: str, *, offline: bool = False) -> CheckedPage:
    """Run the command ``poster:check``; ``name`` is the page's name in messages for people."""
    found = review_page(settings, page, offline=offline)
    for one in found:
        emit(one)
    checked = CheckedPage(spec_commitment(page), len(page), len(found), _is_online(settings, offline=offline))
    page_argument = argument(None if name == STDIN else name, "PAGE")
    emit(checked, None if found else f"service-cli poster:publish-fund --check {page_argument}")
    if found:
        message = f"{name} has {counted(len(found), 'issue')}; it would be refused."
        next_action = "Change each line named above, then check again."
        if any(one.field == "document" and "frontmatter" in one.message for one in found):
            next_action = "Start from a template: service-cli poster:new template.md."
        raise CommandRefused("page_not_ready", message, next_action=next_action)
    return checked


def require_ready(page: bytes, path: str | None, now: UnixSeconds, conditions: HubConditions) -> None:
    """Refuse a page with issues before it is sent: its review would still be charged."""
    if found := list(dict.fromkeys(find(page, now, conditions))):
        issues = [Issue(one.field, f"Line {one.line}: {one.message}") for one in found]
        message = f"The page has {counted(len(found), 'issue')} and would be refused. Nothing was sent."
        next_action = f"Change each line named above, then check it: service-cli poster:check {argument(path, 'PAGE')}"
        raise CommandRefused("page_not_ready", message, issues=issues, next_action=next_action)


def warn_of_issues(page: bytes, path: str | None, now: UnixSeconds) -> None:
    """Warn of issues with a page that could be funded: publishing it would be refused, and charged."""
    if count := len(list(find(page, now, None))):
        issues = counted(count, "issue")
        check = f"service-cli poster:check {argument(path, 'PAGE')}"
        warn(f"the service's review would refuse this page ({issues}): {check}")


def find(page: bytes, now: UnixSeconds, conditions: HubConditions | None) -> Iterator[PageIssue]:
    """Yield the issues found: only those of the form if it is wrong, else what is left of the template, then terms and
    rules.
    """
    text = page.decode("utf-8", "replace")
    try:
        challenge = parse_challenge(page)
    except ServiceError as error:
        yield from _placed(text, error.issues)
        return
    if left := list(leftovers(page)):
        yield from (PageIssue(line, "template", message) for line, message in left)
    else:
        hub = None if conditions is None else conditions.constants
        known = () if hub is None else (hub.reveal_delay, hub.token.symbol, hub.token.decimals)
        yield from _placed(text, review(Material(challenge, page, now, *known)))
    if conditions is not None:
        yield from _placed(text, term_issues(challenge, conditions.constants, now, lambda at: moment(at, now)))


def _placed(text: str, issues: Iterable[Issue]) -> Iterator[PageIssue]:
    lines = text.splitlines()
    for issue in issues:
        stated, field = _IN_BODY.match(issue.message), printable(issue.path, MAX_ISSUE_PATH)
        line = line_of(lines, issue.path) if stated is None else int(stated["line"])
        message = issue.message if stated is None else issue.message[stated.end() :]
        yield PageIssue(line, field, printable(message, 1_500))


def line_of(lines: list[str], path: str) -> int:
    """Return the line, from 1, of a frontmatter field, of a list entry, or of the body's start; 1 for anything else."""
    ends = next((number for number, line in enumerate(lines) if number and line.rstrip() == "---"), len(lines))
    if path == "body":
        return min(ends + 2, max(1, len(lines)))
    entry = _ENTRY.match(path)
    key, wanted = (entry["key"], int(entry["index"])) if entry else (path, -1)
    for number, line in enumerate(lines[:ends]):
        if line.startswith(f"{key}:"):
            entries = [at for at in range(number + 1, ends) if lines[at].lstrip().startswith("- ")]
            return (entries[wanted] if 0 <= wanted < len(entries) else number) + 1
    return 1
