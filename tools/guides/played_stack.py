"""The stack that guides are played on: its people at their shells, its clocks, and what a page leaves to a person."""

import os
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import urllib3
from bounty_protocol.domain.challenge import parse_challenge
from demo.bounty import Cast
from demo.examples import EXAMPLES
from demo.person import UnexpectedEnd
from service_cli.poster.template import TemplateTerms, page_like

from tools.guides.document import TypedCommand, commands_of

COMMAND_SECONDS: Final = 180.0
INDEX_SECONDS: Final = 30.0
COLUMNS: Final = 80
HOME: Final = "/home/you/bounty-escrow/.local"
"""The placeholder for the folder that holds the stack's."""
OUTCOME: Final = 13
"""Its place in the Hub's view of a bounty."""


@dataclass
class PlayedStack:
    """A stack with folders for its people; ``screens`` has what each command printed last, by page and line."""

    cast: Cast
    shell: str
    screens: dict[str, dict[str, str]] = field(default_factory=dict)
    played: int = 0

    def play(self, person: str, *commands: TypedCommand, code: int = 0) -> None:
        """Type them in that person's shell, and keep their screens; each has to end with ``code``."""
        for command in commands:
            print(f"{person}$ {command.line}", flush=True)
            screen = self._run(person, command, code)
            self.screens.setdefault(command.page, {})[command.line] = screen

    def _run(self, person: str, command: TypedCommand, code: int) -> str:
        ran = subprocess.run(
            [self.folder(person) / "shell", "-c", command.line],
            env=self._variables(person), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, timeout=COMMAND_SECONDS, check=False,
        )  # fmt: skip
        if ran.returncode != code:
            raise UnexpectedEnd(f"{command} ended with {ran.returncode}:\n{ran.stdout}")
        self.played += 1
        return _as_shown(ran.stdout, self.folder("").parent)

    def _variables(self, person: str) -> Mapping[str, str]:
        home = self.cast.folder / person
        home.mkdir(parents=True, exist_ok=True)
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "SHELL": self.shell,
            "COLUMNS": str(COLUMNS),
            "SERVICE_LOCAL_TIME": "moved",
        }

    def folder(self, person: str) -> Path:
        """Where that person works."""
        if self.cast.stack.files is None:
            raise UnexpectedEnd("the stack has no folders for its people")
        return self.cast.stack.files.folder / person

    def advance_to(self, moment: int) -> None:
        """Move chain and beacon on to a moment, and wait until the index is there."""
        self.cast.stack.advance(max(moment - self.cast.chain_time(), 0) + 1)
        self.wait_for_index(moment)

    def wait_for_index(self, moment: int | None = None) -> None:
        """Wait until the API knows a block of that time, or of now."""
        wanted, ends = moment or self.cast.chain_time(), time.monotonic() + INDEX_SECONDS
        while self._indexed() < wanted:
            if time.monotonic() > ends:
                raise UnexpectedEnd("the index does not follow the chain")
            time.sleep(0.2)

    def wait_for_final(self) -> None:
        """Wait until what happened so far is in a final block."""
        wanted, ends = self.cast.chain_time(), time.monotonic() + INDEX_SECONDS
        while self._indexed("finalized_block_time") < wanted:
            if time.monotonic() > ends:
                raise UnexpectedEnd("nothing becomes final")
            time.sleep(0.2)

    def wait_until_over(self, bounty: int) -> None:
        """Wait until the service's settler has settled what nobody judged."""
        ends = time.monotonic() + INDEX_SECONDS
        while not self.cast.stack.hub.hub.call("getBounty", bounty)[OUTCOME]:
            if time.monotonic() > ends:
                raise UnexpectedEnd(f"nobody settles bounty {bounty}")
            time.sleep(0.2)

    def _indexed(self, name: str = "block_time") -> int:
        found = urllib3.request("GET", f"{self.cast.stack.api_base_url}/api/status", timeout=10.0, retries=False)
        return int(found.json()["position"][name]) if found.status == 200 else 0

    def times(self, bounty: int) -> tuple[int, int]:
        """A bounty's reveal point and judging deadline."""
        view = self.cast.stack.hub.hub.call("getBounty", bounty)
        return int(view[4]), int(view[5])

    def fill_in(self, page: str) -> None:
        """The Poster's edit: the example's text in place of the template's, under the same terms."""
        path = self.folder("poster") / page
        terms = parse_challenge(path.read_bytes())
        example = (EXAMPLES / "bounty_challenge.md").read_text(encoding="utf-8").replace("Fastest parser", "Parser")
        kept = TemplateTerms(terms.escrow_amount, terms.submission_deadline, terms.judging_window_seconds)
        path.write_text(page_like(example.encode(), kept), encoding="utf-8")


def _as_shown(screen: str, folder: Path) -> str:
    """As a reader sees it who keeps the repository in his home."""
    screen = screen.replace(str(folder), HOME)
    return screen if screen.endswith("\n") or not screen else f"{screen}\n"


class Page:
    """A page's commands, taken in their order."""

    def __init__(self, name: str, heading: str | None = None) -> None:
        self.name = name
        self._left = [each for each in commands_of(name) if heading is None or each.heading == heading]

    def take(self, count: int) -> list[TypedCommand]:
        """The next ones."""
        taken, self._left = self._left[:count], self._left[count:]
        if len(taken) < count:
            raise UnexpectedEnd(f"{self.name} has fewer commands than are played")
        return taken

    def below(self, heading: str) -> list[TypedCommand]:
        """All that is left below a heading."""
        taken = [each for each in self._left if each.heading == heading]
        self._left = [each for each in self._left if each.heading != heading]
        if not taken:
            raise UnexpectedEnd(f"{self.name} has no commands below {heading!r}")
        return taken

    def finish(self) -> None:
        """Refuse a command that nobody played."""
        if self._left:
            raise UnexpectedEnd(f"not played: {'; '.join(map(str, self._left))}")
