"""The reasons of a Verdict as a Guardian writes them: the template, and what looks like a mistake.

The template is made of the page whose bytes hash to the bounty's spec commitment; where there is none, it has no
criteria. What a Poster wrote is quoted, bounded and without control characters.
"""

import re
from typing import Final

import click
from bounty_protocol.chain.hub import BountyView
from bounty_protocol.domain.challenge import ChallengePage, parse_challenge
from bounty_protocol.domain.commitments import spec_commitment
from bounty_protocol.domain.lifecycle import VerdictKind
from bounty_protocol.errors import Issue, ServiceError
from bounty_protocol.types import BountyId

from service_cli.api import ApiClient, api_of, bounty_detail, is_page_withheld
from service_cli.chain.session import ChainClient
from service_cli.config.settings import Settings
from service_cli.errors import CommandRefused
from service_cli.queries.submissions import Choice, Pair, submission_named
from service_cli.ui.output import warn
from service_cli.ui.text import printable

_MOST_QUOTED: Final = 400
_COMMENT: Final = "<!-- service-cli:"
_MET: Final = "<Met? What you ran or read, and what came out.>"
_MISSED: Final = "<Which Submissions miss it? What you ran or read, and what came out.>"
_RESULT: Final = "<Why this Verdict follows, in a sentence or two.>"
_PLACEHOLDERS: Final = frozenset({_MET, _MISSED, _RESULT})
_PAGE: Final = re.compile(r"\s{0,1000}<(?:!doctype|html|head|body|div|p|table|script|style|\?xml)\b", re.IGNORECASE)
_TAG: Final = re.compile(r"<[^<>]{0,1000}>")
_WORD: Final = re.compile(r"[^\W\d_]{2}")


def template(bounty_id: BountyId, kind: VerdictKind, named: Pair | None, page: ChallengePage | None) -> str:
    """A Guardian's template; a line that begins with ``<!-- service-cli:`` is not part of the Verdict."""
    lines = [f"{_COMMENT} fill in what is in angle brackets; this line is removed. -->", ""]
    lines += [f"# Bounty {bounty_id}: {kind.value}", ""]
    if named is not None:
        lines += [f"Submission {named[1]} of {named[0]}.", ""]
    asked = _MET if kind is VerdictKind.AWARDED else _MISSED
    for number, criterion in enumerate(page.acceptance_criteria if page else (), 1):
        lines += [f"## Criterion {number}", "", *_quoted(criterion), "", asked, ""]
    for number, deliverable in enumerate(page.deliverables if page else (), 1):
        lines += [f"## Deliverable {number}", "", *_quoted(deliverable), "", asked, ""]
    return "\n".join([*lines, "## Result", "", _RESULT, ""])


def reasons_of(text: str) -> str:
    """The reasons without the template's comment; ``reasons_unfinished`` where they are empty or not filled in."""
    kept = "".join(line for line in text.splitlines(keepends=True) if not line.startswith(_COMMENT)).strip()
    left = [
        Issue(f"line {number}", f"still the template's {line.strip()}")
        for number, line in enumerate(text.splitlines(), 1)
        if line.strip() in _PLACEHOLDERS
    ]
    if left or not kept:
        message = "The reasons are not filled in." if left else "There are no reasons: the file is empty."
        next_action = "Write them, then run the command again."
        raise CommandRefused("reasons_unfinished", message, issues=left, next_action=next_action)
    return kept + "\n"


def doubt_of(text: str) -> str | None:
    """Why Markdown reasons look like a mistake, as the end of a sentence; None where nothing does."""
    if _PAGE.match(text):
        return "are HTML, which readers are shown as its source"
    if _WORD.search(_TAG.sub(" ", text)) is None:
        return "hold no word"
    return None


def filled_in(body: bytes) -> bytes:
    """A body from a file: exactly its bytes, unless it was begun as a template; an empty one is refused."""
    if not body.strip():
        message = "There are no reasons: what was named as their file is empty."
        next_action = "Write them as Markdown text; --template prints the criteria."
        raise CommandRefused("reasons_unfinished", message, next_action=next_action)
    return reasons_of(text_of(body)).encode() if body.startswith(_COMMENT.encode()) else body


def text_of(body: bytes) -> str:
    """A body as text; ``verdict_body_malformed`` where it is none, since what is recorded is kept for good."""
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        message = "The Verdict's body is not UTF-8."
        raise CommandRefused("verdict_body_malformed", message, next_action="Save the file as UTF-8.") from None


def _quoted(text: str) -> list[str]:
    """A Poster's text as a Markdown quotation."""
    cut = text if len(text) <= _MOST_QUOTED else f"{text[:_MOST_QUOTED]}…"
    return [f"> {printable(line, _MOST_QUOTED + 1)}".rstrip() for line in cut.strip().splitlines()]


def print_template(settings: Settings, bounty_id: BountyId, kind: VerdictKind, choice: Choice | None) -> None:
    """``guardian:verdict --template``: the template on stdout, as text."""
    chain, api = ChainClient.checked(settings), api_of(settings)
    named = None if choice is None else submission_named(chain, api, bounty_id, choice)
    click.echo(template(bounty_id, kind, named, _page(api, chain.bounty(bounty_id), bounty_id)), nl=False)


def _page(api: ApiClient, bounty: BountyView, bounty_id: BountyId) -> ChallengePage | None:
    """The bounty's own page, or None with the reason said."""
    try:
        detail = bounty_detail(api, bounty_id).json()
        page = detail.get("challenge")
        if isinstance(page, str) and spec_commitment(page.encode()) == bounty.spec_commitment:
            return parse_challenge(page.encode())
        reason = "the API has no page that hashes to the bounty's commitment"
        if is_page_withheld(detail):
            reason = "the operator withholds the page"
    except ServiceError as error:
        reason = error.message
    warn(f"the template has no criteria: {reason}")
    return None
