"""Whether a directory changed since it was sealed."""

import hashlib
from pathlib import Path


def fingerprint(directory: Path) -> str:
    """Names, sizes and modification times of everything below ``directory``, hashed; contents are not read."""
    digest = hashlib.sha256(str(directory.resolve()).encode("utf-8", "surrogateescape"))
    for path in sorted(directory.rglob("*")):
        status = path.lstat()
        entry = f"{path.relative_to(directory)}\0{status.st_mode}\0{status.st_size}\0{status.st_mtime_ns}\0"
        digest.update(entry.encode("utf-8", "surrogateescape"))
    return digest.hexdigest()
