"""An evening of three Guardians with many Submissions, nearly all of them junk: look at each, open what would open.

Sizes are from 1 kB to 200 MB, as many in each power of ten, and none is scaled. Of 500 ten are work. Of the junk 290
have a commitment and nothing behind it, 100 are random bytes under a right envelope, 50 record a work's commitment by
another account, and 50 have a work's own bytes in an envelope of theirs. Junk that is sealed as work is costs what work
costs: only who reads it can tell, so there is none here. SERVICE_BENCH_TRIAGE is another number than 500.

All bytes that a Guardian's commands receive are counted, those of the chain and of the API, too. The three are at it at
the same time, on the machine that has the service; the figures are of the one for whom it was most.
"""

import json
import os
import secrets
import stat
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from threading import Event, Thread
from typing import Final

import urllib3
from bounty_protocol.chain.beacons import beacon_info
from bounty_protocol.crypto.artifact import seal_directory
from bounty_protocol.crypto.beacon_http import Urllib3Get
from bounty_protocol.crypto.beacon_info import BeaconInfo
from bounty_protocol.crypto.capsule import seal_capsule
from bounty_protocol.crypto.x25519 import Identity
from bounty_protocol.domain.binding import Binding
from bounty_protocol.domain.envelope import Envelope, build_envelope
from bounty_protocol.domain.roster import Roster
from bounty_protocol.types import Address, BountyId, Bytes32, ChainId, UnixSeconds, bytes32
from demo.bounty import Cast, Funded
from demo.person import Person
from local_stack.contract import Wallet
from local_stack.stack import running_stack
from service_cli.config.settings import Settings
from service_cli.library import settings_of, sign_request

from bench.figures import Figure, Report
from tests.copier import in_own_envelope
from tests.waiting import wait_until

MANY: Final = int(os.environ.get("SERVICE_BENCH_TRIAGE", "500"))
WORKS: Final = MANY // 50
RANDOM: Final = MANY // 5
COPIED: Final = MANY // 10
SMALLEST, LARGEST = 1_000, 200_000_000
SECONDS: Final = 60 + MANY * 4 // 5
"""Until the submission deadline; one that is uploaded too late fails the run."""
GUARDIANS: Final = ("guardian-1", "guardian-2", "guardian-3")
UPLOADS: Final = 3
PATIENCE: Final = 120.0
"""Seconds of one request: an upload is hashed before it is answered."""
COUNTED: Final = """#!{python}
import os, socket
from service_cli.main import main

taken, receive = 0, socket.socket.recv_into

def recv_into(self, *arguments):
    global taken
    size = receive(self, *arguments)
    taken += size
    return size

socket.socket.recv_into = recv_into
try:
    main()
finally:
    with open(os.path.expanduser("~/received"), "a") as file:
        file.write(f"{{taken}}\\n")
"""


def run(report: Report) -> None:
    """Measure the group."""
    with running_stack() as stack, tempfile.TemporaryDirectory() as folder:
        cast = Cast(stack, Path(folder))
        bounty = cast.fund(submission_seconds=SECONDS, judging_seconds=7_200, title="An evening")
        flood = _Flood.of(cast, bounty, Path(folder))
        whole = flood.submit()
        cast.wait_for(bounty.reveal_at + 2)
        program = Path(folder) / "counted-cli"
        program.write_text(COUNTED.format(python=sys.executable), encoding="utf-8")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        with ThreadPoolExecutor(len(GUARDIANS)) as people:
            evenings = list(people.map(lambda name: _evening(cast.person(name), bounty, str(program)), GUARDIANS))
    taken = max(each.received for each in evenings) / 1e6
    goal = f"bytes <= 0.1 of {MANY} Submissions of 1 kB to 200 MB, {MANY - WORKS} of them junk, none sealed as work is"
    met = taken <= 0.1 * whole / 1e6
    report(Figure("triage.evening", taken, "MB received", goal, met, "opening them all, by their lengths", whole / 1e6))
    minutes = max(each.seconds for each in evenings) / 60
    looked = max(each.looked for each in evenings) / 60
    said = f"report; of it {looked:.1f} for the look. Three Guardians at a time, all on one machine"
    report(Figure("triage.minutes", minutes, "min", said, None))
    disk = max(each.disk for each in evenings) / 1e6
    report(Figure("triage.disk", disk, "MB", "report; the most at any time, the opened work included", None))


