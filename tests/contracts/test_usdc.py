"""The local token against USDC's own compiled code: the same answers, refusals and logs, call by call.

Both are behind their proxies on one chain, set up by the same calls; what is signed is signed for each of them, since
an address is part of it. ``docs/test-token.md`` has the figures of what they cost.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pytest
from eth_abi.abi import encode
from eth_utils.abi import function_abi_to_4byte_selector, get_abi_input_types
from eth_utils.crypto import keccak
from hypothesis import given, settings
from hypothesis import strategies as st
from local_stack.contract import Artifact
from local_stack.token import TokenCode

from tests.campaign import size
from tests.contracts.evm import ARTIFACTS, CHOSEN, DEPLOYER, Accepted, Evm, Reverted, begin
from tests.contracts.signing import DOMAIN
from tests.keys import account_of, sign
from tests.usdc.code import UsdcCode

START: Final = 1_800_000_000
CHAIN_ID: Final = 1
ZERO: Final = "0x" + "00" * 20
OWN: Final = "0x" + "77" * 20
"""As an argument: the token's own address."""
KEYS: Final = {name: keccak(name.encode()) for name in ("poster", "solver", "minter", "issuer", "stranger")}
ISSUER, ADMIN = account_of(KEYS["issuer"]), "0x" + "ad" * 20
POSTER, SOLVER, MINTER, STRANGER = (account_of(KEYS[name]) for name in ("poster", "solver", "minter", "stranger"))
MAX: Final = 2**256 - 1
TYPES: Final = {
    "transferWithAuthorization": (
        b"TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,"
        b"bytes32 nonce)"
    ),
    "receiveWithAuthorization": (
        b"ReceiveWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,"
        b"bytes32 nonce)"
    ),
    "cancelAuthorization": b"CancelAuthorization(address authorizer,bytes32 nonce)",
    "permit": b"Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)",
}
WALLETS: Final = {
    "accepts": "631626ba7e60e01b5f5260205ff3",
    "accepts in two words": "631626ba7e60e01b5f5260405ff3",
    "answers a dirty word": "631626ba7e60e01b6001175f5260205ff3",
    "answers four bytes": "631626ba7e60e01b5f5260045ff3",
    "refuses": "63ffffffff60e01b5f5260205ff3",
    "answers nothing": "00",
    "reverts": "5f5ffd",
}
"""Code of accounts that are contracts, by what it answers to ERC-1271."""


@dataclass(frozen=True, slots=True)
class Signed:
    """A call whose last argument is a signature over the others, made for each token anew."""

    function: str
    values: tuple[Any, ...]
    key: bytes
    change: Callable[[bytes], bytes] = bytes
    split: bool = False
    """As v, r and s instead of bytes."""

    def arguments(self, token: str, nonce: int) -> tuple[Any, ...]:
        words = ["bytes32"] * 3 + ["uint256", "address"]
        names = (keccak(DOMAIN), keccak(b"Test USD Coin"), keccak(b"2"))
        domain = keccak(encode(words, [*names, CHAIN_ID, token]))
        kind = TYPES[self.function]
        types = ["bytes32", *(part.split()[0].decode() for part in kind.partition(b"(")[2].rstrip(b")").split(b","))]
        values = [*self.values[:3], nonce, self.values[3]] if self.function == "permit" else list(self.values)
        content = keccak(encode(types, [keccak(kind), *values]))
        signature = self.change(sign(self.key, keccak(b"\x19\x01" + domain + content)))
        if not self.split:
            return (*self.values, signature)
        padded = signature.ljust(65, b"\0")
        return (*self.values, padded[64], padded[:32], padded[32:64])


