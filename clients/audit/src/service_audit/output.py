"""What is printed: an event a line as JSON, or for people at a terminal, each by the same rule."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TextIO

from service_audit.report import NOT_COMPARED, Report, shown

INDENT: Final = " " * 4


@dataclass(frozen=True, slots=True)
class Output:
    """Where events go."""

    stream: TextIO
    as_json: bool

    def emit(self, event: str, fields: Mapping[str, object]) -> None:
        """Print one event."""
        if self.as_json:
            self.stream.write(json.dumps({"event": event, **fields}) + "\n")
        else:
            self.stream.write(as_text(event, fields) + "\n")
        self.stream.flush()


def as_text(event: str, fields: Mapping[str, object]) -> str:
    """Return an event for people: its name with what identifies it, then a line for each further field."""
    heading = [event.partition(".")[2].replace("_", " ")]
    heading += [shown(fields[name]) for name in ("requirement", "where") if name in fields]
    lines = ["  ".join(heading)]
    width = max((len(name) for name in fields), default=0)
    for name, value in fields.items():
        if name in {"requirement", "where"} or value is None:
            continue
        label = INDENT + name.replace("_", " ").ljust(width)
        if isinstance(value, list):
            lines += [f"{label}  {_row(each)}" for each in value]
        else:
            lines.append(f"{label}  {_row(value)}")
    return "\n".join(lines)


def _row(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name.replace('_', ' ')} {shown(each)}" for name, each in value.items() if each is not None)
    return shown(value)


def print_report(output: Output, report: Report, block: int) -> None:
    """Print each difference, what was not compared and why, and the totals."""
    for found in report.found:
        name = "audit.unread" if found.requirement == "read" else "audit.difference"
        fields = {"requirement": found.requirement, "where": found.where}
        output.emit(name, {**fields, "expected": found.expected, "seen": found.seen})
    for requirement, count in sorted(report.more.items()):
        output.emit("audit.not_listed", {"requirement": requirement, "count": count})
    for requirement, places in sorted(report.passed_over.items()):
        why = NOT_COMPARED[requirement]
        output.emit("audit.not_compared", {"requirement": requirement, "count": len(places), "why": why})
    totals = {
        "differences": report.count - report.unread,
        "unread": report.unread,
        "comparisons": sum(report.compared.values()),
        "final_block": block,
        "exit_code": report.exit_code(),
    }
    output.emit("audit.finished", totals)
