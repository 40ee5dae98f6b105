"""An operator's insider at work: one deed after the other by the plan, each found and put right before the next one."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from local_stack.interrupts import Interrupted

from tools.market.deeds import DEEDS, Deed
from tools.market.drawn import DeedPlan
from tools.market.reach import InsiderReach

PREPARING_SECONDS: Final = 30.0
STEP_SECONDS: Final = 900.0
"""For how long a step is tried while other things break."""


@dataclass
class Insider:
    """At work until ``ends``, in seconds after the run's begin. A deed that began is always put right."""

    reach: InsiderReach
    plans: Sequence[DeedPlan]
    ends: float
    ended: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        """Every deed that begins in time."""
        town = self.reach.town
        for number, plan in enumerate(self.plans, 1):
            if town.log.seconds() + plan.pause >= self.ends or self.ended.wait(plan.pause):
                return
            try:
                self._carry_out(number, plan)
            except Interrupted:
                return  # the main thread tells it
            except Exception as error:  # noqa: BLE001 - an insider who stops would be an easier market
                town.log.differs("an insider's deed broke", deed=number, kind=plan.kind, why=repr(error)[:500])
            finally:
                town.inside.clear()

    def _carry_out(self, number: int, plan: DeedPlan) -> None:
        log, prepared = self.reach.town.log, list[Deed | None]()
        named: dict[str, object] = {"deed": number, "kind": plan.kind}
        why = self.reach.until(lambda: prepared.append(DEEDS[plan.kind](self.reach, plan.choice)), PREPARING_SECONDS)
        deed = None if why else prepared[0]
        if deed is None:
            log.write("insider", "nothing-there", why=why, **named)
            return
        self.reach.town.inside.set()
        log.write("insider", "begins", target=deed.target, found_by=[*deed.found_by], **named)
        steps = [self._step("was not done", deed.do, named)]
        for finder, finds in deed.found_by.items():
            steps.append(self._step(f"was not found by {finder}", finds, named))
        steps.append(self._step("was not put right", deed.put_right, named))
        for what, holds in deed.over.items():
            steps.append(self._step(f"did not come to {what}", holds, named))
        log.write(
            "hostile", "found" if all(steps) else "missed", act=f"insider {plan.kind}", target=deed.target, **named
        )

    def _step(self, failure: str, step: Callable[[], object], named: dict[str, object]) -> bool:
        log = self.reach.town.log
        began = log.seconds()
        why = self.reach.until(step, STEP_SECONDS)
        log.write("insider", "step", left=failure if why else "", seconds=round(log.seconds() - began, 1), **named)
        if why is not None:
            log.differs(f"an insider's deed {failure}", why=why, **named)
        return why is None
