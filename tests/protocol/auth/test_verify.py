"""Every field of an approval binds: whatever is changed, nobody is verified."""

import base64
from dataclasses import replace

import pytest
from bounty_protocol.auth.header import ApprovalHeader, format_header, parse_header
from bounty_protocol.auth.typed_data import SigningDomain, digest, typed_data
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
from bounty_protocol.types import Address, BlockNumber, Bytes32, ChainId
from eth_account import Account
from hypothesis import given, settings
from hypothesis import strategies as st

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
ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141


def refused(request: ReceivedRequest) -> str:
    with pytest.raises(ServiceError) as caught:
        verify_request(request, AUTHORITY, Chain(), PLAIN_KEYS)
    assert caught.value.status in {401, 403}
    return caught.value.code


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


def test_refusal__of_a_signature_for_another_deployment__names_this_one() -> None:
    with pytest.raises(Refused) as caught:
        verify_request(replace(received(GOOD), body=b"another"), AUTHORITY, Chain(), PLAIN_KEYS)
    assert str(caught.value).endswith(
        f"on chain {DOMAIN.chain_id}, Hub {DOMAIN.hub_address}, host {AUTHORITY.audience}."
    )


@pytest.mark.parametrize("answer", WalletAnswer)
def test_wallet__that_is_asked_since_no_key_of_its_own_signed__has_the_last_word(answer: WalletAnswer) -> None:
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


@pytest.mark.spec(289)
def test_digest__of_an_approval__is_the_one_any_wallet_computes() -> None:
    approval = REQUEST.approval(BlockNumber(7), block_hash(7))
    account = Account.create()
    signature = account.sign_typed_data(full_message=typed_data(DOMAIN, approval)).signature
    header = ApprovalHeader(Address(account.address.lower()), bytes(signature), BlockNumber(997), block_hash(997))
    assert Account.recover_message is not None
    fresh = REQUEST.approval(BlockNumber(997), block_hash(997))
    signed = account.sign_typed_data(full_message=typed_data(DOMAIN, fresh)).signature
    verified = verify_request(received(replace(header, signature=bytes(signed))), AUTHORITY, Chain(), PLAIN_KEYS)
    assert verified.signer == account.address.lower()


@pytest.mark.spec(18, 289, 296, 298, 299, 317, 363)
@pytest.mark.parametrize(
    "changes",
    [
        {"method": "PUT"},
        {"path": "/api/bounties/8/delivery/wrap"},
        {"path": "/api/bounties/7/delivery/wrap/"},
        {"raw_query": "b=c+d&mine"},
        {"raw_query": "mine&b=c+d&x=1"},
        {"raw_query": ""},
        {"body": b'{"a":2}'},
        {"body": b""},
        {"authorization": ()},
        {"authorization": (format_header(GOOD), format_header(GOOD))},
    ],
)
def test_request__changed_after_signing__is_unauthorized(changes: dict[str, object]) -> None:
    assert refused(replace(received(GOOD), **changes)) == "unauthorized"  # type: ignore[arg-type]


@pytest.mark.spec(299, 300)
def test_query__in_another_spelling_of_the_same_parameters__is_still_verified() -> None:
    assert (
        verify_request(replace(received(GOOD), raw_query="mine=&b=c%20d"), AUTHORITY, Chain(), PLAIN_KEYS).signer
        == KEY.address
    )


@pytest.mark.spec(294, 295, 297)
@pytest.mark.parametrize(
    "authority",
    [
        replace(AUTHORITY, audience="bounties.example"),
        replace(AUTHORITY, domain=SigningDomain(ChainId(8453), DOMAIN.hub_address)),
        replace(AUTHORITY, domain=SigningDomain(DOMAIN.chain_id, Address("0x" + "cd" * 20))),
    ],
)
def test_request__for_another_deployment__is_unauthorized(authority: object) -> None:
    with pytest.raises(ServiceError) as caught:
        verify_request(received(GOOD), authority, Chain(), PLAIN_KEYS)  # type: ignore[arg-type]
    assert caught.value.code == "unauthorized"


@pytest.mark.spec(301, 306, 311, 312, 361, 382)
@pytest.mark.parametrize(
    ("number", "fresh"), [(HEAD, True), (HEAD - 150, True), (HEAD - 151, False), (HEAD + 1, False)]
)
def test_block__at_the_edges_of_the_window__is_fresh_exactly_within(number: int, fresh: bool) -> None:
    request = received(header_for(KEY, number=number))
    if fresh:
        assert verify_request(request, AUTHORITY, Chain(), PLAIN_KEYS).signer == KEY.address
    else:
        assert refused(request) == "unauthorized"


@pytest.mark.spec(302, 310, 362)
def test_block__that_is_not_canonical__is_unauthorized() -> None:
    approval = replace(REQUEST.approval(BlockNumber(990), block_hash(991)))
    signature = KEY.sign(digest(DOMAIN, approval))
    header = ApprovalHeader(KEY.address, signature, BlockNumber(990), block_hash(991))
    assert refused(received(header)) == "unauthorized"


