"""How fresh a signed request is, on chains of any pace: by the times in their headers, at two calls an endpoint."""

import pytest
from bounty_protocol.auth.header import ApprovalHeader
from bounty_protocol.auth.typed_data import digest
from bounty_protocol.auth.verify import Reason, verify_request
from bounty_protocol.chain.blocks import NearTip, block_before, block_to_sign, blocks_in, header_at, pace
from bounty_protocol.chain.rpc import ChainUnavailable, Rpc, RpcRefused
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import BlockNumber, Bytes32
from local_stack.anvil import AnvilServer
from service_common.chain.contract_wallets import OF_NETWORK
from service_common.chain.recent_blocks import RecentBlocks

from tests.clocks import HandClock
from tests.common.chain.paced import KEY, PacedChain, make, signed
from tests.protocol.auth.signing import AUTHORITY, DOMAIN, PLAIN_KEYS, REQUEST, block_hash, new_key, received


@pytest.mark.spec(301, 305, 306, 311, 312, 361, 382)
@pytest.mark.parametrize("block_time", [0.05, 0.2, 2.0, 12.0])
def test_request__is_fresh_for_five_minutes(block_time: float) -> None:
    service = make(block_time)
    header = signed(service.chain)
    for seconds, reason in [(31, None), (240, None), (286, None), (310, Reason.STALE), (86_400, Reason.STALE)]:
        service.chain.clock.time = float(seconds)
        assert service.receive(header) is reason, seconds
    assert service.receive(signed(service.chain)) is None


def test_request__at_the_edge_of_the_window() -> None:
    service = make()
    newest = header_at(service.chain, "latest")
    approval = REQUEST.approval(newest.number, newest.hash)
    header = ApprovalHeader(KEY.address, KEY.sign(digest(DOMAIN, approval)), newest.number, newest.hash)
    service.chain.clock.time = 300.0
    assert service.receive(header) is None
    service.chain.clock.time = 301.0
    assert service.receive(header) is Reason.STALE


def test_calls__of_every_kind_of_request() -> None:
    service = make()
    clock = service.chain.clock
    good = signed(service.chain)
    assert service.calls_of(good) == 2
    assert service.calls_of(good) == 0
    clock.sleep(1.0)
    assert service.calls_of(good) == 1  # the newest header; the named block is kept
    clock.sleep(60)
    assert service.calls_of(signed(service.chain)) == 2
    clock.sleep(1)
    wrong = signed(service.chain, account=new_key().address)
    assert service.calls_of(wrong) == 3  # newest header, named block, the account's code
    assert service.receive(wrong) is Reason.CONTRACT_WALLET
    clock.sleep(400)
    service.receive(signed(service.chain))
    assert service.calls_of(good) == 0
    assert service.receive(good) is Reason.STALE


def over(number: int, named: Bytes32 | None = None) -> ApprovalHeader:
    """A request signed by the block at a number, or by a made-up hash for it."""
    approval = REQUEST.approval(BlockNumber(number), named or block_hash(number))
    return ApprovalHeader(KEY.address, KEY.sign(digest(DOMAIN, approval)), approval.block_number, approval.block_hash)


@pytest.mark.parametrize(
    ("number", "named", "calls", "reason"),
    [
        (9_990, None, 2, None),
        (9_990, block_hash(0), 2, Reason.NOT_CANONICAL),
        (100, None, 2, Reason.STALE),
        (10_001, None, 2, Reason.AHEAD),
        (10_301, None, 2, Reason.AHEAD),
    ],
)
def test_first_request__costs_two_calls(number: int, named: Bytes32 | None, calls: int, reason: Reason | None) -> None:
    service = make()
    before = len(service.chain.calls)
    assert service.receive(over(number, named)) is reason
    assert len(service.chain.calls) - before == calls


