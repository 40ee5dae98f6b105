"""Uploading and downloading ciphertext, streamed.

A storage address that the API names is an https address (http only beside an API that is http itself, as on
one machine), and what it requests is a PUT with plain headers, or nothing is sent. An upload sends exactly the
announced bytes; an object that is already there counts as done (``prepare`` verifies it). A download is bounded by
the committed length, continues what an earlier run left, and ends with the committed digest. Either has to move at
``LEAST_RATE``, so that each has an end. After a connection that broke, or a status that may pass, an upload is sent
again and a download continues, after each of ``PAUSES``.
"""

import hashlib
import os
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import IO, Final
from urllib.parse import urlsplit

import urllib3
from bounty_protocol.crypto.artifact import ciphertext_mismatch
from bounty_protocol.errors import ServiceError
from bounty_protocol.timely import AnswerTooLong, Opened, TimelyHttp, is_cut, may_pass
from bounty_protocol.types import Bytes32
from bounty_protocol.wire.submissions import UploadTarget

from service_cli.api import pause
from service_cli.errors import MALFORMED, CommandFailed
from service_cli.ui.output import Progress, say
from service_cli.work.downloads import not_kept

_CHUNK: Final = 1024 * 1024
_PIECE: Final = 256 * 1024
"""The most that a killed download loses."""
BEGIN_SECONDS: Final = 120.0
"""How long a storage may take before anything moves, and with what moves later too slowly, in all."""
LEAST_RATE: Final = 16 * 1024
"""Bytes a second: a gibibyte takes less than 19 hours, and what drips two minutes."""
PAUSES: Final = (1.0, 4.0, 10.0)
"""Seconds before each attempt that follows one which brought nothing."""
_MOST_OF_UPLOAD: Final = 64 * 1024
"""Bytes of what the storage answers to an upload."""
_HEADER: Final = re.compile(r"[A-Za-z0-9-]{1,100}")
_OWN_HEADERS: Final = {"authorization", "connection", "content-length", "cookie", "host", "transfer-encoding"}
_AGAIN: Final = "Run the command again: it continues here."


@dataclass(frozen=True, slots=True)
class UploadAddress:
    """Where ciphertext goes."""

    url: str
    headers: Mapping[str, str]


class _Hiccup(Exception):
    """The connection broke, or the storage answered a status that may pass; ``error`` is its meaning if it lasts."""

    def __init__(self, error: CommandFailed) -> None:
        super().__init__(error.message)
        self.error = error


class _TooSlow(Exception):
    """The storage takes the bytes too slowly: it would do so again."""


def _require_available(status: int) -> None:
    """Raise ``_Hiccup`` if a storage may take the same request in a moment; Google's answers 500 for a fault of its
    own.
    """
    if status == 500 or may_pass(status):
        message = f"The storage is not available ({status})."
        raise _Hiccup(CommandFailed("storage_unreachable", message, next_action=_AGAIN))


def _unfinished(what: str, error: Exception) -> _Hiccup | CommandFailed:
    """Return what it means that an upload or a download did not come to its end."""
    message = f"The {what} was cut off, or was too slow to finish."
    failed = CommandFailed("storage_unreachable", message, next_action=_AGAIN)
    return _Hiccup(failed) if is_cut(error) else failed


def _reporting(file: IO[bytes], size: int, progress: Progress) -> Iterator[bytes]:
    """Yield the file's blocks and report progress; ``_TooSlow`` if the storage reads it too slowly."""
    done, begun = 0, time.monotonic()
    while block := file.read(_CHUNK):
        if time.monotonic() - begun > BEGIN_SECONDS + done / LEAST_RATE:
            raise _TooSlow
        yield block
        done += len(block)
        progress(done, size)


