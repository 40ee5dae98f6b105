"""The published vectors, read as another implementation would: from the JSON files alone."""

import base64
import hashlib
import io
import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pyrage
import pytest
from bounty_protocol.crypto import bls
from bounty_protocol.crypto.age import decrypt_bytes, encrypt_payload
from bounty_protocol.crypto.age_header import Stanza
from bounty_protocol.crypto.archive import ArchiveLimits
from bounty_protocol.crypto.archive_read import Unpacked, unpack
from bounty_protocol.crypto.archive_write import comment_header, list_directory, tar_blocks
from bounty_protocol.crypto.artifact import open_artifact
from bounty_protocol.crypto.beacon import Beacon
from bounty_protocol.crypto.beacon_info import QUICKNET, BeaconInfo, chain_hash
from bounty_protocol.crypto.capsule import open_capsule
from bounty_protocol.crypto.failures import SealedDataError
from bounty_protocol.crypto.sealed_box import unwrap
from bounty_protocol.crypto.timelock import timelock_decrypt
from bounty_protocol.crypto.x25519 import Identity, parse_recipient
from bounty_protocol.domain.challenge.commitments import log_digest, spec_commitment
from bounty_protocol.domain.challenge.page import parse_challenge
from bounty_protocol.domain.envelope.binding import parse_binding
from bounty_protocol.domain.envelope.canonical_json import canonical_bytes, parse_canonical
from bounty_protocol.domain.envelope.document import parse_envelope
from bounty_protocol.domain.envelope.locator import parse_locator, storage_locator
from bounty_protocol.domain.envelope.reveal import round_at
from bounty_protocol.domain.lifecycle.roster import Roster
from bounty_protocol.domain.money.abi_hashes import authorization_nonce, funding_salt
from bounty_protocol.domain.verdict import parse_verdict
from bounty_protocol.keccak import keccak256
from bounty_protocol.types import Bytes32
from bounty_protocol.wire.reading import read
from py_arkworks_bls12381 import GT, Scalar

from tests.vectors import build_documents, build_sealing
from tests.vectors.files import HERE
from tests.vectors.samples import terms_of


def _load(name: str) -> Any:
    return json.loads((HERE / name).read_text(encoding="utf-8"))


def _cases(name: str, *path: str) -> list[Any]:
    value = _load(name)
    for key in path:
        value = value[key]
    return [pytest.param(case, id=str(case.get("reason", index))) for index, case in enumerate(value)]


