"""Faults by the plan, in two lanes: one of the chain and its endpoints, one of processes and servers.

Each has a line in the log when it begins and one when everything that it broke is whole again.
"""

import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import psutil
from bounty_protocol.chain.rpc import Rpc, RpcRefused, block_number, quantity
from local_stack.launch import RunningProcess
from local_stack.process import Child, StackError
from local_stack.services import MIGRATE

from tests.cli.servers import RpcProxy
from tools.debian import unpacked
from tools.market.drawn import ENDPOINTS, FINAL_BLOCKS, FaultKind, FaultPlan, source
from tools.market.people import Town

TOP: Final = Path(__file__).parents[2]
_REFUSALS: Final = ((429, b'{"error": "too many requests"}'), (502, b"<html>bad gateway</html>"), (200, b"not JSON"))
_ROOM_BYTES: Final = 64
_BEHIND: Final = 60
_MOST_BYTES: Final = 1 << 26
JUMPS: Final = (-86_400, -900, -20, 20, 900, 86_400)
"""Of a clock, in seconds."""
_TRUE: Final = "+0"
_SLEEP: Final = """
import _thread
import time


def sleep(seconds):
    lock = _thread.allocate_lock()
    lock.acquire()
    lock.acquire(True, seconds)


time.sleep = sleep
"""
"""What a process loads before all else: libfaketime gets sleeps until a monotonic moment, as Python's are, wrong."""


class NodeBroken(StackError):
    """The node has lost a block of its own chain: what follows says nothing about the service."""


@dataclass
class ServiceEndpoints:
    """The RPC endpoints of the service: each may stall, refuse or lie while the others go on. ``until`` closes them."""

    until: ExitStack
    made: list[RpcProxy] = field(default_factory=list)
    _nodes: list[Rpc] = field(default_factory=list)

    def before(self, node: str) -> Sequence[str]:
        """Return the addresses of honest endpoints before a node."""
        self._nodes = [Rpc([node], max_answer_bytes=_MOST_BYTES, own=True)]
        self.made = [self.until.enter_context(RpcProxy(node)) for _ in range(ENDPOINTS)]
        return [each.url for each in self.made]

    def honest(self) -> None:
        """All pass on what the node says."""
        for each in self.made:
            each.honest()

    def lie(self, endpoint: RpcProxy, how: str) -> None:
        """Have one endpoint say something else, in the way of a name of ``drawn.LIES``."""
        (node,) = self._nodes

        def change(method: str, params: list[Any], result: Any) -> Any:
            if method == "eth_getLogs" and how == "no-logs":
                return []
            if method == "eth_getLogs" and how == "other-amount":
                return [{**log, "data": log["data"][:-2] + "07"} if len(log["data"]) > 66 else log for log in result]
            if method == "eth_getBlockByNumber" and isinstance(result, dict):
                if how == "other-hash":
                    return {**result, "hash": "0x" + "5a" * 32}
                if how == "finalized-early" and params[0] == "finalized":
                    return node.call(method, "latest", params[1])
                if how == "behind" and params[0] == "latest":
                    return node.call(method, hex(max(1, block_number(result["number"]) - _BEHIND)), params[1])
            return result

        endpoint.after = change


