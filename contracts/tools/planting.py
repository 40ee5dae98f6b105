"""A copy of the contracts in which changes are planted, and forge run on it without memory.

forge keeps each failing history and fuzz case below its cache and plays it first in the next run. Cut short, such a
history fails on correct code too, so one caught change would make every later one look caught. Each run here has a
folder of its own for them.
"""

from __future__ import annotations

import hashlib
import os
import pathlib
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

CONTRACTS = pathlib.Path(__file__).resolve().parent.parent
COPIED = ("src", "test", "tools", "foundry.toml", "package.json", "package-lock.json")
ENVIRONMENT = {
    "FOUNDRY_PROFILE": "mutants",
    "FOUNDRY_INVARIANT_RUNS": "1",
    "FOUNDRY_INVARIANT_SHRINK_RUN_LIMIT": "0",
}
"""A change is compiled quickly: what is looked for is in the Solidity, not in the optimizer. One history is enough."""


def copy_tree(target: pathlib.Path) -> None:
    """Copy what forge needs; the packages of npm are linked, the compiler and USDC."""
    for name in COPIED:
        source = CONTRACTS / name
        if source.is_dir():
            shutil.copytree(source, target / name)
        else:
            shutil.copy2(source, target / name)
    for name in ("node_modules", "usdc"):
        (target / name).symlink_to(CONTRACTS / name)


def digest_of(tree: pathlib.Path) -> str:
    """Changes with every source, test and tool of a copy: a result counts only for what it was found with."""
    digest = hashlib.sha256()
    for name in COPIED:
        folder = tree / name
        for path in sorted(folder.rglob("*")) if folder.is_dir() else [folder]:
            if path.is_file() and "__pycache__" not in path.parts:
                digest.update(f"{path.relative_to(tree)}\0{path.stat().st_size}\0".encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


@contextmanager
def forgetful() -> Iterator[dict[str, str]]:
    """The variables with which forge neither plays old failures nor leaves any."""
    with tempfile.TemporaryDirectory(prefix="hub-failures-") as folder:
        yield {
            "FOUNDRY_INVARIANT_FAILURE_PERSIST_DIR": f"{folder}/invariant",
            "FOUNDRY_FUZZ_FAILURE_PERSIST_DIR": f"{folder}/fuzz",
        }


def run_forge(
    forge: str, tree: pathlib.Path, arguments: Sequence[str], variables: Mapping[str, str], seconds: float
) -> subprocess.CompletedProcess[str]:
    """``forge test`` in a copy.

    Raises:
        subprocess.TimeoutExpired: after so many seconds.
    """
    with forgetful() as fresh:
        return subprocess.run(
            [forge, "test", "--root", str(tree), *arguments],
            cwd=tree,
            env={**os.environ, **ENVIRONMENT, **variables, **fresh},
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