@dataclass
class Pair:
    """USDC and the local token, side by side."""

    evm: Evm
    abi: Sequence[Any]
    tokens: tuple[str, str]
    wallets: dict[str, str]
    nonces: dict[str, int] = field(default_factory=dict)
    texts: set[str] = field(default_factory=set)
    """Of all refusals so far."""

    def play(self, sender: str, function: str, *arguments: object) -> Accepted | Reverted:
        """One call of both, with the same outcome."""
        return self._same([self._call(token, sender, function, arguments) for token in self.tokens], function)

    def signed(self, sender: str, call: Signed) -> Accepted | Reverted:
        nonce = self.nonces.get(str(call.values[0]), 0)
        answers = [self._call(token, sender, call.function, call.arguments(token, nonce)) for token in self.tokens]
        answer = self._same(answers, call.function)
        if call.function == "permit" and isinstance(answer, Accepted):
            self.nonces[str(call.values[0])] = nonce + 1
        return answer

    def refused(self, text: str, sender: str, function: str, *arguments: object) -> None:
        answer = self.play(sender, function, *arguments)
        assert answer == Reverted(_text(text)), (function, answer)

    def accepted(self, sender: str, function: str, *arguments: object) -> None:
        assert isinstance(self.play(sender, function, *arguments), Accepted), function

    def agree(self) -> None:
        """All that both show of themselves and of everybody."""
        everyone = [ISSUER, POSTER, SOLVER, MINTER, STRANGER, ZERO, OWN, *self.wallets.values()]
        plain = [entry["name"] for entry in self.abi if entry["type"] == "function" and not entry["inputs"]]
        for name in plain:
            if name not in {"pause", "unpause", "DOMAIN_SEPARATOR", "implementation"}:
                self.play(STRANGER, name)
        for account in everyone:
            for name in ("balanceOf", "isBlacklisted", "isMinter", "minterAllowance", "nonces"):
                self.play(STRANGER, name, account)
            for other in everyone:
                self.play(STRANGER, "allowance", account, other)
            for nonce in range(3):
                self.play(STRANGER, "authorizationState", account, bytes([nonce]) * 32)

    def _call(self, token: str, sender: str, function: str, arguments: Sequence[object]) -> Accepted | Reverted:
        values = [token if value == OWN else value for value in arguments]
        return self.evm.call(sender, token, self.encoded(function, values))

    def encoded(self, function: str, arguments: Sequence[object]) -> bytes:
        entry: Any = next(
            entry
            for entry in self.abi
            if entry["type"] == "function" and entry["name"] == function and len(entry["inputs"]) == len(arguments)
        )
        return function_abi_to_4byte_selector(entry) + encode(get_abi_input_types(entry), arguments)

    def _same(self, answers: list[Accepted | Reverted], function: str) -> Accepted | Reverted:
        ours, theirs = (
            self._without_address(answer, token) for answer, token in zip(answers, self.tokens, strict=True)
        )
        assert ours == theirs, function
        if isinstance(ours, Reverted):
            self.texts.add(ours.output[68:].rstrip(b"\0").decode() if ours.output else "")
        return ours

    def _without_address(self, answer: Accepted | Reverted, token: str) -> Accepted | Reverted:
        if isinstance(answer, Reverted):
            return answer
        own = bytes.fromhex(token[2:])
        clean = tuple((tuple(topic.replace(token[2:], "") for topic in log.topics), log.data) for log in answer.logs)
        return Accepted(answer.output.replace(own, b""), clean)  # type: ignore[arg-type]


def _text(text: str) -> bytes:
    return bytes.fromhex("08c379a0") + encode(["string"], [text]) if text else b""


def made(evm: Evm, artifact: Artifact, *addresses: str) -> str:
    return evm.deploy(DEPLOYER, artifact.bytecode + encode(["address"] * len(addresses), addresses))


def put(evm: Evm, runtime: str) -> str:
    """A contract of this code."""
    code = bytes.fromhex(runtime)
    return evm.deploy(DEPLOYER, bytes([0x60, len(code), 0x60, 10, 0x5F, 0x39, 0x60, len(code), 0x5F, 0xF3]) + code)


@pytest.fixture(scope="module")
def codes() -> tuple[UsdcCode, TokenCode]:
    return UsdcCode.read(), TokenCode.local(ARTIFACTS)


