"""A real EVM node: foundry's anvil, for a stack or a test session.

It listens on 127.0.0.1 only, has chain id 31337 unless another is given, has no pre-funded account (the well-known
development keys own nothing here: ``fund`` gives ether to fresh ones), and ``finalized`` two blocks behind the tip.

With ``durable`` the chain survives ``kill``, a crash of the node, and ``restart``. The owner, not the node, keeps the
state: it reads it each half second and replaces one file by the answer as a whole, so that no kill leaves half a
file. What a crash can lose is what was mined since the last answer: half a second, or four times as long as an answer
takes where the chain has grown so large that this is longer, and the answer's own time. A regular ``stop`` loses
nothing that was mined, nor does a crash anything from before the last ``save``. The chain keeps its genesis: a node
that loads a state adds a block 0 of its own to it, and without ``_keep_first_genesis`` a later one takes either.

A chain that is mined by the clock gets each block from a thread of the owner: the node's own clock can be stopped, and
afterwards set to whole seconds only.
"""

import gzip
import json
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import cached_property
from pathlib import Path
from typing import Final, Literal

import urllib3
from bounty_protocol.chain.rpc import ChainUnavailable, Rpc, RpcRefused, block_number, hex_bytes, quantity
from service_indexer.web3_provider import Web3, make_web3

from local_stack.ports import HOST
from local_stack.process import Child
from local_stack.runtime import Runtime, shared_or_own
from local_stack.server import RESTART_SECONDS, HttpServer
from local_stack.toolbox import ensure_anvil

LOCAL_CHAIN_ID: Final = 31_337
ETHER: Final = 10**18
Mining = Literal["interval", "automine", "manual"]
BLOCK_SECONDS: Final = 0.2
"""As on Base: five blocks share one time, since that is in whole seconds."""
_SAVE_SECONDS: Final = 0.5
_SAVE_SHARE: Final = 4
"""How many times longer than a save the pause after it is: the node has most of its time for others."""
_SAVE_TIMEOUT: Final = urllib3.Timeout(60.0)
_SAVE_BYTES: Final = 1 << 30
_ANSWER_BYTES: Final = 1 << 26
_PROBE_TIMEOUT: Final = urllib3.Timeout(2.0)


