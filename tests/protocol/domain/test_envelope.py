"""The envelope's own form."""

import base64
import hashlib
import json
from typing import Any

import pytest
from bounty_protocol.domain.envelope.canonical_json import canonical_bytes
from bounty_protocol.domain.envelope.document import MAX_CAPSULE_BYTES, Envelope, build_envelope, parse_envelope
from bounty_protocol.errors import ServiceError
from bounty_protocol.keccak import keccak256
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


def test_mistakes_of_an_envelope_come_together() -> None:
    document: Any = envelope().to_json()
    document["version"], document["mode"], document["extra"] = 3, "x", 1
    document["reveal_policy"]["round"] = 0
    del document["ciphertext"]["sha256"]
    mistakes = {"version", "mode", "extra", "reveal_policy.round", "ciphertext.sha256"}
    assert set(_issues(canonical_bytes(document))) == mistakes


@pytest.mark.parametrize("size", [0, MAX_CAPSULE_BYTES + 1])
def test_capsule_of_no_or_too_many_bytes_is_refused(size: int) -> None:
    assert set(_issues(envelope(key_capsule=bytes(size)).canonical_bytes())) == {"key_capsule"}
    assert parse_envelope(envelope(key_capsule=bytes(MAX_CAPSULE_BYTES)).canonical_bytes())


@pytest.mark.spec(54)
@pytest.mark.parametrize("data", [json.dumps(envelope().to_json(), indent=1).encode(), b"[]", b"{", b""])
def test_envelope_in_other_bytes_is_refused(data: bytes) -> None:
    """The hash of the same work in other bytes would be another commitment."""
    assert set(_issues(data)) == {"envelope"}