def bare(codes: tuple[UsdcCode, TokenCode]) -> Pair:
    """Both tokens behind their proxies, not set up yet; ADMIN is the proxies' admin."""
    evm = begin(CHOSEN)
    evm.set_time(START)
    usdc, ours = codes
    theirs = usdc.linked(lambda library: made(evm, library))
    tokens = [made(evm, code.proxy, made(evm, code.implementation)) for code in (theirs, ours)]
    abi = [*theirs.implementation.abi, *theirs.proxy.abi]
    pair = Pair(evm, abi, (tokens[0], tokens[1]), {name: put(evm, code) for name, code in WALLETS.items()})
    pair.accepted(DEPLOYER, "changeAdmin", ADMIN)
    return pair


def set_up(pair: Pair) -> Pair:
    names = ("Test USD Coin", "tUSDC", "USD", 6)
    pair.accepted(STRANGER, "initialize", *names, ISSUER, ISSUER, ISSUER, ISSUER)
    pair.accepted(STRANGER, "initializeV2", "Test USD Coin")
    pair.accepted(STRANGER, "initializeV2_1", ISSUER)
    pair.accepted(STRANGER, "initializeV2_2", [], "tUSDC")
    pair.accepted(ISSUER, "configureMinter", MINTER, 10**9)
    for holder in (POSTER, SOLVER, MINTER, *pair.wallets.values()):
        pair.accepted(MINTER, "mint", holder, 10**6)
    return pair


@pytest.fixture
def pair(codes: tuple[UsdcCode, TokenCode]) -> Pair:
    return set_up(bare(codes))


def test_interfaces__of_both__are_the_same(codes: tuple[UsdcCode, TokenCode]) -> None:
    usdc, ours = codes
    theirs = usdc.linked(lambda _library: ZERO)
    for left, right in ((theirs.implementation.abi, ours.implementation.abi), (theirs.proxy.abi, ours.proxy.abi)):
        assert _signatures(left) == _signatures(right)


def _signatures(abi: Sequence[Any]) -> set[tuple[Any, ...]]:
    return {
        (
            *(entry["type"], entry["name"], entry.get("anonymous")),
            entry.get("stateMutability") in {"view", "pure"},
            *((each["type"], each.get("indexed")) for each in entry["inputs"]),
            *(each["type"] for each in entry.get("outputs", ())),
        )
        for entry in abi
        if entry["type"] in {"function", "event"}
    }


def test_set_up__step_by_step__each_once_and_in_order(codes: tuple[UsdcCode, TokenCode]) -> None:
    pair = bare(codes)
    names = ("Test USD Coin", "tUSDC", "USD", 6)
    roles = ("masterMinter", "pauser", "blacklister", "owner")
    pair.refused("", STRANGER, "initializeV2", "x")
    for place, role in enumerate(roles):
        given: list[str] = [ISSUER] * 4
        given[place] = ZERO
        pair.refused(f"FiatToken: new {role} is the zero address", STRANGER, "initialize", *names, *given)
    pair.refused("", STRANGER, "initializeV2_1", ISSUER)
    set_up(pair)
    pair.refused("FiatToken: contract is already initialized", ISSUER, "initialize", *names, *[ISSUER] * 4)
    pair.refused("", ISSUER, "initializeV2", "x")
    pair.refused("", ISSUER, "initializeV2_1", ISSUER)
    pair.refused("", ISSUER, "initializeV2_2", [], "x")
    pair.agree()


def test_set_up__with_tokens_sent_to_it_before__moves_them_and_blocks_itself(
    codes: tuple[UsdcCode, TokenCode],
) -> None:
    pair = bare(codes)
    pair.accepted(STRANGER, "initialize", "Test USD Coin", "tUSDC", "USD", 6, *[ISSUER] * 4)
    pair.accepted(ISSUER, "configureMinter", MINTER, 9)
    pair.accepted(MINTER, "mint", OWN, 1)
    pair.accepted(STRANGER, "initializeV2", "Test USD Coin")
    pair.accepted(STRANGER, "initializeV2_1", ISSUER)
    refused = "FiatTokenV2_2: Blacklisting previously unblacklisted account!"
    pair.refused(refused, STRANGER, "initializeV2_2", [STRANGER], "x")
    pair.agree()


