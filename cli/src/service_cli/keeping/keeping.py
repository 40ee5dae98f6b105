"""``keep``: the files of one bounty that are needed once no service answers.

Which files there are says the chain; their bytes come from the API, from the storage, or from what was sealed on this
machine, and count only where they hash to what the Hub has recorded. A file gets its name when it is whole, on disk and
right, so a run that is killed leaves nothing wrong behind, and the next one continues.
"""

import errno
import fcntl
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from io import FileIO
from pathlib import Path
from typing import Final

from bounty_protocol.chain.hub import BountyView
from bounty_protocol.domain.commitments import report_commitment, spec_commitment, submission_commitment
from bounty_protocol.domain.envelope import MAX_ENVELOPE_BYTES, parse_envelope
from bounty_protocol.errors import Issue, ServiceError
from bounty_protocol.foreign_json import read_object
from bounty_protocol.types import BountyId, Bytes32
from bounty_protocol.wire.submissions import SubmissionContent

from service_cli.api import (
    MAX_ANSWER_BYTES,
    ApiClient,
    api_of,
    bounty_detail,
    is_page_withheld,
    withheld_page,
    withheld_verdict,
)
from service_cli.audit.bundle import read_bundle
from service_cli.audit.collect import ServiceQuestions, wanted_envelopes
from service_cli.audit.history import ServiceEvidence
from service_cli.audit.run import KEYS, evidence_of, write_evidence
from service_cli.bounty.facts import RecordedSubmission
from service_cli.bounty.verdicts import recorded_verdicts
from service_cli.chain.journal import journal_folder
from service_cli.chain.session import ChainClient
from service_cli.chain.signer import LocalSigner, local_signer
from service_cli.config.settings import Settings
from service_cli.disk import open_private_data, open_regular, sync_file, sync_folder
from service_cli.errors import CommandFailed, CommandRefused
from service_cli.guardian.opening import folder_name
from service_cli.keeping.events import KeptBounty, KeptFile, KeptKind, MissingFile
from service_cli.keeping.readme import README, heading, readme
from service_cli.shell.output import emit, remark, say
from service_cli.shell.phrases import size
from service_cli.solver.sealing import CIPHERTEXT, ENVELOPE
from service_cli.storage import copy, digest_of, download, storage_url
from service_cli.submissions import KEPT, kept_folder
from service_cli.witnesses.numbers import listing

PAGE: Final = "challenge.md"
VERDICTS: Final = "verdicts"
RECORD: Final = "record.json"
EVIDENCE: Final = "audit.zip"
READERS_EVIDENCE: Final = "audit-with-envelopes.zip"
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
    with _Folder.held(directory) as folder:
        folder.require_own_readme(heading(chain, bounty_id))
        keeping = _Keeping(chain, api_of(settings, chain), bounty_id, bounty, signer, folder)
        keeping.keep_page()
        keeping.keep_verdicts()
        keeping.keep_submissions()
        if bounty.outcome is not None:
            keeping.keep_evidence()
        folder.write(README, readme(chain, bounty_id, bounty).encode())
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
    @contextmanager
    def held(path: Path) -> Iterator["_Folder"]:
        """The directory, by this run alone."""
        try:
            path.mkdir(parents=True, exist_ok=True)
            handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        except OSError as error:
            raise _not_written(path, error) from None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield _Folder(path)
        except BlockingIOError:
            message = f"Another run keeps something in {path}."
            raise CommandRefused("already_running", message, next_action="Wait for it, or name another one.") from None
        finally:
            os.close(handle)

    def require_own_readme(self, wanted: str) -> None:
        """Refuse a README.md that is somebody's own, before anything is asked for: it is the one file written anew."""
        path = self.path / README
        try:
            with open_regular(path) as file:
                begins = file.read(len(wanted)).decode("utf-8", "replace")
        except FileNotFoundError:
            return
        except OSError as error:
            raise _in_the_way(path, str(error.strerror)) from None
        if begins != wanted:
            raise _in_the_way(path, "it is not the one of this Hub's bounty")

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
        with self.open_part(name) as file:
            try:
                file.truncate(0)
                if file.write(content) != len(content):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            except OSError as error:
                raise _not_written(self.path / name, error) from None
        self.put(name)

    def part(self, name: str) -> Path:
        """Where a file is until it is whole."""
        return self.path / f"{name}.part"

    def open_part(self, name: str) -> FileIO:
        """The part of a file, read from anywhere and written at the end; a link or pipe in its place is removed."""
        path = self.part(name)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.is_symlink() or (path.exists() and not path.is_file()):
                path.unlink()
            return open_private_data(path)
        except OSError as error:
            raise _not_written(path, error) from None

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


