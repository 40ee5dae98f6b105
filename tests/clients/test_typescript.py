"""The TypeScript client against the vectors and against this project's Python: what one seals the other opens.

A campaign (``SERVICE_CAMPAIGN=full``) has 10,000 files, 1 GiB in bounded memory, and many more altered files.
"""

import base64
import hashlib
import json
import random
import re
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from unittest.mock import ANY

import pytest
from bounty_protocol.crypto import age, bls
from bounty_protocol.crypto.archive import ArchiveLimits
from bounty_protocol.crypto.archive_read import unpack
from bounty_protocol.crypto.archive_write import ArchiveEntry
from bounty_protocol.crypto.artifact import open_artifact, seal_directory
from bounty_protocol.crypto.beacon import Beacon
from bounty_protocol.crypto.capsule import open_capsule, seal_capsule
from bounty_protocol.crypto.failures import SealedDataError
from bounty_protocol.crypto.sealed_box import unwrap
from bounty_protocol.crypto.x25519 import Identity
from bounty_protocol.domain.envelope.checks import ExpectedEnvelope, envelope_differences
from bounty_protocol.domain.envelope.document import Envelope, build_envelope, parse_envelope
from bounty_protocol.types import ZERO_BYTES32, Bytes32, bytes32
from local_stack.process import StackError
from local_stack.toolbox import ensure_npm_package
from service_api.pages.policy import SEALER_POLICY, acting_policy

from tests.campaign import FULL, size, source
from tests.clients.package import TOP, built, run_node, start_node
from tests.pages.browser_process import BROWSER, NO_BROWSER, browser_variables
from tests.pages.conftest import VARIABLES, configured
from tests.vectors.build_sealing import archive_bytes, try_open_age
from tests.vectors.samples import (
    BEACON,
    BINDING,
    BOUNTY_ID,
    CHAIN_ID,
    CONTENT,
    GUARDIAN_IDENTITIES,
    HUB,
    REVEAL_AT,
    ROSTER,
    ROUND,
    SOLVER,
    identity,
    seeded,
    word,
)

CASES: Final = 20
"""Of the vectors."""
CHUNK: Final = 64 * 1024
ALTERED: Final = size(150, 5_000)
POLICY: Final = BEACON.info.reveal_policy(REVEAL_AT)
SEALED: Final = {"compiled": size(16, 1_024), "plain": 3}
"""Mebibytes that a browser seals with WebAssembly and without."""
GROWN_KILOBYTES: Final = 400_000
"""Of a browser that seals, uploads or opens."""
HELD_BYTES: Final = 600_000_000
"""What a page holds after that, to show that the measure would find it."""
DELIVERY: Final = identity("delivery")
PEAK_KILOBYTES: Final = 500_000
"""Of a Node process that seals and opens; more than half of the largest file would not fit."""


def one_file(length: int) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        (folder / "work").write_bytes(seeded(f"file of {length}")(length) if length < 2**21 else bytes(length))

    return make


def many_files(folder: Path) -> None:
    for number in range(size(100, 10_000)):
        below = folder / f"part {number % 7}" / "données"
        below.mkdir(parents=True, exist_ok=True)
        (below / f"{number}.txt").write_text(f"file {number}\n")
    (folder / "empty").mkdir()
    (folder / ("long" * 30)).write_text("a name of 120 letters")
    (folder / "none").touch()


TREES: Final[Mapping[str, Callable[[Path], None]]] = {
    "1 byte": one_file(1),
    "a byte less than a chunk": one_file(CHUNK - 1),
    "a chunk": one_file(CHUNK),
    "a byte more than a chunk": one_file(CHUNK + 1),
    "many files": many_files,
} | ({"1 GiB": one_file(2**30)} if FULL else {})


@dataclass(frozen=True)
class Exchange:
    """What both sides sealed, by tree, and what Node found in what Python sealed."""

    folder: Path
    answer: Mapping[str, Any]

    def tree(self, name: str) -> Path:
        return self.folder / "trees" / name

    def found(self, name: str) -> object:
        return self.answer["opened"][list(TREES).index(name)]

    def commitment(self, name: str) -> object:
        return self.answer["sealed"][list(TREES).index(name)]


@pytest.fixture(scope="module")
def exchange(tmp_path_factory: pytest.TempPathFactory) -> Exchange:
    """Python seals each tree, then one Node process opens those and seals the trees for Python."""
    folder = tmp_path_factory.mktemp("exchange")
    jobs: dict[str, list[Any]] = {"open": [], "seal": [], "wrapTo": [DELIVERY.public_key, ZERO_BYTES32]}
    for name, make in TREES.items():
        tree, ours, theirs = (folder / part / name for part in ("trees", "python", "node"))
        for each in (tree, ours, theirs):
            each.mkdir(parents=True)
        make(tree)
        seal(tree, ours)
        jobs["open"].append({"folder": str(ours)})
        jobs["seal"].append({"source": str(tree), "folder": str(theirs)})
    return Exchange(folder, in_node(folder, jobs))


