"""A real bundler, Pimlico's alto, as a child process beside a local node.

It runs with its safe mode off: that mode traces each operation by a tracer in JavaScript, which does not work with
anvil 1.7.1: a good operation is refused with an error that nobody can decode. With it off the bundler does not refuse
what ERC-7562 forbids an account or a paymaster to read; what the EntryPoint refuses, it refuses too.

Its keys are made for this run and reach it by its environment. ``loopback.mjs`` keeps it on this machine.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import urllib3
from bounty_protocol.chain.rpc import ChainUnavailable, Rpc, RpcRefused
from local_stack.anvil import AnvilServer
from local_stack.contract import Wallet
from local_stack.ports import HOST
from local_stack.process import Child, minimal_environment
from local_stack.runtime import Runtime, shared_or_own
from local_stack.server import HttpServer

from tests.e2e.smart_accounts.contracts import ENTRY_POINT
from tests.e2e.smart_accounts.packages import ensure_packages
from tests.pages.driver import NODE

_LOOPBACK: Final = Path(__file__).with_name("loopback.mjs")
_PROBE: Final = urllib3.Timeout(2.0)
_ANSWER_BYTES: Final = 1 << 20


class BundlerServer(HttpServer):
    """A running bundler, which answers pages of every origin."""

    def __init__(self, runtime: Runtime, directory: Path, program: Path, node: AnvilServer, entry_point: str) -> None:
        super().__init__(runtime, directory)
        self._program, self._node, self._entry_point = program, node, entry_point
        self._executor, self._utility = Wallet(), Wallet()
        for wallet in (self._executor, self._utility):
            node.fund(wallet.address)

    def _spawn(self, port: int) -> Child:
        keys = {
            "ALTO_EXECUTOR_PRIVATE_KEYS": self._executor.private_key,
            "ALTO_UTILITY_PRIVATE_KEY": self._utility.private_key,
        }
        return self._runtime.family.spawn(
            self._directory.name,
            self._command(port),
            environment=minimal_environment(self._directory) | keys,
            cwd=self._directory,
            rule=self.rule,
        )

    def _command(self, port: int) -> list[str | Path]:
        return [
            *(NODE, "--import", _LOOPBACK, self._program, "run", "--port", str(port), "--enable-cors", "true"),
            *("--rpc-url", self._node.url, "--entrypoints", self._entry_point),
            *("--safe-mode", "false", "--refilling-wallets", "false", "--utility-wallet-monitor", "false"),
            *("--json", "true", "--log-level", "warn"),
        ]

    def _answers(self, port: int) -> bool:
        probe = Rpc([f"http://{HOST}:{port}"], timeout=_PROBE, max_answer_bytes=_ANSWER_BYTES, own=True)
        try:
            return bool(probe.call("eth_supportedEntryPoints"))
        except (ChainUnavailable, RpcRefused):
            return False


@contextmanager
def start_bundler(
    node: AnvilServer,
    runtime: Runtime | None = None,
    *,
    entry_point: str = ENTRY_POINT,
    name: str = "alto",
    timeout: float = 60.0,
) -> Iterator[BundlerServer]:
    """A bundler for a node that has this EntryPoint; in ``runtime`` or, without one, for this with statement alone.

    It is ready when this enters: 3 s on a node with a block for each transaction, 6 s on one with a block a second.
    Raises ``ChildFailed`` with its last log lines where it is not ready after ``timeout`` seconds.
    """
    program = ensure_packages() / "@pimlico/alto/esm/cli/alto.js"
    with shared_or_own(runtime) as inside:
        server = BundlerServer(inside, inside.directory(name), program, node, entry_point)
        server.launch(timeout)
        try:
            yield server
        finally:
            server.stop()
