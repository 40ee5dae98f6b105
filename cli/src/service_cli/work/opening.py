"""``guardian:open``: Submissions opened after the reveal point, with bytes from the API or from a folder.

Where bytes come from does not matter: the envelope must hash to the commitment on chain, and the ciphertext is checked
on opening. Content keys live in this process only.

With a bounty alone it is every Submission of it, or the one that a number or a commitment's first digits name. The list
is the Hub's own log, so the API cannot leave a Submission out. One that cannot be opened is reported and does not keep
the others from being opened; what an earlier run of this machine opened is not fetched again.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from bounty_protocol.crypto.beacon import Beacon
from bounty_protocol.crypto.beacon_info import BeaconInfo
from bounty_protocol.crypto.capsule import (
    open_capsule,
)
from bounty_protocol.crypto.x25519 import Identity, parse_keyring
from bounty_protocol.domain.envelope import MAX_ENVELOPE_BYTES
from bounty_protocol.errors import Issue, ServiceError
from bounty_protocol.types import Address, BountyId, Bytes32

from service_cli.api import ApiClient, api_of, bounty_detail
from service_cli.api_session import ApiSession
from service_cli.chain.agreement import Fact, disagreement
from service_cli.chain.beacon import beacon_of, round_signature
from service_cli.chain.journal import note_done, opened_name, was_opened
from service_cli.chain.session import ChainClient, chain_errors
from service_cli.chain.signer import LocalSigner, local_signer, mention_plain_key
from service_cli.config.env_consent import require_meant
from service_cli.config.environment import GUARDIAN_KEY
from service_cli.config.settings import Settings
from service_cli.disk import open_regular
from service_cli.errors import CommandFailed, CommandRefused
from service_cli.queries.next_steps import for_guardian
from service_cli.queries.state import BountyState, read_state, require_same_terms
from service_cli.queries.submissions import Pair, RecordedSubmission, SubmissionChoice, listing, note_opened_as
from service_cli.ui.arguments import require_new
from service_cli.ui.output import emit, say, warn
from service_cli.ui.text import moment
from service_cli.work.events import (
    ListedSubmission,
    OpenedBounty,
    OpenedSubmission,
    UnopenedSubmission,
    VerifiedSubmission,
)
from service_cli.work.submission import (
    Submission,
    check_envelope,
    checked_submission,
    fetch_submission,
    sealed_data_errors,
    write_artifact,
)

_NAMES: Final = "envelope.json, ciphertext.age"


@dataclass(frozen=True, slots=True)
class Folder:
    """The parts of a Submission that another person passed on: envelope, ciphertext, or only one of them.

    Files of another kind, links to nowhere and oversized ones are refused by name.
    """

    path: Path

    @property
    def envelope(self) -> Path:
        return self.path / "envelope.json"

    @property
    def ciphertext(self) -> Path:
        return self.path / "ciphertext.age"

    def submission(self, bounty_id: BountyId, pair: Pair, fetch: Callable[[], Submission]) -> Submission:
        """The Submission; ``fetch`` reads it only where envelope or ciphertext is not here."""
        if not any(path.exists() for path in (self.envelope, self.ciphertext)):
            message = f"{self.path} holds none of {_NAMES}."
            raise CommandRefused("file_unreadable", message, next_action="Give the files these names.")
        if self.ciphertext.exists():
            _read(self.ciphertext, 1)
        if not self.envelope.exists():
            fetched = fetch()
            return replace(fetched, source=self.ciphertext) if self.ciphertext.exists() else fetched
        content = _read(self.envelope, MAX_ENVELOPE_BYTES + 1)
        found = checked_submission(content, bounty_id, pair, lambda: self.ciphertext)
        return found if self.ciphertext.exists() else replace(found, source=fetch().source)


def _read(path: Path, most: int) -> bytes:
    try:
        with open_regular(path) as file:
            return file.read(most)
    except OSError:
        raise CommandRefused("file_unreadable", f"{path} cannot be read.", next_action="Check its rights.") from None


def guardian_open(
    settings: Settings,
    bounty_id: BountyId,
    solver: Address,
    commitment: Bytes32,
    output_dir: Path,
    source: Path | None = None,
    *,
    original_names: bool = False,
) -> OpenedSubmission:
    """One Submission; what ``source`` holds of its files is taken from there.

    Names that tools obey are laid out as others unless ``original_names`` is set.
    """
    require_new(output_dir)
    if source is not None:
        submission, identity = open_from_folder(settings, Folder(source), bounty_id, (solver, commitment))
    else:
        signer, keyring = local_signer(settings, GUARDIAN_KEY), keyring_of(settings)
        session = ApiSession.open(settings, signer)
        sealed = SealedBounty.of(session, read_state(session.chain, bounty_id))
        submission, identity = open_as_guardian(session, sealed, keyring, (solver, commitment))
    emit(VerifiedSubmission(*submission.names()))

    def remember(_directory: Path) -> None:
        with suppress(CommandFailed):  # the work is open; that it is not remembered is no failure
            note_done(settings.chain_id, settings.hub_address(), *opened_name(str(bounty_id), solver, commitment))

    return write_artifact(
        submission, identity, output_dir, OpenedSubmission, original_names=original_names, ready=remember
    )


def open_as_guardian(
    session: ApiSession[LocalSigner], sealed: "SealedBounty", keyring: tuple[Identity, ...], pair: Pair
) -> tuple[Submission, Identity]:
    """The checked Submission and its content key, by this Guardian's encryption keys."""
    sealed.require_recorded(*pair)
    submission = fetch_submission(session.api, session.signer, sealed.state.bounty_id, pair)
    sealed.check(submission)
    return submission, sealed.unlock(submission, keyring)


