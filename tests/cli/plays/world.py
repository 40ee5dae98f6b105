"""The true chain of the plays: bounties in every state, people with their homes, and a clock, as they were at first.

One chain is deployed for all plays of a process, and goes back to one snapshot before each. The machine's clock is the
chain's: it moves with pauses, transactions and ``advance``, never on its own, so that a play is the same each time.
While a command waits, blocks are mined.
"""

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from bounty_protocol.chain.blocks import header_at
from bounty_protocol.chain.hub import BountyView, Hub
from bounty_protocol.chain.rpc import Rpc, RpcRefused, quantity
from bounty_protocol.crypto.x25519 import Identity
from bounty_protocol.types import Address, BountyId
from local_stack import anvil
from local_stack.contract import Wallet
from service_cli.config.environment import LOCAL_TIME_VARIABLE

from tests.cli.api_twin import ApiTwin
from tests.cli.conftest import person
from tests.cli.ledger import Ledger, make_ledger
from tests.cli.plays.wire import Heard, Killed, Line, Wire
from tests.cli.servers import RpcProxy
from tests.cli.terminal import Ran, Terminal
from tests.clocks import HurriedClock

HOURS: Final = 3_600
DAYS: Final = 86_400
MARK: Final = "not to be read before the reveal point"
"""In each file of every Submission."""
DELEGATED: Final = "0xef0100" + "11" * 20
"""Code of an account that is delegated (EIP-7702): its key signs transactions, and no authorizations of the token."""


@dataclass(frozen=True, slots=True)
class Work:
    """A Submission as it was sealed by honest runs."""

    solver: str
    commitment: str
    files: dict[str, bytes]


@dataclass(frozen=True, slots=True)
class Bounties:
    """Which bounty is in which state. Work is by both Solvers, the second Solver's the winner where one is."""

    awarded: str
    judged: str
    """Past its reveal point, without a Verdict."""
    accepting: str
    refundable: str
    awarded_works: tuple[Work, ...]
    judged_works: tuple[Work, ...]
    wrapped_key: dict[str, str]
    """The winner's content key as an honest Guardian delivered it."""