def in_node(folder: Path, job: Mapping[str, object]) -> Mapping[str, Any]:
    """What ``exchange.mjs`` answers for a job."""
    path = write_job(folder, job)
    answer: Mapping[str, Any] = json.loads(run_node(built() / "test/exchange.mjs", path, timeout=3_600))
    return answer


def write_job(folder: Path, job: Mapping[str, object]) -> Path:
    """A job at the sample deployment, its beacon's round being out."""
    bounty = {
        "chainId": CHAIN_ID,
        "hubAddress": HUB,
        "bountyId": str(BOUNTY_ID),
        "specCommitment": word("page"),
        "guardianRosterHash": ROSTER.guardian_roster_hash,
        "encryptionKeys": ROSTER.encryption_public_keys,
        "revealAt": REVEAL_AT,
    }
    info = BEACON.info
    beacon = {
        "chainHash": info.chain_hash,
        "publicKey": info.public_key,
        "genesisTime": info.genesis_time,
        "periodSeconds": info.period_seconds,
    }
    opening = {
        "signature": BEACON.signature(ROUND).hex(),
        "guardian": GUARDIAN_IDENTITIES[1].to_text(),
        "rosterSize": len(ROSTER.members),
        "identity": CONTENT.to_text(),
        "envelope": {
            "version": 2,
            "chain_id": CHAIN_ID,
            "hub_address": HUB,
            "bounty_id": str(BOUNTY_ID),
            "solver_address": SOLVER,
            "content_public_key": CONTENT.public_key,
        },
    }
    path = folder / "job.json"
    path.write_text(json.dumps({"bounty": bounty, "beacon": beacon, "solver": SOLVER} | opening | dict(job)))
    return path


def seal(tree: Path, folder: Path) -> None:
    """As ``solver:submit`` does: the ciphertext and the envelope beside it."""
    key = Identity.generate()
    sealed = seal_directory(tree, key.public_key, BINDING, folder / "artifact.age")
    envelope = build_envelope(
        binding=BINDING,
        spec_commitment=word("page"),
        guardian_roster_hash=ROSTER.guardian_roster_hash,
        recipients_commitment=ROSTER.recipients_commitment,
        reveal_policy=POLICY,
        content_public_key=key.public_key,
        key_capsule=seal_capsule(key, BINDING, ROSTER.encryption_public_keys, ROUND, BEACON.info),
        ciphertext_sha256=sealed.sha256,
        ciphertext_byte_length=sealed.byte_length,
    )
    (folder / "envelope.json").write_bytes(envelope.canonical_bytes())


def listing(tree: Path) -> dict[str, str]:
    """Every file's SHA-256 by its path; directories with a slash and none."""
    return {
        f"{path.relative_to(tree)}{'/' if path.is_dir() else ''}": "" if path.is_dir() else digest_of(path)
        for path in tree.rglob("*")
    }


def digest_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def test_vectors__in_node__every_case_as_stated() -> None:
    assert f"# pass {CASES}\n# fail 0" in run_node(built() / "test/vectors-in-node.mjs")


def test_refusals__in_node__each_with_its_code() -> None:
    assert "# pass 13\n# fail 0" in run_node(built() / "test/refusals.mjs")


def test_broken_transfers_are_continued_or_refused() -> None:
    assert "# pass 24\n# fail 0" in run_node(built() / "test/transfer.mjs")


def test_acts_are_found_by_their_events() -> None:
    assert "# pass 12\n# fail 0" in run_node(built() / "test/acts.mjs")


def test_terms_are_the_frontmatter_or_refused() -> None:
    assert "# pass 18\n# fail 0" in run_node(built() / "test/challenge.mjs")


@pytest.mark.parametrize("name", TREES)
def test_work__sealed_in_python__opens_in_typescript(exchange: Exchange, name: str) -> None:
    assert exchange.found(name) == listing(exchange.tree(name))


@pytest.mark.parametrize("name", TREES)
def test_work__sealed_in_typescript__opens_in_python(exchange: Exchange, name: str, tmp_path: Path) -> None:
    folder = exchange.folder / "node" / name
    envelope = parse_envelope((folder / "envelope.json").read_bytes())
    assert envelope.commitment() == exchange.commitment(name)
    assert envelope_differences(envelope, expected_envelope()) == []
    key = content_key(envelope)
    open_artifact(
        folder / "artifact.age",
        key,
        tmp_path / "out",
        sha256=envelope.ciphertext.sha256,
        byte_length=envelope.ciphertext.byte_length,
        expected=envelope.binding,
        original_names=True,
    )
    assert listing(tmp_path / "out") == listing(exchange.tree(name))
    # The archive inside is the same, byte for byte, as the one that Python makes of the same files.
    ours = parse_envelope((exchange.folder / "python" / name / "envelope.json").read_bytes())
    assert tar_digest(folder, key) == tar_digest(exchange.folder / "python" / name, content_key(ours))


