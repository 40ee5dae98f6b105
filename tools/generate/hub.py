"""The contracts' artifacts and the ABI in the packages, as the compiler makes them of contracts/src."""

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
_ABI: Final = "libs/bounty_protocol/src/bounty_protocol/chain/abi/Hub.json"


def _contents() -> Mapping[str, bytes]:
    ensure_npm_package(TOP / "contracts")  # which has the compiler
    with tempfile.TemporaryDirectory() as made:
        folder, abi = Path(made) / "artifacts", Path(made) / "Hub.json"
        node = next((word for word in find_npm() if word.endswith("node")), "node")
        command = [sys.executable, str(_TOOL), "--node", node, "--out", str(folder), "--abi-out", str(abi)]
        subprocess.run(command, check=True)
        artifacts = {f"{_ARTIFACTS}/{path.name}": path.read_bytes() for path in sorted(folder.iterdir())}
        return artifacts | {_ABI: abi.read_bytes()}


HUB: Final = Derived("hub", f"{_ARTIFACTS} and the ABI in bounty_protocol", _contents, _ARTIFACTS)
