"""Who acts: accounts, each with one way in, and the transactions of those who use no client."""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any, Final, TypeVar

import urllib3
from bounty_protocol.chain.hub import BountyView, Hub
from bounty_protocol.chain.rpc import ChainUnavailable, RpcRefused
from bounty_protocol.types import Address, BountyId
from demo.bounty import Cast
from demo.person import Person
from eth_utils.abi import event_abi_to_log_topic
from eth_utils.address import to_checksum_address
from local_stack.accounts import CLAIMANT_KEY
from local_stack.contract import Contract, Wallet
from local_stack.stack import Stack
from local_stack.token import TOKEN
from service_cli import Client
from service_cli.library import sign_request
from web3.exceptions import TransactionNotFound

from tools.market.drawn import FINAL_BLOCKS, POSTERS
from tools.market.log import RunLog

T = TypeVar("T")
_MINED_SECONDS: Final = 6.0
_LOOK_SECONDS: Final = 0.3
_ASK_AGAIN: Final = 3
ANSWER_SECONDS: Final = 60.0


class Way(StrEnum):
    """How somebody reaches Hub and service."""

    COMMAND = "command"
    LIBRARY = "library"
    RAW = "raw"
    """HTTP and transactions of their own."""


WAYS: Final[Mapping[str, Way]] = {
    "poster": Way.COMMAND, "poster-2": Way.LIBRARY, "poster-3": Way.COMMAND, "poster-5": Way.LIBRARY,
    "solver-1": Way.COMMAND, "solver-2": Way.LIBRARY, "solver-3": Way.COMMAND, "solver-5": Way.LIBRARY,
    "guardian-1": Way.COMMAND, "guardian-3": Way.LIBRARY, "guardian-4": Way.LIBRARY, "guardian-5": Way.COMMAND,
}  # fmt: skip
"""Everybody else is raw."""