def test_key_of_typescript_opens_in_python(exchange: Exchange) -> None:
    wrapped, refused = exchange.answer["wraps"]
    assert unwrap(wrapped, [DELIVERY], CONTENT.public_key) == CONTENT
    assert refused == "delivery_wrap_invalid"


def test_exchange__of_everything__takes_bounded_memory(exchange: Exchange) -> None:
    assert exchange.answer["peakKilobytes"] < PEAK_KILOBYTES


class BrowserMissing(Exception):
    """This machine cannot have the browser, or it does not start."""


def seal_in_browser(folder: Path, mebibytes: int, plain_mebibytes: int) -> dict[str, Any]:
    """What a page found that sealed files of these sizes and opened them again, and in how many seconds and kilobytes.

    The first one with WebAssembly, as the pages do, the second one without.
    """
    sizes = {"mebibytes": mebibytes, "plainMebibytes": plain_mebibytes, "holdBytes": HELD_BYTES}
    policies = {"page": acting_policy(configured(VARIABLES)), "sealer": SEALER_POLICY}
    job = write_job(folder, {"policies": policies, **sizes})
    try:
        modules = ensure_npm_package(BROWSER)
    except StackError as error:
        raise BrowserMissing(f"the browser cannot be had here: {error}") from error
    launch = modules.parent / "launch.mjs"
    done = start_node(built() / "test/browser.mjs", job, launch, timeout=3_600, variables=browser_variables(folder))
    if done.returncode == NO_BROWSER:
        raise BrowserMissing(f"the browser does not start here: {done.stderr[-300:]}")
    assert done.returncode == 0, done.stdout + done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@pytest.fixture(scope="module")