@dataclass
class Breaking:
    """Breaks things of one stack until ``ends``, in seconds after the run's begin."""

    town: Town
    endpoints: ServiceEndpoints
    seed: int
    ends: float
    clocks: Path
    """A folder for the clocks that jump."""

    def lane(self, name: str, plans: Sequence[FaultPlan]) -> None:
        """One fault after the other."""
        for number, plan in enumerate(plans, 1):
            if self.town.log.seconds() + plan.pause >= self.ends:
                return
            self.town.pause(plan.pause)
            which, target = f"{name}-{number}", self._target(plan)
            try:
                self.town.log.write("fault", "begins", fault=which, kind=plan.kind, target=target, seconds=plan.seconds)
                self._break(which, plan, target)
                self.town.log.write("fault", "ends", fault=which, kind=plan.kind, target=target)
            except NodeBroken:
                self.ends = 0.0  # the other lane's too
                raise
            except Exception as error:  # noqa: BLE001 - a fault that cannot be planted or ended is reported
                self.town.log.differs("a fault was not over", fault=which, kind=plan.kind, why=str(error)[:500])

    def _target(self, plan: FaultPlan) -> str:
        if plan.kind in {FaultKind.KILL, FaultKind.PAUSE}:
            return self._service(plan).process.name
        if plan.kind == FaultKind.CLOCK:
            return f"{self._service(plan).process.name} {self._jump(plan):+}"
        if plan.kind == FaultKind.REORG:
            return str(1 + int(plan.choice * FINAL_BLOCKS))
        if plan.kind == FaultKind.RPC_LIES:
            return f"{self._endpoint(plan)} {plan.lie}"
        return str(self._endpoint(plan)) if plan.kind.startswith("rpc") and plan.kind != FaultKind.RPC_AWAY else ""

    def _endpoint(self, plan: FaultPlan) -> int:
        return int(plan.choice * len(self.endpoints.made))

    def _service(self, plan: FaultPlan) -> RunningProcess:
        services = self.town.stack.services
        return services[pick(sorted(services), plan.choice)]

    @staticmethod
    def _jump(plan: FaultPlan) -> int:
        return int(pick(JUMPS, plan.choice * 7 % 1))

    def _break(self, which: str, plan: FaultPlan, target: str) -> None:
        stack = self.town.stack
        servers = {
            FaultKind.DATABASE_KILL: stack.postgres,
            FaultKind.REDIS_KILL: stack.valkey,
            FaultKind.STORAGE_KILL: stack.gcs,
            FaultKind.BEACON_KILL: stack.beacon,
        }
        if plan.kind == FaultKind.REORG:
            with stack.anvil.no_blocks():
                self._reorganize(which, int(target))
        elif plan.kind.startswith("rpc"):
            self._break_endpoints(plan)
        elif plan.kind == FaultKind.KILL:
            service = self._service(plan)
            service.kill()
            time.sleep(plan.seconds)
            service.start()
            service.wait_ready()
        elif plan.kind == FaultKind.ROLLOUT:
            self._roll_out(which)
        elif plan.kind == FaultKind.REDIS_EMPTY:
            stack.valkey.kill()
            time.sleep(plan.seconds)
            stack.valkey.restart(empty=True)
        elif plan.kind in servers:
            servers[plan.kind].kill()
            time.sleep(plan.seconds)
            servers[plan.kind].restart()
        else:
            with self._broken(plan):
                time.sleep(plan.seconds)

    def _break_endpoints(self, plan: FaultPlan) -> None:
        endpoint = self.endpoints.made[self._endpoint(plan)]
        if plan.kind == FaultKind.RPC_STALLS:
            endpoint.refuse = lambda _calls: time.sleep(plan.seconds)
        elif plan.kind == FaultKind.RPC_LIES:
            self.endpoints.lie(endpoint, plan.lie)
        else:
            away = self.endpoints.made if plan.kind == FaultKind.RPC_AWAY else [endpoint]
            for each in away:
                each.refuse = lambda _calls: (*pick(_REFUSALS, plan.choice * 7 % 1), {})
        time.sleep(plan.seconds)
        self.endpoints.honest()

    def _broken(self, plan: FaultPlan) -> AbstractContextManager[None]:
        """Break a part for the length of a with statement."""
        stack = self.town.stack
        if plan.kind == FaultKind.CLOCK:
            return jumped(self._service(plan), self._jump(plan), self.clocks)
        if plan.kind == FaultKind.DATABASE_READ_ONLY:
            return stack.postgres.read_only()
        if plan.kind == FaultKind.STORAGE_FULL:
            return stack.gcs.without_room(_ROOM_BYTES)
        return paused(stack.gcs.child if plan.kind == FaultKind.STORAGE_STALLS else self._service(plan).child)

    def _roll_out(self, which: str) -> None:
        """The migration job, and each process in turn, as a rollout without a second pod has it."""
        stack = self.town.stack
        once = replace(MIGRATE, name=f"migrate-{which}")
        stack.launcher.finish(stack.launcher.start_once(once))
        for service in stack.services.values():
            service.stop()
            service.restart()

    def _reorganize(self, which: str, depth: int) -> None:
        """Replace the newest blocks. Some of their transactions come again, as on a real chain, and some are lost."""
        chosen, rpc = source(self.seed, f"reorg/{which}"), self.town.stack.anvil.rpc
        head = block_number(rpc.call("eth_blockNumber"))
        kept: list[list[Any]] = []
        lost: set[str] = set()
        losing = chosen.choice((0.0, 0.5, 1.0))
        for offset, number in enumerate(range(head - depth + 1, head + 1)):
            block: Any = rpc.call("eth_getBlockByNumber", hex(number), True)
            for transaction in block["transactions"]:
                if transaction["from"] in lost or chosen.random() < losing:
                    lost.add(transaction["from"])  # those after it have no place without it
                    continue
                kept.append([rpc.call("eth_getRawTransactionByHash", transaction["hash"]), offset])
        try:
            rpc.call("anvil_reorg", depth, kept)
        except RpcRefused as refused:  # one that is kept has no place without one that is lost
            self.town.log.write("reorg", "refused", fault=which, why=str(refused))
            rpc.call("anvil_reorg", depth, [])
        demand_all_blocks(self.town, head - depth)
        # The node's clock fell back by the blocks that it replaced; that of a real chain does not.
        newest: Any = rpc.call("eth_getBlockByNumber", "latest", False)
        rpc.call("evm_increaseTime", max(0, int(time.time()) - quantity(newest["timestamp"])))
        self.town.log.write("reorg", fault=which, depth=depth, head=head, kept=len(kept), losers=len(lost))


