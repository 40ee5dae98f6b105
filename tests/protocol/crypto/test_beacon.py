"""Beacon signatures, chain information and the relay client."""

import json
from collections.abc import Callable

import pytest
from bounty_protocol.crypto import beacon as beacon_module
from bounty_protocol.crypto import bls
from bounty_protocol.crypto.beacon import (
    MAX_CLOCK_SKEW,
    Beacon,
    BeaconClient,
    NotYet,
    RelayAnswer,
    fetch_info,
    verify_beacon,
)
from bounty_protocol.crypto.beacon_info import (
    QUICKNET,
    QUICKNET_GROUP_HASH,
    QUICKNET_ID,
    chain_hash,
    info_json,
    parse_beacon_key,
    parse_chain_hash,
    parse_info,
)
from bounty_protocol.crypto.failures import Failure, SealedDataError
from hypothesis import given
from hypothesis import strategies as st
from py_arkworks_bls12381 import G1Point

from tests.clocks import HandClock
from tests.vectors.samples import BEACON

ROUND_1 = "b55e7cb2d5c613ee0b2e28d6750aabbb78c39dcc96bd9d38c2c2e12198df95571de8e8e402a0cc48871c7089a2b3af4b"
ROUND_123 = "b75c69d0b72a5d906e854e808ba7e2accb1542ac355ae486d591aa9d43765482e26cd02df835d3546d23c4b13e0dfc92"
INFO = BEACON.info


class Relays:
    """Relays by host; what they answer is the test's choice, what they were asked is kept."""

    def __init__(self, **relays: Callable[[str], RelayAnswer]) -> None:
        self.relays = relays
        self.asked: list[str] = []

    def get(self, url: str, timeout: float) -> RelayAnswer:
        assert timeout > 0
        self.asked.append(url)
        host, _, path = url.removeprefix("https://").partition("/")
        return self.relays[host]("/" + path)


def _down(path: str) -> RelayAnswer:
    raise OSError("no route")


def _honest(path: str) -> RelayAnswer:
    number = path.rsplit("/", 1)[1]
    assert path.startswith(f"/{INFO.chain_hash[2:]}/")
    if number == "info":
        return RelayAnswer(200, json.dumps(BEACON.info_json()).encode())
    return RelayAnswer(200, json.dumps(BEACON.beacon_json(9 if number == "latest" else int(number))).encode())


def _says(status: int, value: object) -> Callable[[str], RelayAnswer]:
    return lambda _: RelayAnswer(status, json.dumps(value).encode())


def _client(now: int = 2_000_000_000, **relays: Callable[[str], RelayAnswer]) -> tuple[BeaconClient, Relays]:
    http = Relays(**relays)
    return BeaconClient([f"https://{host}" for host in relays], INFO, http, HandClock(now)), http


# --- signatures


@pytest.mark.parametrize(("number", "signature"), [(1, ROUND_1), (123, ROUND_123)])
def test_signature__published_by_quicknet__verifies(number: int, signature: str) -> None:
    assert verify_beacon(Beacon(number, bytes.fromhex(signature)), QUICKNET)
    assert not verify_beacon(Beacon(number + 1, bytes.fromhex(signature)), QUICKNET)
    assert not verify_beacon(Beacon(number, bytes.fromhex(signature)), INFO)


