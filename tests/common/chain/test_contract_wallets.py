"""Accounts that are contracts, on a real node: the honest are accepted, the hostile are not, nothing gets stuck."""

import secrets
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from itertools import islice
from threading import Barrier, Event, Thread

import pytest
from bounty_protocol.auth.header import ApprovalHeader
from bounty_protocol.auth.typed_data import digest
from bounty_protocol.auth.verify import Reason, Refused, VerifiedRequest, WalletAnswer, verify_request
from bounty_protocol.chain.blocks import header_at
from bounty_protocol.chain.rpc import Call, ChainUnavailable, Rpc
from bounty_protocol.clock import Clock, SystemClock
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import Address, BlockNumber
from local_stack import anvil, valkey
from local_stack.anvil import AnvilServer
from local_stack.runtime import running
from redis import Redis
from service_common.budgets import SITE_SHARE, Budgets, network_of
from service_common.chain import contract_wallets
from service_common.chain.contract_wallets import ContractWallets

from tests.cli.servers import Change, RpcProxy
from tests.clocks import StandingClock
from tests.protocol.auth import wallets as w
from tests.protocol.auth.signing import AUTHORITY, DOMAIN, HEAD, REQUEST, Chain, Key, block_hash, new_key, received

DIGEST = digest(DOMAIN, REQUEST.approval(BlockNumber(HEAD - 3), block_hash(HEAD - 3)))
OWNER = new_key()
SIGNATURE = OWNER.sign(DIGEST)


@pytest.fixture(scope="module")
def chain() -> Iterator[AnvilServer]:
    with anvil.start(mining="automine") as server:
        yield server


@pytest.fixture
def node(chain: AnvilServer) -> Iterator[AnvilServer]:
    """A node that is as before after each test."""
    snapshot = chain.rpc.call("evm_snapshot")
    yield chain
    assert chain.rpc.call("evm_revert", snapshot)


def asking(node: AnvilServer) -> ContractWallets:
    rpc = Rpc([node.url])
    return made(rpc, lambda: header_at(rpc, "latest").number)


def made(rpc: Rpc, head: Callable[[], BlockNumber], clock: Clock | None = None) -> ContractWallets:
    return ContractWallets(rpc, head, Budgets(clock or SystemClock()))


def verify(node: AnvilServer, account: Address, signature: bytes) -> VerifiedRequest:
    header = ApprovalHeader(account, signature, BlockNumber(HEAD - 3), block_hash(HEAD - 3))
    return verify_request(received(header), AUTHORITY, Chain(), asking(node))


def is_refused(node: AnvilServer, account: Address, signature: bytes) -> bool:
    return why_refused(node, account, signature) in {Reason.CONTRACT_WALLET, Reason.SIGNATURE}


def why_refused(node: AnvilServer, account: Address, signature: bytes) -> Reason:
    with pytest.raises(Refused) as caught:
        verify(node, account, signature)
    assert (caught.value.code, caught.value.status) == ("unauthorized", 401)
    return caught.value.reason


@pytest.mark.spec(314)
def test_wallet_of_its_owner_is_verified(node: AnvilServer) -> None:
    wallet = w.place(node, w.owner_wallet(OWNER.address))
    assert verify(node, wallet, SIGNATURE).signer == wallet
    assert why_refused(node, wallet, new_key().sign(DIGEST)) is Reason.CONTRACT_WALLET
    assert why_refused(node, new_key().address, SIGNATURE) is Reason.SIGNATURE
    assert is_refused(node, wallet, OWNER.sign(bytes(32)))
    assert is_refused(node, wallet, SIGNATURE + b"\0")
    assert is_refused(node, wallet, b"\x01")


@pytest.mark.parametrize("kind", w.HOSTILE)
def test_hostile_wallet_is_unauthorized(node: AnvilServer, kind: str) -> None:
    assert is_refused(node, w.place(node, w.HOSTILE[kind]), SIGNATURE)