def open_from_folder(
    settings: Settings, folder: Folder, bounty_id: BountyId, pair: Pair
) -> tuple[Submission, Identity]:
    """The same with what a folder holds of it; only what is missing is read from the API, with a signed request."""

    def fetch() -> Submission:
        api = api_of(settings, sealed.chain, is_needed=False)
        return fetch_submission(api, local_signer(settings, GUARDIAN_KEY), bounty_id, pair)

    keyring = keyring_of(settings)
    chain = ChainClient.checked(settings)
    state, info = read_state(chain, bounty_id), beacon_of(settings)
    sealed = SealedBounty(chain, state, info, _api(settings, is_needed=False))
    sealed.require_recorded(*pair)
    submission = folder.submission(bounty_id, pair, fetch)
    sealed.check(submission)
    return submission, sealed.unlock(submission, keyring)


def keyring_of(settings: Settings) -> tuple[Identity, ...]:
    """This Guardian's encryption keys, newest first."""
    require_meant(settings, "SERVICE_GUARDIAN_PRIVATE_KEYS_JSON")
    source = settings.environment.source("SERVICE_GUARDIAN_PRIVATE_KEYS_JSON")
    if source is None:
        message = "SERVICE_GUARDIAN_PRIVATE_KEYS_JSON is not set."
        raise CommandRefused("key_missing", message, next_action="Set it to a JSON array of AGE-SECRET-KEY-1… strings.")
    mention_plain_key(settings, source)
    return parse_keyring(settings.environment.read_source(source).strip())


