"""The envelope's own form."""

import base64
import hashlib
import json
from typing import Any

import pytest
from bounty_protocol.domain.canonical_json import canonical_bytes
from bounty_protocol.domain.envelope import MAX_CAPSULE_BYTES, Envelope, build_envelope, parse_envelope
from bounty_protocol.errors import ServiceError
from bounty_protocol.keccak import keccak256
from bounty_protocol.types import checksum_address
from hypothesis import given
from hypothesis import strategies as st

from tests.vectors.samples import BEACON, BINDING, BOUNTY_ID, CHAIN_ID, CONTENT, HUB, REVEAL_AT, ROSTER, SOLVER, word

CAPSULE = b"age-encryption.org/v1\n-> tlock 1 aa\n"


def envelope(**changes: Any) -> Envelope:
    """The sample envelope, with derived fields following the changes."""
    fields: dict[str, Any] = {
        "binding": BINDING,
        "spec_commitment": word("spec"),
        "guardian_roster_hash": ROSTER.guardian_roster_hash,
        "recipients_commitment": ROSTER.recipients_commitment,
        "reveal_policy": BEACON.info.reveal_policy(REVEAL_AT),
        "content_public_key": CONTENT.public_key,
        "key_capsule": CAPSULE,
        "ciphertext_sha256": word("ciphertext"),
        "ciphertext_byte_length": 1234,
    }
    return build_envelope(**(fields | changes))


def _issues(data: bytes) -> dict[str, str]:
    with pytest.raises(ServiceError) as refusal:
        parse_envelope(data)
    assert refusal.value.code == "invalid_solver_submission"
    return {issue.path: issue.message for issue in refusal.value.issues}


def _changed(path: str, value: object) -> bytes:
    """The sample's canonical JSON with one value replaced (or removed, for ``...``)."""
    document: Any = envelope().to_json()
    target = document
    *parents, last = path.split(".")
    for name in parents:
        target = target[name]
    if value is ...:
        del target[last]
    else:
        target[last] = value
    return canonical_bytes(document)


@pytest.mark.spec(53, 54)
def test_envelope_commitment_is_keccak_of_its_bytes() -> None:
    sample = envelope()
    data = sample.canonical_bytes()
    assert parse_envelope(data) == sample
    assert sample.commitment() == "0x" + keccak256(data).hex()
    assert json.loads(data)["key_capsule"] == base64.b64encode(CAPSULE).decode()


@pytest.mark.spec(39, 58, 59, 64)
def test_envelope_has_the_designed_json_types() -> None:
    value: Any = envelope().to_json()
    assert isinstance(value["bounty_id"], str)
    assert {type(value[name]) for name in ("version", "chain_id")} == {int}
    assert {type(value["reveal_policy"][name]) for name in ("round", "reveal_at")} == {int}
    assert value["mode"] == "drand_tlock"
    digest = hashlib.sha256(CAPSULE).hexdigest()
    assert value["key_capsule_sha256"] == f"0x{digest}"
    locator = f"submissions/{CHAIN_ID}/{HUB}/{BOUNTY_ID}/{SOLVER}/{word('ciphertext')[2:]}.age"
    assert value["ciphertext"]["storage_locator"] == locator


@given(st.binary(min_size=1, max_size=300), st.integers(1, 2**53 - 1))
def test_envelope__any_capsule_and_length__read_back(capsule: bytes, length: int) -> None:
    sample = envelope(key_capsule=capsule, ciphertext_byte_length=length)
    assert parse_envelope(sample.canonical_bytes()) == sample


@pytest.mark.spec(34, 35, 39, 54, 87, 90)
@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("version", 0),
        ("version", 1),
        ("version", 3),
        ("version", "1"),
        ("version", True),
        ("mode", "plain"),
        ("chain_id", "31337"),
        ("chain_id", 0),
        ("chain_id", ...),
        ("hub_address", checksum_address(HUB)),
        ("hub_address", HUB.upper().replace("0X", "0x")),
        ("hub_address", HUB[:-1]),
        ("bounty_id", 7),
        ("bounty_id", "07"),
        ("bounty_id", "0"),
        ("solver_address", None),
        ("spec_commitment", word("spec")[2:]),
        ("guardian_roster_hash", word("x").upper()),
        ("recipients_commitment", []),
        ("reveal_policy", "soon"),
        ("reveal_policy.round", 0),
        ("reveal_policy.round", "5"),
        ("reveal_policy.reveal_at", -1),
        ("reveal_policy.beacon_chain_hash", ...),
        ("reveal_policy.delay", 1),
        ("content_public_key", "0x" + "00" * 32),
        ("content_public_key", "0x" + "ff" * 32),
        ("key_capsule", ""),
        ("key_capsule", "YQ"),
        ("key_capsule", "YR=="),
        ("key_capsule", "YQ==\n"),
        ("key_capsule", "-_=="),
        ("key_capsule", base64.b64encode(bytes(MAX_CAPSULE_BYTES + 1)).decode()),
        ("key_capsule_sha256", word("another")),
        ("ciphertext.sha256", word("another").upper()),
        ("ciphertext.byte_length", 0),
        ("ciphertext.byte_length", "1234"),
        ("ciphertext.storage_locator", "submissions/other.age"),
        ("ciphertext.url", "https://example.org/"),
        ("plaintext_sha256", word("plaintext")),
    ],
)
def test_envelope__one_field_in_another_form__named(path: str, value: object) -> None:
    assert path in _issues(_changed(path, value))


def test_mistakes_of_an_envelope_come_together() -> None:
    document: Any = envelope().to_json()
    document["version"], document["mode"], document["extra"] = 3, "x", 1
    del document["ciphertext"]["sha256"]
    assert set(_issues(canonical_bytes(document))) == {"version", "mode", "extra", "ciphertext.sha256"}


@pytest.mark.spec(54)
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b'"x"',
        envelope().canonical_bytes() + b"\n",
        envelope().canonical_bytes()[:-1],
        json.dumps(envelope().to_json()).encode(),
        b'{"a":"' + b"x" * 65_536 + b'"}',
    ],
    ids=["empty", "list", "string", "newline", "cut", "spaces", "oversize"],
)
def test_envelope__not_canonical_json__refused(data: bytes) -> None:
    assert set(_issues(data)) == {"envelope"}
