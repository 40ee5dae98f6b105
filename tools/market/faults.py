"""Faults by the plan, in two lanes: one of the chain and its endpoints, one of processes and servers.

Each has a line in the log when it begins and one when everything that it broke is whole again.
"""

import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import psutil
from bounty_protocol.chain.rpc import RpcRefused, block_number, quantity
from local_stack.launch import RunningProcess
from local_stack.process import Child, StackError
from local_stack.services import MIGRATE

from tools.market.clocks import JUMPS, jumped
from tools.market.drawn import FINAL_BLOCKS, FaultKind, FaultPlan, source
from tools.market.endpoints import ServiceEndpoints
from tools.market.people import Town


class NodeBroken(StackError):
    """The node has lost a block of its own chain: what follows says nothing about the service."""


_REFUSALS: Final = ((429, b'{"error": "too many requests"}'), (502, b"<html>bad gateway</html>"), (200, b"not JSON"))
_ROOM_BYTES: Final = 64


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
            which = f"{name}-{number}"
            try:
                with self._noted(which, plan) as target:
                    self._break(which, plan, target)
            except NodeBroken:
                self.ends = 0.0  # the other lane's too
                raise
            except Exception as error:  # noqa: BLE001 - a fault that cannot be planted or ended is reported
                self.town.log.differs("a fault was not over", fault=which, kind=plan.kind, why=str(error)[:500])

    @contextmanager
    def _noted(self, which: str, plan: FaultPlan) -> Iterator[str]:
        target = self._target(plan)
        self.town.log.write("fault", "begins", fault=which, kind=plan.kind, target=target, seconds=plan.seconds)
        yield target
        self.town.log.write("fault", "ends", fault=which, kind=plan.kind, target=target)

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
            endpoint.hang_seconds = plan.seconds
        elif plan.kind == FaultKind.RPC_LIES:
            self.endpoints.lie(endpoint, plan.lie)
        else:
            away = self.endpoints.made if plan.kind == FaultKind.RPC_AWAY else [endpoint]
            for each in away:
                each.raw = pick(_REFUSALS, plan.choice * 7 % 1)
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
        with self.town.stack.no_blocks():
            self._replace(which, depth)

    def _replace(self, which: str, depth: int) -> None:
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