@given(st.integers(0, 383))
def test_signature__one_bit_flipped__refused(bit: int) -> None:
    signature = bytearray(BEACON.signature(5))
    signature[bit // 8] ^= 1 << bit % 8
    assert not verify_beacon(Beacon(5, bytes(signature)), INFO)


@pytest.mark.parametrize(
    "signature",
    [
        b"",
        bytes(48),
        b"\xc0" + bytes(47),
        b"\xe0" + bytes(47),
        b"\x40" + bytes(47),
        b"\xc0" + bytes(46) + b"\x01",
        b"\xff" * 48,
        bytes.fromhex(ROUND_1)[:-1],
        bytes.fromhex(ROUND_1) + b"\0",
        bytes(G1Point.from_compressed_bytes(bytes.fromhex(ROUND_1)).to_xy_bytes_be()),
    ],
)
def test_signature_in_another_encoding_is_refused(signature: bytes) -> None:
    assert not verify_beacon(Beacon(1, signature), QUICKNET)
    with pytest.raises(ValueError, match=r"."):
        bls.signature_point(signature)


def test_field_element_above_the_prime_is_refused() -> None:
    prime = 0x1A0111EA397FE69A4B1BA7B6434BACD764774B84F38512BF6730D2A0F6B0F6241EABFFFEB153FFFFB9FEFFFFFFFFAAAB
    for x in range(40):  # the same point written with x + p, where that still fits
        encoded = bytearray((x + prime).to_bytes(48, "big"))
        encoded[0] |= 0x80
        with pytest.raises(ValueError, match=r"."):
            bls.signature_point(bytes(encoded))


def test_point_outside_the_subgroup_is_refused() -> None:
    found = 0
    for x in range(1, 60):
        encoded = bytes([0x80]) + x.to_bytes(47, "big")
        try:
            point = G1Point.from_compressed_bytes_unchecked(encoded)
        except ValueError:
            continue
        if not point.is_in_subgroup():
            found += 1
            with pytest.raises(ValueError, match=r"."):
                bls.signature_point(encoded)
    assert found > 5


@pytest.mark.parametrize("key", [b"", bytes(96), b"\xc0" + bytes(95), b"\xe0" + bytes(95), b"\xff" * 96])
def test_key_in_another_encoding_verifies_nothing(key: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        bls.key_point(key)
    assert not bls.verify(1, bytes.fromhex(ROUND_1), key)


# --- chain information


def test_quicknet_hashes_to_its_chain_hash() -> None:
    group = bytes.fromhex(QUICKNET_GROUP_HASH)
    computed = chain_hash(QUICKNET.public_key_bytes, 1692803367, 3, group, QUICKNET_ID)
    assert computed == QUICKNET.chain_hash == "0x52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971"
    body = json.dumps(info_json(QUICKNET, QUICKNET_GROUP_HASH, QUICKNET_ID)).encode()
    assert parse_info(body, QUICKNET.chain_hash, QUICKNET.public_key) == QUICKNET


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("public_key", QUICKNET.public_key),
        ("period", 4),
        ("period", 0),
        ("period", "3"),
        ("period", 2**40),
        ("genesis_time", 1),
        ("genesis_time", 2**70),
        ("genesis_time", None),
        ("groupHash", "00" * 32),
        ("groupHash", "xx"),
        ("schemeID", "pedersen-bls-chained"),
        ("schemeID", "bls-unchained-on-g1"),
        ("metadata", {"beaconID": "other"}),
        ("metadata", {}),
        ("metadata", None),
    ],
)
def test_info__one_value_changed__refused(name: str, value: object) -> None:
    honest = BEACON.info_json()
    assert parse_info(json.dumps(honest).encode(), INFO.chain_hash, INFO.public_key) == INFO
    with pytest.raises(SealedDataError) as refusal:
        parse_info(json.dumps(honest | {name: value}).encode(), INFO.chain_hash, INFO.public_key)
    assert refusal.value.failure is Failure.BEACON_INVALID


@pytest.mark.parametrize("body", [b"", b"[]", b"null", b"{}", b"<html>", b"[" * 100_000, b"\xff"])
def test_info__not_an_info__refused(body: bytes) -> None:
    with pytest.raises(SealedDataError):
        parse_info(body, INFO.chain_hash, INFO.public_key)


def test_honest_relay_answers_among_others() -> None:
    lying = _says(200, BEACON.info_json() | {"genesis_time": 1})
    http = Relays(a=_down, b=lying, c=_says(500, {}), d=_honest)
    urls = ["https://a", "https://b/", "https://c", f"https://d/{INFO.chain_hash[2:]}"]
    assert fetch_info(urls, INFO.chain_hash, INFO.public_key, http) == INFO
    with pytest.raises(SealedDataError) as refusal:
        fetch_info(urls[:3], INFO.chain_hash, INFO.public_key, http)
    assert refusal.value.failure is Failure.BEACON_INVALID
    with pytest.raises(SealedDataError) as refusal:
        fetch_info(urls[:1], INFO.chain_hash, INFO.public_key, http)
    assert refusal.value.failure is Failure.BEACON_UNAVAILABLE
    assert INFO.chain_hash in refusal.value.message