def _bytes(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


@pytest.mark.spec(35, 51, 66)
def test_commitments__each_text__its_value() -> None:
    value = _load("commitments.json")
    for case in value["commitments"]:
        assert spec_commitment(case["text"].encode()) == case["commitment"]
    for case in value["log_digest"]:
        logs = [
            ([bytes.fromhex(topic[2:]) for topic in log["topics"]], bytes.fromhex(log["data"][2:]))
            for log in case["logs"]
        ]
        assert log_digest(logs) == case["log_digest"]


def test_abi_hashes_are_the_vectors() -> None:
    value = _load("abi_hashes.json")
    roster = read(Roster, value["guardian_roster"])
    roster.verify(value["chain_id"], value["hub_address"])
    assert roster.recipients_commitment == value["recipients_commitment"]
    authorization = value["authorization"]
    assert "0x" + keccak256(authorization["type"].encode()).hex() == authorization["type_hash"]
    terms = terms_of(authorization["terms"])
    found = authorization_nonce(value["chain_id"], value["hub_address"], authorization["poster_address"], terms)
    assert found == authorization["nonce"]
    salts = value["funding_salt"]
    assert "0x" + keccak256(salts["type"].encode()).hex() == salts["type_hash"]
    for case in salts["salts"]:
        number, page = int(case["number"]), Bytes32(salts["spec_commitment"])
        found = funding_salt(value["chain_id"], value["hub_address"], salts["poster_address"], page, number)
        assert found == case["salt"]


def test_rounds_and_locators_are_the_vectors() -> None:
    value = _load("reveal.json")
    case = value["storage_locator"]
    parsed = parse_locator(case["locator"])
    assert storage_locator(
        case["chain_id"], case["hub_address"], parsed.bounty_id, case["solver_address"], case["sha256"]
    ) == str(parsed)
    chain = value["quicknet"]
    key = bytes.fromhex(chain["public_key"])
    group, name = bytes.fromhex(chain["groupHash"]), chain["metadata"]["beaconID"]
    assert chain_hash(key, chain["genesis_time"], chain["period"], group, name) == f"0x{chain['hash']}"
    for row in value["rounds"]:
        assert round_at(row["reveal_at"], chain["genesis_time"], chain["period"]) == row["round"]
    for row in value["signatures"]:
        assert bls.verify(row["round"], bytes.fromhex(row["signature"]), key) is row["valid"]


def test_canonical_json_is_the_vectors() -> None:
    value = _load("canonical_json.json")
    for text in value["accepted"]:
        assert canonical_bytes(parse_canonical(text.encode(), 1_000)) == text.encode()
    for case in value["rejected"]:
        with pytest.raises(ValueError, match=r"."):
            parse_canonical(case["text"].encode(), 1_000)


@pytest.mark.parametrize("case", _cases("envelope.json", "accepted"))
def test_envelope__accepted__hashes_to_its_commitment(case: Any) -> None:
    data = case["envelope"].encode()
    assert parse_envelope(data).commitment() == case["submission_commitment"] == "0x" + keccak256(data).hex()


@pytest.mark.spec(34, 35, 39, 54, 87, 90)
@pytest.mark.parametrize("case", _cases("envelope.json", "rejected"))
def test_envelope__rejected__for_the_paths_it_says(case: Any) -> None:
    assert build_documents.issue_paths(parse_envelope, case["envelope"].encode()) == case["paths"]


@pytest.mark.spec(36, 37, 65, 71, 72, 88, 123, 167)
@pytest.mark.parametrize(("kind", "parse"), [("challenge_pages", parse_challenge), ("written_verdicts", parse_verdict)])
def test_document__accepted_and_rejected__as_said(kind: str, parse: Any) -> None:
    value = _load("documents.json")[kind]
    for case in value["accepted"]:
        assert parse(_bytes(case["document"]))
        assert spec_commitment(_bytes(case["document"])) == case["commitment"]
    for case in value["rejected"]:
        assert build_documents.issue_paths(parse, _bytes(case["document"])) == case["paths"]


def test_archive__files__give_the_tar_and_back(tmp_path: Path) -> None:
    value = _load("archive.json")
    root, out = tmp_path / "in", tmp_path / "out"
    for name, content in value["files"].items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content.encode())
    for head, made, binding in (
        (comment_header(value["binding"]), value, parse_binding(value["binding"])),
        (b"", value["version_1"], None),
    ):
        data = b"".join(bytes(block) for block in tar_blocks(root, list_directory(root, ArchiveLimits()), head))
        assert data == _bytes(made["tar"])
        assert "0x" + hashlib.sha256(data).hexdigest() == made["sha256"]
        out.mkdir()
        unpacked = unpack(iter([data]), out, ArchiveLimits())
        assert (unpacked.file_count, unpacked.binding) == (len(value["files"]), binding)
        found = {str(path.relative_to(out)): path.read_text() for path in out.rglob("*") if path.is_file()}
        assert found == value["files"]
        shutil.rmtree(out)


@pytest.mark.parametrize("case", _cases("archive.json", "accepted"))
def test_archive__accepted__with_its_file(case: Any, tmp_path: Path) -> None:
    assert unpack(iter([_bytes(case["tar"])]), tmp_path, ArchiveLimits()).file_count == 1
    assert [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()] == [b"data"]


@pytest.mark.parametrize("case", _cases("archive.json", "rejected"))
def test_archive__rejected__with_its_failure(case: Any) -> None:
    assert build_sealing.failure_of(build_sealing.try_unpack, _bytes(case["tar"])) == case["failure"]


def test_age_artifact_opens_here_and_with_rage() -> None:
    value, archive = _load("age_artifact.json"), _load("archive.json")
    identity = Identity.from_text(value["identity"])
    assert parse_recipient(value["recipient"]) == identity.public_key == value["content_public_key"]
    for made, tar in ((value, archive["tar"]), (value["version_1"], archive["version_1"]["tar"])):
        data = _bytes(made["artifact"])
        assert ("0x" + hashlib.sha256(data).hexdigest(), len(data)) == (made["sha256"], made["byte_length"])
        plain = decrypt_bytes(data, [identity], recipients=1)
        assert plain == _bytes(tar)
        assert pyrage.decrypt(data, [pyrage.x25519.Identity.from_str(value["identity"])]) == plain
    for case in value["also_accepted"]:
        assert decrypt_bytes(_bytes(case["artifact"]), [identity], recipients=1) == _bytes(case["plaintext"])