def test_minting__within_the_allowance_of_a_minter_only(pair: Pair) -> None:
    pair.refused("FiatToken: caller is not a minter", STRANGER, "mint", STRANGER, 1)
    pair.refused("FiatToken: caller is not the masterMinter", MINTER, "configureMinter", MINTER, 1)
    pair.accepted(ISSUER, "configureMinter", MINTER, 10)
    pair.refused("FiatToken: mint amount exceeds minterAllowance", MINTER, "mint", POSTER, 11)
    pair.refused("FiatToken: mint amount not greater than 0", MINTER, "mint", POSTER, 0)
    pair.refused("FiatToken: mint to the zero address", MINTER, "mint", ZERO, 1)
    pair.accepted(MINTER, "mint", POSTER, 10)
    pair.refused("FiatToken: mint amount exceeds minterAllowance", MINTER, "mint", POSTER, 1)
    pair.refused("FiatToken: burn amount not greater than 0", MINTER, "burn", 0)
    pair.refused("FiatToken: burn amount exceeds balance", MINTER, "burn", 10**6 + 1)
    pair.accepted(MINTER, "burn", 10**6)
    pair.refused("FiatToken: caller is not the masterMinter", MINTER, "removeMinter", MINTER)
    pair.accepted(ISSUER, "removeMinter", MINTER)
    pair.refused("FiatToken: caller is not a minter", MINTER, "mint", POSTER, 1)
    pair.refused("FiatToken: caller is not a minter", MINTER, "burn", 1)
    pair.accepted(ISSUER, "configureMinter", MINTER, MAX)
    pair.play(MINTER, "mint", POSTER, MAX)
    pair.refused("FiatTokenV2_2: Balance exceeds (2^255 - 1)", MINTER, "mint", POSTER, 2**255)
    pair.agree()


ROLES: Final = (
    ("updateMasterMinter", "FiatToken: new masterMinter is the zero address"),
    ("updatePauser", "Pausable: new pauser is the zero address"),
    ("updateBlacklister", "Blacklistable: new blacklister is the zero address"),
    ("updateRescuer", "Rescuable: new rescuer is the zero address"),
    ("transferOwnership", "Ownable: new owner is the zero address"),
)


def test_roles__are_given_by_the_owner_only(pair: Pair) -> None:
    for function, text in ROLES:
        pair.refused("Ownable: caller is not the owner", STRANGER, function, STRANGER)
        pair.refused(text, ISSUER, function, ZERO)
        pair.accepted(ISSUER, function, SOLVER)
    pair.refused("Pausable: caller is not the pauser", ISSUER, "pause")
    pair.refused("Blacklistable: caller is not the blacklister", ISSUER, "blacklist", POSTER)
    for function in ("pause", "unpause"):
        pair.accepted(SOLVER, function)
    for function in ("blacklist", "blacklist", "unBlacklist", "unBlacklist"):
        pair.accepted(SOLVER, function, POSTER)
    pair.refused("Rescuable: caller is not the rescuer", ISSUER, "rescueERC20", POSTER, POSTER, 1)
    pair.refused("Address: call to non-contract", SOLVER, "rescueERC20", POSTER, POSTER, 1)
    pair.refused("SafeERC20: low-level call failed", SOLVER, "rescueERC20", pair.wallets["reverts"], POSTER, 1)
    pair.play(SOLVER, "rescueERC20", pair.wallets["refuses"], POSTER, 1)
    pair.accepted(SOLVER, "rescueERC20", pair.wallets["answers nothing"], POSTER, 1)
    pair.agree()