def test_numbers_far_ahead__cost_no_call() -> None:
    service = make()
    service.blocks.newest()
    before = len(service.chain.calls)
    for number in range(20_000, 10_300, -100):
        assert service.receive(over(number)) is Reason.AHEAD
    assert len(service.chain.calls) == before


def test_wrong_signatures_cost_no_more_calls() -> None:
    service = make()
    wrong = signed(service.chain, account=new_key().address)
    for _ in range(OF_NETWORK.amount):
        service.chain.clock.sleep(0.2)
        assert service.receive(wrong) is not None
    before = len(service.chain.calls)
    for _ in range(50):
        with pytest.raises(ServiceError) as caught:
            service.receive(signed(service.chain, account=new_key().address))
        assert caught.value.code == "service_overloaded"
    assert len(service.chain.calls) - before == 50 * 6  # of those who sign


def test_absent_blocks_cost_a_call_a_second() -> None:
    service = make()
    assert service.receive(signed(service.chain)) is None
    before = len(service.chain.calls)
    for number in range(100):
        ahead = BlockNumber(service.chain.height + 50 + number)
        approval = REQUEST.approval(ahead, block_hash(ahead))
        header = ApprovalHeader(KEY.address, KEY.sign(digest(DOMAIN, approval)), ahead, approval.block_hash)
        assert service.receive(header) is Reason.AHEAD
    assert len(service.chain.calls) - before == 1


def test_made_up_hashes__cost_a_call_a_second() -> None:
    service = make()
    good = signed(service.chain)
    assert service.receive(good) is None
    before = len(service.chain.calls)
    for number in range(100):
        approval = REQUEST.approval(good.block_number, block_hash(number))
        header = ApprovalHeader(KEY.address, KEY.sign(digest(DOMAIN, approval)), good.block_number, block_hash(number))
        assert service.receive(header) is Reason.NOT_CANONICAL
    assert len(service.chain.calls) - before == 1


@pytest.mark.parametrize("turn", range(2))
@pytest.mark.parametrize("lag", [3, 10])
@pytest.mark.parametrize("block_time", [0.2, 2.0])
def test_endpoints__each_in_turn_behind__refuse_nobody(turn: int, lag: int, block_time: float) -> None:
    service = make(block_time, endpoints=2)
    ahead = PacedChain(service.chain.clock, block_time)  # the signer's own endpoint
    for step in range(60):
        service.chain.lag[(turn + step) % 2], service.chain.lag[(turn + step + 1) % 2] = lag, 0
        assert service.receive(signed(ahead)) is None
        service.chain.clock.sleep(0.7)


@pytest.mark.parametrize("liar", [1, 2, 3])
def test_one_endpoint_of_three_that_lies_blames_nobody(liar: int) -> None:
    service = make(2.0, endpoints=3)
    service.chain.liar = liar
    honest = PacedChain(service.chain.clock, 2.0)
    for _ in range(30):
        good = signed(honest)
        assert service.receive(good) is None
        service.chain.clock.sleep(1.1)
        assert service.receive(over(good.block_number, block_hash(0))) is Reason.NOT_CANONICAL
        service.chain.clock.sleep(1.1)


def test_two_endpoints_that_differ_blame_nobody() -> None:
    service = make(2.0, endpoints=2)
    service.chain.liar = 1
    good = signed(PacedChain(service.chain.clock, 2.0))
    for _ in range(2):  # the second within the second in which blocks are compared
        with pytest.raises(ChainUnavailable):
            service.receive(good)


def test_reorg_at_one_block_replaces_all() -> None:
    service = make()
    chain = service.chain

    one, other = 9_970, 9_960
    old = [over(one), over(other)]
    assert [service.receive(header) for header in old] == [None, None]
    chain.reorganized_from = other
    assert service.receive(over(one, chain.hash_at(one))) is None
    assert [service.receive(header) for header in old] == [Reason.NOT_CANONICAL] * 2


