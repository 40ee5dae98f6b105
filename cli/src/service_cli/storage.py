"""Uploading and downloading ciphertext, streamed.

A storage address that the API names is an https address (http only beside an API that is http itself, as on
one machine), and what it requests is a PUT with plain headers, or nothing is sent. An upload sends exactly the
announced bytes; an object that is already there counts as done (``prepare`` verifies it). A download is bounded by
the announced length. Either has to move at ``LEAST_RATE``, so that each has an end.
"""

import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import gettempdir
from typing import IO, Final
from urllib.parse import urlsplit

import urllib3
from bounty_protocol.timely import AnswerTooLong, TimelyHttp
from bounty_protocol.wire.submissions import UploadTarget

from service_cli.errors import MALFORMED, CommandFailed
from service_cli.shell.output import Progress

_CHUNK: Final = 1024 * 1024
BEGIN_SECONDS: Final = 120.0
"""How long a storage may take before anything moves, and with what moves later too slowly, in all."""
LEAST_RATE: Final = 16 * 1024
"""Bytes a second: a gibibyte takes less than 19 hours, and what drips two minutes."""
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


def _reporting(file: IO[bytes], size: int, progress: Progress) -> Iterator[bytes]:
    """The file's blocks, with how much of it is on its way; ``TimeoutError`` where the storage takes it too slowly."""
    done, begun = 0, time.monotonic()
    while block := file.read(_CHUNK):
        if time.monotonic() - begun > BEGIN_SECONDS + done / LEAST_RATE:
            raise TimeoutError("the storage takes the bytes too slowly")
        yield block
        done += len(block)
        progress(done, size)


def read_target(answer: UploadTarget, api_url: str) -> UploadAddress:
    """The target of ``artifact-upload-url``; refused unless it is a plain upload."""
    for name, value in answer.upload_headers.items():
        if (
            _HEADER.fullmatch(name) is None
            or name.lower() in _OWN_HEADERS
            or not (value.isascii() and value.isprintable())
        ):
            raise _malformed_address("upload")
    return UploadAddress(storage_url(answer.upload_url, api_url), answer.upload_headers)


def storage_url(url: object, api_url: str) -> str:
    """An address of the storage as the API names it."""
    try:
        parts = urlsplit(url if isinstance(url, str) else "")
        allowed = {"https", urlsplit(api_url).scheme}
        if parts.scheme in allowed and parts.hostname and not parts.username and str(url).isascii():
            return str(url)
    except ValueError:
        pass
    raise _malformed_address("storage")


def _malformed_address(what: str) -> CommandFailed:
    message = f"The API's {what} address is none that this client would use."
    return CommandFailed(MALFORMED, message, next_action="Check SERVICE_API_BASE_URL; report it if it persists.")


def upload(target: UploadAddress, file: Path) -> bool:
    """PUT the file; False when an object is there already. Of the answer, which may have no end, no body is read."""
    size, headers = file.stat().st_size, dict(target.headers)
    headers["Content-Length"] = str(size)
    try:
        with _storage() as http, file.open("rb") as source, Progress("uploading") as progress:
            body = _reporting(source, size, progress)
            request = {"body": body, "headers": headers}
            with http.opened("PUT", target.url, request, most_bytes=_MOST_OF_UPLOAD) as response:
                status = response.status
    except urllib3.exceptions.HTTPError as error:
        message = "The upload broke off, or was too slow to ever end."
        raise CommandFailed("storage_unreachable", message, next_action=_AGAIN) from error
    if status == 412:
        return False
    if not 200 <= status < 300:
        raise CommandFailed("storage_refused", f"The storage refused the upload ({status}).", next_action=_AGAIN)
    return True


def download(url: str, file: IO[bytes], byte_length: int) -> None:
    """GET into an open file; more bytes than announced, or fewer, fail."""
    try:
        with _storage() as http:
            written = _download(http, url, file, byte_length)
            file.flush()
    except AnswerTooLong:
        written = byte_length + 1
    except urllib3.exceptions.HTTPError as error:
        message = "The download broke off, or was too slow to ever end."
        raise CommandFailed("storage_unreachable", message, next_action=_AGAIN) from error
    except OSError as error:
        raise not_kept(byte_length, error) from None
    if written != byte_length:
        raise CommandFailed(
            "storage_mismatch", "The stored ciphertext is not of the committed length.", next_action=_AGAIN
        )


def not_kept(byte_length: int, error: OSError) -> CommandFailed:
    """Where a ciphertext cannot be kept while it is opened."""
    message = f"The ciphertext of {byte_length} bytes cannot be kept in {gettempdir()}: {error.strerror}."
    return CommandFailed("download_not_written", message, next_action="Make room, or set TMPDIR, and run it again.")


def _download(http: TimelyHttp, url: str, file: IO[bytes], byte_length: int) -> int:
    """How many bytes were written; ``AnswerTooLong`` where there are more than announced."""
    with http.opened("GET", url, {}, most_bytes=byte_length) as response:
        if response.status != 200:
            message = f"The storage refused the download ({response.status})."
            raise CommandFailed("storage_refused", message, next_action=_AGAIN)
        written = 0
        with Progress("downloading") as progress:
            for chunk in response.pieces(_CHUNK):
                file.write(chunk)
                written += len(chunk)
                progress(written, byte_length)
    return written


@contextmanager
def _storage() -> Iterator[TimelyHttp]:
    """Connections of one transfer."""
    http = TimelyHttp(BEGIN_SECONDS, least_rate=LEAST_RATE, timeout=urllib3.Timeout(connect=10.0, read=BEGIN_SECONDS))
    try:
        yield http
    finally:
        http.clear()