def test_pause__stops_everything_that_moves_or_allows_tokens(pair: Pair) -> None:
    pair.accepted(ISSUER, "pause")
    calls: list[tuple[str, ...]] = [
        ("transfer", POSTER, "1"), ("approve", SOLVER, "1"), ("increaseAllowance", SOLVER, "1"),
        ("decreaseAllowance", SOLVER, "1"), ("mint", POSTER, "1"), ("configureMinter", MINTER, "1"),
    ]  # fmt: skip
    for function, account, amount in calls:
        pair.refused("Pausable: paused", MINTER, function, account, int(amount))
    pair.refused("Pausable: paused", MINTER, "burn", 1)
    pair.refused("Pausable: paused", POSTER, "transferFrom", POSTER, SOLVER, 1)
    for call in authorizations(POSTER, KEYS["poster"]):
        assert pair.signed(SOLVER, call) == Reverted(_text("Pausable: paused"))
    pair.accepted(ISSUER, "blacklist", POSTER)
    pair.accepted(ISSUER, "removeMinter", MINTER)
    pair.accepted(ISSUER, "unpause")
    pair.agree()


def test_block_list__keeps_an_account_from_sending_and_receiving_but_not_from_allowing(pair: Pair) -> None:
    blocked = "Blacklistable: account is blacklisted"
    pair.accepted(POSTER, "approve", SOLVER, 100)
    pair.accepted(ISSUER, "blacklist", POSTER)
    pair.refused(blocked, POSTER, "transfer", SOLVER, 1)
    pair.refused(blocked, SOLVER, "transfer", POSTER, 1)
    pair.refused(blocked, SOLVER, "transferFrom", POSTER, SOLVER, 1)
    pair.refused(blocked, MINTER, "mint", POSTER, 1)
    pair.accepted(POSTER, "approve", SOLVER, 50)
    for call in authorizations(POSTER, KEYS["poster"]):
        if call.function in {"transferWithAuthorization", "receiveWithAuthorization"}:
            assert pair.signed(SOLVER, call) == Reverted(_text(blocked))
        else:
            assert isinstance(pair.signed(SOLVER, call), Accepted)
    pair.accepted(ISSUER, "blacklist", MINTER)
    pair.refused(blocked, MINTER, "mint", SOLVER, 1)
    pair.refused(blocked, MINTER, "burn", 1)
    pair.agree()


def test_transfers_and_allowances__beyond_what_there_is__are_refused(pair: Pair) -> None:
    pair.refused("ERC20: transfer amount exceeds balance", POSTER, "transfer", SOLVER, 10**6 + 1)
    pair.refused("ERC20: transfer to the zero address", POSTER, "transfer", ZERO, 1)
    pair.refused("ERC20: transfer from the zero address", ZERO, "transfer", POSTER, 0)
    pair.refused("ERC20: approve to the zero address", POSTER, "approve", ZERO, 1)
    pair.refused("ERC20: approve from the zero address", ZERO, "approve", POSTER, 1)
    pair.refused("ERC20: transfer amount exceeds allowance", SOLVER, "transferFrom", POSTER, SOLVER, 1)
    pair.refused("ERC20: decreased allowance below zero", POSTER, "decreaseAllowance", SOLVER, 1)
    pair.accepted(POSTER, "increaseAllowance", SOLVER, MAX)
    pair.refused("SafeMath: addition overflow", POSTER, "increaseAllowance", SOLVER, 1)
    pair.accepted(SOLVER, "transferFrom", POSTER, SOLVER, 7)
    pair.accepted(POSTER, "transfer", POSTER, 7)
    pair.accepted(POSTER, "transfer", SOLVER, 0)
    pair.agree()


def authorizations(account: str, key: bytes, *, split: bool = False, **changes: Any) -> Iterator[Signed]:
    """Each kind of signed call, good unless changed; the Solver sends it."""
    for function in ("transferWithAuthorization", "receiveWithAuthorization"):
        nonce = bytes([function.startswith("r")]) * 32
        yield Signed(function, (account, SOLVER, 5, START - 1, START + 1, nonce), key, split=split, **changes)
    yield Signed("permit", (account, SOLVER, 5, START), key, split=split, **changes)
    yield Signed("cancelAuthorization", (account, b"\2" * 32), key, split=split, **changes)


