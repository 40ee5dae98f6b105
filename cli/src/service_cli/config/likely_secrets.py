"""Likely secrets, by their names or by how they begin; pages and the TypeScript client have the same rules."""

import os
import re
from codecs import BOM_UTF8
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from bounty_protocol.readiness.key_forms import AGE_BEGIN, PEM_BEGIN

SECRET_NAMES: Final = (
    ".env", ".env.*", ".git", ".netrc", "*.pem", "*.key", "*.p12", "*.pfx", "id_rsa*", "id_dsa*", "id_ecdsa*",
    "id_ed25519*", "*guardian*key*.json", "utc--*",
)  # fmt: skip
"""Names of files and directories in lower case; a star is any letters."""
KEY_LINE: Final = f"{PEM_BEGIN}|{AGE_BEGIN}"
"""How the first line of a private key begins, a regular expression that Python and JavaScript read alike."""
BEGIN_BYTES: Final = 1_024
"""In which that line is looked for."""
_KEY_LINE: Final = re.compile(KEY_LINE.encode())


def like_a_secret(directory: Path, name: str) -> str | None:
    """Return the path, or the directory above it, if its name suggests a secret, or the path of a file that begins like
    a private key.
    """
    parts = name.split("/")
    for depth, part in enumerate(parts, 1):
        if any(fnmatchcase(part.lower(), pattern) for pattern in SECRET_NAMES):
            return "/".join(parts[:depth])
    try:
        with open(directory / name, "rb", opener=_unfollowed) as file:
            begin = file.read(BEGIN_BYTES).removeprefix(BOM_UTF8)
    except OSError:  # sealing it reports why
        return None
    lines = map(bytes.strip, begin.splitlines())
    first = next((line for line in lines if line and not line.startswith(b"#")), b"")  # age-keygen begins with comments
    return name if _KEY_LINE.match(first) else None


def _unfollowed(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
