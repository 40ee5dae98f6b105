"""``service-cli`` as a person types it, in this process: its exit code, events and words.

What a run sees of the environment is exactly what the test names, a home and a state directory; stdout is
parsed as JSON lines, so anything else there fails the test; a traceback fails it, too.
"""

import json
import os
from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import click
from click.testing import CliRunner
from service_cli.main import group

from tests.cli.event_schemas import problems


@dataclass(frozen=True, slots=True)
class Ran:
    """One run that ended."""

    code: int
    events: tuple[Mapping[str, object], ...]
    stdout: str
    words: str

    @property
    def names(self) -> list[object]:
        """The events' names, in order."""
        return [event["event"] for event in self.events]

    def event(self, name: str) -> Mapping[str, object]:
        """The one event of this name."""
        (found,) = [event for event in self.events if event["event"] == name]
        return found

    @property
    def last(self) -> Mapping[str, object]:
        """The last event: where a command ended."""
        return self.events[-1]


@dataclass(frozen=True, slots=True)
class Terminal:
    """A shell with an environment of its own."""

    home: Path
    environment: Mapping[str, str] = field(default_factory=dict)

    def without_keys(self) -> "Terminal":
        """The same without any key."""
        return Terminal(
            self.home, {name: value for name, value in self.environment.items() if "PRIVATE_KEY" not in name}
        )

    def variables(self, **more: str) -> dict[str, str]:
        """The whole environment of a run."""
        home = {"HOME": str(self.home), "XDG_STATE_HOME": str(self.home / "state"), "PATH": os.environ["PATH"]}
        return {**home, **self.environment, **more}

    def run(self, *arguments: str, code: int = 0, stdin: bytes = b"", **more: str) -> Ran:
        """Type one command; its exit code is part of what is expected."""
        return self._run(group, "service-cli", arguments, {code}, stdin, more)

    def run_any(self, *arguments: str, more_codes: tuple[int, ...] = ()) -> Ran:
        """The same where it may end with 0 or 1, or with one of these."""
        return self._run(group, "service-cli", arguments, {0, 1, *more_codes}, b"", {})

    def _run(
        self,
        program: click.Command,
        name: str,
        arguments: tuple[str, ...],
        codes: Container[int],
        stdin: bytes,
        more: Mapping[str, str],
    ) -> Ran:
        hidden: dict[str, str | None] = {name: None for name in os.environ if name.startswith("SERVICE_")}
        here = Path.cwd()
        os.chdir(self.home)
        try:
            result = CliRunner().invoke(
                program, list(arguments), input=stdin, env={**hidden, **self.variables(**more)}, prog_name=name
            )
        finally:
            os.chdir(here)
        assert "Traceback" not in result.stderr, result.stderr
        code = result.exit_code
        assert code in codes, f"{arguments} ended with {code}\n{result.output}"
        return Ran(code, events_of(result.stdout) if code != 2 else (), result.stdout, result.stderr)


def events_of(stdout: str) -> tuple[Mapping[str, object], ...]:
    """Every line of stdout as an event with a schema; text that is none (help) has no events."""
    if not stdout.startswith("{"):
        return ()
    found = tuple(json.loads(line) for line in stdout.splitlines())
    wrong = [problem for event in found for problem in problems(event)]
    assert not wrong, wrong
    return found