def test_wrapped_signature_calls_no_factory(
    node: AnvilServer,
) -> None:
    wallet = w.Undeployed(w.owner_wallet(OWNER.address))
    wallet.deploy(node)
    assert verify(node, wallet.address, wallet.wrap(SIGNATURE)).signer == wallet.address
    endless = w.place(node, w.ENDLESS, "factory")
    assert verify(node, wallet.address, wallet.wrap(SIGNATURE, factory=endless)).signer == wallet.address
    assert is_refused(node, wallet.address, wallet.wrap(new_key().sign(DIGEST)))


@pytest.mark.spec(315)
def test_undeployed_wallet_is_verified(node: AnvilServer) -> None:
    wallet = w.Undeployed(w.owner_wallet(OWNER.address), secrets.token_bytes(32))
    assert verify(node, wallet.address, wallet.wrap(SIGNATURE)).signer == wallet.address
    assert node.rpc.call("eth_getCode", wallet.address, "latest") == "0x"  # asked, never deployed


def test_bad_wrapper_is_unauthorized(node: AnvilServer) -> None:
    wallet = w.Undeployed(w.owner_wallet(OWNER.address))
    other = w.Undeployed(w.ACCEPT_ALL)
    good = wallet.wrap(SIGNATURE)
    assert is_refused(node, wallet.address, wallet.wrap(new_key().sign(DIGEST)))  # a wrong inner signature
    assert is_refused(node, wallet.address, wallet.wrap(b""))
    assert is_refused(node, wallet.address, SIGNATURE)  # no wrapper
    assert is_refused(node, wallet.address, other.wrap(SIGNATURE))  # a factory call that deploys somewhere else
    assert is_refused(node, OWNER.address, wallet.wrap(SIGNATURE))  # the owner's own plain account
    assert is_refused(node, new_key().address, other.wrap(b"\x01"))  # somebody else's plain account
    assert is_refused(node, wallet.address, good[:-1])
    assert is_refused(node, wallet.address, good[1:])
    assert is_refused(node, wallet.address, good[:64] + b"\xff" * 32 + good[96:])  # its place out of bounds
    assert is_refused(node, wallet.address, good[:32] + b"\xff" * 32 + good[64:])
    assert is_refused(node, wallet.address, b"\x01" + good[1:])  # dirt above the factory's address
    assert is_refused(node, wallet.address, w.WRAPPED)
    assert is_refused(node, wallet.address, bytes(160) + w.WRAPPED)


@pytest.mark.parametrize("kind", w.HOSTILE)
def test_hostile_factory_is_unauthorized(node: AnvilServer, kind: str) -> None:
    wallet = w.Undeployed(w.owner_wallet(OWNER.address))
    factory = w.place(node, w.HOSTILE[kind], "factory")
    assert is_refused(node, wallet.address, wallet.wrap(SIGNATURE, factory=factory))
    assert is_refused(node, new_key().address, wallet.wrap(SIGNATURE, factory=factory))


@pytest.mark.parametrize("kind", w.HOSTILE)
def test_undeployed_hostile_wallet_is_unauthorized(node: AnvilServer, kind: str) -> None:
    wallet = w.Undeployed(w.HOSTILE[kind])
    assert is_refused(node, wallet.address, wallet.wrap(SIGNATURE))


@pytest.mark.parametrize("number", [1, 2, 4, 9])
def test_precompile_as_a_signer_is_unauthorized(node: AnvilServer, number: int) -> None:
    account = Address(f"0x{number:040x}")
    assert is_refused(node, account, SIGNATURE)
    assert is_refused(node, account, w.wrapper(w.CREATE2_DEPLOYER, b"", w.MAGIC * 3))


def test_delegated_account_is_verified_by_its_own_key(node: AnvilServer) -> None:
    key = Key(secrets.token_bytes(32))
    delegated = w.delegate(node, key.secret, w.place(node, w.REVERT))
    assert str(node.rpc.call("eth_getCode", delegated, "latest")).startswith("0xef0100")
    assert verify(node, delegated, key.sign(DIGEST)).signer == key.address
    assert is_refused(node, delegated, SIGNATURE)