@dataclass(frozen=True, slots=True)
class _Evening:
    """What it took one Guardian."""

    received: int
    seconds: float
    looked: float
    disk: int


def _evening(guardian: Person, bounty: Funded, program: str) -> _Evening:
    began = time.monotonic()
    with _most_disk(guardian.home) as most:
        looked = guardian.run("guardian:open", bounty.bounty_id, "--look", program=program)
        after_look = time.monotonic() - began
        seen = [each.fields for each in looked.events if each.name == "guardian_open.submission_seen"]
        left_out = [str(each["number"]) for each in seen if each["code"] is not None]
        if (len(seen), len(seen) - len(left_out)) != (MANY, WORKS):
            raise RuntimeError(f"{len(seen)} Submissions were seen, and {len(left_out)} of them would not open")
        skip = [word for number in left_out for word in ("--skip", number)]
        opened = guardian.run("guardian:open", bounty.bounty_id, *skip, program=program)
    count = sum(each.name == "guardian_open.artifact_opened" for each in opened.events)
    if count != WORKS:
        raise RuntimeError(f"{count} works were opened: {sorted({each.name for each in opened.events})}")
    received = sum(map(int, (guardian.home / "received").read_text(encoding="utf-8").split()))
    return _Evening(received, time.monotonic() - began, after_look, most[0])


@contextmanager
def _most_disk(home: Path) -> Iterator[list[int]]:
    """The most bytes below a folder at any time; it is looked at four times a second."""
    most, ended = [0], Event()

    def watch() -> None:
        while not ended.wait(0.25):
            size = 0
            for path in home.rglob("*"):
                with suppress(OSError):  # gone by now
                    size += path.lstat().st_blocks * 512
            most[0] = max(most[0], size)

    watching = Thread(target=watch)
    watching.start()
    try:
        yield most
    finally:
        ended.set()
        watching.join()


