"""``keep``: the files of one bounty that are needed once no service answers.

Which files there are says the chain; their bytes come from the API, from the storage, or from what was sealed on this
machine, and count only where they hash to what the Hub has recorded. A file gets its name when it is whole, on disk and
right, so a run that is killed leaves nothing wrong behind, and the next one continues.
"""

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from bounty_protocol.chain.hub import BountyView
from bounty_protocol.domain.commitments import report_commitment, spec_commitment, submission_commitment
from bounty_protocol.domain.envelope import Envelope, parse_envelope
from bounty_protocol.errors import Issue, ServiceError
from bounty_protocol.foreign_json import read_object
from bounty_protocol.types import BountyId, Bytes32
from bounty_protocol.wire.submissions import SubmissionContent

from service_cli.api import ApiClient, api_of, bounty_detail
from service_cli.audit.collect import ServiceQuestions
from service_cli.audit.history import ServiceEvidence
from service_cli.audit.run import KEYS, evidence_of, write_evidence
from service_cli.bounty.facts import RecordedSubmission
from service_cli.bounty.verdicts import recorded_verdicts
from service_cli.chain.journal import journal_folder
from service_cli.chain.session import ChainClient
from service_cli.chain.signer import LocalSigner, local_signer
from service_cli.config.settings import Settings
from service_cli.disk import open_regular, sync_file, sync_folder
from service_cli.errors import CommandFailed, CommandRefused
from service_cli.guardian.opening import folder_name
from service_cli.keeping.events import KeptBounty, KeptFile, KeptKind
from service_cli.keeping.readme import README, readme
from service_cli.shell.output import emit, remark, say
from service_cli.shell.phrases import size
from service_cli.solver.sealing import CIPHERTEXT, ENVELOPE
from service_cli.storage import copy, digest_of, download, storage_url
from service_cli.submissions import KEPT
from service_cli.witnesses.numbers import listing

PAGE: Final = "challenge.md"
VERDICTS: Final = "verdicts"
RECORD: Final = "record.json"
EVIDENCE: Final = "audit.zip"
_SPARE_BYTES: Final = 64 * 2**20
"""Left free on the disk."""
_LATER: Final = "Run it again: it continues. What no service has any more, ask its Solver or another Guardian for."


def keep_bounty(settings: Settings, bounty_id: BountyId, directory: Path, sign_as: str | None) -> KeptBounty:
    """The command ``keep``; ``sign_as`` (``poster`` or ``guardian``) names whose key reads the sealed work."""
    chain = ChainClient.checked(settings)
    signer = None if sign_as is None else local_signer(settings, KEYS[sign_as])
    bounty = chain.bounty(bounty_id)
    if signer is not None:
        _require_reader(chain, bounty_id, bounty, signer)
    keeping = _Keeping(chain, api_of(settings, chain), bounty_id, bounty, signer, _Folder.made(directory))
    keeping.keep_page()
    keeping.keep_verdicts()
    keeping.keep_submissions()
    if bounty.outcome is not None:
        keeping.keep_evidence()
    keeping.folder.write(README, readme(chain, bounty_id, bounty).encode())
    return keeping.finish()


def _require_reader(chain: ChainClient, bounty_id: BountyId, bounty: BountyView, signer: LocalSigner) -> None:
    if signer.address not in {bounty.poster, *chain.pinned_roster(bounty).accounts}:
        message = f"{signer.address} is neither the Poster nor a Guardian of bounty {bounty_id}."
        next_action = "Leave --sign-as away, or use the Poster's or a Guardian's key."
        raise CommandRefused("not_a_reader", message, next_action=next_action)


@dataclass(slots=True)
class _Folder:
    """The directory, and how many of its files this run kept or found right."""

    path: Path
    kept: int = 0
    before: int = 0

    @staticmethod
    def made(path: Path) -> "_Folder":
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _not_written(path, error) from None
        return _Folder(path)

    def has(self, name: str, is_right: Callable[[bytes], bool]) -> bool:
        """Whether the file is there and right; another one in its place is refused, and never written over."""
        path = self.path / name
        try:
            with open_regular(path) as file:
                content = file.read()
        except FileNotFoundError:
            return False
        except OSError as error:
            raise _in_the_way(path, str(error.strerror)) from None
        if not is_right(content):
            raise _in_the_way(path, "it is not what the chain has recorded")
        self.before += 1
        return True

    def keep(self, kind: KeptKind, name: str, content: bytes) -> None:
        """A file that is new and right."""
        self.write(name, content)
        self.note(kind, name, len(content))

    def note(self, kind: KeptKind, name: str, byte_length: int) -> None:
        """Count and show a file that got its name."""
        self.kept += 1
        emit(KeptFile(kind, name, byte_length))

    def write(self, name: str, content: bytes) -> None:
        """Whole, or not at all."""
        part = self.part(name)
        try:
            part.write_bytes(content)
        except OSError as error:
            raise _not_written(part, error) from None
        self.put(name)

    def part(self, name: str) -> Path:
        """Where a file is until it is whole."""
        path = self.path / f"{name}.part"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _not_written(path.parent, error) from None
        return path

    def put(self, name: str) -> None:
        """Give a whole file its name, on disk."""
        part = self.part(name)
        try:
            sync_file(part)
            part.replace(self.path / name)
            sync_folder(part.parent)
        except OSError as error:
            raise _not_written(part, error) from None