def test_delegated_account_is_verified_by_its_code(node: AnvilServer) -> None:
    key = Key(secrets.token_bytes(32))
    delegated = w.delegate(node, key.secret, w.place(node, w.owner_wallet(OWNER.address)))
    assert verify(node, delegated, SIGNATURE).signer == key.address
    assert is_refused(node, delegated, new_key().sign(DIGEST))


def test_checks_beyond_a_second_are_503(node: AnvilServer) -> None:
    asked = made(Rpc([node.url]), lambda: BlockNumber(0), StandingClock())
    for _ in range(contract_wallets.OF_STRANGERS.amount):
        assert asked.ask(new_key().address, DIGEST, b"\x01") is WalletAnswer.NO_CODE
    with pytest.raises(ServiceError) as caught:
        asked.ask(OWNER.address, DIGEST, b"\x01")
    assert (caught.value.code, caught.value.status) == ("service_overloaded", 503)


def test_checks_beyond_the_places_are_503(node: AnvilServer, monkeypatch: pytest.MonkeyPatch) -> None:
    # Those that have a place keep it until the node answers.
    monkeypatch.setattr(contract_wallets, "CALL_SECONDS", 60.0)
    asked = asking(node)
    asked._head = lambda: BlockNumber(0)
    answers: list[str] = []
    shed = contract_wallets.MAX_AT_A_TIME + 4 - contract_wallets.STRANGERS_AT_A_TIME
    all_shed = Event()
    start = Barrier(contract_wallets.MAX_AT_A_TIME + 4)

    def ask() -> None:
        start.wait()
        try:
            answers.append(asked.ask(OWNER.address, DIGEST, b"\x01").name)
        except ServiceError as error:
            answers.append(error.code)
        if answers.count("service_overloaded") == shed:
            all_shed.set()

    node.pause()
    try:
        threads = [Thread(target=ask) for _ in range(contract_wallets.MAX_AT_A_TIME + 4)]
        for thread in threads:
            thread.start()
        assert all_shed.wait(20)
    finally:
        node.resume()
    for thread in threads:
        thread.join(timeout=20)
    assert sorted(answers) == ["NO_CODE"] * contract_wallets.STRANGERS_AT_A_TIME + ["service_overloaded"] * shed
    assert asked.ask(OWNER.address, DIGEST, b"\x01") is WalletAnswer.NO_CODE  # the places are free again


HOME, CAFE = "203.0.113.7", "198.51.100.1"


def outcome(asked: ContractWallets, account: Address, signature: bytes, address: str) -> str:
    """``ACCEPTED`` and the like, or the code of the error."""
    try:
        view = asked.of_network(network_of(address))
        view.admit(account)
        return view.ask(account, DIGEST, signature).name
    except ServiceError as error:
        assert not error.is_failure
        return error.code


def test_nobody_locks_a_wallet_out_by_naming_it(node: AnvilServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contract_wallets, "OF_NETWORK", replace(contract_wallets.OF_NETWORK, amount=6))
    wallet, clock = w.place(node, w.owner_wallet(OWNER.address)), StandingClock()
    asked = made(Rpc([node.url]), lambda: header_at(Rpc([node.url]), "latest").number, clock)
    refused = 0
    for minute in range(2):
        for second in range(2):
            clock.at += 6.0
            named = [outcome(asked, wallet, b"\x01", f"198.51.{second}.{minute * 16 + each}") for each in range(16)]
            assert named == ["REFUSED"] * 16
            refused += len(named)
    assert refused > 2 * contract_wallets.OF_NETWORK.amount
    assert outcome(asked, wallet, SIGNATURE, HOME) == "ACCEPTED"