@dataclass(frozen=True, slots=True)
class _Flood:
    """What Solvers and others send to one bounty."""

    cast: Cast
    bounty: Funded
    folder: Path
    roster: Roster
    info: BeaconInfo

    @staticmethod
    def of(cast: Cast, bounty: Funded, folder: Path) -> "_Flood":
        url = f"{cast.stack.api_base_url}/api/bounties/{bounty.bounty_id}"
        wait_until(lambda: urllib3.request("GET", url).status == 200, 60)
        roster = Roster.from_json(urllib3.request("GET", url).json()["guardian_roster"])
        settings: Settings = settings_of(dict(cast.stack.environment("poster")), needs=())
        return _Flood(cast, bounty, folder, roster, beacon_info(settings.beacon(), Urllib3Get()))

    def submit(self) -> int:
        """Upload and record all of it; the bytes that have something behind them."""
        works = [self._work(size) for size in _sizes(WORKS)]
        with ThreadPoolExecutor(UPLOADS) as uploading:
            for _ in uploading.map(lambda each: self._upload(*each), works):
                pass
            junk = list(uploading.map(self._random, _sizes(RANDOM)))
            own = list(uploading.map(lambda number: self._copy(*works[number % WORKS]), range(COPIED)))
        records = [(wallet, envelope.commitment()) for wallet, envelope, _ in works]
        records += [*junk_records(junk), *junk_records(own)]
        records += [(Wallet(), works[number % WORKS][1].commitment()) for number in range(COPIED)]
        records += [(Wallet(), bytes32(secrets.token_bytes(32))) for _ in range(MANY - len(records))]
        self._record(records)
        held = [envelope for _, envelope, _ in works] + [envelope for _, envelope in (*junk, *own)]
        return sum(envelope.ciphertext.byte_length for envelope in held)

    def _work(self, size: int) -> tuple[Wallet, Envelope, Path]:
        wallet, identity = Wallet(), Identity.generate()
        directory = self.folder / f"work-{wallet.address}"
        directory.mkdir()
        (directory / "work.bin").write_bytes(secrets.token_bytes(size))
        file = self.folder / f"{wallet.address}.age"
        sealed = seal_directory(directory, identity.public_key, self._binding(wallet), file)
        (directory / "work.bin").unlink()
        return wallet, self._envelope(wallet, identity, sealed.sha256, sealed.byte_length), file

    def _random(self, size: int) -> tuple[Wallet, Envelope]:
        wallet, content = Wallet(), secrets.token_bytes(size)
        envelope = self._envelope(wallet, Identity.generate(), bytes32(sha256(content).digest()), size)
        self._send(wallet, envelope, content)
        return wallet, envelope

    def _copy(self, _: Wallet, envelope: Envelope, file: Path) -> tuple[Wallet, Envelope]:
        wallet = Wallet()
        mine = in_own_envelope(envelope, wallet.address, 2)
        self._send(wallet, mine, file.read_bytes())
        return wallet, mine

    def _upload(self, wallet: Wallet, envelope: Envelope, file: Path) -> None:
        self._send(wallet, envelope, file.read_bytes())

    def _binding(self, wallet: Wallet) -> Binding:
        hub = Address(self.cast.stack.hub.hub.address)
        chain_id = ChainId(self.cast.stack.anvil.chain_id)
        return Binding(chain_id, hub, BountyId(int(self.bounty.bounty_id)), Address(wallet.address))

    def _envelope(self, wallet: Wallet, identity: Identity, digest: Bytes32, size: int) -> Envelope:
        policy = self.info.reveal_policy(UnixSeconds(self.bounty.reveal_at))
        keys = self.roster.encryption_public_keys
        return build_envelope(
            binding=self._binding(wallet),
            spec_commitment=Bytes32(self.bounty.spec_commitment),
            guardian_roster_hash=self.roster.guardian_roster_hash,
            recipients_commitment=self.roster.recipients_commitment,
            reveal_policy=policy,
            content_public_key=identity.public_key,
            key_capsule=seal_capsule(identity, self._binding(wallet), keys, policy.round, self.info),
            ciphertext_sha256=digest,
            ciphertext_byte_length=size,
        )

    def _send(self, wallet: Wallet, envelope: Envelope, content: bytes) -> None:
        """Upload and prepare, as a Solver does."""
        path = f"/api/bounties/{self.bounty.bounty_id}/submissions/{wallet.address}"
        wanted = {"ciphertext_sha256": envelope.ciphertext.sha256, "ciphertext_byte_length": len(content)}
        target = self._ask(wallet, f"{path}/artifact-upload-url", json.dumps(wanted).encode())
        url, headers = str(target["upload_url"]), target["upload_headers"]
        done = urllib3.request("PUT", url, body=content, headers=headers, timeout=PATIENCE)  # type: ignore[arg-type]
        if done.status != 200:
            raise RuntimeError(f"the storage answers {done.status}")
        self._ask(wallet, f"{path}/prepare", envelope.canonical_bytes())

    def _ask(self, wallet: Wallet, path: str, body: bytes) -> dict[str, object]:
        """A signed request, again while its bytes are still hashed."""
        url, stack = self.cast.stack.api_base_url + path, self.cast.stack
        while True:
            headers = sign_request(
                "POST",
                url,
                body,
                rpc_url=stack.anvil.url,
                hub_address=stack.hub.hub.address,
                private_key=bytes.fromhex(wallet.private_key.removeprefix("0x")),
            )
            headers = {**headers, "Content-Type": "application/json"}
            answer = urllib3.request("POST", url, body=body, headers=headers, retries=False, timeout=PATIENCE)
            if answer.status < 300:
                found: dict[str, object] = answer.json()
                return found
            if answer.status != 503:
                raise RuntimeError(f"{path} answers {answer.status}: {answer.data[:300]!r}")
            time.sleep(1)

    def _record(self, records: Sequence[tuple[Wallet, Bytes32]]) -> None:
        hub, number = self.cast.stack.hub.hub, int(self.bounty.bounty_id)
        roster = bytes.fromhex(self.cast.stack.hub.roster_hash[2:])
        for wallet, commitment in records:
            self.cast.stack.anvil.fund(wallet.address)
            hub.send(wallet, "submit", number, bytes.fromhex(commitment[2:]), roster)
        url = f"{self.cast.stack.api_base_url}/api/bounties/{number}"
        wait_until(lambda: urllib3.request("GET", url).json()["active_submission_count"] == len(records), 120)


def junk_records(junk: Sequence[tuple[Wallet, Envelope]]) -> list[tuple[Wallet, Bytes32]]:
    """What its accounts record."""
    return [(wallet, envelope.commitment()) for wallet, envelope in junk]


def _sizes(count: int) -> list[int]:
    """Lengths over all powers of ten alike, the shortest and the longest among them."""
    steps = max(1, count - 1)
    return [round(SMALLEST * (LARGEST / SMALLEST) ** (each / steps)) for each in range(count)]