@dataclass(frozen=True, slots=True)
class SealedBounty:
    """A bounty, and what its sealed work is checked against and opened with: none of it changes any more."""

    chain: ChainClient
    state: BountyState
    info: BeaconInfo
    api: ApiClient | None
    _signatures: dict[int, Beacon] = field(default_factory=dict)
    """The beacon's signatures that were read, by round: those of one bounty are sealed for the same."""
    _agreeing: set[ApiClient] = field(default_factory=set)
    """The API once it has shown the same bounty: of many envelopes that do not fit, one request is enough."""

    @staticmethod
    def of(session: ApiSession[LocalSigner], state: BountyState) -> "SealedBounty":
        """What a Guardian opens with the session's API and the deployment's beacon."""
        return SealedBounty(session.chain, state, beacon_of(session.settings), session.api)

    def require_recorded(self, solver: Address, commitment: Bytes32) -> None:
        """Refuse what the contract does not record as the Solver's current Submission."""
        with chain_errors():
            recorded = self.chain.hub.submission(self.state.bounty_id, solver)
        if recorded != commitment:
            message = "The contract does not record this Submission as that Solver's current one."
            raise CommandRefused(
                "submission_not_recorded", message, next_action="guardian:judgeable lists the current ones."
            )

    def check(self, submission: Submission) -> None:
        """Refuse an envelope that does not fit the bounty; ``read_model_mismatch`` where the API has another one."""
        try:
            check_envelope(self.chain, submission, self.state, self.info)
        except CommandRefused:
            self._hold_against_api()
            raise

    def _hold_against_api(self) -> None:
        """Refuse what an endpoint alone says of the bounty; an API that does not answer contradicts nothing."""
        if self.api is None or self.api in self._agreeing:
            return
        try:
            detail = bounty_detail(self.api, self.state.bounty_id).json()
        except ServiceError:
            return
        require_same_terms(self.chain, self.state, detail)
        self._agreeing.add(self.api)

    def unlock(self, submission: Submission, keyring: tuple[Identity, ...]) -> Identity:
        """The content key, from both locks of the capsule."""
        envelope = submission.envelope
        with sealed_data_errors():
            return open_capsule(
                envelope.key_capsule,
                beacon=self._signature(envelope.reveal_policy.round),
                info=self.info,
                keyring=keyring,
                roster_size=len(self.state.roster.members),
                content_public_key=envelope.content_public_key,
                expected=envelope.binding,
            )

    def _signature(self, number: int) -> Beacon:
        if number not in self._signatures:
            now = self.chain.latest().time
            self._signatures[number] = round_signature(self.chain.settings, self.info, number, now)
        return self._signatures[number]


def open_submissions(
    settings: Settings,
    bounty_id: BountyId,
    output: Path,
    limit: int | None = None,
    *,
    original_names: bool,
) -> OpenedBounty:
    """Open every Submission of a bounty, or ``limit`` of them, each in a directory below ``output``."""
    listed = ListedSubmissions.read(settings, bounty_id, with_api=True)
    if listed.api_agrees is False:
        warn("warning: the API lists other Submissions than the endpoint's log; in a Verdict, name one in full")
    opened, before, problems, left_out = 0, 0, list[Issue](), list[int]()
    for one in listed.submissions:
        target = output / folder_name(one)
        if (there := _opened_in(listed.chain, bounty_id, one, output)) is not None:
            target, before = there, before + 1
            listed.note_opened(bounty_id, one)
            continue
        if opened == limit:
            left_out.append(one.number)
            continue
        try:
            pair = (one.solver, one.commitment)
            guardian_open(settings, bounty_id, *pair, target, original_names=original_names)
            listed.note_opened(bounty_id, one)
            opened += 1
        except ServiceError as error:  # a Solver's mistake or malice ends only its own Submission
            if isinstance(error, CommandFailed) or error.code in OF_ALL:
                warn(f"stopped at Submission {one.number}; run the command again, it continues there")
                raise
            problems.append(Issue(f"Submission {one.number}", f"{error.code}: {error.message}"))
            _report(bounty_id, one, error)
    counts = (opened, before, len(problems), tuple(left_out))
    done = emit(OpenedBounty(bounty_id, str(output), *counts), _next(listed.chain, bounty_id))
    if problems:
        message = f"{len(problems)} of {len(listed.submissions)} Submissions of bounty {bounty_id} could not be opened."
        next_action = "Each has its reason above: judge a malformed one by it, then run the command again for the rest."
        raise CommandRefused("submissions_not_opened", message, issues=problems[:50], next_action=next_action)
    return done


OF_ALL: Final = frozenset({"reveal_point_not_reached", "read_model_mismatch", "sources_disagree"})
"""Refusals that are no Solver's fault: a round that is the same for all, and witnesses that contradict each other."""