def test_one_site_does_not_lock_out_all_new_wallets(node: AnvilServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The /48 around a /64 has sixteen times as many checks in a minute, whatever it names."""
    monkeypatch.setattr(contract_wallets, "OF_NETWORK", replace(contract_wallets.OF_NETWORK, amount=6))
    wallet, clock = w.place(node, w.owner_wallet(OWNER.address)), StandingClock()
    asked = made(Rpc([node.url]), lambda: header_at(Rpc([node.url]), "latest").number, clock)
    checked = 0
    for second in range(12):
        clock.at += 1.0
        sent = [outcome(asked, new_key().address, b"\x01", f"2001:db8:7:{second:x}{each:02x}::1") for each in range(10)]
        checked += sent.count("NO_CODE")
    assert checked == SITE_SHARE * contract_wallets.OF_NETWORK.amount
    assert outcome(asked, wallet, SIGNATURE, "2001:db8:8::1") == "ACCEPTED"


def test_site_leaves_a_place_for_new_wallets_of_others(node: AnvilServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """At once, and within each second, though its minute has room for more."""
    monkeypatch.setattr(contract_wallets, "CALL_SECONDS", 60.0)
    head = header_at(Rpc([node.url]), "latest").number
    asked = made(Rpc([node.url]), lambda: head, StandingClock())
    wallet, others = w.place(node, w.owner_wallet(OWNER.address)), [f"2001:db8:7:{each:x}::1" for each in range(120)]
    sent = [outcome(asked, new_key().address, b"\x01", each) for each in others]
    assert 0 < sent.count("NO_CODE") < contract_wallets.OF_STRANGERS.amount
    assert outcome(asked, wallet, SIGNATURE, HOME) == "ACCEPTED"
    asked, most = made(Rpc([node.url]), lambda: head), contract_wallets.STRANGERS_OF_NETWORK
    node.pause()
    try:
        with ThreadPoolExecutor(16) as pool:
            pending = [pool.submit(outcome, asked, new_key().address, b"\x01", each) for each in others[:8]]
            refused = list(islice(as_completed(pending), 8 - most))  # while the node is silent, only these are done
            honest = pool.submit(outcome, asked, wallet, SIGNATURE, HOME)
            node.resume()
    finally:
        node.resume()
    assert {each.result() for each in refused} == {"service_overloaded"}
    assert [each.result() for each in pending].count("NO_CODE") == most < contract_wallets.STRANGERS_AT_A_TIME
    assert honest.result() == "ACCEPTED"


def test_accepted_wallet_keeps_its_places(node: AnvilServer) -> None:
    """Strangers may use up their second, or the budget of the wallet's own network."""
    wallet, clock = w.place(node, w.owner_wallet(OWNER.address)), StandingClock()
    asked = made(Rpc([node.url]), lambda: header_at(Rpc([node.url]), "latest").number, clock)
    assert outcome(asked, wallet, SIGNATURE, HOME) == "ACCEPTED"
    strangers = [outcome(asked, new_key().address, b"\x01", f"198.51.100.{each}") for each in range(100)]
    assert strangers.count("NO_CODE") == contract_wallets.OF_STRANGERS.amount - 1
    assert [outcome(asked, wallet, SIGNATURE, HOME) for _ in range(5)] == ["ACCEPTED"] * 5
    for _ in range(7):
        clock.at += 1.0
        for _ in range(10):
            outcome(asked, new_key().address, b"\x01", HOME)
    clock.at += 1.0
    assert outcome(asked, new_key().address, b"\x01", HOME) == "service_overloaded"
    assert outcome(asked, wallet, SIGNATURE, HOME) == "ACCEPTED"
    clock.at += contract_wallets.OF_NETWORK.seconds
    assert outcome(asked, new_key().address, b"\x01", HOME) == "NO_CODE"


def test_accepted_wallet_is_known_to_all_processes(node: AnvilServer) -> None:
    """By Redis; a process that cannot reach it knows what it has seen itself."""
    wallet, head = w.place(node, w.owner_wallet(OWNER.address)), header_at(Rpc([node.url]), "latest").number
    with running() as runtime, valkey.start(runtime) as server:
        redis, rpc = Redis.from_url(server.url()), Rpc([node.url])
        one, other = (ContractWallets(rpc, lambda: head, Budgets(SystemClock(), redis)) for _ in range(2))
        assert outcome(one, wallet, SIGNATURE, HOME) == "ACCEPTED"
        assert other._is_accepted(wallet, network_of(HOME))
        assert not other._is_accepted(wallet, network_of(CAFE))
        redis.close()
    assert not other._is_accepted(wallet, network_of(HOME))
    assert one._is_accepted(wallet, network_of(HOME))


def test_chain_away_is_an_error_and_no_answer() -> None:
    asked = of_several("http://127.0.0.1:9")
    with pytest.raises(ChainUnavailable):
        asked.ask(OWNER.address, DIGEST, b"\x01")


@pytest.mark.parametrize("answer", [None, "0x", "0x01", "0x" + "00" * 31 + "03", "0x" + "00" * 64, [], 1])
def test_answer_without_verdict_is_an_error(answer: object) -> None:
    class Lying(Rpc):
        def bounded(self, *, seconds: float, max_answer_bytes: int | None = None, patient: bool = False) -> Rpc:
            return self

        def batch(self, calls: list[Call]) -> list[object]:  # type: ignore[override]
            return [answer]

    asked = made(Lying(["http://127.0.0.1:9"]), lambda: BlockNumber(0))
    with pytest.raises(ChainUnavailable):
        asked.ask(OWNER.address, DIGEST, b"\x01")


def verdict(answer: WalletAnswer) -> str:
    """The validator's word for it."""
    return next(word for word, each in contract_wallets._ANSWERS.items() if each is answer)


def of_several(*urls: str) -> ContractWallets:
    return made(Rpc(urls), lambda: BlockNumber(0))


@pytest.mark.parametrize("others", [1, 2])
def test_signature_one_endpoint_accepts_is_an_error(node: AnvilServer, others: int) -> None:
    with RpcProxy(node.url) as liar:
        liar.after = lambda method, _params, result: verdict(WalletAnswer.ACCEPTED) if method == "eth_call" else result
        asked = of_several(liar.url, *[node.url] * others)
        with pytest.raises(ChainUnavailable, match="disagree"):
            asked.ask(OWNER.address, DIGEST, b"\x01" * 65)
        with pytest.raises(ChainUnavailable, match="disagree"):  # nor is it remembered as accepted
            asked.ask(OWNER.address, DIGEST, b"\x01" * 65)
    assert not asked._is_accepted(OWNER.address, None)


@pytest.mark.parametrize("ahead", [1, 2])
def test_signature_accepted_at_some_blocks_alone(node: AnvilServer, ahead: int) -> None:
    def answer(newest: WalletAnswer) -> Change:
        return lambda _method, params, _result: verdict(newest if params[1] == "latest" else WalletAnswer.ACCEPTED)

    with RpcProxy(node.url) as first, RpcProxy(node.url) as second:
        first.after = answer(WalletAnswer.REFUSED)
        second.after = answer(WalletAnswer.REFUSED if ahead == 2 else WalletAnswer.ACCEPTED)
        asked = of_several(first.url, second.url)
        if ahead == 2:  # both are past the block at which it was accepted
            assert asked.ask(OWNER.address, DIGEST, b"\x01" * 65) is WalletAnswer.REFUSED
        else:
            with pytest.raises(ChainUnavailable, match="disagree"):
                asked.ask(OWNER.address, DIGEST, b"\x01" * 65)
    assert not asked._is_accepted(OWNER.address, None)


def test_signature_two_endpoints_accept_counts(
    node: AnvilServer,
) -> None:
    wallet = w.place(node, w.owner_wallet(OWNER.address))
    head = header_at(Rpc([node.url]), "latest").number
    with RpcProxy(node.url) as second, RpcProxy(node.url) as third:
        rpc = Rpc([node.url, second.url, third.url])
        asked = made(rpc, lambda: head)
        assert asked.ask(wallet, DIGEST, SIGNATURE) is WalletAnswer.ACCEPTED
        assert (second.calls, third.calls) == (["eth_call"], ["eth_call"])
        third.refuse = lambda _: (500, b"", {})
        assert asked.ask(wallet, DIGEST, SIGNATURE) is WalletAnswer.ACCEPTED
        second.refuse = lambda _: (500, b"", {})
        with pytest.raises(ChainUnavailable, match="too few"):
            asked.ask(wallet, DIGEST, SIGNATURE)
        second.refuse = lambda _: None  # and rests now: asked all the same, since two are needed
        third.refuse = lambda _: None
        assert asked.ask(wallet, DIGEST, SIGNATURE) is WalletAnswer.ACCEPTED
