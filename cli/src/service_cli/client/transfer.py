"""Uploading and downloading ciphertext, streamed.

Promises: an upload sends exactly the announced bytes; an object that is already there counts as done (``prepare``
verifies it). A download writes a new private file and is bounded by the announced length.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import urllib3

from service_cli.outcome import Failed

_CHUNK: Final = 1024 * 1024
_AGAIN: Final = "Run the command again: it continues here."


def upload(url: str, method: str, headers: Mapping[str, str], file: Path) -> bool:
    """PUT the file; False when an object is there already."""
    size = file.stat().st_size
    http = urllib3.PoolManager(retries=False, timeout=urllib3.Timeout(connect=10.0, read=300.0))
    try:
        with file.open("rb") as body:
            response = http.request(
                method, url, body=body, headers={**headers, "Content-Length": str(size)}, redirect=False
            )
    except urllib3.exceptions.HTTPError as error:
        raise Failed("storage_unreachable", "The upload broke off.", next_action=_AGAIN) from error
    if response.status == 412:
        return False
    if not 200 <= response.status < 300:
        raise Failed("storage_refused", f"The storage refused the upload ({response.status}).", next_action=_AGAIN)
    return True


def download(url: str, file: Path, byte_length: int) -> None:
    """GET into a new file; more bytes than announced, or fewer, fail."""
    http = urllib3.PoolManager(retries=False, timeout=urllib3.Timeout(connect=10.0, read=300.0))
    try:
        response = http.request("GET", url, preload_content=False, redirect=False)
        if response.status != 200:
            raise Failed(
                "storage_refused", f"The storage refused the download ({response.status}).", next_action=_AGAIN
            )
        written = 0
        with open(file, "wb", opener=lambda path, flags: os.open(path, flags, 0o600)) as out:
            while (chunk := response.read(_CHUNK)) and written <= byte_length:
                out.write(chunk)
                written += len(chunk)
    except urllib3.exceptions.HTTPError as error:
        raise Failed("storage_unreachable", "The download broke off.", next_action=_AGAIN) from error
    if written != byte_length:
        raise Failed("storage_mismatch", "The stored ciphertext is not of the committed length.", next_action=_AGAIN)