def browsed(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """What one browser found that ran everything."""
    try:
        return seal_in_browser(tmp_path_factory.mktemp("browser"), SEALED["compiled"], SEALED["plain"])
    except BrowserMissing as missing:
        pytest.skip(f"NOT RUN: {missing}")


@pytest.mark.nightly
def test_vectors__in_a_browser__every_case_as_stated(browsed: Mapping[str, Any]) -> None:
    for found in (browsed["vectors"][name] for name in SEALED):
        assert len(found) == CASES
        assert set(found.values()) == {""}, found


def test_browser_seals_in_bounded_memory(browsed: Mapping[str, Any]) -> None:
    for name, mebibytes in SEALED.items():
        found = browsed[name]
        assert found["found"] == {"work/large": [mebibytes * 2**20, found["wanted"]]}
        assert found["isUploaded"]
        assert max(found["kilobytes"].values()) < GROWN_KILOBYTES
    assert browsed["heldKilobytes"] > GROWN_KILOBYTES  # of a page that reads files whole
    assert browsed["refusals"] == [
        ["archive_refused", ANY],
        ["sealing_failed", "The script that seals did not start, or ended early."],
        ["sealing_failed", "The browser has no space for the sealed work."],
    ]
    assert browsed["allowed"] == "WebAssembly"  # and no requests
    assert browsed["kept"] == ["sealed", "source"]


def expected_envelope() -> ExpectedEnvelope:
    return ExpectedEnvelope(CHAIN_ID, HUB, BOUNTY_ID, SOLVER, word("page"), ROSTER, POLICY)


def content_key(envelope: Envelope) -> Identity:
    return open_capsule(
        envelope.key_capsule,
        beacon=Beacon(ROUND, BEACON.signature(ROUND)),
        info=BEACON.info,
        keyring=[GUARDIAN_IDENTITIES[2]],
        roster_size=len(ROSTER.members),
        content_public_key=envelope.content_public_key,
        expected=envelope.binding,
    )


def tar_digest(folder: Path, identity: Identity) -> str:
    digest = hashlib.sha256()
    with (folder / "artifact.age").open("rb") as file:
        for chunk in age.decrypt(file, [identity], recipients=1):
            digest.update(chunk)
    return digest.hexdigest()


def altered(data: bytes, walk: random.Random) -> bytes:
    """The bytes with one of them changed, or cut, or extended; early bytes more often than late ones."""
    position = min(walk.randrange(len(data)), walk.randrange(len(data)))
    kind = walk.randrange(5)
    if kind == 0:
        return data[:position]
    if kind == 1:
        return data + bytes([walk.randrange(256)]) * walk.choice((1, 512))
    return data[:position] + bytes([data[position] ^ 1 << walk.randrange(8)]) + data[position + 1 :]


def test_altered_files__in_both_languages__end_alike(tmp_path: Path) -> None:
    walk, tar = source("typescript"), archive_bytes()
    sealed = age.encrypt_bytes(tar, [CONTENT.public_key], seeded("altered"))
    tars = [altered(tar, walk) for _ in range(ALTERED)]
    ages = [altered(sealed, walk) for _ in range(ALTERED)]
    downloads = [Downloaded(sealed, sealed), *(Downloaded(altered(sealed, walk), sealed) for _ in range(10))]
    downloads += [Downloaded(data, data) for data in ages[:10]]
    job = {
        "tars": [base64.b64encode(data).decode() for data in tars],
        "ages": [base64.b64encode(data).decode() for data in ages],
        "tampered": [each.to_json() for each in downloads],
    }
    answer = in_node(tmp_path, job)
    assert answer["tars"] == [outcome(file_count, data) for data in tars]
    assert answer["ages"] == [outcome(lambda data: len(try_open_age(data)), data) for data in ages]
    expected = [outcome(each.open_in(tmp_path / str(number)), b"") for number, each in enumerate(downloads)]
    assert answer["tampered"] == expected
    assert {"ciphertext_mismatch", 4} <= set(expected)


@dataclass(frozen=True)
class Downloaded:
    """An artifact as it arrived, and the one that the envelope commits to."""

    arrived: bytes
    committed: bytes

    @property
    def sha256(self) -> Bytes32:
        return bytes32(hashlib.sha256(self.committed).digest())

    def to_json(self) -> dict[str, object]:
        text = base64.b64encode(self.arrived).decode()
        return {"artifact": text, "sha256": self.sha256, "byteLength": len(self.committed)}

    def open_in(self, folder: Path) -> Callable[[bytes], int]:
        """How many files it has."""
        folder.mkdir()
        file = folder / "artifact.age"
        file.write_bytes(self.arrived)
        return lambda _: (
            open_artifact(
                file,
                CONTENT,
                folder / "out",
                sha256=self.sha256,
                byte_length=len(self.committed),
                expected=BINDING,
            ).file_count
        )


def outcome(attempt: Callable[[bytes], int], data: bytes) -> int | str:
    """What an attempt returns, or the failure class with which it is refused."""
    try:
        return attempt(data)
    except SealedDataError as error:
        return error.code


def file_count(tar: bytes) -> int:
    with tempfile.TemporaryDirectory() as folder:
        return unpack(iter([tar]), Path(folder), ArchiveLimits()).file_count


def test_names_are_the_same_in_both_languages(tmp_path: Path) -> None:
    pairs = [
        ("straße", "STRASSE"),
        ("ﬁn", "FIN"),
        ("ς", "Σ"),
        ("é", "E\u0301"),
        ("K", "\u212a"),
        ("ẞ", "ss"),
        ("ı", "i"),
    ]
    pairs += [
        ("A/x", "a/y"),
        ("a", "a/b"),
        ("a/b", "A"),
        ("a/b", "a/c"),
        ("İ", "i\u0307"),
        ("a", "b"),
        ("ǆ", "ǅ"),
        ("Ꭰ", "ꭰ"),
        ("ά", "Ά"),
    ]
    tars = [tar_of(pair) for pair in pairs]
    answer = in_node(tmp_path, {"tars": [base64.b64encode(tar).decode() for tar in tars]})
    assert answer["tars"] == [outcome(file_count, tar) for tar in tars]
    assert set(answer["tars"]) == {2, "archive_refused"}


def tar_of(names: Iterable[str]) -> bytes:
    """An archive of empty files, which nothing was checked of."""
    entries = [ArchiveEntry(name, 0, directory=False, executable=False).header() for name in names]
    return b"".join(entries) + bytes(1024)


PAIRINGS: Final = {"right": 1, "cubed": 3, "inverted": -1, "py_ecc": -pow(3, -1, bls.ORDER)}
"""Powers of the right pairing."""


@pytest.mark.parametrize("pairing", PAIRINGS)
def test_check_of_a_pairing_fails_another_one(pairing: str) -> None:
    """The lines of docs/formats.md, with the right pairing to some power."""
    (code,) = re.findall(r"```ts\n(.*?)```", (TOP / "docs/formats.md").read_text(encoding="utf-8"), re.DOTALL)
    power = f"const pairingOf = (p, q) => bls.pairing(p.multiply({PAIRINGS[pairing] % bls.ORDER}n), q);"
    other = code.replace("bls.pairing(", "pairingOf(").replace('"tests/vectors', f'"{TOP}/tests/vectors')
    program = built() / ".local" / f"pairing-{pairing}.mjs"
    program.write_text(f"{power}\n{other}")
    assert start_node(program).returncode == (0 if pairing == "right" else 1)
