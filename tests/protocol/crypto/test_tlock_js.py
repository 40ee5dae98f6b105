"""Two-way interoperability of timelock files and capsules with drand's own JavaScript client."""

import base64
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pyrage
import pytest
from beacon import LocalBeacon, make_local_beacon
from beacon.server import BeaconServer
from bounty_protocol.clock import SystemClock
from bounty_protocol.crypto import age
from bounty_protocol.crypto.beacon import Beacon
from bounty_protocol.crypto.capsule import open_capsule, seal_capsule
from bounty_protocol.crypto.timelock import timelock_decrypt, timelock_encrypt
from bounty_protocol.crypto.x25519 import recipient_text
from local_stack.toolbox import ensure_npm_package, find_npm

from tests.serving import serving
from tests.vectors.samples import BINDING, CONTENT, GUARDIAN_IDENTITIES, ROSTER, seeded

FOLDER: Final = Path(__file__).parent / "tlock_js"
ROUND: Final = 5


class TlockJs:
    """tlock-js with a local relay."""

    def __init__(self, server: BeaconServer, chain: LocalBeacon, folder: Path) -> None:
        self.chain = chain
        self.signed = Beacon(ROUND, chain.signature(ROUND))
        self.relay = server.url
        self._folder = folder
        npm = find_npm()
        self._node = npm[0] if len(npm) > 1 else shutil.which("node") or "node"

    def encrypt(self, data: bytes, number: int = ROUND) -> bytes:
        """A binary timelock file; tlock-js writes armor."""
        armored = self._run("encrypt", data, number).decode().split()
        return base64.b64decode("".join(armored[4:-4]))

    def decrypt(self, data: bytes) -> bytes:
        return self._run("decrypt", data, ROUND)

    def _run(self, mode: str, data: bytes, number: int) -> bytes:
        source, target = self._folder / "in", self._folder / "out"
        source.write_bytes(data)
        target.unlink(missing_ok=True)
        info = self.chain.info
        script = str(FOLDER / "tlock.js")
        command = [self._node, script, mode, self.relay, info.chain_hash[2:], info.public_key, str(number)]
        subprocess.run([*command, source, target], check=True, timeout=60)
        return target.read_bytes()


@pytest.fixture(scope="module")
def tlock_js(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TlockJs]:
    ensure_npm_package(FOLDER)
    chain = make_local_beacon(b"tlock-js", genesis_time=int(time.time()) - 100, period_seconds=3)
    server = BeaconServer(("127.0.0.1", 0), chain, SystemClock())
    with serving(server):
        yield TlockJs(server, chain, tmp_path_factory.mktemp("tlock"))


@pytest.mark.parametrize("size", [1, 200, 3_000])
def test_timelock__sealed_here__opens_with_tlock_js(size: int, tlock_js: TlockJs) -> None:
    data = seeded("tlock")(size)
    assert tlock_js.decrypt(timelock_encrypt(data, ROUND, tlock_js.chain.info)) == data


def test_timelock__sealed_with_tlock_js__opens_here(tlock_js: TlockJs) -> None:
    data = seeded("tlock")(200)
    assert timelock_decrypt(tlock_js.encrypt(data), tlock_js.signed, tlock_js.chain.info) == data


def test_capsule_sealed_here_opens_with_tlock_js(tlock_js: TlockJs) -> None:
    capsule = seal_capsule(CONTENT, BINDING, ROSTER.encryption_public_keys, ROUND, tlock_js.chain.info)
    inner = tlock_js.decrypt(capsule)
    key = pyrage.x25519.Identity.from_str(GUARDIAN_IDENTITIES[0].to_text())
    assert pyrage.decrypt(inner, [key]) == f"# {BINDING.text()}\n{CONTENT.to_text()}\n".encode()


def test_capsule_of_tlock_js_opens_here(tlock_js: TlockJs) -> None:
    keys = [pyrage.x25519.Recipient.from_str(recipient_text(key)) for key in ROSTER.encryption_public_keys]
    found = open_capsule(
        tlock_js.encrypt(pyrage.encrypt(f"# {BINDING.text()}\n{CONTENT.to_text()}\n".encode(), keys)),
        beacon=tlock_js.signed,
        info=tlock_js.chain.info,
        keyring=[GUARDIAN_IDENTITIES[2]],
        roster_size=len(keys),
        content_public_key=CONTENT.public_key,
        expected=BINDING,
    )
    assert found == CONTENT
    assert age.encrypt_bytes(b"x", [found.public_key])