def _not_written(path: Path, error: OSError) -> CommandFailed:
    message = f"{path} cannot be written: {error.strerror}."
    return CommandFailed("file_not_written", message, next_action="Make room or check its rights, then run it again.")


def _in_the_way(path: Path, why: str) -> CommandRefused:
    message = f"{path} is in the way: {why}."
    return CommandRefused("file_exists", message, next_action="Move it away, or name another DIRECTORY.")


@dataclass(slots=True)
class _Keeping:
    """One run."""

    chain: ChainClient
    api: ApiClient
    bounty_id: BountyId
    bounty: BountyView
    signer: LocalSigner | None
    folder: _Folder
    missing: dict[str, str] = field(default_factory=dict)
    """By the name of a file why it could not be kept."""
    questions: ServiceQuestions = field(init=False)
    storage_answers: bool = True

    def __post_init__(self) -> None:
        self.questions = ServiceQuestions(self.missing)

    def keep_page(self) -> None:
        """The challenge page."""

        def fetch() -> bytes:
            page = bounty_detail(self.api, self.bounty_id).json().get("challenge")
            return page.encode() if isinstance(page, str) else b""

        self._keep_hashed(KeptKind.PAGE, PAGE, self.bounty.spec_commitment, spec_commitment, fetch)

    def keep_verdicts(self) -> None:
        """Each Guardian's latest written Verdict."""
        for verdict in recorded_verdicts(self.chain, self.api, self.bounty_id):
            wanted = verdict.report_commitment
            fetch = partial(self._body, f"/api/written-verdicts/{wanted}")
            self._keep_hashed(KeptKind.VERDICT, f"{VERDICTS}/{wanted}.md", wanted, report_commitment, fetch)

    def _body(self, path: str) -> bytes:
        return self.api.get(path).body

    def keep_submissions(self) -> None:
        """The sealed work: every Solver's for a reader, else what was sealed on this machine."""
        left_out = 0
        for one in listing(self.chain, self.api, self.bounty_id).submissions:
            left_out += not (self._keep_own(one) or self._keep_as_reader(one))
        if left_out:
            remark(f"the sealed work of {left_out} Solvers is kept only with --sign-as poster or guardian")

    def _keep_own(self, one: RecordedSubmission) -> bool:
        """Whether it was sealed on this machine, which then has its bytes."""
        chain, below = self.chain, f"{KEPT}/{folder_name(one)}"
        own = journal_folder(chain.chain_id, chain.hub.address, ("submit", str(self.bounty_id), one.solver))
        try:
            with open_regular(own / ENVELOPE) as file:
                content = file.read()
        except OSError:
            return False
        if submission_commitment(content) != one.commitment or not (own / CIPHERTEXT).is_file():
            return False
        envelope = parse_envelope(content)
        self._keep_hashed(
            KeptKind.ENVELOPE, f"{below}/{ENVELOPE}", one.commitment, submission_commitment, lambda: content
        )
        self._keep_ciphertext(f"{below}/{CIPHERTEXT}", envelope, lambda part: copy(own / CIPHERTEXT, part))
        return True

    def _keep_as_reader(self, one: RecordedSubmission) -> bool:
        """Whether there is a key that may read it."""
        if self.signer is None:
            return False
        below = f"{KEPT}/{folder_name(one)}"
        name = f"{below}/{ENVELOPE}"

        def fetch_envelope() -> bytes:
            return self._content(one).envelope.encode()

        self._keep_hashed(KeptKind.ENVELOPE, name, one.commitment, submission_commitment, fetch_envelope)
        if name in self.missing:
            self.missing[f"{below}/{CIPHERTEXT}"] = "its length and digest are in the envelope"
            return True
        try:
            envelope = parse_envelope((self.folder.path / name).read_bytes())
        except ServiceError as error:
            self.missing[f"{below}/{CIPHERTEXT}"] = f"the Solver's envelope is malformed: {error.message}"
            return True
        length, sha256 = envelope.ciphertext.byte_length, envelope.ciphertext.sha256

        def fetch(part: Path) -> None:
            url = storage_url(self._content(one).download_url, self.api.base_url)
            with part.open("a+b", buffering=0) as file:
                download(url, file, length, sha256)

        self._keep_ciphertext(f"{below}/{CIPHERTEXT}", envelope, fetch)
        return True

    def _content(self, one: RecordedSubmission) -> SubmissionContent:
        if self.signer is None:
            raise RuntimeError("read without a key")
        return self.api.signed(
            self.signer,
            "GET",
            f"/api/bounties/{self.bounty_id}/submissions/{one.commitment}/content",
            summary=f"read Submission {one.commitment} of bounty {self.bounty_id}",
        ).read(SubmissionContent)

    def _keep_ciphertext(self, name: str, envelope: Envelope, fetch: Callable[[Path], None]) -> None:
        """The ciphertext by ``fetch``, which continues what is in the file that it is given."""
        wanted = envelope.ciphertext
        path = self.folder.path / name
        if path.exists():
            if digest_of(path) != (wanted.byte_length, wanted.sha256):
                raise _in_the_way(path, "it is not what the envelope commits to")
            self.folder.before += 1
            return
        part = self.folder.part(name)
        here = part.stat().st_size if part.exists() else 0
        free = shutil.disk_usage(part.parent).free
        if free < wanted.byte_length - here + _SPARE_BYTES:
            self.missing[name] = f"it takes {size(wanted.byte_length - here)}, and {size(free)} are free"
            return
        if not self.storage_answers or not self.questions.answers:
            self.missing[name] = "the service does not answer"
            return
        say(f"keeping {name}, {size(wanted.byte_length)}")
        try:
            fetch(part)
        except CommandFailed as failed:
            self.storage_answers = failed.code != "storage_unreachable"
            self.missing[name] = failed.message
            return
        except ServiceError as error:  # the API refuses, or the bytes are others
            self.missing[name] = f"{error.code}: {error.message}"
            return
        self.folder.put(name)
        self.folder.note(KeptKind.CIPHERTEXT, name, wanted.byte_length)

    def _keep_hashed(
        self,
        kind: KeptKind,
        name: str,
        wanted: Bytes32,
        commitment: Callable[[bytes], Bytes32],
        fetch: Callable[[], bytes],
    ) -> None:
        """A file whose bytes hash to what the chain has."""
        if self.folder.has(name, lambda content: commitment(content) == wanted):
            return
        content = self.questions.fetch(name, fetch)
        if content is not None and commitment(content) != wanted:
            self.missing[name] = "what the API has does not hash to what the chain has recorded"
        elif content is not None:
            self.folder.keep(kind, name, content)

    def keep_evidence(self) -> None:
        """The record that the service derived, and the bundle of an audit; once each."""
        left = {name for name in (RECORD, EVIDENCE) if not (self.folder.path / name).exists()}
        self.folder.before += 2 - len(left)
        if not left:
            return
        try:
            history, service = evidence_of(self.chain, self.bounty_id, self.signer)
        except CommandRefused as refused:
            if refused.code != "not_finalized":
                raise
            self.missing |= dict.fromkeys(left, refused.message)
            return
        if RECORD in left:
            self._keep_record(service)
        if EVIDENCE in left:
            part = self.folder.part(EVIDENCE)
            part.unlink(missing_ok=True)
            write_evidence(part, self.chain, history, service)
            byte_length = part.stat().st_size
            self.folder.put(EVIDENCE)
            self.folder.note(KeptKind.EVIDENCE, EVIDENCE, byte_length)

    def _keep_record(self, service: ServiceEvidence) -> None:
        try:
            record = read_object(service.detail or b"").get("verification_record")
        except ValueError:
            record = None
        if isinstance(record, dict):
            self.folder.keep(KeptKind.RECORD, RECORD, json.dumps(record, indent=2, sort_keys=True).encode())
        else:
            self.missing[RECORD] = "the API has none yet" if service.detail else service.reason("detail")

    def finish(self) -> KeptBounty:
        """The end, which fails where something is missing."""
        done = emit(
            KeptBounty(
                self.bounty_id,
                str(self.folder.path),
                self.folder.kept,
                self.folder.before,
                len(self.missing),
                self.bounty.outcome is not None,
            )
        )
        if self.missing:
            message = f"{len(self.missing)} files of bounty {self.bounty_id} could not be kept."
            issues = [Issue(name, reason) for name, reason in self.missing.items()][:50]
            raise CommandFailed("not_all_kept", message, issues=issues, next_action=_LATER)
        return done
