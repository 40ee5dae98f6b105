"""``guardian:open``: Submissions opened after the reveal point, with bytes from the API or from a folder.

Where bytes come from does not matter: the envelope must hash to the commitment on chain, and the ciphertext is checked
on opening. Content keys live in this process only.

With a bounty alone it is every Submission of it, or the one that a commitment's first digits name. The list is the
Hub's own log, so the API cannot leave a Submission out. One that cannot be opened is reported and does not keep the
others from being opened; what an earlier run of this machine opened is not fetched again.
"""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final

from bounty_protocol.crypto.beacon import Beacon
from bounty_protocol.crypto.beacon_info import BeaconInfo
from bounty_protocol.crypto.capsule import (
    open_capsule,
)
from bounty_protocol.crypto.x25519 import Identity, parse_keyring
from bounty_protocol.domain.envelope.document import MAX_ENVELOPE_BYTES
from bounty_protocol.errors import Issue, ServiceError
from bounty_protocol.types import BountyId, Bytes32

from service_cli.api import ApiClient, api_of, bounty_detail
from service_cli.chain.beacon import beacon_of, round_signature
from service_cli.chain.journal import OPENED
from service_cli.chain.session import ChainClient
from service_cli.chain.signer import LocalSigner, local_signer
from service_cli.config.env_consent import require_meant
from service_cli.config.environment import GUARDIAN_KEY
from service_cli.config.settings import Settings
from service_cli.disk import open_regular
from service_cli.errors import CommandFailed, CommandRefused
from service_cli.queries.next_steps import for_guardian
from service_cli.queries.state import BountyState, read_state, require_same_terms, require_seat
from service_cli.queries.submissions import Choice, CommitmentBeginning, Listing, Pair, RecordedSubmission, listing
from service_cli.ui.arguments import require_new
from service_cli.ui.output import emit, say, warn
from service_cli.ui.text import moment
from service_cli.work.events import (
    ListedSubmission,
    OpenedBounty,
    OpenedSubmission,
    UnopenedSubmission,
)
from service_cli.work.submission import (
    Submission,
    check_envelope,
    checked_submission,
    fetch_submission,
    sealed_data_errors,
    write_artifact,
)


def passed_on(folder: Path, bounty_id: BountyId, pair: Pair) -> Submission:
    """Return the Submission whose envelope and ciphertext somebody provided, if both are in this folder.

    Special files, broken links and oversized files are refused by name.
    """
    ciphertext = folder / "ciphertext.age"
    content = _read(folder / "envelope.json", MAX_ENVELOPE_BYTES + 1)
    found = checked_submission(content, bounty_id, pair, lambda: ciphertext)
    _read(ciphertext, 1)
    return found


def _read(path: Path, most: int) -> bytes:
    try:
        with open_regular(path) as file:
            return file.read(most)
    except OSError:
        raise CommandRefused("file_unreadable", f"{path} cannot be read.", next_action="Check its path.") from None


_FORM: Final = 'Set SERVICE_GUARDIAN_PRIVATE_KEYS_JSON to a JSON array: ["AGE-SECRET-KEY-1..."], newest key first.'


def keyring_of(settings: Settings) -> tuple[Identity, ...]:
    """Return this Guardian's encryption keys, newest first."""
    require_meant(settings, "SERVICE_GUARDIAN_PRIVATE_KEYS_JSON")
    source = settings.environment.source("SERVICE_GUARDIAN_PRIVATE_KEYS_JSON")
    if source is None:
        message = "SERVICE_GUARDIAN_PRIVATE_KEYS_JSON is not set."
        raise CommandRefused("key_missing", message, next_action=_FORM)
    try:
        return parse_keyring(settings.environment.read_source(source).strip())
    except ServiceError as error:
        message = f"{source.variable} is not a keyring: {error.message}"
        raise CommandRefused(error.code, message, next_action=_FORM) from None


