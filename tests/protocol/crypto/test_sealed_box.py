"""The delivery wrap."""

import base64

import pytest
from bounty_protocol.crypto.failures import Failure, SealedDataError
from bounty_protocol.crypto.sealed_box import unwrap, wrap
from bounty_protocol.types import Bytes32, to_bytes
from nacl.public import PrivateKey, PublicKey, SealedBox

from tests.vectors.samples import CONTENT, identity

DELIVERY, RETIRED = identity("delivery"), identity("retired")
WRAPPED = wrap(CONTENT, DELIVERY.public_key)


def _sealed(data: bytes) -> str:
    return base64.b64encode(SealedBox(PublicKey(to_bytes(DELIVERY.public_key))).encrypt(data)).decode()


def test_wrap__opened_by_its_key__the_identity() -> None:
    assert unwrap(WRAPPED, [DELIVERY], CONTENT.public_key) == CONTENT
    assert unwrap(wrap(CONTENT, RETIRED.public_key), [DELIVERY, RETIRED], CONTENT.public_key) == CONTENT


def test_wrap__is_a_plain_sealed_box_over_the_scalar() -> None:
    sealed = base64.b64decode(WRAPPED)
    assert len(sealed) == 80
    assert SealedBox(PrivateKey(DELIVERY.secret)).decrypt(sealed) == CONTENT.secret


def test_wrap__made_twice__differs() -> None:
    assert wrap(CONTENT, DELIVERY.public_key) != WRAPPED


@pytest.mark.parametrize(
    "wrapped",
    [
        "",
        WRAPPED[:-4],
        WRAPPED + "AAAA",
        WRAPPED.rstrip("="),
        WRAPPED + "\n",
        " " + WRAPPED,
        base64.urlsafe_b64encode(b"\xff" * 80).decode(),
        base64.b64encode(b"\xff" * 80).decode(),
        base64.b64encode(base64.b64decode(WRAPPED)[:79]).decode(),
        _sealed(bytes(31)),
        _sealed(identity("other").secret),
        wrap(CONTENT, RETIRED.public_key),
    ],
)
def test_wrap__of_another_form_key_or_content__refused(wrapped: str) -> None:
    with pytest.raises(SealedDataError) as refusal:
        unwrap(wrapped, [DELIVERY], CONTENT.public_key)
    assert refusal.value.failure is Failure.DELIVERY_WRAP_INVALID


def test_wrap__every_byte_altered__refused() -> None:
    sealed = base64.b64decode(WRAPPED)
    for position in range(80):
        altered = bytearray(sealed)
        altered[position] ^= 1 << position % 7
        with pytest.raises(SealedDataError):
            unwrap(base64.b64encode(altered).decode(), [DELIVERY], CONTENT.public_key)


@pytest.mark.parametrize("key", ["0x" + "00" * 32, "0x01" + "00" * 31, "0x" + "ff" * 32])
def test_wrap__to_a_key_everybody_knows__refused(key: str) -> None:
    with pytest.raises(SealedDataError):
        wrap(CONTENT, Bytes32(key))