@pytest.mark.parametrize("split", [False, True])
def test_authorizations__in_both_forms__once_and_in_their_time(pair: Pair, split: bool) -> None:
    used = Reverted(_text("FiatTokenV2: authorization is used or canceled"))
    calls = list(authorizations(POSTER, KEYS["poster"], split=split))
    for call in calls:
        assert isinstance(pair.signed(SOLVER, call), Accepted)
    assert [pair.signed(SOLVER, call) for call in calls if call.function != "permit"] == [used] * 3
    late = Signed("transferWithAuthorization", (POSTER, SOLVER, 5, START, START + 9, bytes(32)), KEYS["poster"])
    assert pair.signed(SOLVER, late) == Reverted(_text("FiatTokenV2: authorization is not yet valid"))
    over = Signed("transferWithAuthorization", (POSTER, SOLVER, 5, 0, START, b"\1" * 32), KEYS["poster"])
    assert pair.signed(SOLVER, over) == Reverted(_text("FiatTokenV2: authorization is expired"))
    other = Signed("receiveWithAuthorization", (POSTER, SOLVER, 5, 0, MAX, b"\3" * 32), KEYS["poster"])
    assert pair.signed(STRANGER, other) == Reverted(_text("FiatTokenV2: caller must be the payee"))
    expired = Signed("permit", (POSTER, SOLVER, 5, START - 1), KEYS["poster"])
    assert pair.signed(SOLVER, expired) == Reverted(_text("FiatTokenV2: permit is expired"))
    assert isinstance(pair.signed(SOLVER, Signed("permit", (POSTER, SOLVER, 5, MAX), KEYS["poster"])), Accepted)
    pair.agree()


ORDER: Final = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141


def _high(signature: bytes) -> bytes:
    s = ORDER - int.from_bytes(signature[32:64], "big")
    return signature[:32] + s.to_bytes(32, "big") + bytes([55 - signature[64]])


DEFECTS: Final[dict[str, Callable[[bytes], bytes]]] = {
    "none": bytes,
    "high s": _high,
    "v of 0 or 1": lambda signature: signature[:64] + bytes([signature[64] - 27]),
    "other v": lambda signature: signature[:64] + bytes([55 - signature[64]]),
    "r of zero": lambda signature: bytes(32) + signature[32:],
    "64 bytes": lambda signature: signature[:64],
    "66 bytes": lambda signature: signature + b"\0",
    "none at all": lambda _signature: b"",
    "wrapped by ERC-6492": lambda signature: (
        encode(["address", "bytes", "bytes"], [POSTER, b"", signature]) + bytes.fromhex("6492" * 16)
    ),
}


@pytest.mark.parametrize("defect", DEFECTS)
def test_signatures__of_plain_accounts__are_recovered_strictly(pair: Pair, defect: str) -> None:
    for split in (False, True):
        for call in authorizations(POSTER, KEYS["poster"], split=split, change=DEFECTS[defect]):
            assert isinstance(pair.signed(SOLVER, call), Accepted) or defect != "none" or split
    for call in authorizations(POSTER, KEYS["stranger"], change=DEFECTS[defect]):
        assert isinstance(pair.signed(SOLVER, call), Reverted)
    pair.agree()


@pytest.mark.parametrize("wallet", WALLETS)
def test_signatures__of_accounts_with_code__are_what_the_code_answers(pair: Pair, wallet: str) -> None:
    account = pair.wallets[wallet]
    outcomes = {type(pair.signed(SOLVER, call)) for call in authorizations(account, KEYS["poster"])}
    assert outcomes == {Accepted if wallet.startswith("accepts") else Reverted}
    pair.agree()