def read_target(answer: UploadTarget, api_url: str) -> UploadAddress:
    """Return the target of ``artifact-upload-url``; refuse anything but a plain upload."""
    for name, value in answer.upload_headers.items():
        if (
            _HEADER.fullmatch(name) is None
            or name.lower() in _OWN_HEADERS
            or not (value.isascii() and value.isprintable())
        ):
            raise _malformed_address("upload")
    return UploadAddress(storage_url(answer.upload_url, api_url), answer.upload_headers)


def storage_url(url: object, api_url: str) -> str:
    """Parse an address of the storage as the API names it."""
    try:
        parts = urlsplit(url if isinstance(url, str) else "")
        allowed = {"https", urlsplit(api_url).scheme}
        if parts.scheme in allowed and parts.hostname and not parts.username and str(url).isascii():
            return str(url)
    except ValueError:
        pass
    raise _malformed_address("storage")


def _malformed_address(what: str) -> CommandFailed:
    message = f"This client does not accept the API's {what} address."
    return CommandFailed(MALFORMED, message, next_action="Check SERVICE_API_BASE_URL; report it if it persists.")


def upload(target: UploadAddress, file: Path) -> bool:
    """PUT the file; return False if an object exists there already. After an attempt that broke off, an object that is
    there may be of that attempt, and counts as uploaded.
    """
    status, pauses = None, list(PAUSES)
    while status is None:
        try:
            status = _put(target, file)
        except _Hiccup as hiccup:
            _wait(hiccup, pauses, "sending the bytes again")
    if status == 412:
        return len(pauses) < len(PAUSES)
    if not 200 <= status < 300:
        raise CommandFailed("storage_refused", f"The storage refused the upload ({status}).", next_action=_AGAIN)
    return True


def _put(target: UploadAddress, file: Path) -> int:
    """Send the file once and return the status; the answer's body, which may be endless, is not read."""
    size, headers = file.stat().st_size, dict(target.headers)
    headers["Content-Length"] = str(size)
    try:
        with _storage() as http, file.open("rb") as source, Progress("uploading") as progress:
            body = _reporting(source, size, progress)
            request = {"body": body, "headers": headers}
            with http.opened("PUT", target.url, request, most_bytes=_MOST_OF_UPLOAD) as response:
                status = response.status
    except (urllib3.exceptions.HTTPError, _TooSlow) as error:
        raise _unfinished("upload", error) from error
    _require_available(status)
    return status


def _wait(hiccup: _Hiccup, pauses: list[float], what: str) -> None:
    """Wait for the next of the pauses; after the last one raise what the hiccup means."""
    if not pauses:
        raise hiccup.error from hiccup
    say(f"{hiccup.error.message} In {pauses[0]:.0f} s: {what}.")
    pause(pauses.pop(0))


def download(url: str, file: FileIO, byte_length: int, sha256: Bytes32) -> None:
    """Make the file the ciphertext of this length and digest; continue what an earlier run left in it.

    Bytes that may be its beginning are kept. If they turn out wrong, or the storage sends bytes other than the missing
    ones, everything is requested once more.
    """
    part = _Part(file, byte_length, sha256)
    try:
        part.read_back()
        if part.is_whole:
            return
        if part.size:
            say(f"continuing at {part.size / byte_length:.0%} what an earlier run downloaded")
        with _storage() as http:
            _download(http, url, part)
    except OSError as error:
        raise not_kept(byte_length, Path(str(file.name)).parent, error) from None


class _NotOfIt(Exception):
    """Bytes that are not of the ciphertext; ``error`` is what it means where none were kept from before."""

    def __init__(self, error: ServiceError) -> None:
        super().__init__(error.message)
        self.error = error


