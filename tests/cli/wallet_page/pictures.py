"""Draws the pictures of docs/wallets.md anew: the page before a signature, and with a wallet on another chain.

``PYTHONPATH=.:deploy/local .local/venv-tests/bin/python -m tests.cli.wallet_page.pictures``
"""

import io
import tempfile
from collections.abc import Mapping
from pathlib import Path
from queue import Queue
from threading import Thread

from PIL import Image
from service_cli.wallet_page import server

from tests.cli.wallet_page.browser import Browser, Wallet, started

FOLDER = Path(__file__).parents[3] / "docs/pages"
SOLVER, HUB, COMMITMENT = "0x" + "5c" * 20, "0x" + "ab" * 20, "0x" + "e3" * 32
ENDPOINT = f"POST /api/bounties/7/submissions/{SOLVER}/prepare"
SIGN = server.WalletTask(
    account=SOLVER,
    chain_id=8453,
    title=f"Sign: prepare Submission {COMMITMENT} for bounty 7",
    lines=[
        ("What it is", "a request to the service; it moves no money and is valid for about five minutes"),
        ("endpointId", ENDPOINT),
        ("audience", "bounties.example"),
        ("bodyHash", "0x" + "4d" * 32),
        ("blockNumber", "41230117"),
        ("blockHash", "0x" + "9f" * 32),
        ("Hub", HUB),
        ("Chain", "8453"),
        ("Account", SOLVER),
    ],
    button="Sign in the wallet",
    method="eth_signTypedData_v4",
    params=[SOLVER, "{}"],
)
SEND = server.WalletTask(
    account=SOLVER,
    chain_id=8453,
    title=f"Send: record Submission {COMMITMENT} in bounty 7",
    lines=[
        ("What it is", "a transaction that calls submit of the Hub; it was simulated and succeeds"),
        ("Hub", HUB),
        ("Chain", "8453"),
        ("Value", "0: it sends no ether, and costs gas"),
        ("Account", SOLVER),
    ],
    button="Send from the wallet",
    method="eth_sendTransaction",
    params=[{"from": SOLVER, "to": HUB, "value": "0x0", "data": "0x"}],
)


def main() -> None:
    """Write them."""
    addresses: Queue[str] = Queue()

    def keep(address: str, environment: Mapping[str, str]) -> None:
        addresses.put(address)

    server.open_browser = keep
    setattr(server, "shows_code", lambda: False)  # noqa: B010  # a picture needs no code
    with tempfile.TemporaryDirectory() as scratch, started(Path(scratch)) as browser:
        browser.wallet = Wallet("", "0x" + "11" * 32, chain_id=1, shows=SOLVER)
        with server.WalletPage({}) as page:
            for name, task in (("wallet-sign", SIGN), ("wallet-send", SEND)):
                Thread(target=page.ask, args=(task,), daemon=True).start()
                if task is SIGN:
                    browser.open("page", addresses.get(timeout=10))
                browser.until("page", task.title)
                if task is SEND:
                    browser.press("page", "Your wallet is on chain 1")
                _draw(browser, Path(scratch) / "picture.png", FOLDER / f"{name}.png")
                if task is SIGN:
                    browser.wallet.chain_id, browser.wallet.answers = 8453, "0x"
                    browser.press("page", "Checking")
                    browser.wallet.chain_id = 1


def _draw(browser: Browser, scratch: Path, file: Path) -> None:
    browser.do("shoot", "page", file=str(scratch))
    made = io.BytesIO()
    with Image.open(scratch) as picture:
        picture.convert("RGB").quantize(32).save(made, "PNG", optimize=True)
    file.write_bytes(made.getvalue())


if __name__ == "__main__":
    main()
