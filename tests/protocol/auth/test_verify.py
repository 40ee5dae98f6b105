"""Every field of an approval binds: whatever is changed, nobody is verified."""

import base64
from dataclasses import replace

import pytest
from bounty_protocol.auth.header import format_header, parse_header
from bounty_protocol.auth.verify import (
    CanonicalBlock,
    Reason,
    ReceivedRequest,
    Refused,
    VerifiedRequest,
    WalletAnswer,
    verify_request,
)
from bounty_protocol.chain.rpc import ChainUnavailable
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import Address, BlockNumber, Bytes32

from tests.protocol.auth.signing import (
    AUTHORITY,
    DOMAIN,
    HEAD,
    PLAIN_KEYS,
    REQUEST,
    Chain,
    PlainKeys,
    block_hash,
    header_for,
    new_key,
    received,
)

KEY = new_key()
GOOD = header_for(KEY)


def reason(request: ReceivedRequest) -> Reason:
    with pytest.raises(Refused) as caught:
        verify_request(request, AUTHORITY, Chain(), PLAIN_KEYS)
    return caught.value.reason


@pytest.mark.spec(18, 289, 313, 316, 318)
def test_request__signed_by_its_wallet__is_verified() -> None:
    verified = verify_request(received(GOOD), AUTHORITY, Chain(), PLAIN_KEYS)
    assert verified.signer == KEY.address
    assert verified.body == REQUEST.body
    verified.require_signer({KEY.address})
    with pytest.raises(Refused) as forbidden:
        verified.require_signer({new_key().address})
    assert (forbidden.value.code, forbidden.value.reason) == ("forbidden", Reason.FORBIDDEN)


def test_refusal__by_each_check__names_the_check() -> None:
    def at(number: int, named: int | None = None) -> ReceivedRequest:
        header = header_for(KEY, number=number)
        return received(header if named is None else replace(header, block_hash=block_hash(named)))

    assert reason(replace(received(GOOD), authorization=())) is Reason.MALFORMED
    assert reason(replace(received(GOOD), path="/\u00e9")) is Reason.MALFORMED
    assert reason(replace(received(GOOD), raw_query="\u00e9")) is Reason.MALFORMED
    assert reason(received("Service-Approval x")) is Reason.MALFORMED
    assert reason(at(HEAD, named=HEAD - 1)) is Reason.NOT_CANONICAL
    assert reason(at(HEAD + 1)) is Reason.AHEAD
    assert reason(at(HEAD - 151)) is Reason.STALE
    assert reason(replace(received(GOOD), body=b"another")) is Reason.SIGNATURE


def test_refusal_names_this_deployment() -> None:
    with pytest.raises(Refused) as caught:
        verify_request(replace(received(GOOD), body=b"another"), AUTHORITY, Chain(), PLAIN_KEYS)
    assert str(caught.value).endswith(
        f"on chain {DOMAIN.chain_id}, Hub {DOMAIN.hub_address}, host {AUTHORITY.audience}."
    )


@pytest.mark.parametrize("answer", WalletAnswer)
def test_wallet_decides_where_no_own_key_signed(answer: WalletAnswer) -> None:
    class Wallets(PlainKeys):
        def ask(self, account: Address, digest: bytes, signature: bytes) -> WalletAnswer:
            return answer

    request = received(replace(GOOD, address=new_key().address))
    if answer is WalletAnswer.ACCEPTED:
        assert verify_request(request, AUTHORITY, Chain(), Wallets()).signer != KEY.address
        return
    with pytest.raises(Refused) as caught:
        verify_request(request, AUTHORITY, Chain(), Wallets())
    wanted = {WalletAnswer.REFUSED: Reason.CONTRACT_WALLET, WalletAnswer.NO_CODE: Reason.SIGNATURE}
    assert caught.value.reason is wanted[answer]


@pytest.mark.spec(299, 300)
def test_query_in_another_spelling_is_verified() -> None:
    assert (
        verify_request(replace(received(GOOD), raw_query="mine=&b=c%20d"), AUTHORITY, Chain(), PLAIN_KEYS).signer
        == KEY.address
    )


def test_chain_away_is_an_error_and_no_answer() -> None:
    class Dead(Chain):
        def block_at(self, number: BlockNumber, named: Bytes32) -> CanonicalBlock | None:
            raise ChainUnavailable("down")

    with pytest.raises(ChainUnavailable):
        verify_request(received(GOOD), AUTHORITY, Dead(), PLAIN_KEYS)


def test_verified_request__made_by_hand__is_impossible() -> None:
    with pytest.raises(TypeError, match="only verify_request"):
        VerifiedRequest(KEY.address, Bytes32("0x" + "00" * 32), BlockNumber(1), b"", object())


ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


@pytest.mark.parametrize("number", [1_234, 12_345])
def test_header_with_spare_bits_is_refused(number: int) -> None:
    twins = 0
    for last in "0123456789abcdef":
        approval = replace(GOOD, block_number=BlockNumber(number), block_hash=Bytes32(GOOD.block_hash[:-1] + last))
        text = format_header(approval)
        body, padding = text.rstrip("="), "=" * (len(text) - len(text.rstrip("=")))
        assert padding
        for letter in ALPHABET.replace(body[-1], ""):
            twin = body[:-1] + letter + padding
            if base64.b64decode(twin.partition(" ")[2]) == base64.b64decode(text.partition(" ")[2]):
                twins += 1
                with pytest.raises(ValueError, match="canonical"):
                    parse_header(twin)
    assert twins >= 16 * 3


@pytest.mark.parametrize(("block", "reason"), [(None, Reason.AHEAD), (CanonicalBlock(None, 0), Reason.STALE)])
def test_block_the_chain_lacks_is_refused(block: CanonicalBlock | None, reason: Reason) -> None:
    class Gap(Chain):
        def block_at(self, number: BlockNumber, named: Bytes32) -> CanonicalBlock | None:
            return block

    with pytest.raises(Refused) as caught:
        verify_request(received(GOOD), AUTHORITY, Gap(), PLAIN_KEYS)
    assert (caught.value.code, caught.value.reason) == ("unauthorized", reason)


def test_order__forms_and_budget_before_the_chain() -> None:
    class Unread(Chain):
        def block_at(self, number: BlockNumber, named: Bytes32) -> CanonicalBlock | None:
            raise AssertionError("the chain was read")

    class UsedUp(PlainKeys):
        def admit(self, account: Address) -> None:
            raise ServiceError("service_overloaded", "too many")

    for bad in (f"{format_header(GOOD)}!", "Service-Approval x"):
        with pytest.raises(Refused):
            verify_request(received(bad), AUTHORITY, Unread(), PLAIN_KEYS)
    with pytest.raises(ServiceError, match="too many"):
        verify_request(received(replace(GOOD, address=new_key().address)), AUTHORITY, Unread(), UsedUp())


def test_header_of_16_kib_is_read_and_no_longer_one() -> None:
    """Room for the signatures of contract wallets, and a bound."""

    def of_length(wanted: int) -> str:
        size = next(n for n in range(5_500, 7_000) if len(format_header(replace(GOOD, signature=bytes(n)))) >= wanted)
        return format_header(replace(GOOD, signature=bytes(size)))

    longest, too_long = of_length(16_380), of_length(16_385)
    assert len(longest) <= 16_384 < len(too_long) < 16_400
    assert parse_header(longest).address == GOOD.address
    with pytest.raises(ValueError, match="not a Service-Approval header"):
        parse_header(too_long)
