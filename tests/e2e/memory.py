"""Searching other processes' memory for a secret, in every form it could have there."""

import base64
import os
from collections.abc import Iterator
from pathlib import Path

from bounty_protocol.crypto.x25519 import Identity

_CHUNK = 8 * 2**20


def forms(identity: Identity) -> dict[str, bytes]:
    """A private key as bytes, hex, base64 and age writes it."""
    return {
        "bytes": identity.secret,
        "hex": identity.secret.hex().encode(),
        "base64": base64.b64encode(identity.secret).rstrip(b"="),
        "age": identity.to_text().encode(),
    }


def family(pid: int) -> list[int]:
    """A process and everything it started."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents.setdefault(int(fields[1]), []).append(int(entry.parent.name))
    found, waiting = [], [pid]
    while waiting:
        found.append(waiting.pop())
        waiting += parents.get(found[-1], [])
    return found


def held(pid: int, secrets: dict[str, bytes]) -> set[str]:
    """Which of the secrets a process has in its memory."""
    longest = max(map(len, secrets.values()))
    return {name for chunk in _memory(pid, overlap=longest) for name, secret in secrets.items() if secret in chunk}


def _memory(pid: int, overlap: int) -> Iterator[bytes]:
    with Path(f"/proc/{pid}/maps").open() as maps, Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
        for line in maps:
            place, rights, *_ = line.split()
            if not rights.startswith("rw"):
                continue
            first, last = (int(end, 16) for end in place.split("-"))
            for at in range(first, last, _CHUNK):
                try:
                    yield os.pread(memory.fileno(), min(_CHUNK + overlap, last - at), at)
                except OSError:  # a region that went away, or that nobody may read
                    break