def test_parse__key_and_hash__with_and_without_0x() -> None:
    assert parse_chain_hash(INFO.chain_hash[2:].upper()) == INFO.chain_hash
    assert parse_beacon_key("0x" + INFO.public_key.upper()) == INFO.public_key
    for text in ("", "0x", INFO.public_key[:-2], INFO.public_key + "00", "zz" * 96):
        with pytest.raises(ValueError, match=r"."):
            parse_beacon_key(text)


# --- the client


def test_beacon_of_a_round_is_verified_and_kept() -> None:
    client, http = _client(a=_honest)
    beacon = client.round(9)
    assert beacon == Beacon(9, BEACON.signature(9))
    assert client.round(9) is beacon
    assert http.asked == [f"https://a/{INFO.chain_hash[2:]}/public/9"]
    assert client.latest() == beacon


def test_newest_rounds_alone_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beacon_module, "MAX_CACHED", 1)
    client, http = _client(a=_honest)
    for number in (9, 10, 10, 9):
        client.round(number)
    assert [url.rsplit("/", 1)[1] for url in http.asked] == ["9", "10", "9"]


def test_round_zero_is_not_the_newest_one() -> None:
    client, http = _client(a=_honest)
    with pytest.raises(SealedDataError) as refusal:
        client.round(0)
    assert (refusal.value.failure, http.asked) == (Failure.BEACON_INVALID, [])


def _forged_by_swap(path: str) -> RelayAnswer:
    return RelayAnswer(200, json.dumps(BEACON.beacon_json(8) | {"round": 9}).encode())


@pytest.mark.parametrize(
    "bad",
    [
        _down,
        _forged_by_swap,
        _says(200, BEACON.beacon_json(8)),
        _says(200, {"round": "9", "signature": BEACON.signature(9).hex()}),
        _says(200, {"round": 9, "signature": "00" * 48}),
        _says(200, {"round": 9}),
        _says(200, [1]),
        _says(302, BEACON.beacon_json(9)),
        _says(500, {}),
        _says(404, {}),
    ],
)
def test_useless_relay_is_passed_over(bad: Callable[[str], RelayAnswer]) -> None:
    client, http = _client(a=bad, b=_honest)
    assert client.round(9) == Beacon(9, BEACON.signature(9))
    assert len(http.asked) == 2


@pytest.mark.parametrize("status", [404, 425])
def test_round_not_out_yet_says_when_to_ask(status: int) -> None:
    due = INFO.time_of(9)
    client, _ = _client(due - 7, a=_says(status, {}), b=_down)
    assert client.round(9) == NotYet(9, due, 7)
    late, _ = _client(due + 100, a=_says(status, {}))
    answer = late.round(9)
    assert isinstance(answer, NotYet)
    assert answer.retry_after >= 1
    with pytest.raises(SealedDataError, match="first round"):
        late.latest()


def test_slow_clock_asks_the_relay_all_the_same() -> None:
    client, _ = _client(INFO.time_of(9) - MAX_CLOCK_SKEW, a=_honest)
    assert client.round(9) == Beacon(9, BEACON.signature(9))


def test_client__a_round_far_away__no_relay_bothered() -> None:
    client, http = _client(INFO.time_of(9) - MAX_CLOCK_SKEW - 1, a=_honest)
    assert client.round(9) == NotYet(9, INFO.time_of(9), MAX_CLOCK_SKEW + 1)
    assert http.asked == []


def test_client__every_relay_down__unavailable() -> None:
    client, _ = _client(a=_down, b=_says(502, {}))
    with pytest.raises(SealedDataError) as refusal:
        client.round(9)
    assert refusal.value.failure is Failure.BEACON_UNAVAILABLE


def test_forged_rounds_are_named_and_not_kept() -> None:
    client, http = _client(a=_forged_by_swap)
    for _ in range(2):
        with pytest.raises(SealedDataError) as refusal:
            client.round(9)
        assert refusal.value.failure is Failure.BEACON_INVALID
    assert len(http.asked) == 2