class _Part:
    """The part of a ciphertext that is here."""

    def __init__(self, file: FileIO, byte_length: int, sha256: Bytes32) -> None:
        self._file, self._wanted = file, sha256
        self._digest = hashlib.sha256()
        self.byte_length, self.size = byte_length, 0
        self.continues = False
        """Whether an earlier attempt left some of it."""

    @property
    def is_whole(self) -> bool:
        """Whether the file is complete, with the right digest."""
        return self.size == self.byte_length and f"0x{self._digest.hexdigest()}" == self._wanted

    def read_back(self) -> None:
        """Use what an earlier run left, unless it cannot be the beginning."""
        kept = os.fstat(self._file.fileno()).st_size
        if not kept:
            return
        if kept <= self.byte_length:
            self._file.seek(0)
            with Progress("checking") as progress:
                while block := self._file.read(_CHUNK):
                    self._count(block)
                    progress(self.size, kept)
            self.continues = True
        if kept >= self.byte_length and not self.is_whole:
            self.begin_anew()

    def begin_anew(self) -> None:
        """Discard what has been downloaded."""
        if os.fstat(self._file.fileno()).st_size:
            self._file.truncate(0)
            self._file.seek(0)
        self._digest, self.size, self.continues = hashlib.sha256(), 0, False

    def take(self, piece: bytes) -> None:
        """Append a piece; it is in the file when this returns."""
        if self.size + len(piece) > self.byte_length:
            raise _NotOfIt(_wrong_length())
        view = memoryview(piece)
        while view:  # a nearly full disk takes less at a time
            view = view[self._file.write(view) :]
        self._count(piece)

    def _count(self, piece: bytes) -> None:
        self._digest.update(piece)
        self.size += len(piece)


def _download(http: TimelyHttp, url: str, part: _Part) -> None:
    """Download the missing part; if the result is not the ciphertext, download everything once."""
    pauses = list(PAUSES)
    while True:
        try:
            _fetch(http, url, part)
            if part.size < part.byte_length:  # as an interrupted answer without a length looks, too
                raise _Hiccup(_wrong_length())
            if not part.is_whole:
                raise _NotOfIt(ciphertext_mismatch())
        except _Hiccup as hiccup:
            _wait(hiccup, pauses, "continuing the download")
            part.continues = part.size > 0
        except _NotOfIt as found:
            continued = part.continues
            part.begin_anew()
            if not continued:
                raise found.error from None
            say("the downloaded bytes are not the committed ciphertext: downloading all of it again")
        else:
            return


def _fetch(http: TimelyHttp, url: str, part: _Part) -> None:
    """Append what one answer brings to the part."""
    headers = {"Range": f"bytes={part.size}-"} if part.size else {}
    try:
        with http.opened("GET", url, {"headers": headers}, most_bytes=part.byte_length) as response:
            _require_begin(response, part)
            with Progress("downloading", part.size) as progress:
                for piece in response.pieces(_PIECE):
                    part.take(piece)
                    progress(part.size, part.byte_length)
    except AnswerTooLong:
        raise _NotOfIt(_wrong_length()) from None
    except urllib3.exceptions.HTTPError as error:
        raise _unfinished("download", error) from error


def _require_begin(response: Opened, part: _Part) -> None:
    """Refuse an answer whose body does not start where the part ends; a complete answer replaces the part."""
    if response.status == 200:
        part.begin_anew()
        return
    if part.size and response.status in {206, 416}:
        expected = f"bytes {part.size}-{part.byte_length - 1}/{part.byte_length}"
        if response.status == 206 and response.headers.get("Content-Range", "").strip() == expected:
            return
        raise _NotOfIt(_wrong_length())
    _require_available(response.status)
    message = f"The storage refused the download ({response.status})."
    raise CommandFailed("storage_refused", message, next_action=_AGAIN)


def _wrong_length() -> CommandFailed:
    message = "The stored ciphertext does not have the committed length."
    return CommandFailed("storage_mismatch", message, next_action=_AGAIN)


@contextmanager
def _storage() -> Iterator[TimelyHttp]:
    """Open the connections of one transfer."""
    http = TimelyHttp(BEGIN_SECONDS, least_rate=LEAST_RATE, timeout=urllib3.Timeout(connect=10.0, read=BEGIN_SECONDS))
    try:
        yield http
    finally:
        http.clear()
