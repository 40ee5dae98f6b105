"""Commands that are killed at a chosen request, in processes of their own."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from bounty_protocol.chain.rpc import Rpc

from tests.cli.servers import Lost, Params, RpcProxy
from tests.cli.terminal import Terminal

CLIENT = str(Path(sys.executable).parent / "service-cli")


def run_killed(
    shell: Terminal,
    rpc: RpcProxy,
    *arguments: str,
    method: str,
    count: int = 1,
    forward: bool,
) -> None:
    """Run a command and SIGKILL it at the ``count``-th call of an RPC method, the call forwarded before or not.

    A transaction that is forwarded is mined before the command is killed: the node would mine it some moment later.
    """
    process: list[subprocess.Popen[bytes]] = []
    seen = [0]

    def strike() -> None:
        os.kill(process[0].pid, signal.SIGKILL)
        raise Lost

    def before(called: str, _params: Params) -> dict[str, object] | None:
        if called == method:
            seen[0] += 1
            if seen[0] == count and not forward:
                strike()
        return None

    def after(called: str, _params: Params, result: object) -> object:
        if called == method and seen[0] == count and forward:
            if method == "eth_sendRawTransaction":
                wait_until_mined(rpc.node_url, result)
            strike()
        return result

    rpc.before, rpc.after = before, after
    process.append(spawn(shell, *arguments))
    process[0].communicate(timeout=60)
    rpc.honest()
    assert process[0].returncode == -signal.SIGKILL, "the command ended before it was struck"


def wait_until_mined(node_url: str, tx_hash: object) -> None:
    """A node that mines by itself answers a little before it does."""
    node, ends = Rpc([node_url]), time.monotonic() + 20
    while node.call("eth_getTransactionReceipt", tx_hash) is None:
        assert time.monotonic() < ends, "the node does not mine"
        time.sleep(0.01)


def spawn(shell: Terminal, *arguments: str, **more: str) -> subprocess.Popen[bytes]:
    """Start a command as a process."""
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [CLIENT, *arguments], cwd=shell.home, env=shell.variables(**more), stdin=pipe, stdout=pipe, stderr=pipe
    )