@dataclass
class Actor:
    """One account of somebody. Of one that is raw, one act after the other sends."""

    name: str
    wallet: Wallet
    values: Mapping[str, str] = field(repr=False)
    home: Path
    person: Person | None
    """At a shell, where the stack knows the account."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def way(self) -> Way:
        return WAYS.get(self.name, Way.RAW)

    @property
    def address(self) -> str:
        """The account, lowercase."""
        return self.wallet.address

    @cached_property
    def client(self) -> Client:
        """The library, with a state of its own."""
        return Client(self.values, state_directory=self.home / "state")


class NotMined(Exception):
    """A transaction did not come into a block, or reverted there: a reorg, or somebody was first."""


def _asked_again(ask: Callable[[], T]) -> T:
    for _ in range(_ASK_AGAIN):
        try:
            return ask()
        except (RpcRefused, ChainUnavailable):
            time.sleep(1.0)
    return ask()


@dataclass
class Town:
    """The stack and everybody in it."""

    stack: Stack
    log: RunLog
    actors: dict[str, Actor]
    funded: list[int] = field(default_factory=list)
    """The bounties so far, in the order in which they were final."""
    _newest: tuple[float, int, int] = (0.0, 0, 0)
    _looking: threading.Lock = field(default_factory=threading.Lock)

    @cached_property
    def hub(self) -> Contract:
        return self.stack.hub.hub

    def ask(self, name: str, *arguments: object) -> Any:
        """Return the answer of a view of the Hub; asked again where a reorg or a busy node comes between."""
        return _asked_again(lambda: self.hub.call(name, *arguments))

    def find(self, number: int) -> BountyView | None:
        """Return the Hub's view of a bounty, asked again likewise; None if there is none."""
        return _asked_again(lambda: self._view(number))

    def bounty(self, number: int) -> BountyView:
        """Return the view of a bounty that is there, or comes again after a reorg."""

        def there() -> BountyView:
            if (found := self._view(number)) is None:
                raise ChainUnavailable(f"the Hub has no bounty {number} at the moment")
            return found

        return _asked_again(there)

    def _view(self, number: int) -> BountyView | None:
        return Hub(self.stack.anvil.rpc, Address(self.hub.address)).bounty(BountyId(number))

    def now(self) -> int:
        """Return the newest block's time."""
        return self._latest()[1]

    def head(self) -> int:
        """Return the newest block's number."""
        return self._latest()[0]

    def _latest(self) -> tuple[int, int]:
        """Number and time of the newest block, read once for all who ask within a moment."""
        with self._looking:
            looked, number, seconds = self._newest
            if time.monotonic() > looked + _LOOK_SECONDS:
                block = self.stack.anvil.w3.eth.get_block("latest")
                number, seconds = int(block["number"]), int(block["timestamp"])
                self._newest = time.monotonic(), number, seconds
            return number, seconds

    def wait_for(self, moment: float) -> None:
        """Until the chain's clock has passed a moment."""
        while self.now() < moment:
            self.pause(0.5)

    def pause(self, seconds: float) -> None:
        """Sleep; an interrupt of the run ends this, too."""
        ends = time.monotonic() + seconds
        while (left := ends - time.monotonic()) > 0:
            self.stack.runtime.family.checkpoint()
            time.sleep(min(left, 0.5))

    def transact(self, actor: Actor, contract: Contract, name: str, *arguments: object, gas: int = 900_000) -> int:
        """Send one transaction and wait for its block, whose number is returned; ``NotMined`` otherwise."""
        w3 = self.stack.anvil.w3
        with actor.lock:
            actor.wallet.forget_nonce()
            try:
                tx_hash = contract.send(actor.wallet, name, *arguments, gas=gas)
            except (RpcRefused, ChainUnavailable) as error:
                raise NotMined(str(error)) from error
            ends = time.monotonic() + _MINED_SECONDS
            while time.monotonic() < ends:
                time.sleep(0.25)
                try:
                    receipt = w3.eth.get_transaction_receipt(tx_hash)
                except TransactionNotFound:
                    continue
                if receipt["status"] != 1:
                    raise NotMined(f"{name} reverted")
                return int(receipt["blockNumber"])
        raise NotMined(f"{name} is in no block")

    def until_final(
        self, what: str, act: Callable[[], object], holds: Callable[[], bool], ends: float, **fields: object
    ) -> bool:
        """Do something again until it holds in every block that a reorg could still put there, or it is too late.

        What is refused, fails or is taken back by a reorg is tried again, as people do. ``ends`` is of the chain.
        """
        tries, since, last = 0, None, ""
        while True:
            try:
                held = holds()
            except (RpcRefused, ChainUnavailable) as error:  # a reorg came between, or the node is busy
                self.log.write("act", "unread", act=what, why=describe(error), **fields)
                self.pause(1.0)
                continue
            if held:
                since = self.head() if since is None else since
                if self.head() >= since + FINAL_BLOCKS + 1:
                    self.log.write("act", "ok", act=what, tries=tries, **fields)
                    return True
                self.pause(1.0)
                continue
            if since is not None:
                self.log.write("act", "taken-back", act=what, **fields)
            since = None
            if self.now() >= ends:
                self.log.write("act", "too-late", act=what, tries=tries, last=last, **fields)
                return False
            tries += 1
            try:
                act()
            except Exception as error:  # noqa: BLE001 - whatever it was, it is in the log, and tried again
                last = describe(error)
                self.log.write("act", "failed", act=what, why=last, **fields)
                self.pause(1.5)

    def request(
        self, method: str, path: str, body: bytes = b"", *, by: Actor | None = None, media: str = "application/json"
    ) -> urllib3.BaseHTTPResponse:
        """Send one request to the API, signed if ``by`` is given; an answer of 500 is a difference."""
        url = self.stack.api_base_url + path
        headers = {"Content-Type": media} if body else {}
        if by is not None:
            headers |= self.approval(method, path, body, by)
        answer = urllib3.request(method, url, body=body or None, headers=headers, retries=False, timeout=ANSWER_SECONDS)
        self.look_at(answer, method, path)
        return answer

    def approval(self, method: str, path: str, body: bytes, by: Actor) -> dict[str, str]:
        """Return the header that signs a request."""
        key = bytes.fromhex(by.wallet.private_key.removeprefix("0x"))
        url, node, hub = self.stack.api_base_url + path, self.stack.anvil.url, self.hub.address
        return sign_request(method, url, body, rpc_url=node, hub_address=hub, private_key=key)

    def look_at(self, answer: urllib3.BaseHTTPResponse, method: str, path: str) -> None:
        """Report an answer that nobody foresaw, whatever is broken and whatever is asked."""
        if answer.status == 500:
            self.log.differs("an answer of 500", method=method, path=path, body=answer.data[:300])

    def created(self, commitment: bytes, poster: str) -> int | None:
        """Return the bounty of a Poster with a page, as the chain has it now."""
        (abi,) = [each for each in self.hub.abi if each.get("name") == "BountyCreated"]
        filters: Any = {
            "address": to_checksum_address(self.hub.address),
            "fromBlock": self.stack.hub.deploy_block,
            "topics": ["0x" + event_abi_to_log_topic(abi).hex()],  # type: ignore[arg-type]
        }
        for log in self.stack.anvil.w3.eth.get_logs(filters):
            if commitment in b"".join((*log["topics"], log["data"])):
                number = int.from_bytes(log["topics"][1], "big")
                if self.ask("getBounty", number)[0] == poster:
                    return number
        return None


def describe(error: BaseException) -> str:
    """Return an error in one line of the log: how it begins, and how it ends, where a program says what it refuses."""
    code = getattr(error, "code", "")
    text = f"{type(error).__name__} {code} {error}".replace("\n", " ")
    return text if len(text) <= 400 else f"{text[:150]} … {text[-250:]}"


def gathered(stack: Stack, folder: Path, log: RunLog) -> Town:
    """Return the people of the stack, further Posters, and strangers, all with ether and tokens."""
    cast = Cast(stack, folder)
    actors: dict[str, Actor] = {}
    for role in stack.people.everyone():
        person = cast.person(role.name)
        actors[role.name] = Actor(role.name, role.wallet, stack.environment(role.name), person.home, person)
    owner = stack.people.owner.wallet
    for name in (*POSTERS[1:], "stranger-1", "stranger-2"):
        wallet, home = Wallet(), folder / name
        home.mkdir()
        key = wallet.private_key
        values = {**stack.common, "SERVICE_POSTER_PRIVATE_KEY": key, CLAIMANT_KEY: key}
        stack.anvil.fund(wallet.address)
        stack.hub.token.transact(owner, "mint", wallet.address, 1_000_000 * TOKEN)
        actors[name] = Actor(name, wallet, values, home, None)
    return Town(stack, log, actors)
