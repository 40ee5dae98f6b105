"""A page with somebody's wallet, and the chain below it: what tests of the pages begin with."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import urllib3
from demo.bounty import Cast
from eth_account import Account
from web3 import Web3
from web3.types import Wei

from tests.cli.servers import Server
from tests.pages.driver import Browser, Page, TestWallet
from tests.waiting import wait_until


def wallet_of(cast: Cast, name: str, chain_id: int = 31_337) -> TestWallet:
    person = cast.stack.people.by_name()[name]
    person.wallet.forget_nonce()  # the browser uses it, too
    return TestWallet(person.wallet.private_key, cast.stack.anvil.url, chain_id)


def opened(cast: Cast, browser: Browser, wallet: TestWallet | str, path: str, api: Server | None = None) -> Page:
    """A page on which a wallet is connected, opened once the index has what it shows; its requests to the API may
    go through another server."""
    given = wallet_of(cast, wallet) if isinstance(wallet, str) else wallet
    through = None if api is None else (cast.stack.api_base_url, api.url)
    url = f"{cast.stack.pages_url}{path}"
    wait_until(lambda: urllib3.request("GET", url, timeout=10.0).status == 200)
    page = browser.open(url, given, api=through)
    page.connect()
    return page


def closed(page: Page) -> None:
    """Leave a page on which nothing went wrong."""
    assert page.findings() == []
    page.close()


def choose_keys(page: Page, keys: Path) -> None:
    """Give the page the file with a Guardian's keys, where it wants it."""
    page.wait("File with your encryption keys")
    page.upload("File with your encryption keys", keys)
    page.press("Continue")


def begin_claim(cast: Cast, page: Page) -> None:
    """A claim begins by itself where nothing else can be done, else by its button; and by that again while the end's
    block is not finalized yet, which takes two seconds here."""
    page.begin("Claim …")
    while "All details" not in page.do("wait_any", texts=["All details", "not finalized yet"]):
        cast.wait_for(cast.chain_time() + 1)
        page.press("Claim …")


@contextmanager
def no_blocks(cast: Cast) -> Iterator[None]:
    """Transactions wait: the chain makes no block."""
    cast.wait_for(cast.chain_time() + 1)  # an event of a former test may be in the newest block: it would be found
    with cast.stack.anvil.no_blocks():
        yield


def send_in_its_place(cast: Cast, wallet: TestWallet, to: str, data: str) -> None:
    """What a wallet's "Cancel" and "Speed up" do: another transaction with the same nonce, for a higher fee."""
    w3, account = cast.stack.anvil.w3, Account.from_key(wallet.key)
    fee = Wei(100 * w3.eth.gas_price)
    transaction: dict[str, object] = {
        "chainId": 31_337,
        "nonce": w3.eth.get_transaction_count(account.address),
        "to": Web3.to_checksum_address(to),
        "data": data,
        "value": 0,
        "gas": 2_000_000,
        "maxFeePerGas": fee,
        "maxPriorityFeePerGas": fee,
    }
    w3.eth.send_raw_transaction(account.sign_transaction(transaction).raw_transaction)
