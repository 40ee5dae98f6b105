"""One contract for every binding of libsecp256k1 that is installed: known answers, and the same refusals."""

import subprocess
import sys
import traceback
from pathlib import Path

import pytest
from bounty_protocol.auth.secp256k1 import BINDING, CurveLibrary, installed
from eth_keys.backends.native.main import NativeECCBackend
from eth_keys.datatypes import PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.keys import sign

ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
G_X = "79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"
G_Y = "483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8"
MINUS_G_Y = "b7c52588d95c3b9aa25b0403f1eef75702e84bb7597aabe663b82f6f04ef2777"
KEYS = {
    1: G_X + G_Y,
    2: "c6047f9441ed7d6d3045406e95c07cd85c778e4b8cef3ca7abac09b95c709ee5"
    "1ae168fea63dc339a3c58419466ceaeef7f632653266d0e1236431a950cfe52a",
    ORDER - 1: G_X + MINUS_G_Y,
}
DIGEST = bytes.fromhex("456e9aea5e197a1f1af7a3e85a3212fa4049a3ba34c2289b4c860fc0b0c64ef3")
R = bytes.fromhex("9242685bf161793cc25603c231bc2f568eb630ea16aa137d2664ac8038825608")
S = bytes.fromhex("4f8ae3bd7535248d0bd448298cc2e2071e56992d0774dc340c368ae950852ada")
"""The published example of the precompiled contract ECRECOVER, v 28: the account 0x7156526f…."""
SIGNER = {
    0: "39a2aaaab5a5987b2fc96b5b391685ca465d20315c14375677f616616e711d27"
    "5c89354cdd1ab0525d5c0187993a51f87dc894deb6ed9034f578c7782fa04f47",
    1: "f57c1d4c961024e998eaec4b6bebec90e788ef5ade22e636ce76111b60db107d"
    "4c3404b9908a2f357c84ccb48cf412be41d09574a9291c9c7eb5173ccf2a339f",
}
INSTALLED = list(installed())
bindings = pytest.mark.parametrize("binding", INSTALLED, ids=lambda binding: binding.name)


def word(number: int) -> bytes:
    return number.to_bytes(32, "big")


def test_first_installed_binding_is_used() -> None:
    wanted = ["btclib-libsecp256k1"] if sys.version_info >= (3, 14) else ["coincurve", "btclib-libsecp256k1"]
    assert [binding.name for binding in INSTALLED] == wanted
    assert BINDING.name == wanted[0]


def test_other_binding_serves_without_coincurve() -> None:
    code = (
        "import sys; sys.modules['coincurve'] = None; from bounty_protocol.auth import secp256k1, signature;"
        f"print(secp256k1.BINDING.name, signature.account_of_key({word(1)!r}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["btclib-libsecp256k1", "0x7e5f4552091a69125d5dfcb7b8c2659029395bdf"]


def test_binding_that_lacks_a_part_is_not_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "coincurve.py").write_text("import no_such_module")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "coincurve", raising=False)
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        next(installed())


@bindings
@pytest.mark.parametrize("number", KEYS)
def test_public_key_is_the_published_point(binding: CurveLibrary, number: int) -> None:
    assert binding.public_key(word(number)).hex() == KEYS[number]


@bindings
@pytest.mark.parametrize(
    "key", [word(0), word(ORDER), word(ORDER + 1), b"\xff" * 32, b"", b"\xa7" * 31, b"\xa7" * 33, b"\0" + b"\xa7" * 32]
)
def test_bytes_that_are_no_key_are_not_shown(binding: CurveLibrary, key: bytes) -> None:
    with pytest.raises(ValueError) as refused:
        binding.public_key(key)
    shown = "".join(traceback.format_exception(refused.value))
    causes = repr((refused.value.args, refused.value.__cause__, refused.value.__context__))
    assert all(form not in shown + causes for form in (key.hex(), repr(key)[2:-1]) if key)


@bindings
def test_recover__of_a_known_signature__is_its_signer(binding: CurveLibrary) -> None:
    assert {number: (binding.recover(DIGEST, R + S, number) or b"").hex() for number in SIGNER} == SIGNER


@bindings
@settings(max_examples=50)
@given(key=st.integers(1, ORDER - 1), digest=st.binary(min_size=32, max_size=32))
def test_recover__of_what_a_key_signed__is_that_key(binding: CurveLibrary, key: int, digest: bytes) -> None:
    signature = sign(word(key), digest)
    native = PrivateKey(word(key), backend=NativeECCBackend()).public_key.to_bytes()
    assert binding.recover(digest, signature[:64], signature[64] - 27) == binding.public_key(word(key)) == native


@bindings
@settings(max_examples=50)
@given(key=st.integers(1, ORDER - 1), digest=st.binary(min_size=32, max_size=32))
def test_sign__of_any_digest__is_as_in_pure_python(binding: CurveLibrary, key: int, digest: bytes) -> None:
    native = PrivateKey(word(key), backend=NativeECCBackend()).sign_msg_hash(digest).to_bytes()
    assert binding.sign(digest, word(key)) == (native[:64], native[64])


@bindings
@pytest.mark.parametrize("key", [word(0), word(ORDER), b"", b"\xa7" * 31, b"\xa7" * 33])
def test_signing_with_no_key_shows_no_bytes(binding: CurveLibrary, key: bytes) -> None:
    with pytest.raises(ValueError, match="a private key is 32 bytes") as refused:
        binding.sign(DIGEST, key)
    assert not key or key.hex() not in "".join(traceback.format_exception(refused.value))


REFUSED = {
    "r of zero": (DIGEST, word(0) + S, 1),
    "s of zero": (DIGEST, R + word(0), 1),
    "r of the order": (DIGEST, word(ORDER) + S, 1),
    "s of the order": (DIGEST, R + word(ORDER), 1),
    "r above the order": (DIGEST, b"\xff" * 32 + S, 1),
    "s above the order": (DIGEST, R + b"\xff" * 32, 1),
    "no point has this r": (DIGEST, word(5) + S, 0),
    "an identity: s R = z G": (word(1), bytes.fromhex(G_X) + word(1), 0),
    "a recovery id of 4": (DIGEST, R + S, 4),
    "a recovery id of 27": (DIGEST, R + S, 27),
    "a recovery id of 256": (DIGEST, R + S, 256),
    "a negative recovery id": (DIGEST, R + S, -1),
    "a digest of 31 bytes": (DIGEST[:31], R + S, 1),
    "a digest of 33 bytes": (DIGEST + b"\0", R + S, 1),
    "no digest": (b"", R + S, 1),
    "63 bytes of signature": (DIGEST, (R + S)[:63], 1),
    "65 bytes of signature": (DIGEST, R + S + b"\0", 1),
    "no signature": (DIGEST, b"", 1),
}


@bindings
@pytest.mark.parametrize("case", REFUSED)
def test_recover__of_what_nobody_signed__is_nobody(binding: CurveLibrary, case: str) -> None:
    assert binding.recover(*REFUSED[case]) is None