def _read_whole(path: Path) -> bytes:
    with open_regular(path) as file:
        return file.read(MAX_ANSWER_BYTES)


def _read(path: Path) -> bytes:
    with open_regular(path) as file:
        return file.read(MAX_ENVELOPE_BYTES + 1)


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
            detail = bounty_detail(self.api, self.bounty_id).json()
            page = detail.get("challenge")
            if is_page_withheld(detail) and self.signer is not None:
                return withheld_page(self.api, self.signer, self.bounty_id)
            return page.encode() if isinstance(page, str) else b""

        self._keep_hashed(KeptKind.PAGE, PAGE, self.bounty.spec_commitment, spec_commitment, fetch)

    def keep_verdicts(self) -> None:
        """Each Guardian's latest written Verdict."""
        for verdict in recorded_verdicts(self.chain, self.api, self.bounty_id):
            wanted = verdict.report_commitment
            fetch = partial(self._body, f"/api/written-verdicts/{wanted}")
            self._keep_hashed(KeptKind.VERDICT, f"{VERDICTS}/{wanted}.md", wanted, report_commitment, fetch)

    def _body(self, path: str) -> bytes:
        try:
            return self.api.get(path).body
        except CommandRefused as refused:
            if refused.code != "written_verdict_withheld" or self.signer is None:
                raise
        return withheld_verdict(self.api, self.signer, path, "read a withheld Verdict")

    def keep_submissions(self) -> None:
        """The sealed work: every Solver's for a reader, else what was sealed on this machine."""
        left_out = 0
        for one in listing(self.chain, self.api, self.bounty_id).submissions:
            there = kept_folder(self.folder.path, one.commitment)  # under another number, where others were replaced
            below = f"{KEPT}/{folder_name(one) if there is None else there.name}"
            own = self._own(one)
            if own is None and self.signer is None:
                if self._sealed_here(one).exists():
                    self.missing[f"{below}/{CIPHERTEXT}"] = "what was sealed on this machine is not here any more"
                else:
                    left_out += 1
                continue
            fetch = partial(self._fetched_envelope, one) if own is None else partial(_read, own / ENVELOPE)
            name = f"{below}/{ENVELOPE}"
            self._keep_hashed(KeptKind.ENVELOPE, name, one.commitment, submission_commitment, fetch)
            if name in self.missing:
                self.missing[f"{below}/{CIPHERTEXT}"] = "its length and digest are in the envelope"
                continue
            self._keep_ciphertext(f"{below}/{CIPHERTEXT}", self.folder.path / name, one, own)
        if left_out:
            remark(f"the sealed work of {left_out} Solvers is kept only with --sign-as poster or guardian")

    def _own(self, one: RecordedSubmission) -> Path | None:
        """The folder of what was sealed on this machine, where it still has exactly these bytes."""
        sealed = self._sealed_here(one)
        for folder in (sealed, sealed / one.commitment):  # or set aside, when something newer was sealed
            try:
                content = _read(folder / ENVELOPE)
                if submission_commitment(content) != one.commitment:
                    continue
                wanted = parse_envelope(content).ciphertext
                if digest_of(folder / CIPHERTEXT) == (wanted.byte_length, wanted.sha256):
                    return folder
            except (OSError, ServiceError):
                continue
        return None

    def _sealed_here(self, one: RecordedSubmission) -> Path:
        """Where this machine has what it sealed for this Solver, if it did."""
        names = ("submit", str(self.bounty_id), one.solver)
        return journal_folder(self.chain.chain_id, self.chain.hub.address, names)

    def _fetched_envelope(self, one: RecordedSubmission) -> bytes:
        return self._content(one).envelope.encode()

    def _content(self, one: RecordedSubmission) -> SubmissionContent:
        if self.signer is None:
            raise RuntimeError("read without a key")
        return self.api.signed(
            self.signer,
            "GET",
            f"/api/bounties/{self.bounty_id}/submissions/{one.commitment}/content",
            summary=f"read Submission {one.commitment} of bounty {self.bounty_id}",
        ).read(SubmissionContent)

    def _keep_ciphertext(self, name: str, envelope: Path, one: RecordedSubmission, own: Path | None) -> None:
        """The ciphertext that the kept envelope commits to; a download is continued."""
        try:
            wanted = parse_envelope(_read(envelope)).ciphertext
        except ServiceError as error:
            self.missing[name] = f"the Solver's envelope is malformed: {error.message}"
            return
        path, right = self.folder.path / name, (wanted.byte_length, wanted.sha256)
        if os.path.lexists(path):
            if not path.is_file() or digest_of(path) != right:
                raise _in_the_way(path, "it is not what the envelope commits to")
            self.folder.before += 1
            return
        if own is None and not (self.storage_answers and self.questions.answers):
            self.missing[name] = "the service does not answer"
            return
        with self.folder.open_part(name) as file:
            left = wanted.byte_length - os.fstat(file.fileno()).st_size
            free = shutil.disk_usage(path.parent).free
            if free < left + _SPARE_BYTES:
                self.missing[name] = f"it takes {size(max(left, 0))}, and {size(free)} are free"
                return
            say(f"keeping {name}, {size(wanted.byte_length)}")
            try:
                if own is None:
                    url = storage_url(self._content(one).download_url, self.api.base_url)
                    download(url, file, wanted.byte_length, wanted.sha256)
                else:
                    copy(own / CIPHERTEXT, file)
            except ServiceError as error:  # the API or the storage is away or refuses, or the bytes are others
                self.questions.answers = error.code != "api_unreachable"
                self.storage_answers = error.code != "storage_unreachable"
                self.missing[name] = f"{error.code}: {error.message}"
                return
        if digest_of(self.folder.part(name)) != right:
            self.folder.part(name).unlink(missing_ok=True)
            self.missing[name] = "what came is not what the envelope commits to"
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
        """The record that the service derived, and the bundle of an audit, which is whole or not kept.

        A reader's bundle has the envelopes, too, and a name of its own.
        """
        evidence = EVIDENCE if self.signer is None else READERS_EVIDENCE
        left = {name for name in (RECORD, evidence) if not self._has_evidence(name)}
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
        if evidence not in left:
            return
        lacking = [
            why
            for name, why in service.missing.items()
            if self.signer is not None or name not in wanted_envelopes(history)
        ]
        if lacking or RECORD in self.missing:
            self.missing[evidence] = f"it would lack something: {lacking[0] if lacking else self.missing[RECORD]}"
            return
        part = self.folder.part(evidence)
        part.unlink(missing_ok=True)
        write_evidence(part, self.chain, history, service)
        byte_length = part.stat().st_size
        self.folder.put(evidence)
        self.folder.note(KeptKind.EVIDENCE, evidence, byte_length)

    def _has_evidence(self, name: str) -> bool:
        """Whether it is there, and of this bounty."""
        path = self.folder.path / name
        if not os.path.lexists(path):
            return False
        try:
            if name == RECORD:
                found = read_object(_read_whole(path)).get("bounty_id")
            else:
                found = str(read_bundle(path).chain.bounty_id)
        except (OSError, ValueError, ServiceError):
            found = None
        if found != str(self.bounty_id):
            raise _in_the_way(path, "it is not of this bounty, or cannot be read")
        self.folder.before += 1
        return True

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
        for name, reason in self.missing.items():
            emit(MissingFile(name, reason))
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
