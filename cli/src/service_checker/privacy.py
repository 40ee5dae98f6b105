"""Canaries: secrets that were planted, searched for where none of them may be."""

import base64
import gzip
import json
import os
import stat
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import quote

from service_checker.report import CheckReport

PART: Final = 1 << 20
MAX_UNPACKED: Final = 1 << 30
"""Bytes of one compressed file: what unpacks to more is searched so far, and reported as not read."""


def forms(canary: bytes) -> dict[str, bytes]:
    """How a secret may be written: as it is, in hex, in base64 at each of three places, in an address, in JSON."""
    found = {"plain": canary, "hex": canary.hex().encode(), "HEX": canary.hex().upper().encode()}
    for shift in range(3):
        text = base64.b64encode(b"\0" * shift + canary)
        inner = text[4 if shift else 0 : len(text) // 4 * 4 - (4 if (len(canary) + shift) % 3 else 0)]
        if len(inner) >= 8:
            found[f"base64 {shift}"] = inner
            found[f"base64url {shift}"] = inner.replace(b"+", b"-").replace(b"/", b"_")
    try:
        text_form = canary.decode()
    except UnicodeDecodeError:
        return found
    if text_form.startswith("0x"):
        try:
            raw = bytes.fromhex(text_form[2:])
        except ValueError:
            raw = b""
        found |= {f"{name} of the bytes": form for name, form in (forms(raw) if len(raw) >= 8 else {}).items()}
    found["address"] = quote(text_form, safe="").encode()
    for name, ascii_only in (("JSON", True), ("JSON in UTF-8", False)):
        escaped = json.dumps(text_form, ensure_ascii=ascii_only)[1:-1].encode()
        if escaped not in found.values():
            found[name] = escaped
    found["UTF-16"] = text_form.encode("utf-16-le")
    return found


def search_paths(paths: Sequence[Path], canaries: Sequence[bytes], findings: CheckReport) -> int:
    """Search files, and every file below folders; returns how many. What cannot be searched is a finding.

    Links to files are followed wherever they are, links to folders only where they are one of ``paths``.
    """
    wanted = [forms(canary) for canary in canaries]
    count = 0
    for path in paths:
        before = count
        for file in _files_of(path, findings):
            try:
                if not stat.S_ISREG(file.stat().st_mode):
                    continue  # a socket or a pipe has no content of its own
                count += 1
                _search(_bytes_of(file), wanted, str(file), findings)
            except FileNotFoundError:
                # A file that was removed meanwhile, as databases do with theirs; or a link to nothing.
                if file.is_symlink():
                    findings.add("checked", str(file), "a file that can be read", "a link to a file that is not there")
            except (OSError, EOFError, zlib.error) as error:
                findings.add("checked", str(file), "a file that can be read", str(error))
        if count == before:
            findings.add("checked", str(path), "a file to be searched", "none")
    return count


def _files_of(path: Path, findings: CheckReport) -> Iterator[Path]:
    """The path itself, or what is below it."""

    def refused(error: OSError) -> None:
        findings.add("checked", str(error.filename), "a folder that can be read", str(error))

    if not path.is_dir():
        yield path
        return
    for folder, folders, names in os.walk(path, onerror=refused):
        folders.sort()
        for each in (Path(folder, name) for name in folders):
            if each.is_symlink():
                findings.add(
                    "checked", str(each), "a folder", "a link to a folder, which is not followed: name it, too"
                )
        yield from (Path(folder, name) for name in sorted(names))


def searching_answers(canaries: Sequence[bytes], findings: CheckReport) -> Callable[[str, bytes], None]:
    """What searches each answer, of which the first text says where it is from."""
    wanted = [forms(canary) for canary in canaries]

    def search(where: str, body: bytes) -> None:
        if wanted:
            _search([body], wanted, where, findings)

    return search


def _bytes_of(file: Path) -> Iterator[bytes]:
    with file.open("rb") as plain:
        packed = plain.read(2) == b"\x1f\x8b"
        plain.seek(0)
        yield from iter(lambda: plain.read(PART), b"")
    if packed:
        with gzip.open(file) as unpacked:
            length = 0
            for part in iter(lambda: unpacked.read(PART), b""):
                length += len(part)
                if length > MAX_UNPACKED:
                    raise EOFError(f"unpacks to more than {MAX_UNPACKED} bytes")
                yield part


def _search(parts: Iterable[bytes], wanted: Sequence[dict[str, bytes]], where: str, findings: CheckReport) -> None:
    overlap = max((len(form) for each in wanted for form in each.values()), default=1) - 1
    before, found = b"", set[tuple[int, str]]()
    for part in parts:
        text = before + part
        found |= {
            (number, name) for number, each in enumerate(wanted, 1) for name, form in each.items() if form in text
        }
        before = text[-overlap:] if overlap else b""
    shown = ", ".join(f"canary {number} ({name})" for number, name in sorted(found))
    findings.holds("privacy.canary", where, "no canary", not found, shown)