@dataclass(frozen=True)
class SealedBounty:
    """A bounty, and what its sealed work is fetched, checked and opened with: none of it changes any more."""

    chain: ChainClient
    state: BountyState
    keyring: tuple[Identity, ...]
    api: ApiClient | None
    folder: Path | None = None
    """Where another person passed the files on."""
    _signatures: dict[int, Beacon] = field(default_factory=dict)
    """The beacon's signatures that were read, by round: those of one bounty are sealed for the same."""
    _agreeing: set[ApiClient] = field(default_factory=set)
    """The API once it has shown the same bounty: of many envelopes that do not fit, one request is enough."""

    @staticmethod
    def read(settings: Settings, bounty_id: BountyId, source: Path | None = None) -> "SealedBounty":
        """Prepare to open work with this machine's keys, from bytes of the API or of the folder ``source``."""
        keyring = keyring_of(settings)
        if source is None:
            local_signer(settings, GUARDIAN_KEY)  # refused before anything is asked
        chain = ChainClient(settings)
        api = api_of(settings, chain) if source is None else None
        if source is not None and settings.knows("SERVICE_API_BASE_URL"):
            api = api_of(settings, is_needed=False)  # only a hint for the list: it may be gone
        return SealedBounty(chain, read_state(chain, bounty_id), keyring, api, source)

    @cached_property
    def info(self) -> BeaconInfo:
        """The deployment's beacon."""
        return beacon_of(self.chain.settings)

    @cached_property
    def signer(self) -> LocalSigner:
        """The Guardian's account."""
        return local_signer(self.chain.settings, GUARDIAN_KEY)

    def recorded(self, pairs: Iterable[Pair]) -> ChainClient:
        """Ask what the contract records of these Solvers, in one request."""
        chain = self.chain
        return chain.ask(*(chain.hub.call("getSubmission", self.state.bounty_id, solver) for solver, _ in pairs))

    def open(self, pair: Pair, recorded: ChainClient) -> tuple[Submission, Identity]:
        """Return the checked Submission and its content key, if the contract has it ``recorded`` as that Solver's.

        An envelope that does not fit the bounty is ``read_model_mismatch`` if the API shows another bounty.
        """
        self.require_guardian()
        if recorded.hub.submission(self.state.bounty_id, pair[0]) != pair[1]:
            message = "The contract does not record this Submission as that Solver's current one."
            next_action = "guardian:judgeable lists the current ones."
            raise CommandRefused("submission_not_recorded", message, next_action=next_action)
        if self.folder is None:
            api = self.api or api_of(self.chain.settings, self.chain)
            submission = fetch_submission(api, self.signer, self.state.bounty_id, pair)
        else:
            submission = passed_on(self.folder, self.state.bounty_id, pair)
        try:
            check_envelope(self.chain, submission, self.state, self.info)
        except CommandRefused:
            self._hold_against_api()
            raise
        return submission, self._unlock(submission)

    def write(self, opened: tuple[Submission, Identity], output_dir: Path, *, original_names: bool) -> OpenedSubmission:
        """Fetch the sealed work and open it in ``output_dir``; change names that tools act on unless ``original_names``
        is set.
        """
        submission, identity = opened

        def remember(_directory: Path) -> None:
            names = (str(self.state.bounty_id), submission.solver, submission.commitment)
            with suppress(CommandFailed):  # the work is open; that it is not remembered is no failure
                self.chain.records.note_done(OPENED, *names)

        return write_artifact(
            submission, identity, output_dir, OpenedSubmission, original_names=original_names, ready=remember
        )

    def require_guardian(self) -> None:
        """Refuse an account that may not read this bounty's sealed work."""
        if self.folder is None:
            require_seat(self.state.roster, self.state.bounty_id, self.signer.address)

    def _hold_against_api(self) -> None:
        """Refuse a bounty on which endpoint and API disagree; an API that does not answer contradicts nothing."""
        if self.api is None or self.api in self._agreeing:
            return
        try:
            detail = bounty_detail(self.api, self.state.bounty_id).json()
        except ServiceError:
            return
        require_same_terms(self.chain, self.state, detail)
        self._agreeing.add(self.api)

    def _unlock(self, submission: Submission) -> Identity:
        """Return the content key by opening both locks of the capsule."""
        envelope, number = submission.envelope, submission.envelope.reveal_policy.round
        with sealed_data_errors():
            if number not in self._signatures:
                self._signatures[number] = round_signature(self.chain.settings, self.info, number, self.state.now)
            return open_capsule(
                envelope.key_capsule,
                beacon=self._signatures[number],
                info=self.info,
                keyring=self.keyring,
                roster_size=len(self.state.roster.members),
                content_public_key=envelope.content_public_key,
                expected=envelope.binding,
            )

    def listed(self) -> Listing:
        """Show and return the list of the bounty's Submissions; refuse here whatever would keep all of them closed."""
        bounty_id, bounty, now = self.state.bounty_id, self.state.bounty, self.state.now
        self.require_guardian()
        if now < bounty.reveal_at:
            message = f"Nobody can open this before the reveal point, {moment(bounty.reveal_at, now)}."
            raise CommandRefused(
                "reveal_point_not_reached", message, next_action="Run the command again after that time."
            )
        found = listing(self.chain.at(self.state.head.number), self.api, bounty_id)
        for one in found.submissions:
            names = (bounty_id, one.solver, one.commitment)
            emit(ListedSubmission(*names, len(found.submissions), one.block_number))
        if not found.submissions:
            say(f"bounty {bounty_id} has no Submission")
        return found

    def opened_in(self, one: RecordedSubmission, below: Path) -> bool:
        """Return whether an earlier run has opened the Submission there; False if the files are gone."""
        place, was_opened = below / folder_name(one.commitment), self.chain.records.was_opened
        return was_opened(self.state.bounty_id, *one.pair) and place.is_dir() and any(place.iterdir())