def _calls(pair: Pair) -> st.SearchStrategy[tuple[str, str, tuple[Any, ...]] | Signed]:
    """Any call of anybody, mostly of those who may, with amounts around what there is."""
    people = [ISSUER, POSTER, SOLVER, MINTER, STRANGER, ZERO, OWN, pair.wallets["accepts"]]
    anyone, amount = st.sampled_from(people), st.sampled_from([0, 1, 5, 10**6, 10**9, 2**255 - 1, 2**255, MAX])
    person, held = st.sampled_from(people[:6]), st.sampled_from([POSTER, SOLVER, MINTER])
    one_of_each = (
        *(st.tuples(person, st.just(name), st.tuples(anyone, amount)) for name in ("transfer", "approve", "mint")),
        *(
            st.tuples(held, st.just(name), st.tuples(held, amount))
            for name in ("transfer", "approve", "increaseAllowance")
        ),
        st.tuples(held, st.just("decreaseAllowance"), st.tuples(held, amount)),
        st.tuples(held, st.just("transferFrom"), st.tuples(held, anyone, amount)),
        st.tuples(st.just(MINTER), st.sampled_from(["burn"]), st.tuples(amount)),
        st.tuples(st.just(ISSUER), st.just("configureMinter"), st.tuples(anyone, amount)),
        st.tuples(st.just(ISSUER), st.sampled_from(["blacklist", "unBlacklist", "removeMinter"]), st.tuples(anyone)),
        st.tuples(st.just(ISSUER), st.sampled_from(["pause", "unpause", "unpause"]), st.just(())),
    )
    when = st.sampled_from([0, START - 1, START, START + 1, MAX])
    nonce, change = st.integers(0, 2).map(lambda n: bytes([n]) * 32), st.sampled_from(list(DEFECTS.values()))
    key = st.sampled_from([KEYS["poster"], KEYS["stranger"]])
    signer = st.sampled_from([POSTER, pair.wallets["accepts"], pair.wallets["reverts"]])
    moves = st.tuples(signer, anyone, amount, when, when, nonce)
    signed = (
        *(st.builds(Signed, st.just(name), moves, key, change, st.booleans()) for name in list(TYPES)[:2]),
        st.builds(Signed, st.just("cancelAuthorization"), st.tuples(signer, nonce), key, change, st.booleans()),
        st.builds(Signed, st.just("permit"), st.tuples(signer, anyone, amount, when), key, change, st.booleans()),
    )
    return st.one_of(*one_of_each, *signed)


def test_random_calls__one_after_the_other__have_the_same_outcomes(codes: tuple[UsdcCode, TokenCode]) -> None:
    """Chains of their own for each list would cost more than the calls: one pair goes on and on."""
    pair = set_up(bare(codes))

    @settings(max_examples=size(150, 4_000))
    @given(st.lists(_calls(pair), min_size=5, max_size=20))
    def walk(calls: list[tuple[str, str, tuple[Any, ...]] | Signed]) -> None:
        for call in calls:
            if isinstance(call, Signed):
                pair.signed(SOLVER, call)
            else:
                sender, function, arguments = call
                pair.play(sender, function, *arguments)

    walk()
    pair.agree()
    assert len(pair.texts) > 12


def test_proxy__its_admin__replaces_the_code_and_can_use_no_token(
    pair: Pair, codes: tuple[UsdcCode, TokenCode]
) -> None:
    only_proxy = "Cannot call fallback function from the proxy admin"
    for function in ("name", "totalSupply"):
        pair.refused(only_proxy, ADMIN, function)
    pair.refused(only_proxy, ADMIN, "transfer", POSTER, 1)
    for account in (ADMIN, STRANGER):
        pair.accepted(account, "admin")
    text = "Cannot set a proxy implementation to a non-contract address"
    pair.refused(text, ADMIN, "upgradeTo", STRANGER)
    pair.refused("", STRANGER, "upgradeTo", pair.wallets["accepts"])
    pair.refused("Cannot change the admin of a proxy to the zero address", ADMIN, "changeAdmin", ZERO)
    pair.accepted(ADMIN, "upgradeTo", pair.wallets["refuses"])
    assert pair.play(STRANGER, "balanceOf", POSTER) == Accepted(bytes.fromhex("ff" * 4 + "00" * 28), ())
    pair.accepted(ADMIN, "upgradeToAndCall", pair.wallets["answers nothing"], b"")
    pair.refused("", ADMIN, "upgradeToAndCall", pair.wallets["reverts"], b"\1")
    pair.accepted(ADMIN, "changeAdmin", STRANGER)
    pair.refused(only_proxy, STRANGER, "name")