def demand_all_blocks(town: Town, first: int) -> None:
    """Raise ``NodeBroken`` where the node lacks a block between ``first`` and its newest."""
    if missing := town.stack.anvil.missing_blocks(first):
        raise NodeBroken(f"the node has lost blocks {missing} of its own chain: this run says nothing of the service")


def pick(items: Sequence[Any], share: float) -> Any:
    """Return one of them, by a number from 0 to 1."""
    return items[min(int(share * len(items)), len(items) - 1)]


@contextmanager
def paused(child: Child | None) -> Iterator[None]:
    """A process and all that it started stand still."""
    if child is None:
        raise StackError("a process that does not run cannot be paused")
    process = psutil.Process(child.pid)
    members = [process, *process.children(recursive=True)]
    for each in members:
        each.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        for each in members:
            if each.is_running():
                each.send_signal(signal.SIGCONT)


@contextmanager
def jumped(service: RunningProcess, seconds: int, folder: Path) -> Iterator[None]:
    """The process reads a time so many seconds off, by libfaketime of Debian, which nobody installs.

    One whose clock never jumped is started again first, for which ``folder`` has its place. What counts seconds without
    a date goes on as it did.
    """
    told = folder / f"{service.process.name}.clock"
    told.write_text(_TRUE)
    if "LD_PRELOAD" not in service.environment:
        service.stop()
        (folder / "sitecustomize.py").write_text(_SLEEP)
        service.restart(
            {
                "PYTHONPATH": str(folder),
                "LD_PRELOAD": str(_library()),
                "FAKETIME_TIMESTAMP_FILE": str(told),
                "FAKETIME_CACHE_DURATION": "1",
                "FAKETIME_DONT_FAKE_MONOTONIC": "1",
                "NO_FAKE_STAT": "1",
            }
        )
    told.write_text(f"{seconds:+}")
    try:
        yield
    finally:
        told.write_text(_TRUE)


def _library() -> Path:
    root = unpacked(TOP / ".local/faketime", ["libfaketime"])
    return next(root.glob("usr/lib/*/faketime/libfaketimeMT.so.1"))
