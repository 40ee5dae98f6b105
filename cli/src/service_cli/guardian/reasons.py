"""The reasons of a Verdict as a Guardian writes them: the template, the editor, and what looks like a mistake.

The template is made of the page whose bytes hash to the bounty's spec commitment; where there is none, it has no
criteria. What a Poster wrote is quoted, bounded and without control characters.
"""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from bounty_protocol.domain.challenge import ChallengePage
from bounty_protocol.domain.lifecycle import VerdictKind
from bounty_protocol.errors import Issue
from bounty_protocol.types import BountyId

from service_cli.disk import open_regular
from service_cli.errors import CommandFailed, CommandRefused
from service_cli.shell.output import say, warn
from service_cli.shell.text import printable
from service_cli.witnesses.bounties import Pair

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
        message = "The reasons are not filled in." if left else "There are no reasons: the draft is empty."
        next_action = "Run the command again to go on; an editor that returns at once needs its option to wait."
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
        next_action = "Write them as Markdown text; without a file, at a terminal, an editor opens with the criteria."
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


def edit_draft(draft: Path) -> None:
    """Have the draft edited; the editor gets the terminal and nothing of the service's variables, so no key."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    environment = {name: value for name, value in os.environ.items() if not re.match("SERVICE_", name)}
    output = None if sys.stdout.isatty() else sys.stderr
    say(f"opening {draft} in {editor}")
    try:
        command = [*shlex.split(editor), str(draft)]
        code = subprocess.run(command, env=environment, stdout=output, check=False).returncode
    except (OSError, ValueError):
        message = f"The editor {printable(editor, 100)} could not be started."
        next_action = "Set VISUAL or EDITOR to one that is installed, or name a file with your reasons."
        raise CommandRefused("editor_missing", message, next_action=next_action) from None
    if code != 0:
        message = f"The editor ended with exit code {code}."
        raise CommandFailed("editor_failed", message, next_action="Run the command again: it goes on with the draft.")


def finished_draft(draft: Path) -> bytes:
    """The reasons of a draft; ``verdict_body_malformed``, or ``reasons_unfinished``."""
    try:
        with open_regular(draft) as file:
            return reasons_of(file.read().decode()).encode()
    except (OSError, UnicodeDecodeError):
        message = f"The draft {draft} cannot be read as UTF-8."
        raise CommandRefused("verdict_body_malformed", message, next_action="Save it as UTF-8.") from None


@contextmanager
def kept_draft(draft: Path) -> Iterator[None]:
    """Show where the draft is, where the command ends before the Verdict is recorded."""
    try:
        yield
    except BaseException:
        if draft.exists():
            warn(f"your draft is kept: {draft}")
        raise
