"""Cause faults on a local stack, and follow the runbook of every alert that they make hold, to the letter, timed.

``./noxw -s runbooks`` waits with Prometheus until each alert's expression holds, types the commands of its runbook as
``docs/operations.md`` has them and looks for the cause in what they print, puts the cause right, types what the runbook
says to do, and waits until it is over. With ``--write`` what went as the page has it is a row of its table, and rows of
faults that were not caused this time stay. The exit code is 1 when an alert did not hold, its first commands did not
show the cause, or it was not over afterwards.
"""

import argparse
import re
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from demo.bounty import Cast
from local_stack.hub import LocalHubTerms
from local_stack.stack import StackSettings, running_stack

from tests.api.webhooks.receiving import receiving
from tests.api.webhooks.registered import register
from tests.endpoints import Endpoint, endpoint_before
from tests.front_door import front_door
from tools.alerts import find_debian_program, rule_groups
from tools.generate.derived import table, with_part
from tools.runbooks.faults import FAULTS
from tools.runbooks.scene import ALERT_SECONDS, FORMER_SECONDS, ExpectedAlert, Fault, FaultScene
from tools.runbooks.typing_in import PAGE, Shell, Typed, blocks
from tools.runbooks.watching import NAMESPACE, Watching, watched
from tools.runbooks.watchtower import Watchtower


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
    ahead: float = 0.0
    """Of how much later than ``held`` it holds: the hours that were not waited for."""
    held_before: bool = False
    """Whether it still held from a fault before, so that no time of it means anything."""

    def faults(self) -> Iterator[str]:
        """What was not as the page has it."""
        if self.held_before:
            yield "it still held from before"
        elif self.held is None:
            yield "its expression did not hold"
        elif not self.shown:
            yield "the first commands did not show the cause"
        elif self.over is None:
            yield "it was not over afterwards"

    def figures(self) -> str:
        """Its line of the table, after the alert and the fault."""
        later = f" + {self.ahead:.0f} s" if self.ahead else ""
        times = [_seconds(self.held) + later, _seconds(self.looked), _seconds(self.over)]
        return " " + " | ".join([*times, f"{self.typed} ({self.left_out})"]) + " |"


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
    addresses = {name: str(rule["annotations"]["runbook_url"]) for name, rule in rules.items()}
    headings = {name: _heading(address) for name, address in addresses.items()}
    timed: list[Timed] = []
    program = find_debian_program("prometheus")
    terms = LocalHubTerms(reveal_delay=3)
    with (
        tempfile.TemporaryDirectory(prefix="runbooks-") as made,
        _two_endpoints() as (endpoints, urls),
        running_stack(StackSettings(terms=terms, rpc_urls=urls)) as stack,
        ExitStack() as left,
    ):
        folder = Path(made)
        folder.chmod(0o755)
        front = left.enter_context(front_door(stack.api_base_url))
        watchtower = Watchtower(stack, front.url)
        cast, shell = Cast(stack, folder), Shell(stack, folder, front.url, watchtower)
        left.enter_context(shell.serving)
        receiver = left.enter_context(receiving())
        register(stack, receiver)
        bounty = cast.fund(submission_seconds=86_400, judging_seconds=3_600, title="To be looked at")
        place = FaultScene(cast, folder, bounty, left, endpoints, front, watchtower)
        place.submit(bounty, "solver-1")
        watching = left.enter_context(watched(stack, program, folder, watchtower.port))
        with place.asked():
            for fault in FAULTS:
                wanted = [each for each in fault.alerts if not options.names or each.alert in options.names]
                for each in _follow(fault, wanted, place, shell, watching, rules, headings) if wanted else []:
                    timed.append(each)
                    print(f"| `{each.alert}` | {each.fault} |{each.figures()}", flush=True)
                    for wrong in each.faults():
                        print(f"runbooks: {each.alert}: {wrong}", file=sys.stderr, flush=True)
                    if options.write and not any(each.faults()):
                        PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8"), [each], addresses), "utf-8")
    failed = [each.alert for each in timed if any(each.faults())]
    held = {each.alert for each in timed}
    print(f"{len(held)} of {len(rules)} alerts caused: " + (f"failed: {', '.join(failed)}" if failed else "passed"))
    return 1 if failed else 0


