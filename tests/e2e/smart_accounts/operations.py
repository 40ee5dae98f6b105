"""Operations of EntryPoint 0.7 by an account that need not exist nor own ether, as a wallet sends them.

An operation is what JSON-RPC carries: a dict of its fields' names to 0x-hex. ``packed`` is the same as the contracts
take it.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import urllib3
from bounty_protocol.chain.rpc import ChainUnavailable, Rpc, RpcRefused
from eth_account.messages import encode_defunct
from local_stack.contract import Contract
from service_common.web3_provider import Account, LocalAccount

from tests.e2e.smart_accounts.contracts import AccountContracts

Operation = dict[str, str]
_ANSWER_BYTES: Final = 1 << 20
_LOOK_SECONDS: Final = 0.1
_OF_PAYMASTER: Final = ("paymaster", "paymasterData", "paymasterVerificationGasLimit", "paymasterPostOpGasLimit")


class OperationFailed(Exception):
    """An operation was not done. The text says who refused or did not answer which request, and why."""


class Call(NamedTuple):
    """One call of a batch; ``value`` in wei."""

    to: str
    data: bytes = b""
    value: int = 0


@dataclass(frozen=True, slots=True)
class OperationReceipt:
    """What became of an operation that succeeded. ``gas_cost`` is in wei; ``logs`` are those of its own calls."""

    operation_hash: str
    transaction_hash: str
    account: str
    gas_cost: int
    logs: list[dict[str, Any]]


def send_user_operation(
    calls: Sequence[Call],
    owner_key: str,
    bundler_url: str,
    paymaster_url: str | None,
    *,
    contracts: AccountContracts,
    answer_seconds: float = 3.0,
    mining_seconds: float = 30.0,
) -> OperationReceipt:
    """Do the calls as one batch of the owner's SimpleAccount, which its first operation creates; waits for the receipt.

    ``owner_key`` is 0x-hex and stays in this process. The paymaster pays where one is given, asked as ERC-7677 says;
    else the account does. Raises ``OperationFailed`` where one of them refuses, does not answer within
    ``answer_seconds`` (nothing is sent then), or nothing is mined within ``mining_seconds``, or the calls revert.
    """
    bundler = _Peer("bundler", bundler_url, answer_seconds)
    owner: LocalAccount = Account.from_key(owner_key)
    operation = _prepared(calls, owner, bundler, contracts)
    context: tuple[object, ...] = (contracts.entry_point.address, hex(contracts.w3.eth.chain_id), {})
    if paymaster_url is not None:
        paymaster = _Peer("paymaster", paymaster_url, answer_seconds)
        operation |= _strings(paymaster.ask("pm_getPaymasterStubData", operation, *context), _OF_PAYMASTER)
    operation |= _strings(bundler.ask("eth_estimateUserOperationGas", operation, contracts.entry_point.address))
    if paymaster_url is not None:
        operation |= _strings(paymaster.ask("pm_getPaymasterData", operation, *context), _OF_PAYMASTER)
    digest = bytes(contracts.entry_point.call("getUserOpHash", packed(operation)))
    operation["signature"] = signed(owner, digest)
    sent = bundler.ask("eth_sendUserOperation", operation, contracts.entry_point.address)
    if sent != "0x" + digest.hex():
        raise OperationFailed(f"the bundler took another operation: {sent}")
    return _mined(sent, operation["sender"], bundler, mining_seconds)


def packed(operation: Mapping[str, str]) -> tuple[object, ...]:
    """An operation as PackedUserOperation; gas and fees that it lacks are 0, bytes that it lacks are none."""
    paymaster_and_data = b""
    if "paymaster" in operation:
        limits = _two(operation, "paymasterVerificationGasLimit", "paymasterPostOpGasLimit")
        paymaster_and_data = _bytes(operation, "paymaster") + limits + _bytes(operation, "paymasterData")
    return (
        operation["sender"],
        _number(operation, "nonce"),
        _bytes(operation, "factory") + _bytes(operation, "factoryData"),
        _bytes(operation, "callData"),
        _two(operation, "verificationGasLimit", "callGasLimit"),
        _number(operation, "preVerificationGas"),
        _two(operation, "maxPriorityFeePerGas", "maxFeePerGas"),
        paymaster_and_data,
        _bytes(operation, "signature"),
    )


def signed(key: LocalAccount, digest: bytes) -> str:
    """The signature that SimpleAccount and VerifyingPaymaster want of a digest, as personal_sign makes it; 0x-hex."""
    return "0x" + bytes(key.sign_message(encode_defunct(digest)).signature).hex()


def _prepared(calls: Sequence[Call], owner: LocalAccount, bundler: "_Peer", contracts: AccountContracts) -> Operation:
    """Everything but gas, paymaster and the right signature."""
    sender = contracts.address_of(owner.address)
    account = Contract(contracts.w3, sender, contracts.account.abi)
    columns = [list(column) for column in zip(*((call.to, call.value, call.data) for call in calls), strict=True)]
    fees = bundler.ask("pimlico_getUserOperationGasPrice")["standard"]
    operation = {
        "sender": sender,
        "nonce": hex(contracts.nonce_of(sender)),
        "callData": "0x" + account.encode("executeBatch", *columns).hex(),
        "signature": signed(owner, bytes(32)),  # one that a curve point can be recovered from, or the estimate reverts
        **_strings(fees),
    }
    if operation["nonce"] == "0x0":
        operation["factory"] = contracts.factory.address
        operation["factoryData"] = "0x" + contracts.factory.encode("createAccount", owner.address, 0).hex()
    return operation


def _mined(sent: str, account: str, bundler: "_Peer", seconds: float) -> OperationReceipt:
    ends = time.monotonic() + seconds
    while (found := bundler.ask("eth_getUserOperationReceipt", sent)) is None:
        if time.monotonic() > ends:
            raise OperationFailed(f"the bundler took operation {sent}, and it was not mined within {seconds:g} s")
        time.sleep(_LOOK_SECONDS)
    transaction = found["receipt"]["transactionHash"]
    if not found["success"]:
        raise OperationFailed(f"the calls of operation {sent} reverted in transaction {transaction}")
    return OperationReceipt(sent, transaction, account, int(found["actualGasCost"], 16), found["logs"])


class _Peer:
    """A bundler or a paymaster over JSON-RPC."""

    def __init__(self, name: str, url: str, seconds: float) -> None:
        self._name = name
        timeout = urllib3.Timeout(connect=seconds, read=seconds)
        self._rpc = Rpc([url], timeout=timeout, answer_seconds=seconds, max_answer_bytes=_ANSWER_BYTES, own=True)

    def ask(self, method: str, *params: object) -> Any:
        try:
            return self._rpc.call(method, *params)
        except RpcRefused as refusal:
            raise OperationFailed(f"the {self._name} refused {method}: {refusal.message}") from refusal
        except ChainUnavailable as error:
            raise OperationFailed(f"the {self._name} did not answer {method}: {error.cause}") from error


def _strings(answer: Mapping[str, object], names: Sequence[str] | None = None) -> Operation:
    """An answer's fields that are strings; of these names where some are given."""
    return {name: value for name, value in answer.items() if isinstance(value, str) and (not names or name in names)}


def _bytes(operation: Mapping[str, str], name: str) -> bytes:
    return bytes.fromhex(operation.get(name, "0x")[2:])


def _number(operation: Mapping[str, str], name: str) -> int:
    return int(operation.get(name, "0x0"), 16)


def _two(operation: Mapping[str, str], high: str, low: str) -> bytes:
    """Two numbers of 128 bits in one word."""
    return (_number(operation, high) << 128 | _number(operation, low)).to_bytes(32, "big")