class AnvilServer(HttpServer):
    """A running node. ``kept`` is where a durable one's state is kept; ``block_time`` is None without a clock."""

    def __init__(
        self,
        runtime: Runtime,
        directory: Path,
        program: Path,
        options: list[str],
        *,
        chain_id: int,
        kept: Path | None,
        block_time: float | None,
    ) -> None:
        super().__init__(runtime, directory)
        self._program, self._options = program, options
        self.chain_id = chain_id
        self.kept = kept
        self._saving = threading.Lock()
        self._block_time = block_time
        self._clock = threading.RLock()

    @cached_property
    def rpc(self) -> Rpc:
        """A client of this node, for what only a node of this kind can do."""
        return Rpc([self.url], max_answer_bytes=_ANSWER_BYTES, own=True)

    @cached_property
    def w3(self) -> Web3:
        """web3 over the same client."""
        return make_web3(self.rpc.batch)

    def fund(self, account: str, wei: int = 1_000 * ETHER) -> None:
        """Set an account's ether."""
        self.rpc.call("anvil_setBalance", account, hex(wei))

    def mine(self, blocks: int = 1) -> None:
        """Mine empty or pending blocks now."""
        self.rpc.call("anvil_mine", hex(blocks))

    @contextmanager
    def no_blocks(self) -> Iterator[None]:
        """Stop the clock for the length of the with statement: transactions wait, and no block is being made.

        A reorg beside a block that is being made leaves the node with a number that has no block, for ever.
        """
        with self._clock:
            yield

    def missing_blocks(self, first: int = 0) -> list[int]:
        """Return the numbers from ``first`` to the newest for which the node has no block: none, where it is sound."""
        newest = block_number(self.rpc.call("eth_blockNumber"))
        numbers = range(first, newest + 1)
        return [each for each in numbers if self.rpc.call("eth_getBlockByNumber", hex(each), False) is None]

    def pause(self) -> None:
        """Stop the node's clock of blocks (and, with SIGSTOP, its answers) until ``resume``."""
        if self.child is not None:
            self.child.send(signal.SIGSTOP)

    def resume(self) -> None:
        """Continue after ``pause``."""
        if self.child is not None:
            self.child.send(signal.SIGCONT)

    def launch(self, timeout: float) -> None:
        """First start, on a free port."""
        super().launch(timeout)
        self._start_clock()

    def stop(self) -> None:
        """Regular shutdown; ``restart`` brings it back."""
        with self.no_blocks():
            if self.child is not None and self.kept is not None:
                with suppress(ChainUnavailable, RpcRefused):  # a node that does not answer is ended all the same
                    self.rpc.call("evm_setAutomine", False)
                    self.save()
            super().stop()

    def save(self) -> None:
        """Keep a durable node's state as it is now; ``ChainUnavailable`` when the node does not answer it whole."""
        if self.kept is None:
            return
        with self._saving:
            slow = Rpc([self.url], timeout=_SAVE_TIMEOUT, max_answer_bytes=_SAVE_BYTES, own=True)
            try:
                state = gzip.decompress(hex_bytes(slow.call("anvil_dumpState")))
            except (ValueError, EOFError, gzip.BadGzipFile) as error:
                raise ChainUnavailable("the node answered no whole state") from error
            _replace(self.kept, state)

    def restart(self) -> None:
        """Start again on the same port; the chain is the old one only where the server is durable."""
        with self._saving:  # what the node answered before it ended is kept first
            self.child = self._spawn(self.port)
        self._runtime.family.wait(self.child, lambda: self._answers(self.port), timeout=RESTART_SECONDS)
        self._start_clock()

    @contextmanager
    def saved(self) -> Iterator[None]:
        """Save now and, until the end of the with statement, repeatedly."""
        self.save()
        ended = threading.Event()
        thread = threading.Thread(target=self._save_on, args=(ended,), name=f"save {self._directory.name}", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            self.resume()  # a paused node would keep the last save waiting
            thread.join()

    def _save_on(self, ended: threading.Event) -> None:
        pause = _SAVE_SECONDS
        while not ended.wait(pause):
            started = time.monotonic()
            with suppress(ChainUnavailable, RpcRefused):  # it is paused, or dead until ``restart``: what is kept stays
                self.save()
            pause = max(_SAVE_SECONDS, _SAVE_SHARE * (time.monotonic() - started))

    def _start_clock(self) -> None:
        if self._block_time is not None and self.child is not None:
            arguments = (self.child, self._block_time)
            threading.Thread(target=self._mine_while, args=arguments, name="anvil's clock", daemon=True).start()

    def _mine_while(self, child: Child, block_time: float) -> None:
        """Mine a block each ``block_time`` seconds until this process of the node ends."""
        rpc = Rpc([self.url], own=True)
        due = time.monotonic()
        while child.exit_status() is None:
            with self.no_blocks(), suppress(ChainUnavailable, RpcRefused):  # it is paused, or ends
                rpc.call("evm_mine")
            due = max(due + block_time, time.monotonic())
            time.sleep(max(0.0, due - time.monotonic()))

    def _command(self, port: int) -> list[str | Path]:
        state: list[str] = []
        if self.kept is not None and self.kept.exists():
            _keep_first_genesis(self.kept)
            state = ["--load-state", str(self.kept)]
        return [self._program, "--host", HOST, "--port", str(port), *self._options, *state]

    def _answers(self, port: int) -> bool:
        try:
            probe = Rpc([f"http://{HOST}:{port}"], timeout=_PROBE_TIMEOUT)
            return quantity(probe.call("eth_chainId")) == self.chain_id
        except (ChainUnavailable, RpcRefused):
            return False


def _keep_first_genesis(kept: Path) -> None:
    """Leave one block 0 in a state: the oldest, which was there before any node loaded it."""
    state = json.loads(kept.read_bytes())
    first, *added = sorted(
        (block for block in state["blocks"] if quantity(block["header"]["number"]) == 0),
        key=lambda block: quantity(block["header"]["timestamp"]),
    )
    if added:
        state["blocks"] = [first, *(block for block in state["blocks"] if quantity(block["header"]["number"]) > 0)]
        _replace(kept, json.dumps(state).encode())


def _replace(kept: Path, state: bytes) -> None:
    """Replace the file as a whole, so that no crash leaves half of it."""
    draft = kept.with_suffix(".new")
    draft.write_bytes(state)
    draft.replace(kept)


@contextmanager
def start(
    runtime: Runtime | None = None,
    *,
    name: str = "anvil",
    chain_id: int = LOCAL_CHAIN_ID,
    mining: Mining = "automine",
    block_time: float = BLOCK_SECONDS,
    slots_in_an_epoch: int = 1,
    genesis_time: int | None = None,
    durable: bool = False,
    kept_states: int | None = None,
    keep_steps: bool = False,
    timeout: float = 30.0,
) -> Iterator[AnvilServer]:
    """A new chain; in ``runtime`` (whose owner stops it) or, without one, for this with statement alone.

    ``mining``: a block each ``block_time`` seconds ("interval", as the local stack has it), one for each transaction
    ("automine"), or only by ``mine`` ("manual"). ``finalized`` is ``2 * slots_in_an_epoch`` blocks behind the tip.
    ``kept_states`` is how many of the newest blocks' states the node keeps, in memory. Each state has the hash of every
    block, so they grow for ever: 600 have 2 GB after an hour of the clock, 60 have 0.3 GB. Without it older ones go to
    a disk, which costs half of its pace over a thousand blocks, and from then on a reorg of more than ten blocks leaves
    an empty state. With ``keep_steps`` ``debug_traceTransaction`` shows each step of the EVM.
    """
    with shared_or_own(runtime) as inside:
        directory = inside.directory(name)
        options = ["--chain-id", str(chain_id), "--accounts", "0", "--slots-in-an-epoch", str(slots_in_an_epoch)]
        if mining != "automine":
            options += ["--no-mining"]
        if genesis_time is not None:
            options += ["--timestamp", str(genesis_time)]
        if kept_states is not None:
            options += ["--prune-history", str(kept_states)]
        if keep_steps:
            options.append("--steps-tracing")
        program = ensure_anvil(checkpoint=inside.family.checkpoint)
        kept = directory / "state.json" if durable else None
        server = AnvilServer(
            inside,
            directory,
            program,
            [*options, "--quiet", "--no-cors"],
            chain_id=chain_id,
            kept=kept,
            block_time=block_time if mining == "interval" else None,
        )
        server.launch(timeout)
        with server.saved() if durable else nullcontext():
            yield server
