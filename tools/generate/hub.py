"""The contracts' artifacts, and what the packages have of them, as the compiler makes them of contracts/src and
contracts/calls; it needs a quarter of a minute.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from local_stack.toolbox import ensure_npm_package, find_npm

from tools.generate.derived import TOP, Derived

_ARTIFACTS: Final = "contracts/artifacts"
_ABI: Final = "libs/bounty_protocol/src/bounty_protocol/chain/abi/Hub.json"
_VALIDATOR: Final = "libs/service_common/src/service_common/chain/SignatureValidator.hex"


def _contents() -> Mapping[str, bytes]:
    ensure_npm_package(TOP / "contracts")  # which has the compiler
    node = next((word for word in find_npm() if word.endswith("node")), "node")
    with tempfile.TemporaryDirectory() as folder:
        made, abi = Path(folder) / "artifacts", Path(folder) / "Hub.json"
        command = [sys.executable, str(TOP / "contracts/tools/build_artifacts.py"), "--node", node]
        if subprocess.run([*command, "--out", str(made), "--abi-out", str(abi)], check=False).returncode != 0:
            raise SystemExit("the Hub's artifacts were not made: see the line above")
        artifacts = {f"{_ARTIFACTS}/{path.name}": path.read_bytes() for path in sorted(made.iterdir())}
        validator = json.loads(artifacts[f"{_ARTIFACTS}/SignatureValidator.json"])["bytecode"]
        return artifacts | {_ABI: abi.read_bytes(), _VALIDATOR: f"{validator}\n".encode()}


HUB: Final = Derived("hub", _contents, _ARTIFACTS)