@dataclass(repr=False)
class World:
    """Everything that a play begins with, and what it can do to the chain."""

    ledger: Ledger
    api: ApiTwin
    node: RpcProxy
    """The RPC endpoint of the commands."""
    index: RpcProxy
    """Where the API reads the chain."""
    clock: HurriedClock
    wire: Wire
    root: Path
    mallory: Wallet = field(default_factory=Wallet)
    operator: Identity = field(default_factory=Identity.generate)
    """Encryption key of an operator who would like to read."""
    transcript: Callable[[str], object] = lambda _text: None
    """Gets what each run printed."""
    bounties: Bounties = field(init=False)
    _marks: list[tuple[int, object]] = field(default_factory=list)
    """Heights, with what brings the chain back to them."""
    _snapshot: object = None
    _began: float = 0.0
    _stored: tuple[dict[str, bytes], ...] = ()

    # ---------------------------------------------------------------- what is true

    @property
    def rpc(self) -> Rpc:
        """The true chain."""
        return self.ledger.node.rpc

    @property
    def hub_address(self) -> Address:
        """The Hub."""
        return Address(self.ledger.contract.address)

    def block(self, tag: str = "latest") -> dict[str, Any]:
        """A block as the node has it."""
        found = self.rpc.call("eth_getBlockByNumber", tag, False)
        assert isinstance(found, dict)
        return found

    def bounty(self, number: str | None) -> BountyView | None:
        """A bounty as it is; None of none."""
        return None if number is None else Hub(self.rpc, self.hub_address).bounty(BountyId(int(number)))

    def account(self, person: str) -> str:
        """Whose account it is, of ``guardian-1`` or ``guardian-1+new``."""
        return self.ledger.people.by_name()[person.partition("+")[0]].address

    @property
    def operators_keys(self) -> list[Identity]:
        """What an operator opens work with that was sealed for a roster of its own."""
        return [self.operator, *(Identity(bytes([place]) + self.operator.secret[1:]) for place in (1, 2))]

    # ---------------------------------------------------------------- time and blocks

    @property
    def now(self) -> float:
        """The machine's clock."""
        assert self.clock.at is not None
        return self.clock.at

    def stamp(self) -> None:
        """The next block has the machine's time, unless the chain is ahead of it."""
        with suppress(RpcRefused):
            self.rpc.call("evm_setNextBlockTimestamp", int(self.now))

    def mine(self, blocks: int = 1) -> None:
        """Mine now."""
        self._marks.append((self.height(), self.rpc.call("evm_snapshot")))
        self.stamp()
        self.ledger.node.mine(blocks)

    def reorganize(self, depth: int) -> None:
        """Replace so many of the newest blocks, without their transactions, as far as none of them is final."""
        rpc, newest = self.rpc, self.height()
        found = [mark for height, mark in self._marks if height == newest - depth]
        if found:
            rpc.call("evm_revert", found[-1])
            rpc.call("anvil_dropAllTransactions")
            self._marks = [mark for mark in self._marks if mark[0] < newest - depth]
            self.finalize()  # the node has no state of older blocks any more

    def finalize(self) -> None:
        """Let everything that is mined be final."""
        self.clock.advance(6)
        self.mine(3)

    def advance(self, seconds: float) -> None:
        """Let time pass, on the chain, too."""
        self.clock.advance(seconds)
        self.finalize()

    def follow(self) -> None:
        """Set the machine's clock to the chain's, which a script moved."""
        self.clock.at = max(self.now, float(self.ledger.time()))

    def height(self) -> int:
        """The newest block's number."""
        return quantity(self.rpc.call("eth_blockNumber"))

    # ---------------------------------------------------------------- the chain's other accounts

    def as_account(self, account: str, to: str, data: bytes | str) -> str:
        """A transaction of any account; its hash."""
        rpc = self.rpc
        rpc.call("anvil_impersonateAccount", account)
        self.clock.advance(2)
        call = {"from": account, "to": to, "data": data if isinstance(data, str) else "0x" + data.hex()}
        sent = str(rpc.call("eth_sendTransaction", {**call, "gas": hex(1_000_000)}))
        rpc.call("anvil_stopImpersonatingAccount", account)
        self.mine()
        return sent

    def hub(self, account: str, function: str, *arguments: object) -> str:
        """A call of the Hub by any account."""
        return self.as_account(account, self.hub_address, self.ledger.contract.encode(function, *arguments))

    def set_fees(self, protocol: int, guardian: int) -> None:
        """The owner's fees, in basis points."""
        people = self.ledger.people
        self.hub(people.owner.address, "setFeePolicy", protocol, guardian, people.fee_recipient.address)

    def raise_fees(self) -> None:
        """The owner of the Hub raises the fees by a basis point; on the true chain, where no branch is shown."""
        terms = self.ledger.hub.terms
        self.set_fees(terms.protocol_fee_bps + 1, terms.guardian_fee_bps)
        self.finalize()

    @contextmanager
    def branch(self) -> Iterator[int]:
        """What happens on the chain inside has never happened afterwards; the block before it."""
        rpc = self.rpc
        height, snapshot, marks = self.height(), rpc.call("evm_snapshot"), list(self._marks)
        try:
            yield height
        finally:
            rpc.call("evm_revert", snapshot)
            rpc.call("anvil_dropAllTransactions")
            self._marks = marks
            self.finalize()  # the node has no state of older blocks any more

    # ---------------------------------------------------------------- people and their commands

    def home(self, name: str) -> Terminal:
        """A person's terminal: ``guardian-1`` and so on; with ``+new`` at the end, one who did nothing yet."""
        found = person(self.ledger, self.api, self.node, self.root / "homes" / name, name.partition("+")[0])
        clocked = {name: value for name, value in found.environment.items() if name != LOCAL_TIME_VARIABLE}
        return replace(found, environment=clocked)

    def run(self, home: Terminal, *words: str) -> Ran:
        """Type a command, which may be killed: then its files are as they were at that moment."""
        kept = self.root / "kept"
        strike = self.wire.strike

        def strike_and_keep(moment: str, heard: Heard) -> None:
            try:
                strike(moment, heard)
            except Killed:
                shutil.rmtree(kept, ignore_errors=True)
                shutil.copytree(home.home, kept, symlinks=True)
                raise

        self.wire.strike = strike_and_keep
        try:
            ran = home.run_any(*words, more_codes=(Killed.CODE,))
        except AssertionError as wrong:  # an exit code, an event or a line that no run may end with
            text = f"ended as no run may: {wrong}"[:400]
            ran = Ran(
                1, ({"event": "ended.failed", "code": "unexpected", "message": text, "next_action": "None."},), "", ""
            )
        finally:
            self.wire.strike = strike
        self.transcript(f"$ service-cli {' '.join(words)}\n{ran.stdout}{ran.words}[{ran.code}]")
        if ran.code == Killed.CODE:
            shutil.rmtree(home.home)
            kept.rename(home.home)
        return ran

    @contextmanager
    def living(self) -> Iterator[None]:
        """The machine has this world's clock and connections."""
        with self.clock.in_place(), self.wire.connected():
            yield

    # ---------------------------------------------------------------- one beginning for all plays

    def keep(self) -> None:
        """All plays begin here; from now on blocks are mined only by ``mine``."""
        self.rpc.call("evm_setAutomine", False)
        self._snapshot = self.rpc.call("evm_snapshot")
        self._began = self.now
        self._stored = tuple(dict(found) for found in self._stores())
        shutil.copytree(self.root / "homes", self.root / "first")

    def reset(self) -> None:
        """Begin again."""
        rpc = self.rpc
        assert rpc.call("evm_revert", self._snapshot) is True
        self._snapshot = rpc.call("evm_snapshot")
        rpc.call("anvil_dropAllTransactions")
        self.clock.at = self._began
        self._marks.clear()
        self.finalize()  # the node has no state of older blocks any more
        for store, first in zip(self._stores(), self._stored, strict=True):
            store.clear()
            store.update(first)
        self.api.wraps.clear()
        self.api.scripts.clear()
        self.be_honest()
        self.wire.heard.clear()
        for server in self.wire.servers.values():
            server.requests.clear()
        shutil.rmtree(self.root / "homes")
        shutil.copytree(self.root / "first", self.root / "homes")

    def be_honest(self) -> None:
        """Every endpoint answers what is true, and transactions move the clock."""
        for proxy in (self.node, self.index):
            proxy.honest()
        self.node.after = self.forwarded
        self.wire.servers["api"].alter = lambda _request, reply: reply
        self.wire.strike = lambda _moment, _heard: None

    def forward(self, raw: object) -> None:
        """Send a signed transaction to the true chain, which may have it already."""
        with suppress(RpcRefused):
            self.forwarded("eth_sendRawTransaction", [], self.rpc.call("eth_sendRawTransaction", raw))

    def forwarded(self, method: str, _params: list[object], result: object) -> object:
        """A transaction that the node took is in the next block, two seconds later."""
        if method == "eth_sendRawTransaction":
            self.clock.advance(2)
            self.mine()
        return result

    def _stores(self) -> tuple[dict[str, bytes], ...]:
        return self.api.pages, self.api.objects, self.api.envelopes, self.api.verdicts


