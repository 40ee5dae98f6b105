"""Cause faults on a local stack, and follow the runbook of every alert that they make hold, to the letter, timed.

``./noxw -s runbooks`` waits with Prometheus until each alert's expression holds, types the commands of its runbook as
``docs/operations.md`` has them and looks for the cause in what they print, puts the cause right, types what the runbook
says to do, and waits until it is over. With ``--write`` the table of that page is written. The exit code is 1 when an
alert did not hold, its first commands did not show the cause, or it was not over afterwards.
"""

import argparse
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from demo.bounty import Cast
from local_stack.hub import LocalHubTerms
from local_stack.stack import StackSettings, running_stack

from tools.alerts import find_debian_program, rule_groups
from tools.generate.derived import with_part
from tools.runbooks.faults import ALERT_SECONDS, FAULTS, ExpectedAlert, Fault, FaultScene
from tools.runbooks.typing_in import PAGE, Shell, Typed, blocks
from tools.runbooks.watching import NAMESPACE, Watching, watched


@dataclass(frozen=True, slots=True)
class Timed:
    """One alert whose runbook was followed; None for what did not come."""

    alert: str
    fault: str
    held: float | None
    looked: float
    shown: bool
    over: float | None
    typed: int
    left_out: int

    def faults(self) -> Iterator[str]:
        """What was not as the page has it."""
        if self.held is None:
            yield "its expression did not hold"
        elif not self.shown:
            yield "the first commands did not show the cause"
        elif self.over is None:
            yield "it was not over afterwards"

    def row(self) -> str:
        """Its line of the table."""
        cells = [f"`{self.alert}`", self.fault, _seconds(self.held), _seconds(self.looked), _seconds(self.over)]
        return "| " + " | ".join([*cells, f"{self.typed} ({self.left_out})"]) + " |"


def main() -> int:
    """Cause what is named, else everything; print the table."""
    rules = {rule["alert"]: rule for group in rule_groups(NAMESPACE) for rule in group["rules"]}
    caused = [each.alert for fault in FAULTS for each in fault.alerts]
    parser = argparse.ArgumentParser(prog="runbooks", description=__doc__.partition("\n\n")[0])
    parser.add_argument("--write", action="store_true", help="put the table into docs/operations.md")
    parser.add_argument("names", nargs="*", metavar="ALERT", help=f"one or more of {', '.join(caused)}; default all")
    options = parser.parse_args()
    if unknown := set(options.names) - set(caused):
        parser.error(f"nothing causes {', '.join(sorted(unknown))}")
    headings = {name: _heading(rule["annotations"]["runbook_url"]) for name, rule in rules.items()}
    timed: list[Timed] = []
    program = find_debian_program("prometheus")
    with (
        tempfile.TemporaryDirectory(prefix="runbooks-") as made,
        running_stack(StackSettings(terms=LocalHubTerms(reveal_delay=3))) as stack,
        ExitStack() as left,
    ):
        folder = Path(made)
        folder.chmod(0o755)
        cast, shell = Cast(stack, folder), Shell(stack, folder)
        left.enter_context(shell.serving)
        bounty = cast.fund(submission_seconds=86_400, judging_seconds=3_600, title="To be looked at")
        place = FaultScene(cast, folder, bounty, cast.submit(bounty, "solver-1"), left)
        watching = left.enter_context(watched(stack, program, folder))
        with place.asked():
            for fault in FAULTS:
                wanted = [each for each in fault.alerts if not options.names or each.alert in options.names]
                for each in _follow(fault, wanted, place, shell, watching, rules, headings) if wanted else []:
                    timed.append(each)
                    print(each.row(), flush=True)
                    for wrong in each.faults():
                        print(f"runbooks: {each.alert}: {wrong}", file=sys.stderr, flush=True)
    if options.write:
        PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8"), timed, list(rules)), encoding="utf-8")
    failed = [each.alert for each in timed if any(each.faults())]
    print(f"{len(timed)} of {len(rules)} alerts caused: " + (f"failed: {', '.join(failed)}" if failed else "passed"))
    return 1 if failed else 0


def _follow(
    fault: Fault,
    wanted: Sequence[ExpectedAlert],
    place: FaultScene,
    shell: Shell,
    watching: Watching,
    rules: dict[str, dict[str, object]],
    headings: dict[str, str],
) -> Iterator[Timed]:
    print(f"runbooks: {fault.words}", file=sys.stderr, flush=True)
    began, held, looked = time.monotonic(), dict[str, float | None](), dict[str, tuple[float, Typed]]()
    fault.cause(place)
    for each in wanted:
        waited = watching.wait(str(rules[each.alert]["expr"]), ALERT_SECONDS)
        held[each.alert] = None if waited is None else time.monotonic() - began
        typing = time.monotonic()
        printed = _type(shell, blocks(headings[each.alert], "Look", "Do"), fault.inside)
        looked[each.alert] = time.monotonic() - typing, printed
    fault.repair(place)
    for each in wanted:
        done = time.monotonic()
        acted = _type(shell, blocks(headings[each.alert], "Do", "Verify"), fault.inside)
        over = watching.wait(each.over, ALERT_SECONDS)
        seconds, printed = looked[each.alert]
        shown = re.search(each.prints, printed.out) is not None
        if not shown:
            print(printed.out[-3_000:], file=sys.stderr)
        yield Timed(
            each.alert,
            fault.words,
            held[each.alert],
            seconds,
            shown,
            None if over is None else time.monotonic() - done,
            printed.commands + acted.commands,
            printed.left_out + acted.left_out,
        )


def _type(shell: Shell, found: Sequence[str], inside: str | None) -> Typed:
    typed = [shell.type_in("".join(found), inside)] if found else []
    return typed[0] if typed else Typed("", 0, 0)


def _heading(address: str) -> str:
    """The heading that an alert's runbook address leads to."""
    anchor = address.partition("#")[2]
    headings = re.findall(r"(?m)^## (.*)$", PAGE.read_text(encoding="utf-8"))
    (found,) = [each for each in headings if re.sub(r"[^a-z0-9 -]", "", each.lower()).replace(" ", "-") == anchor]
    return str(found)


def with_table(page: str, timed: Sequence[Timed], alerts: Sequence[str]) -> str:
    """The page with the table of what was followed, and the names of the alerts that were not caused."""
    caused = {each.alert for each in timed}
    table = [
        "| alert | caused by | held after | its commands took | over after | commands (a cluster's alone) |",
        "|---" * 6 + "|",
        *(each.row() for each in timed),
    ]
    names = ", ".join(f"`{name}`" for name in alerts if name not in caused)
    return with_part(page, "runbooks", ["\n".join(table), f"Not caused here: {names}."])


def _seconds(value: float | None) -> str:
    return "**never**" if value is None else f"{value:.0f} s"


if __name__ == "__main__":
    sys.exit(main())
