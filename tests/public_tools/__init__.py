"""``docs/formats.md`` followed to the letter: its commands, run by a shell with public tools and nothing of ours.

The tools: GNU tar, sha256sum and base64 of the system; ``age`` is Debian's in a full campaign, else rage through
pyrage; ``tle`` is drand's JavaScript client, pointed at the local beacon; ``cast`` is a keccak library. ``jq`` and
``xxd`` are the system's, or stand-ins of a few lines where it has none.
"""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bounty_protocol.crypto.beacon_info import BeaconInfo
from local_stack.toolbox import ensure_npm_package, find_npm

from tests.campaign import FULL
from tools.debian import unpacked

TOP: Final = Path(__file__).parents[2]
TLOCK_JS: Final = TOP / "tests/protocol/crypto/tlock_js"
_HERE: Final = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class PublicTools:
    """A folder of programs, a beacon, and the commands of the page."""

    programs: Path
    relay: str
    info: BeaconInfo

    def follow(self, title: str, folder: Path, **replaced: str) -> str:
        """Run the block under that title in ``folder``; what it printed. ``replaced``: the page's placeholders."""
        commands = commands_of(title)
        commands = commands.replace("https://api.drand.sh", self.relay)
        commands = re.sub(r"-c [0-9a-f]{64}", f"-c {self.info.chain_hash[2:]}", commands)
        for placeholder, value in replaced.items():
            assert placeholder in commands, placeholder
            commands = commands.replace(placeholder, value)
        npm = find_npm()
        environment = {
            "PATH": f"{self.programs}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
            "NODE": npm[0] if len(npm) > 1 else shutil.which("node") or "node",
            "TLOCK_JS": str(TLOCK_JS / "tlock.js"),
            "GROUP_KEY": self.info.public_key,
        }
        command = ["bash", "-euo", "pipefail", "-c", commands]
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


def commands_of(title: str) -> str:
    """The commands under a bold title of the page's last section."""
    text = (TOP / "docs/formats.md").read_text(encoding="utf-8")
    section = text[text.index("## By hand with public tools") :]
    block = section[section.index(f"**{title}**") :]
    found = re.search(r"```sh\n(.*?)```", block, re.DOTALL)
    assert found is not None
    return found[1]


def make_public_tools(folder: Path, relay: str, info: BeaconInfo) -> PublicTools:
    """Put the programs that the system lacks into a folder."""
    ensure_npm_package(TLOCK_JS)
    missing = {name for name in ("jq", "xxd") if shutil.which(name) is None}
    for name in {"tle", "cast"} | missing | (set() if FULL else {"age", "age-keygen"}):
        script = _HERE / f"{name.replace('-', '_')}.py"
        (folder / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" "{script}" "$@"\n')
        (folder / name).chmod(0o755)
    if FULL:
        debian_age(folder)
    return PublicTools(folder, relay, info)


def debian_age(folder: Path) -> None:
    """Debian's own package."""
    root = unpacked(folder / "debian", ["age"])
    for name in ("age", "age-keygen"):
        (folder / name).symlink_to(root / "usr/bin" / name)