SEALED_BYTES: Final = 2 << 30
"""Sealed work that one run fetches of a bounty, if no limit is given."""
OF_ALL: Final = frozenset({"reveal_point_not_reached", "read_model_mismatch", "sources_disagree"})
"""Refusals that are no Solver's fault: a round that is the same for all, and sources that contradict each other."""


def open_one(
    settings: Settings,
    bounty_id: BountyId,
    choice: Choice,
    output: Path | None,
    source: Path | None,
    *,
    original_names: bool,
) -> OpenedSubmission:
    """Run ``guardian:open`` for one Submission; take the files that ``source`` holds from there."""
    if output is not None:
        require_new(output)
    sealed = SealedBounty.read(settings, bounty_id, source)
    if isinstance(choice, CommitmentBeginning):
        listed = [one.pair for one in sealed.listed().submissions]
        action = f"See the bounty: service-cli bounty:show {bounty_id}."
        choice = choice.of(listed, f"of bounty {bounty_id}", action)
    target = output or default_output(bounty_id) / folder_name(choice[1])
    require_new(target)
    opened = sealed.open(choice, sealed.recorded([choice]))
    return sealed.write(opened, target, original_names=original_names)


def open_submissions(
    settings: Settings, bounty_id: BountyId, output: Path, limit: int | None = None, *, original_names: bool
) -> OpenedBounty:
    """Run ``guardian:open`` for a whole bounty, each Submission in a directory below ``output``.

    At most ``limit`` bytes of sealed work are fetched, since junk costs its sender almost nothing.
    """
    if not output.is_dir():  # no Submission could be written below it
        require_new(output)
    sealed = SealedBounty.read(settings, bounty_id)
    found = sealed.listed()
    if found.api_agrees is False:
        warn("warning: the API's list of Submissions differs from the endpoint's log; in a Verdict, name one in full")
    closed = [one for one in found.submissions if not sealed.opened_in(one, output)]
    recorded = sealed.recorded(one.pair for one in closed)
    opened, before, problems, left_out = 0, len(found.submissions) - len(closed), list[Issue](), list[Bytes32]()
    room = SEALED_BYTES if limit is None else limit
    for one in closed:
        try:
            target = output / folder_name(one.commitment)
            submission, identity = sealed.open(one.pair, recorded)
            require_new(target)
            if submission.envelope.ciphertext.byte_length > room:
                left_out.append(one.commitment)
                continue
            room -= submission.envelope.ciphertext.byte_length
            sealed.write((submission, identity), target, original_names=original_names)
            opened += 1
        except ServiceError as error:  # a Solver's mistake or malice ends only its own Submission
            if isinstance(error, CommandFailed) or error.code in OF_ALL:
                warn(f"stopped at Submission {one.commitment}; run the command again to continue there")
                raise
            problems.append(Issue(f"Submission {one.commitment}", f"{error.code}: {error.message}"))
            why = (error.code, error.message, error.next_action)
            emit(UnopenedSubmission(bounty_id, one.solver, one.commitment, *why))
    counts = (opened, before, len(problems), tuple(left_out))
    hub, guardian = sealed.chain.hub, sealed.signer.address
    now = sealed.chain.ask(hub.call("getVerdict", bounty_id, guardian), hub.call("getBounty", bounty_id))
    has_judged = now.hub.verdict(bounty_id, guardian).kind is not None
    bounty = now.bounty(bounty_id)
    following = for_guardian(bounty_id, bounty, has_unopened=bool(left_out), has_judged=has_judged)
    done = emit(OpenedBounty(bounty_id, str(output), *counts), following)
    if problems:
        message = f"{len(problems)} of {len(found.submissions)} Submissions of bounty {bounty_id} could not be opened."
        next_action = "Each reason is above: judge a malformed one by it, then run the command again for the rest."
        raise CommandRefused("submissions_not_opened", message, issues=problems[:50], next_action=next_action)
    return done


def folder_name(commitment: Bytes32) -> str:
    """Return the directory name of a Submission: the first digits of its commitment, as ``--submission`` accepts
    them.
    """
    return commitment[:18]


def default_output(bounty_id: BountyId) -> Path:
    """Return the default directory for a bounty's work."""
    return Path("submissions") / str(bounty_id)
