"""A paymaster's web service as ERC-7677 has it: it signs everything, or behaves badly in one way that a test chooses.

It answers pages of every origin. ``pm_getPaymasterStubData`` gives data of the final length and gas limits for the
estimate, ``pm_getPaymasterData`` the sponsor's signature over the operation; both forever valid.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from local_stack.ports import HOST, claim_port
from service_common.web3_provider import Account

from tests.e2e.smart_accounts.contracts import AccountContracts
from tests.e2e.smart_accounts.operations import packed, signed
from tests.serving import serving

_HANG_SECONDS: Final = 120.0
_FOREVER: Final = (0, 0)
"""validUntil and validAfter."""
_LIMITS: Final = {"paymasterVerificationGasLimit": hex(100_000), "paymasterPostOpGasLimit": hex(1)}


class Behaviour(StrEnum):
    """What the service does from now on."""

    OK = "ok"
    ABSENT = "absent"
    """Nothing listens: connections are refused."""
    REFUSING = "refusing"
    """Each request is answered with an error of JSON-RPC."""
    HANGING = "hanging"
    """Requests are taken and never answered; the connection closes when the behaviour changes, or after 120 s."""
    WRONG = "wrong"
    """The stub is as always; the final data has the signature of a key that the paymaster does not know (AA34)."""


class _Refused(Exception):
    """Why a request gets an error, and its code."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class PaymasterService:
    """The service, on one port whatever it does. ``asked`` are the methods of all requests so far."""

    def __init__(self, contracts: AccountContracts, port: int) -> None:
        self.url = f"http://{HOST}:{port}"
        self.asked: list[str] = []
        self._contracts, self._port = contracts, port
        self._listening = ExitStack()
        self._changed = threading.Event()
        self._behaviour = Behaviour.ABSENT

    def behave(self, behaviour: Behaviour) -> None:
        """Behave like this from the next request on; requests that hang end now, without an answer."""
        if behaviour is Behaviour.ABSENT:
            self._listening.close()
        elif self._behaviour is Behaviour.ABSENT:
            server = ThreadingHTTPServer((HOST, self._port), _handler(self))
            self._listening.enter_context(serving(server))
        self._behaviour = behaviour
        self._changed.set()
        self._changed = threading.Event()

    def answer(self, method: str, params: list[Any]) -> dict[str, Any] | None:
        """``result`` or ``error`` of a request; None where there is to be no answer."""
        self.asked.append(method)
        if self._behaviour is Behaviour.HANGING:
            self._changed.wait(_HANG_SECONDS)
            return None
        try:
            return {"result": self._result(method, params)}
        except _Refused as refused:
            return {"error": {"code": refused.code, "message": str(refused)}}
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            return {"error": {"code": -32_602, "message": f"no operation, EntryPoint, chain id, context: {error!r}"}}

    def _result(self, method: str, params: list[Any]) -> dict[str, Any]:
        if self._behaviour is Behaviour.REFUSING:
            raise _Refused(-32_000, "this paymaster does not pay for this operation")
        if method not in {"pm_getPaymasterStubData", "pm_getPaymasterData"}:
            raise _Refused(-32_601, f"no method {method}")
        operation, entry_point, chain_id, *_context = params
        if (entry_point.lower(), int(chain_id, 16)) != (
            self._contracts.entry_point.address,
            self._contracts.w3.eth.chain_id,
        ):
            raise _Refused(-32_602, "another EntryPoint or another chain")
        if method == "pm_getPaymasterData":
            return self._data(operation)
        return {**self._data(None), **_LIMITS, "sponsor": {"name": "A sponsor of tests"}}

    def _data(self, operation: dict[str, str] | None) -> dict[str, str]:
        """The paymaster's data for an operation; without one, of the same length and with a signature of nothing."""
        contract, key, digest = self._contracts.paymaster, self._contracts.sponsor, bytes(32)
        if operation is not None:
            paid = {**operation, "paymaster": contract.address, "paymasterData": "0x", "signature": "0x"}
            digest = contract.call("getHash", packed(paid), *_FOREVER)
            key = Account.create() if self._behaviour is Behaviour.WRONG else key
        window = self._contracts.w3.codec.encode(["uint48", "uint48"], _FOREVER)
        return {"paymaster": contract.address, "paymasterData": f"0x{window.hex()}{signed(key, digest)[2:]}"}


@contextmanager
def start_paymaster(contracts: AccountContracts) -> Iterator[PaymasterService]:
    """A service that sponsors everything until ``behave`` says otherwise."""
    claim = claim_port()
    service = PaymasterService(contracts, claim.port)
    try:
        service.behave(Behaviour.OK)
        yield service
    finally:
        service.behave(Behaviour.ABSENT)
        claim.release()


def _handler(service: PaymasterService) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_OPTIONS(self) -> None:
            self._send(204, b"")

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            answer = service.answer(request["method"], request["params"])
            if answer is not None:
                self._send(200, json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer}).encode())

        def _send(self, status: int, body: bytes) -> None:
            with suppress(BrokenPipeError, ConnectionResetError):  # nobody waits for it any more
                self.send_response(status)
                self.send_header("Access-Control-Allow-Origin", "*")
                self.send_header("Access-Control-Allow-Methods", "POST")
                self.send_header("Access-Control-Allow-Headers", "Content-Type")
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Quiet."""

    return Handler
