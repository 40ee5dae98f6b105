"""Another release underneath: a stack that begins on the release before is upgraded while people act, goes back, and is
upgraded again, in the order of docs/operations.md. Each process is replaced without a second one beside it.
"""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, cast

from local_stack.launch import RunningProcess
from local_stack.services import MIGRATE

from tests.upgrade.former import NEW, OTHERS, NoFormerRelease, former_programs
from tools.market.people import Town

PRESENT: Final = Path(sys.executable).parent
MOMENTS: Final = ((0.25, True), (0.5, False), (0.7, True))
"""After which share of the run it goes to this release, or back to the one before."""
_ORDER: Final = ("reviewer-worker", *OTHERS, "api", "web")


def programs_before(say: Callable[[str], None]) -> Mapping[str, Path]:
    """The programs of the release before; none, and a sentence, where this copy of the repository does not have it."""
    try:
        return former_programs()
    except (NoFormerRelease, AssertionError, OSError) as error:
        say(f"the release before cannot be had, so that this run is of the present one alone: {error}")
        return {}


@dataclass
class Upgrading:
    """Of one stack; without ``former`` there is nothing to do. ``met`` is called once this release is there."""

    town: Town
    former: Mapping[str, Path]
    seconds: float
    met: Callable[[], None]
    left: list[tuple[float, bool]] = field(default_factory=lambda: list(MOMENTS))
    _made: dict[str, RunningProcess] = field(default_factory=dict)
    """Those that only this release has, on the ports that they had first."""

    def __post_init__(self) -> None:
        if not self.former:
            self.left.clear()
        for service in self.town.stack.services.values():
            service.programs = self.former.get(service.process.command[0], PRESENT)

    def go_on(self, *, until_present: bool = False) -> None:
        """What is due; with ``until_present`` whatever is left before this release is there for good."""
        while self.left and (until_present or self.town.log.seconds() >= self.left[0][0] * self.seconds):
            _, present = self.left.pop(0)
            if until_present and not (present and not self.left):
                continue
            with self.town.by_operator:
                self._move(present=present)

    def migrations(self) -> Path | None:
        """Whose migrations a rollout runs: the schema stays when the release goes back."""
        return PRESENT if not self.former or self.left != list(MOMENTS) else None

    def _move(self, *, present: bool) -> None:
        town, services = self.town, cast("dict[str, RunningProcess]", self.town.stack.services)
        words = "to this release" if present else "back to the release before"
        town.log.write("upgrade", "begins", to=words)
        town.present.clear()
        if present:
            once = replace(MIGRATE, name=f"migrate-present-{len(self.left)}")
            town.stack.launcher.finish(town.stack.launcher.start_once(once, PRESENT))
        else:
            for each in NEW:
                services.pop(each.name).stop()
        for name in _ORDER if present else reversed(_ORDER):
            service = services[name]
            service.stop()
            service.programs = PRESENT if present else self.former[service.process.command[0]]
            service.restart()
        if present:
            for each in NEW:
                if each.name not in self._made:
                    self._made[each.name] = RunningProcess(town.stack.launcher, each, PRESENT)
                self._made[each.name].restart()
                services[each.name] = self._made[each.name]
            town.present_since = datetime.now(UTC)
            town.present.set()
            self.met()
        town.log.write("upgrade", "ends", to=words)
