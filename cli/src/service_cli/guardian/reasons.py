"""A Guardian's reasons, written in an editor: a template of the page's criteria, and a draft that no failure loses.

The template is made of the page whose bytes hash to the bounty's spec commitment; where there is none, it has no
criteria. What a Poster wrote is quoted, bounded and without control characters. The draft is a private file in the
state directory; it is removed once the Verdict is recorded.
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

import click
from service_common.chain.hub import BountyView
from service_common.domain.challenge import ChallengePage, parse_challenge
from service_common.domain.commitments import spec_commitment
from service_common.domain.lifecycle import VerdictKind
from service_common.errors import Issue, ServiceError
from service_common.types import BountyId

from service_cli.api import ApiClient, api_of, bounty_detail
from service_cli.bounty.facts import recorded_submissions
from service_cli.chain.session import ChainClient, Session
from service_cli.chain.signer import LocalSigner, local_signer
from service_cli.config.settings import Settings
from service_cli.errors import CommandFailed, CommandRefused
from service_cli.guardian.opening import Choice
from service_cli.guardian.verdict import Named, record, require_recordable
from service_cli.shell.output import say, warn
from service_cli.shell.text import printable

_MOST_QUOTED: Final = 400
_COMMENT: Final = "<!-- service-cli:"
_MET: Final = "<Met? What you ran or read, and what came out.>"
_MISSED: Final = "<Which Submissions miss it? What you ran or read, and what came out.>"
_RESULT: Final = "<Why this Verdict follows, in a sentence or two.>"
_PLACEHOLDERS: Final = frozenset({_MET, _MISSED, _RESULT})


def named_by(settings: Settings, bounty_id: BountyId, choice: Choice) -> Named:
    """The Solver and Submission that a number or the begin of a commitment names, by the Hub's log."""
    chain = ChainClient.checked(settings)
    one = choice.of(recorded_submissions(chain, api_of(settings), bounty_id))
    return one.solver, one.commitment


def print_template(settings: Settings, bounty_id: BountyId, kind: VerdictKind, named: Named) -> None:
    """``guardian:verdict --template``: the template on stdout, as text."""
    chain = ChainClient.checked(settings)
    page = _page(api_of(settings), chain.bounty(bounty_id), bounty_id)
    click.echo(template(bounty_id, kind, named, page), nl=False)


def record_from_editor(
    settings: Settings, bounty_id: BountyId, kind: VerdictKind, named: Named, *, replace: bool
) -> None:
    """``guardian:verdict`` without a file: refuse what the Hub would refuse, then have the reasons written."""
    session = Session.open(settings, local_signer(settings, "SERVICE_GUARDIAN_ACCOUNT_PRIVATE_KEY"))
    draft_names = ("draft", str(bounty_id), session.account, kind.value, named[1] if named else "none")
    with session.journal(*draft_names) as journal, _kept(draft := journal.folder / "reasons.md"):
        if draft.exists():  # perhaps of a Verdict that is on its way: recording goes on with that one
            say(f"going on with your draft of before: {draft}")
        else:
            require_recordable(session, bounty_id, named, replace=replace)
            _write_draft(session, draft, bounty_id, kind, named)
        _edit(draft)
        record(session, bounty_id, kind, named, _finished(draft), replace=replace)
        draft.unlink()


def template(bounty_id: BountyId, kind: VerdictKind, named: Named, page: ChallengePage | None) -> str:
    """What a Guardian fills in; a line that begins with ``<!-- service-cli:`` is not part of the Verdict."""
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


def filled_in(body: bytes) -> bytes:
    """A body from a file: exactly its bytes, unless it was begun as a template."""
    return reasons_of(body.decode("utf-8", "replace")).encode() if body.startswith(_COMMENT.encode()) else body


def _quoted(text: str) -> list[str]:
    """What a Poster wrote, as a quotation."""
    cut = text if len(text) <= _MOST_QUOTED else f"{text[:_MOST_QUOTED]}…"
    return [f"> {printable(line, _MOST_QUOTED + 1)}".rstrip() for line in cut.strip().splitlines()]


def _page(api: ApiClient, bounty: BountyView, bounty_id: BountyId) -> ChallengePage | None:
    """The bounty's own page, or None with the reason said."""
    try:
        page = bounty_detail(api, bounty_id).json().get("challenge")
        if isinstance(page, str) and spec_commitment(page.encode()) == bounty.spec_commitment:
            return parse_challenge(page.encode())
        reason = "the API has no page that hashes to the bounty's commitment"
    except (ServiceError, UnicodeEncodeError) as error:
        reason = error.message if isinstance(error, ServiceError) else "the page is not UTF-8"
    warn(f"the template has no criteria: {reason}")
    return None


def _write_draft(
    session: Session[LocalSigner], draft: Path, bounty_id: BountyId, kind: VerdictKind, named: Named
) -> None:
    page = _page(session.api, session.chain.bounty(bounty_id), bounty_id)
    try:
        with open(draft, "x", encoding="utf-8", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            file.write(template(bounty_id, kind, named, page))
    except OSError as error:
        message = f"The draft {draft} cannot be written: {error.strerror}."
        raise CommandFailed(
            "file_not_written", message, next_action="Check the state directory, or pass a file."
        ) from None


def _edit(draft: Path) -> None:
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


def _finished(draft: Path) -> bytes:
    try:
        return reasons_of(draft.read_text(encoding="utf-8")).encode()
    except (OSError, UnicodeDecodeError):
        message = f"The draft {draft} cannot be read as UTF-8."
        raise CommandRefused("verdict_body_malformed", message, next_action="Save it as UTF-8.") from None


@contextmanager
def _kept(draft: Path) -> Iterator[None]:
    """Show where the draft is, where the command ends before the Verdict is recorded."""
    try:
        yield
    except BaseException:
        if draft.exists():
            warn(f"your draft is kept: {draft}")
        raise
