"""Which X25519 public keys are accepted."""

import pytest
from bounty_protocol.domain.envelope.public_keys import _LOW_ORDER, FIELD_PRIME, check_public_key, parse_public_key
from bounty_protocol.types import Bytes32, to_bytes
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from hypothesis import given
from hypothesis import strategies as st


def _key(number: int) -> Bytes32:
    return Bytes32("0x" + number.to_bytes(32, "little").hex())


@pytest.mark.parametrize("number", sorted(_LOW_ORDER))
def test_low_order_key_is_refused(number: int) -> None:
    with pytest.raises(ValueError, match="low order"):
        check_public_key(_key(number))
    with pytest.raises(ValueError, match=r"."):  # the library sees the all-zero secret
        X25519PrivateKey.generate().exchange(X25519PublicKey.from_public_bytes(to_bytes(_key(number))))


@pytest.mark.parametrize("number", [FIELD_PRIME, FIELD_PRIME + 1, FIELD_PRIME + 9, 2**255 + 9, 2**256 - 1])
def test_public_key__not_canonical__refused(number: int) -> None:
    with pytest.raises(ValueError, match="canonical"):
        check_public_key(_key(number))


@pytest.mark.parametrize("number", [2, 9, FIELD_PRIME - 2])
def test_neighbour_of_a_refused_key_is_accepted(number: int) -> None:
    assert check_public_key(_key(number)) == _key(number)


@given(st.binary(min_size=32, max_size=32))
def test_public_key__of_any_private_key__accepted(secret: bytes) -> None:
    public = X25519PrivateKey.from_private_bytes(secret).public_key().public_bytes_raw()
    assert parse_public_key("0x" + public.hex().upper()) == "0x" + public.hex()
