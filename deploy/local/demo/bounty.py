"""The steps of one bounty's life, each typed by the person whose step it is.

Shared by the demo and the end-to-end tests: they differ in what they check and in how a bounty ends.
"""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import urllib3
from local_stack.stack import Stack

from demo.examples import artifact, challenge_page
from demo.person import Person, Ran

PAGE_SECONDS: Final = 30.0
"""For how long a page is waited for: the index follows the chain by a block, and pages keep answers for two seconds."""


@dataclass(frozen=True, slots=True)
class Funded:
    """A bounty on chain."""

    bounty_id: str
    spec_commitment: str
    submission_deadline: int
    reveal_at: int
    judging_deadline: int


@dataclass(frozen=True, slots=True)
class Submitted:
    """A Submission on chain, and the directory it was sealed from."""

    solver: str
    commitment: str
    directory: Path


@dataclass(frozen=True, slots=True)
class Cast:
    """Everyone of a stack, each with a home below one folder."""

    stack: Stack
    folder: Path
    echo: Callable[[str], None] = lambda _: None

    def person(self, name: str) -> Person:
        """Return ``poster``, ``solver-1``, ``guardian-2`` and so on."""
        home = self.folder / name
        home.mkdir(parents=True, exist_ok=True)
        return Person(name, self.stack.environment(name), home, self.stack.runtime.family, self.echo)

    def address(self, name: str) -> str:
        """Return someone's account."""
        return self.stack.people.by_name()[name].address

    def chain_time(self) -> int:
        """Return the newest block's time."""
        return self.stack.anvil.w3.eth.get_block("latest")["timestamp"]

    def wait_for(self, moment: int) -> None:
        """Real time: until the chain's clock has passed a moment."""
        while self.chain_time() < moment:
            self.stack.runtime.family.checkpoint()
            self.stack.check()
            time.sleep(0.2)

    def token_balance(self, address: str) -> int:
        """Base units of the escrow token."""
        return int(self.stack.hub.token.call("balanceOf", address))

    def fund(self, *, submission_seconds: int, judging_seconds: int, title: str = "", again: bool = True) -> Funded:
        """Publish the example page as the Poster, and fund it; ``again``: beside open ones of the same file or
        title.
        """
        poster = self.person("poster")
        deadline = self.chain_time() + submission_seconds
        page = challenge_page(
            poster.home, submission_deadline=deadline, judging_window_seconds=judging_seconds, title=title
        )
        ran = poster.run("poster:publish-fund", *(["--again"] if again else []), str(page))
        created = ran.event("publish_fund.bounty_created")
        view = self.stack.hub.hub.call("getBounty", int(created.text("bounty_id")))
        return Funded(created.text("bounty_id"), created.text("spec_commitment"), deadline, int(view[4]), int(view[5]))

    def submit(self, bounty: Funded, solver: str, note: str = "") -> Submitted:
        """Seal the example work as a Solver, and record it."""
        person = self.person(solver)
        directory = artifact(person.home / f"work-{bounty.bounty_id}", note=note)
        recorded = person.run("solver:submit", bounty.bounty_id, str(directory)).event("submit.submission_recorded")
        return Submitted(recorded.text("solver"), recorded.text("submission_commitment"), directory)

    def award(self, bounty: Funded, guardian: str, submitted: Submitted, reasons: str, *, opened: bool = True) -> Ran:
        """Record an awarded Verdict as a Guardian, of work that it opened or not."""
        consent = [] if opened else ["--unopened"]
        person = self.person(guardian)
        body = person.home / f"verdict-{bounty.bounty_id}.md"
        body.write_text(reasons, encoding="utf-8")
        return person.run(
            "guardian:verdict", bounty.bounty_id, "awarded", submitted.solver, submitted.commitment, str(body), *consent
        )

    def reject(self, bounty: Funded, guardian: str, reasons: str) -> Ran:
        """Record a no_valid_submission Verdict as a Guardian, of work that it did not open."""
        person = self.person(guardian)
        body = person.home / f"verdict-{bounty.bounty_id}.md"
        body.write_text(reasons, encoding="utf-8")
        return person.run("guardian:verdict", bounty.bounty_id, "no_valid_submission", "--unopened", str(body))

    def page_address(self, bounty: Funded) -> str:
        """Return where people look at a bounty."""
        return f"{self.stack.pages_url}/bounties/{bounty.bounty_id}"

    def page_shows(self, bounty: Funded, text: str) -> bool:
        """Return whether the bounty's page comes to show a text, and that its challenge was checked."""
        ends = time.monotonic() + PAGE_SECONDS
        while time.monotonic() < ends:
            self.stack.runtime.family.checkpoint()
            answer = urllib3.request("GET", self.page_address(bounty), timeout=10.0, retries=False)
            page = re.sub(r"<[^>]*>", "", answer.data.decode())  # 404 or 503 until the index has the bounty
            if text in page and "The challenge matches the commitment on the chain." in page:
                return True
            time.sleep(0.2)
        return False
