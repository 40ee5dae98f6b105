"""``guardian:open BOUNTY_ID``: every Submission of a bounty, or the one that a number or a commitment's begin names.

The list is the Hub's own log, so the API cannot leave a Submission out. One that cannot be opened is reported and does
not keep the others from being opened; what an earlier run of this machine opened is not fetched again.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from service_common.errors import Issue, ServiceError
from service_common.types import BountyId

from service_cli.api import ApiClient, api_of
from service_cli.bounty.facts import RecordedSubmission, recorded_submissions
from service_cli.chain.journal import opened_name, was_done
from service_cli.chain.session import ChainClient, Session
from service_cli.chain.signer import LocalSigner, local_signer
from service_cli.config.settings import Settings
from service_cli.errors import CommandFailed, CommandRefused
from service_cli.guardian.opening import ACCOUNT_KEY, PassOn, guardian_open, keyring_of
from service_cli.shell.output import event, remark, say, warn
from service_cli.shell.text import moment

_NUMBER: Final = re.compile(r"[1-9][0-9]{0,5}")
_PREFIX: Final = re.compile(r"0x[0-9a-f]{1,64}")


@dataclass(frozen=True, slots=True)
class Choice:
    """Which Submission was meant: its number in the list, or the first digits of its commitment."""

    text: str

    @staticmethod
    def parse(text: str) -> "Choice":
        """``3``, or ``0x`` and at least one digit."""
        if _NUMBER.fullmatch(text) is None and _PREFIX.fullmatch(text.lower()) is None:
            raise ValueError("a number of the list, or 0x and the first digits of a commitment")
        return Choice(text.lower())

    def of(self, found: list[RecordedSubmission]) -> RecordedSubmission:
        """The one Submission that it names; none or several are refused."""
        if self.text.startswith("0x"):
            named = [each for each in found if each.commitment.startswith(self.text)]
        else:
            named = [each for each in found if each.number == int(self.text)]
        if len(named) == 1:
            return named[0]
        if named:
            message = f"{len(named)} Submissions begin with {self.text}: {', '.join(str(one.number) for one in named)}."
            raise CommandRefused("submission_ambiguous", message, next_action="Give more digits, or the number.")
        message = f"The bounty has no Submission {self.text}; it has {len(found)}."
        raise CommandRefused("submission_not_recorded", message, next_action=_how_to_name(len(found)))


def _how_to_name(count: int) -> str:
    if not count:
        return "Look at the bounty: service-cli bounty:show BOUNTY_ID."
    return f"Name it by its number from 1 to {count}, or by 0x and how its commitment begins."


def open_submissions(settings: Settings, bounty_id: BountyId, output: Path) -> None:
    """``guardian:open`` of a whole bounty: a directory below ``output`` for each Submission."""
    listed = _Listed.read(settings, bounty_id, with_api=True)
    opened, before, problems = 0, 0, list[Issue]()
    for one in listed.submissions:
        target = output / one.commitment
        if _is_opened(listed.chain, bounty_id, one) and target.is_dir() and any(target.iterdir()):
            before += 1
            remark(f"Submission {one.number} was opened before, in {target}")
            continue
        try:
            guardian_open(settings, bounty_id, one.solver, one.commitment, target, quiet_end=True)
            opened += 1
        except CommandFailed:
            warn(f"stopped at Submission {one.number}; run the command again, it continues there")
            raise
        except ServiceError as error:  # a Solver's mistake or malice ends only its own Submission
            problems.append(Issue(f"Submission {one.number}", f"{error.code}: {error.message}"))
            _report(bounty_id, one, error)
    counts = {"opened": opened, "opened_before": before, "not_opened": len(problems)}
    event("guardian_open.finished", {"bounty_id": str(bounty_id), "output_dir": str(output), **counts})
    remark(f"opened {opened} Submissions below {output}, {before} were opened before, {len(problems)} could not be")
    if problems:
        message = f"{len(problems)} of {len(listed.submissions)} Submissions of bounty {bounty_id} could not be opened."
        next_action = "Each has its reason above: judge a malformed one by it, then run the command again for the rest."
        raise CommandRefused("submissions_not_opened", message, issues=problems[:50], next_action=next_action)
    remark(f"the plain files stay there; once the bounty has ended: service-cli guardian:forget {bounty_id}")


def open_chosen(
    settings: Settings,
    bounty_id: BountyId,
    choice: Choice,
    output: Path | None,
    source: Path | None,
    pass_on: PassOn | None,
) -> None:
    """``guardian:open`` of the one Submission that ``choice`` names."""
    one = choice.of(_Listed.read(settings, bounty_id, with_api=source is None).submissions)
    target = output or default_output(bounty_id) / one.commitment
    guardian_open(settings, bounty_id, one.solver, one.commitment, target, source, pass_on)


def default_output(bounty_id: BountyId) -> Path:
    """Where the work of a bounty goes unless a directory is named."""
    return Path("submissions") / str(bounty_id)


@dataclass(frozen=True, slots=True)
class _Listed:
    """A bounty whose Submissions were listed, past its reveal point."""

    chain: ChainClient
    submissions: list[RecordedSubmission]

    @staticmethod
    def read(settings: Settings, bounty_id: BountyId, *, with_api: bool) -> "_Listed":
        """Read and show the list; what would keep every Submission closed is refused here, once."""
        keyring_of(settings)
        if with_api:
            session = Session.open(settings, local_signer(settings, ACCOUNT_KEY))
            chain = session.chain
            _require_guardian(session, bounty_id)
        else:
            chain = ChainClient.checked(settings)
        bounty, now = chain.bounty(bounty_id), chain.latest().time
        if now < bounty.reveal_at:
            message = f"Nobody can open this before the reveal point, {moment(bounty.reveal_at, now)}."
            raise CommandRefused("reveal_point_not_reached", message, next_action="Run it again after that time.")
        found = recorded_submissions(chain, _api(settings), bounty_id)
        for one in found:
            numbers = {"number": one.number, "of": len(found), "block_number": one.block_number}
            event("guardian_open.submission_listed", _names(bounty_id, one) | numbers)
            done = ", opened before" if _is_opened(chain, bounty_id, one) else ""
            remark(f"Submission {one.number} of {len(found)}: {one.commitment} by {one.solver}{done}")
        if not found:
            say(f"bounty {bounty_id} has no Submission")
        return _Listed(chain, found)


def _require_guardian(session: Session[LocalSigner], bounty_id: BountyId) -> None:
    if session.account not in session.chain.pinned_roster(session.chain.bounty(bounty_id)).accounts:
        message = f"{session.account} is not on the roster that bounty {bounty_id} pinned."
        raise CommandRefused("not_guardian", message, next_action="Use a pinned Guardian's account.")


def _api(settings: Settings) -> ApiClient | None:
    """For the list the API is only a hint; with bytes from a folder it may be unknown."""
    return api_of(settings) if settings.knows("SERVICE_API_BASE_URL") else None


def _is_opened(chain: ChainClient, bounty_id: BountyId, one: RecordedSubmission) -> bool:
    return was_done(chain.chain_id, chain.hub.address, *opened_name(str(bounty_id), one.solver, one.commitment))


def _names(bounty_id: BountyId, one: RecordedSubmission) -> dict[str, object]:
    return {"bounty_id": str(bounty_id), "solver": one.solver, "submission_commitment": one.commitment}


def _report(bounty_id: BountyId, one: RecordedSubmission, error: ServiceError) -> None:
    why = {"number": one.number, "code": error.code, "message": error.message, "next_action": error.next_action}
    event("guardian_open.submission_not_opened", _names(bounty_id, one) | why)
    remark(f"Submission {one.number} could not be opened: {error.message}", urgent=True)
    remark(f"next: {error.next_action}", urgent=True)
