"""The contracts' artifacts, and what the packages have of them, as the compiler makes them of contracts/src and
contracts/calls.

The compiler needs a quarter of a minute, so that its last results are kept in .local, named by everything that they are
made of.
"""

import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from local_stack.toolbox import ensure_npm_package, find_npm

from tools.generate.derived import TOP, Derived

_TOOL: Final = TOP / "contracts/tools/build_artifacts.py"
_ARTIFACTS: Final = "contracts/artifacts"
_INPUTS: Final = ("contracts/src/**/*", "contracts/calls/*", "contracts/tools/*", "contracts/package-lock.json")
_KEPT: Final = TOP / ".local/hub"
_ABI: Final = "libs/bounty_protocol/src/bounty_protocol/chain/abi/Hub.json"
_VALIDATOR: Final = "libs/service_common/src/service_common/chain/SignatureValidator.hex"


def _contents() -> Mapping[str, bytes]:
    kept = _KEPT / _digest()
    if not kept.is_dir():
        shutil.rmtree(_KEPT, ignore_errors=True)
        _KEPT.mkdir(parents=True)
        with tempfile.TemporaryDirectory(dir=_KEPT) as made:
            _compile(Path(made) / "made")
            (Path(made) / "made").rename(kept)
    artifacts = {f"{_ARTIFACTS}/{path.name}": path.read_bytes() for path in sorted((kept / "artifacts").iterdir())}
    validator = json.loads(artifacts[f"{_ARTIFACTS}/SignatureValidator.json"])["bytecode"]
    return artifacts | {_ABI: (kept / "Hub.json").read_bytes(), _VALIDATOR: f"{validator}\n".encode()}


def _compile(folder: Path) -> None:
    ensure_npm_package(TOP / "contracts")  # which has the compiler
    folder.mkdir()
    node = next((word for word in find_npm() if word.endswith("node")), "node")
    out = ["--out", str(folder / "artifacts"), "--abi-out", str(folder / "Hub.json")]
    if subprocess.run([sys.executable, str(_TOOL), "--node", node, *out], check=False).returncode != 0:
        raise SystemExit("the Hub's artifacts were not made: see the line above")


def _digest() -> str:
    """Changes with every file that the artifacts are made of."""
    digest = hashlib.sha256()
    for path in sorted(each for pattern in _INPUTS for each in TOP.glob(pattern) if each.is_file()):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(TOP)} {len(content)}\n".encode() + content)
    return digest.hexdigest()


HUB: Final = Derived("hub", f"{_ARTIFACTS}, and what the packages have of them", _contents, _ARTIFACTS)
