"""The delivery wrap."""

import base64

import pytest
from bounty_protocol.crypto.failures import SealedDataError
from bounty_protocol.crypto.sealed_box import unwrap, wrap
from bounty_protocol.types import Bytes32
from nacl.public import PrivateKey, SealedBox

from tests.vectors.samples import CONTENT, identity

DELIVERY, RETIRED = identity("delivery"), identity("retired")
WRAPPED = wrap(CONTENT, DELIVERY.public_key)


def test_wrap__opened_by_its_key__the_identity() -> None:
    assert unwrap(WRAPPED, [DELIVERY], CONTENT.public_key) == CONTENT
    assert unwrap(wrap(CONTENT, RETIRED.public_key), [DELIVERY, RETIRED], CONTENT.public_key) == CONTENT


def test_wrap__is_a_plain_sealed_box_over_the_scalar() -> None:
    sealed = base64.b64decode(WRAPPED)
    assert len(sealed) == 80
    assert SealedBox(PrivateKey(DELIVERY.secret)).decrypt(sealed) == CONTENT.secret


@pytest.mark.parametrize("key", ["0x" + "00" * 32, "0x01" + "00" * 31, "0x" + "ff" * 32])
def test_wrap__to_a_key_everybody_knows__refused(key: str) -> None:
    with pytest.raises(SealedDataError):
        wrap(CONTENT, Bytes32(key))