@contextmanager
def make_world(root: Path) -> Iterator[World]:
    """Deploy everything, and bring each bounty into its state by honest runs of the client."""
    began = int(time.time())
    with ExitStack() as stack:
        server = stack.enter_context(anvil.start(mining="automine", genesis_time=began, kept_states=600))
        ledger = stack.enter_context(make_ledger(server))
        node, index = RpcProxy(server.url), RpcProxy(server.url)
        api = ApiTwin(ledger, index.url)
        line = Line(server.url)
        for each in (node, index, api, line):
            stack.callback(each.close)
        clock = HurriedClock(float(began), hurry=100.0)
        servers = {"api": api.server, "node": node.server, "index": index.server}
        wire = Wire(servers, ledger.beacon, ledger.beacon_url, line, lambda: clock.at or 0.0)
        world = World(ledger, api, node, index, clock, wire, root)
        clock.passed = world.mine
        ledger.node.fund(world.mallory.address)
        (root / "homes").mkdir(parents=True)
        with world.living():
            world.follow()
            world.be_honest()
            world.bounties = _bounties(world)
            world.keep()
        yield world


def _bounties(world: World) -> Bounties:
    ledger, api = world.ledger, world.api
    refundable = str(ledger.ended_in_silence())
    world.follow()
    first, second = (str(_funded(world, seconds=3_000)) for _ in range(2))
    for number in (1, 2):
        home = world.home(f"solver-{number}")
        (home.home / "work").mkdir()
        (home.home / "work" / "main.py").write_text(f"print({number})  # {MARK}\n")
    awarded, judged = (tuple(_submit(world, bounty, number) for number in (1, 2)) for bounty in (first, second))
    ledger.reveal(int(second))
    winner = awarded[1]
    ledger.award(int(first), winner.solver, winner.commitment)
    world.follow()
    world.finalize()
    accepting = str(_funded(world, seconds=20 * DAYS))
    world.home("guardian-2").run("guardian:deliver-key", first)
    wrapped = dict(api.wraps)
    for name in ("guardian-1", "guardian-1+new"):
        (world.home(name).home / "body.md").write_text("It was read, and this is what was found.\n")
    world.home("guardian-1").run("guardian:open", second)
    poster = world.home("poster")
    (poster.home / "page.md").write_bytes(ledger.page(seconds=20 * DAYS, judging=20 * DAYS))
    world.finalize()
    assert header_at(api.rpc, "finalized").number > 0
    assert api.hub.bounty(BountyId(int(first))) is not None
    return Bounties(first, second, accepting, refundable, awarded, judged, wrapped)


def _funded(world: World, seconds: int) -> int:
    bounty, page = world.ledger.fund(seconds=seconds, judging=20 * DAYS)
    world.api.keep_page(page)
    world.follow()
    world.finalize()
    return bounty


def _submit(world: World, bounty: str, number: int) -> Work:
    home = world.home(f"solver-{number}")
    recorded = home.run("solver:submit", bounty, "work").event("submit.submission_recorded")
    files = {"main.py": (home.home / "work" / "main.py").read_bytes()}
    return Work(str(recorded["solver"]), str(recorded["submission_commitment"]), files)
