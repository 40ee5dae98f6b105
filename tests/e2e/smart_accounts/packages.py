"""The npm packages of this folder's lock file, installed below the repository's ``.local`` for these tests alone."""

import os
from pathlib import Path
from typing import Final

from local_stack.toolbox import ensure_npm_package

_HERE: Final = Path(__file__).parent
_CACHE: Final = _HERE.parents[2] / ".local/smart-accounts"


def ensure_packages() -> Path:
    """The packages' node_modules; 390 MB on disk, 40 s the first time. Raises ``StackError`` where npm fails."""
    _CACHE.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        wanted, kept = (_HERE / name).read_bytes(), _CACHE / name
        if not kept.exists() or kept.read_bytes() != wanted:
            draft = _CACHE / f"{name}.{os.getpid()}"
            draft.write_bytes(wanted)
            draft.replace(kept)
    return ensure_npm_package(_CACHE)
