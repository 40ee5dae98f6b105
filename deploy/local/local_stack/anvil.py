"""A real EVM node: foundry's anvil, for a stack or a test session.

Promises: listens on 127.0.0.1 only, chain id 31337 unless told otherwise, no pre-funded account (the well-known
development keys own nothing here: ``fund`` gives ether to fresh ones), ``finalized`` two blocks behind the tip.
With ``durable`` the chain survives ``kill`` and ``restart``.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal

from local_stack.ports import HOST
from local_stack.process import Child, StopRule, minimal_environment
from local_stack.rpc import JsonRpc, RpcRefused
from local_stack.runtime import Runtime, shared_or_own
from local_stack.toolbox import ensure_anvil

LOCAL_CHAIN_ID: Final = 31_337
ETHER: Final = 10**18
Mining = Literal["interval", "automine", "manual"]
_RULE: Final = StopRule(ask=signal.SIGTERM, grace=10.0)


class AnvilServer:
    """A running node."""

    def __init__(self, runtime: Runtime, directory: Path, program: Path, options: list[str], chain_id: int) -> None:
        self._runtime, self._directory, self._program, self._options = runtime, directory, program, options
        self.chain_id = chain_id
        self.child: Child | None = None
        self.port = 0

    @property
    def url(self) -> str:
        """``http://127.0.0.1:port``."""
        return f"http://{HOST}:{self.port}"

    @property
    def rpc(self) -> JsonRpc:
        """A client of this node."""
        return JsonRpc(self.url)

    def fund(self, account: str, wei: int = 1_000 * ETHER) -> None:
        """Set an account's ether."""
        self.rpc.call("anvil_setBalance", account, hex(wei))

    def mine(self, blocks: int = 1) -> None:
        """Mine empty or pending blocks now."""
        self.rpc.call("anvil_mine", hex(blocks))

    def pause(self) -> None:
        """Stop the node's clock of blocks (and, with SIGSTOP, its answers) until ``resume``."""
        if self.child is not None:
            self.child.send(signal.SIGSTOP)

    def resume(self) -> None:
        """Continue after ``pause``."""
        if self.child is not None:
            self.child.send(signal.SIGCONT)

    def kill(self) -> None:
        """SIGKILL, as a crash."""
        if self.child is not None:
            self._runtime.family.end([self.child], kill=True)

    def stop(self) -> None:
        """Regular shutdown; ``restart`` brings it back."""
        if self.child is not None:
            self._runtime.family.end([self.child])

    def restart(self) -> None:
        """Start again on the same port; the chain is the old one only where the server is durable."""
        self.child = self._spawn(self.port)
        self._runtime.family.wait(self.child, lambda: self._answers(self.port), timeout=30.0)

    def launch(self, timeout: float) -> None:
        """First start, on a free port."""
        self.child, self.port = self._runtime.start_listening(self._spawn, self._answers, timeout)

    def _spawn(self, port: int) -> Child:
        return self._runtime.family.spawn(
            self._directory.name,
            [self._program, "--host", HOST, "--port", str(port), *self._options],
            environment=minimal_environment(self._directory),
            cwd=self._directory,
            rule=_RULE,
        )

    def _answers(self, port: int) -> bool:
        try:
            return JsonRpc(f"http://{HOST}:{port}", timeout=2).number("eth_chainId") == self.chain_id
        except (OSError, RpcRefused):
            return False


@contextmanager
def start(
    runtime: Runtime | None = None,
    *,
    name: str = "anvil",
    chain_id: int = LOCAL_CHAIN_ID,
    mining: Mining = "automine",
    block_time: int = 1,
    slots_in_an_epoch: int = 1,
    genesis_time: int | None = None,
    durable: bool = False,
    keep_history: bool = True,
    timeout: float = 30.0,
) -> Iterator[AnvilServer]:
    """A new chain; in ``runtime`` (whose owner stops it) or, without one, for this with statement alone.

    ``mining``: a block each ``block_time`` seconds ("interval", as the local stack has it), one for each transaction
    ("automine"), or only by ``mine`` ("manual"). ``finalized`` is ``2 * slots_in_an_epoch`` blocks behind the tip.
    Without ``keep_history`` the state of past blocks is forgotten: twice as fast over a thousand blocks.
    """
    with shared_or_own(runtime) as inside:
        directory = inside.directory(name)
        options = ["--chain-id", str(chain_id), "--accounts", "0", "--slots-in-an-epoch", str(slots_in_an_epoch)]
        if mining == "interval":
            options += ["--block-time", str(block_time)]
        elif mining == "manual":
            options += ["--no-mining"]
        if genesis_time is not None:
            options += ["--timestamp", str(genesis_time)]
        if not keep_history:
            options.append("--prune-history")
        if durable:
            options += ["--state", str(directory / "state.json"), "--state-interval", "1"]
        program = ensure_anvil(checkpoint=inside.family.checkpoint)
        server = AnvilServer(inside, directory, program, [*options, "--quiet", "--no-cors"], chain_id)
        server.launch(timeout)
        yield server