def _opened(data: bytes, folder: Path) -> Unpacked:
    """An artifact opened for the sample bounty and Solver."""
    folder.mkdir()
    (folder / "a.age").write_bytes(data)
    value = _load("age_artifact.json")
    return open_artifact(
        folder / "a.age", Identity.from_text(value["identity"]), folder / "out",
        sha256=Bytes32("0x" + hashlib.sha256(data).hexdigest()), byte_length=len(data),
        expected=parse_binding(_load("archive.json")["binding"]),
    )  # fmt: skip


def test_age_artifact__that_names_nobody__is_refused(tmp_path: Path) -> None:
    value = _load("age_artifact.json")
    assert _opened(_bytes(value["artifact"]), tmp_path / "2").binding is not None
    with pytest.raises(SealedDataError) as refusal:
        _opened(_bytes(value["version_1"]["artifact"]), tmp_path / "1")
    assert refusal.value.code == "binding_missing"


@pytest.mark.parametrize("case", _cases("age_artifact.json", "bound_to_another"))
def test_age_artifact__bound_to_another__is_refused(case: Any, tmp_path: Path) -> None:
    with pytest.raises(SealedDataError) as refusal:
        _opened(_bytes(case["artifact"]), tmp_path / "desk")
    assert refusal.value.code == case["failure"]


@pytest.mark.parametrize("case", _cases("age_artifact.json", "rejected"))
def test_age_artifact__rejected__with_its_failure(case: Any) -> None:
    assert build_sealing.failure_of(build_sealing.try_open_age, _bytes(case["artifact"])) == case["failure"]


def test_key_capsule__each_guardian__opens_it() -> None:
    value = _load("key_capsule.json")
    beacon = value["beacon"]
    info = BeaconInfo(beacon["chain_hash"], beacon["public_key"], beacon["genesis_time"], beacon["period_seconds"])
    binding = parse_binding(value["binding"])
    for text in value["guardians"]:
        found = open_capsule(
            _bytes(value["capsule"]),
            beacon=Beacon(beacon["round"], bytes.fromhex(beacon["signature"])),
            info=info,
            keyring=[Identity.from_text(text)],
            roster_size=len(value["guardians"]),
            content_public_key=value["content_public_key"],
            expected=binding,
        )
        assert found.to_text() == value["content_identity"]


def test_timelock_of_a_past_round_opens() -> None:
    value = _load("timelock.json")
    key, body = bytes.fromhex(value["key"]), bytes.fromhex(value["u"] + value["v"] + value["w"])
    stanza, file = Stanza("tlock", (str(value["round"]), QUICKNET.chain_hash[2:]), body), io.BytesIO()
    encrypt_payload([b"data"], file, [stanza], key, randomness=os.urandom)
    beacon = Beacon(value["round"], bytes.fromhex(value["signature"]))
    assert timelock_decrypt(file.getvalue(), beacon, QUICKNET) == b"data"


PAIRINGS = {"cubed": 3, "inverted": -1, "py_ecc": -pow(3, -1, bls.ORDER)}
"""Powers of the right pairing."""


def _check_pairing(power: int) -> None:
    """Run the check of docs/formats.md with the right pairing to some power."""
    (code,) = re.findall(r"```python\n(.*?)```", (HERE.parents[1] / "docs/formats.md").read_text(), re.DOTALL)
    scalar = Scalar.from_be_bytes((power % bls.ORDER).to_bytes(32, "big"))
    other = code.replace("GT.pairing(", "pairing_of(")
    assert other != code
    exec(other, {"pairing_of": lambda left, right: GT.pairing(left * scalar, right)})  # noqa: S102  # the page's own words


def test_check_of_a_pairing_passes_the_right_one() -> None:
    _check_pairing(1)


@pytest.mark.parametrize("power", PAIRINGS.values(), ids=PAIRINGS)
def test_check_of_a_pairing_fails_another_one(power: int) -> None:
    with pytest.raises(AssertionError):
        _check_pairing(power)


@pytest.mark.parametrize("case", _cases("key_capsule.json", "rejected"))
def test_key_capsule__rejected__with_its_failure(case: Any) -> None:
    capsule, failure = _bytes(case["capsule"]), case["failure"]
    assert build_sealing.failure_of(build_sealing.try_open_capsule, capsule) == failure


def test_delivery_wrap__opened__the_identity() -> None:
    value = _load("delivery_wrap.json")
    key = Identity(bytes.fromhex(value["delivery_private_key"][2:]))
    found = unwrap(value["wrapped_key"], [key], value["content_public_key"])
    assert found.to_text() == value["content_identity"]
    for case in value["rejected"]:
        failure = build_sealing.failure_of(
            lambda data: unwrap(data.decode(), [key], value["content_public_key"]), case["wrapped_key"].encode()
        )
        assert failure == case["failure"]