@contextmanager
def _two_endpoints() -> Iterator[tuple[list[Endpoint], Callable[[str], list[str]]]]:
    """Two endpoints before the node, once a stack has one, and what names them to the stack."""
    with ExitStack() as left:
        endpoints: list[Endpoint] = []

        def urls(node: str) -> list[str]:
            if not endpoints:
                endpoints.extend(left.enter_context(endpoint_before(node)) for _ in range(2))
            return [each.url for each in endpoints]

        yield endpoints, urls


def _follow(
    fault: Fault,
    wanted: Sequence[ExpectedAlert],
    place: FaultScene,
    shell: Shell,
    watching: Watching,
    rules: dict[str, dict[str, object]],
    headings: dict[str, str],
) -> Iterator[Timed]:
    """Cause a fault and follow its runbooks. One that cannot be caused or repaired has alerts that never held or ended,
    and the next one is tried."""
    over_before = {
        each.alert: watching.wait_until_over(str(rules[each.alert]["expr"]), FORMER_SECONDS) for each in wanted
    }
    print(f"runbooks: {fault.words}", file=sys.stderr, flush=True)
    shell.since = datetime.now(UTC)
    began, held, looked = time.monotonic(), dict[str, float | None](), dict[str, tuple[float, Typed]]()
    _tried(fault.cause, place)
    for each in wanted:
        waited = watching.wait(str(rules[each.alert]["expr"]), each.within, each.ahead, each.gone)
        held[each.alert] = None if waited is None else time.monotonic() - began
        typing = time.monotonic()
        printed = _type(shell, blocks(headings[each.alert], "Look", "Do"), fault.inside)
        looked[each.alert] = time.monotonic() - typing, printed
    _tried(fault.repair, place)
    for each in wanted:
        done = time.monotonic()
        acted = _type(shell, blocks(headings[each.alert], "Do", "Verify"), fault.inside)
        over = watching.wait(each.over, ALERT_SECONDS)
        seconds, printed = looked[each.alert]
        shown = re.search(each.prints, printed.out) is not None
        if not shown or over is None:
            print(printed.out[-3_000:], acted.out[-2_000:], sep="\n---\n", file=sys.stderr)
        yield Timed(
            each.alert,
            fault.words,
            held[each.alert],
            seconds,
            shown,
            None if over is None else time.monotonic() - done,
            printed.commands + acted.commands,
            printed.left_out + acted.left_out,
            each.ahead,
            held_before=not over_before[each.alert],
        )
    _tried(fault.after, place)


def _tried(step: Callable[[FaultScene], None], place: FaultScene) -> None:
    try:
        step(place)
    except Exception:  # noqa: BLE001  # the other faults are still to be caused; its alert reports what does not follow
        traceback.print_exc()


def _type(shell: Shell, found: Sequence[str], inside: str | None) -> Typed:
    typed = [shell.type_in("".join(found), inside)] if found else []
    return typed[0] if typed else Typed("", 0, 0)


def _heading(address: str) -> str:
    """The heading that an alert's runbook address leads to."""
    anchor = address.partition("#")[2]
    headings = re.findall(r"(?m)^## (.*)$", PAGE.read_text(encoding="utf-8"))
    (found,) = [each for each in headings if re.sub(r"[^a-z0-9 -]", "", each.lower()).replace(" ", "-") == anchor]
    return str(found)


def with_table(page: str, timed: Sequence[Timed], addresses: Mapping[str, str]) -> str:
    """The page with the rows of what was followed, the former ones of faults that were not caused this time, and the
    names of the alerts that nothing caused; each name leads to its runbook, whose address is given."""
    links = {name: f"[`{name}`](#{address.partition('#')[2]})" for name, address in addresses.items()}
    former = re.finditer(r"(?m)^\| \[`(\w+)`\]\S+ \| ([^|]+) \|(.*\|)$", page)
    rows = {(found[1], found[2]): found[3] for found in former}
    rows |= {(each.alert, each.fault): each.figures() for each in timed}
    known = [(each.alert, fault.words) for fault in FAULTS for each in fault.alerts]
    caused = [each for each in known if each in rows]
    head = "| alert | caused by | held after | its commands took | over after | commands (a cluster's alone) |"
    shown = table(head, (f"| {links[alert]} | {fault} |{rows[alert, fault]}" for alert, fault in caused))
    names = ", ".join(link for name, link in links.items() if name not in {alert for alert, _ in caused})
    return with_part(page, "runbooks", [shown, f"Not caused here: {names}."])


def _seconds(value: float | None) -> str:
    return "**never**" if value is None else f"{value:.0f} s"


if __name__ == "__main__":
    sys.exit(main())