def test_chain__that_cannot_be_asked__is_an_error_and_never_an_answer() -> None:
    class Dead(Chain):
        def block_at(self, number: BlockNumber, named: Bytes32) -> CanonicalBlock | None:
            raise ChainUnavailable("down")

    with pytest.raises(ChainUnavailable):
        verify_request(received(GOOD), AUTHORITY, Dead(), PLAIN_KEYS)


def _forms() -> list[bytes]:
    r, s, v = GOOD.signature[:32], int.from_bytes(GOOD.signature[32:64], "big"), GOOD.signature[64]
    high = (ORDER - s).to_bytes(32, "big")
    return [
        GOOD.signature[:64] + bytes([v - 27]),
        GOOD.signature[:64],
        GOOD.signature + b"\0",
        r + high + bytes([55 - v]),
        r + high + bytes([v]),
        bytes(64) + b"\x1b",
        bytes(65),
        b"\xff" * 64 + b"\x1b",
        GOOD.signature[:64] + bytes([55 - v]),
    ]


@pytest.mark.spec(313, 363)
@pytest.mark.parametrize("signature", _forms(), ids=[f"form-{number}" for number in range(len(_forms()))])
def test_signature__of_another_form__is_unauthorized(signature: bytes) -> None:
    assert refused(received(replace(GOOD, signature=signature))) == "unauthorized"


def test_signer__named_otherwise_than_recovered__is_unauthorized() -> None:
    assert refused(received(replace(GOOD, address=new_key().address))) == "unauthorized"


def test_verified_request__made_by_hand__is_impossible() -> None:
    with pytest.raises(TypeError, match="verify_request only"):
        VerifiedRequest(KEY.address, Bytes32("0x" + "00" * 32), BlockNumber(1), b"", object())


@settings(max_examples=400)
@given(data=st.data())
def test_header__with_any_byte_changed__verifies_nobody_else(data: st.DataObject) -> None:
    text = format_header(GOOD)
    index = data.draw(st.integers(0, len(text) - 1))
    letter = data.draw(st.characters(min_codepoint=32, max_codepoint=126))
    changed = text[:index] + letter + text[index + 1 :]
    try:
        verified = verify_request(received(changed), AUTHORITY, Chain(), PLAIN_KEYS)
    except ServiceError as error:
        assert error.code == "unauthorized"
    else:  # the same approval in another spelling of the scheme or of hex digits
        assert parse_header(changed) == GOOD
        assert verified.signer == KEY.address


@pytest.mark.spec(308, 309, 391)
def test_header__in_other_spellings__is_read_strictly() -> None:
    joined = f"{GOOD.address}~0x{GOOD.signature.hex()}~{GOOD.block_number}~{GOOD.block_hash}"

    def spelled(text: str, scheme: str = "Service-Approval") -> str:
        return f"{scheme} {base64.b64encode(text.encode()).decode()}"

    assert parse_header(spelled(joined, "service-approval")) == GOOD
    bad = [
        spelled(joined, "Bearer"),
        spelled(joined + "~x"),
        spelled(joined.replace("~", "~~", 1)),
        spelled(joined.replace("0x", "", 1)),
        spelled(joined.replace(f"~{GOOD.block_number}~", f"~0{GOOD.block_number}~")),
        spelled(joined.replace(f"~{GOOD.block_number}~", f"~+{GOOD.block_number}~")),
        spelled(joined).rstrip("=") + "!",
        spelled(joined) + "=",
        spelled(joined).replace("Service-Approval ", "Service-Approval  "),
        "Service-Approval " + base64.b64encode(joined.encode() + b"\xff").decode(),
        "Service-Approval " + "A" * 20_000,
        "",
    ]
    for text in bad:
        with pytest.raises(ValueError):
            parse_header(text)


ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


@pytest.mark.parametrize("number", [1_234, 12_345])
def test_header__with_spare_bits_set__is_another_text_of_the_same_and_refused(number: int) -> None:
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
def test_block__that_the_chain_does_not_show__is_refused(block: CanonicalBlock | None, reason: Reason) -> None:
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


def test_request__with_a_method_or_path_outside_ascii__is_unauthorized() -> None:
    good = received(GOOD)
    for other in (replace(good, method="POST\u00e9"), replace(good, path=good.path + "\ud800")):
        with pytest.raises(ServiceError, match="ASCII"):
            verify_request(other, AUTHORITY, Chain(), PLAIN_KEYS)


def test_header__up_to_16_kib__is_read_and_one_step_longer_refused() -> None:
    """Room for the signatures of contract wallets, and a bound."""

    def of_length(wanted: int) -> str:
        size = next(n for n in range(5_500, 7_000) if len(format_header(replace(GOOD, signature=bytes(n)))) >= wanted)
        return format_header(replace(GOOD, signature=bytes(size)))

    longest, too_long = of_length(16_380), of_length(16_385)
    assert len(longest) <= 16_384 < len(too_long) < 16_400
    assert parse_header(longest).address == GOOD.address
    with pytest.raises(ValueError, match="not a Service-Approval header"):
        parse_header(too_long)