def open_chosen(
    settings: Settings,
    bounty_id: BountyId,
    choice: SubmissionChoice,
    output: Path | None,
    source: Path | None,
    *,
    original_names: bool,
) -> OpenedSubmission | OpenedBounty:
    """``guardian:open`` of the one Submission that ``choice`` names."""
    listed = ListedSubmissions.read(settings, bounty_id, with_api=source is None)
    one = choice.of(listed.submissions)
    if listed.api_agrees is False:
        raise disagreement(Fact.NUMBER, listed.chain.named, "the API")
    below = default_output(bounty_id)
    there = _opened_in(listed.chain, bounty_id, one, below) if output is None else None
    if there is not None:
        return emit(OpenedBounty(bounty_id, str(there), 0, 1, 0, ()), _next(listed.chain, bounty_id))
    target = output or below / folder_name(one)
    pair = (one.solver, one.commitment)
    done = guardian_open(settings, bounty_id, *pair, target, source, original_names=original_names)
    listed.note_opened(bounty_id, one)
    return done


def _next(chain: ChainClient, bounty_id: BountyId) -> str:
    return for_guardian(bounty_id, chain.bounty(bounty_id), has_judged=False)


def folder_name(one: RecordedSubmission) -> str:
    """The directory of a listed Submission: its number, and how its commitment begins."""
    return f"{one.number}-{one.commitment[:8]}"


def _opened_in(chain: ChainClient, bounty_id: BountyId, one: RecordedSubmission, below: Path) -> Path | None:
    """Return where an earlier run has opened it; None where it has not, or the files are gone."""
    place = below / folder_name(one)
    return place if _is_opened(chain, bounty_id, one) and place.is_dir() and any(place.iterdir()) else None


def default_output(bounty_id: BountyId) -> Path:
    """Where the work of a bounty goes unless a directory is named."""
    return Path("submissions") / str(bounty_id)


@dataclass(frozen=True, slots=True)
class ListedSubmissions:
    """A bounty whose Submissions were listed, past its reveal point."""

    chain: ChainClient
    submissions: list[RecordedSubmission]
    api_agrees: bool | None
    """Whether the API lists the same; None where it could not be asked."""

    def note_opened(self, bounty_id: BountyId, one: RecordedSubmission) -> None:
        """Remember the number of what was opened: it is what the person saw, whoever listed it so."""
        with suppress(CommandFailed):
            note_opened_as(self.chain, bounty_id, one)

    @staticmethod
    def read(settings: Settings, bounty_id: BountyId, *, with_api: bool) -> "ListedSubmissions":
        """Read and show the list; what would keep every Submission closed is refused here, once."""
        keyring_of(settings)
        if with_api:
            session = ApiSession.open(settings, local_signer(settings, GUARDIAN_KEY))
            chain = session.chain
            _require_guardian(session, bounty_id)
        else:
            chain = ChainClient.checked(settings)
        bounty, now = chain.bounty(bounty_id), chain.latest().time
        if now < bounty.reveal_at:
            message = f"Nobody can open this before the reveal point, {moment(bounty.reveal_at, now)}."
            raise CommandRefused("reveal_point_not_reached", message, next_action="Run it again after that time.")
        listed = listing(chain, _api(settings, is_needed=with_api), bounty_id)
        found = listed.submissions
        for one in found:
            names = (bounty_id, one.solver, one.commitment)
            emit(ListedSubmission(*names, one.number, len(found), one.block_number))
        if not found:
            say(f"bounty {bounty_id} has no Submission")
        return ListedSubmissions(chain, found, listed.api_agrees)


def _require_guardian(session: ApiSession[LocalSigner], bounty_id: BountyId) -> None:
    if session.account not in session.chain.pinned_roster(session.chain.bounty(bounty_id)).accounts:
        message = f"{session.account} is not on the roster that bounty {bounty_id} pinned."
        raise CommandRefused("not_guardian", message, next_action="Use a pinned Guardian's account.")


def _api(settings: Settings, *, is_needed: bool) -> ApiClient | None:
    """For the list the API is only a hint; with bytes from a folder it may be unknown, or gone."""
    return api_of(settings, is_needed=is_needed) if settings.knows("SERVICE_API_BASE_URL") else None


def _is_opened(chain: ChainClient, bounty_id: BountyId, one: RecordedSubmission) -> bool:
    return was_opened(chain.chain_id, chain.hub.address, bounty_id, one.solver, one.commitment)


def _report(bounty_id: BountyId, one: RecordedSubmission, error: ServiceError) -> None:
    why = (error.code, error.message, error.next_action)
    emit(UnopenedSubmission(bounty_id, one.solver, one.commitment, one.number, *why))