def test_stopped_chain_is_signed_at_once() -> None:
    service = make()
    chain, clock = service.chain, service.chain.clock
    block = chain.block

    def after_a_stop(number: int) -> dict[str, object]:
        made = block(number)
        return {**made, "timestamp": hex(int(str(made["timestamp"]), 16) + 7_200)} if number > 10_000 else made

    chain.block = after_a_stop  # type: ignore[method-assign]
    for _ in range(3):  # one block after the stop, then more
        clock.sleep(0.2)
        assert service.receive(signed(chain)) is None


def test_pace__is_measured_by_two_headers() -> None:
    for block_time in (0.2, 1.0, 2.0):
        assert pace(PacedChain(HandClock(), block_time)) == pytest.approx(block_time, rel=0.05)


@pytest.mark.parametrize(
    ("made", "passed", "blocks"), [(150, 300, 3), (150, 30, 30), (5, 0, 30), (0, 0, 0), (7, 2, 21)]
)
def test_seconds_are_blocks_at_the_measured_pace(made: int, passed: int, blocks: int) -> None:
    assert blocks_in(6, made=made, passed=passed) == blocks


@pytest.mark.parametrize("block_time", [0.05, 0.2, 2.0, 12.0])
@pytest.mark.parametrize("seconds", [6, 40, 86_400])
def test_block_before__is_as_old_as_wanted(seconds: int, block_time: float) -> None:
    clock = HandClock()
    clock.sleep(200_000)
    chain = PacedChain(clock, block_time)
    newest = header_at(chain, "latest")
    age = newest.time - block_before(chain, newest, seconds).time
    assert seconds <= age <= max(seconds + 12, 1.5 * seconds)
    assert len(chain.calls) <= 5


def test_block_before_is_old_enough_at_a_new_pace() -> None:
    clock = HandClock()
    clock.sleep(1_000_000)
    chain = PacedChain(clock, 2.0)

    def time_of(number: int) -> int:  # the last 100 blocks were slow, after half a million quick ones
        return 1_800_000_000 + int(min(number, 509_900) * 0.2) + max(0, number - 509_900) * 2

    chain.time_of = time_of  # type: ignore[method-assign]
    newest = header_at(chain, "latest")
    assert newest.time - block_before(chain, newest, 86_400).time >= 86_400


@pytest.mark.parametrize("used", [0, 1, 3])
def test_block_to_sign__is_six_seconds_old_and_unused(used: int) -> None:
    for block_time, blocks in [(0.2, 30), (1.0, 6), (2.0, 3)]:
        chain = PacedChain(HandClock(), block_time)
        taken = [BlockNumber(10_000 - blocks - each) for each in range(used)]
        assert block_to_sign(chain, NearTip.read(chain), taken).number == 10_000 - blocks - used


@pytest.mark.parametrize("answer", [None, RpcRefused(-32005, "limit exceeded"), {"number": "0x5"}])
def test_answer__that_is_no_header__is_never_an_answer(answer: object, monkeypatch: pytest.MonkeyPatch) -> None:
    chain = PacedChain(HandClock(), 0.2)
    header = signed(chain)
    monkeypatch.setattr(chain, "ask", lambda _endpoint, calls: [answer] * len(calls))
    with pytest.raises(ChainUnavailable):
        verify_request(received(header), AUTHORITY, RecentBlocks(chain, chain.clock), PLAIN_KEYS)


def test_real_reorg__is_seen(node: AnvilServer) -> None:
    node.mine(20)
    clock, rpc = HandClock(), Rpc([node.url])
    blocks = RecentBlocks(rpc, clock)
    old = header_at(rpc, BlockNumber(20))
    assert blocks.newest() == old
    rpc.call("anvil_reorg", 2, [])
    clock.sleep(1.0)
    new = header_at(rpc, BlockNumber(20))
    found = blocks.block_at(BlockNumber(20), new.hash)
    assert found is not None
    assert found.hash == new.hash != old.hash
