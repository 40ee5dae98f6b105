"""``./noxw -s demo``: a bounty from the page to the opened work, every step verified against the chain.

Exit code 0 only if every step was verified. Narrates on stderr, and states each check on stdout. ``--verbose`` shows
what is typed and answered. With ``--agents`` everybody acts over the Model Context Protocol instead of a shell.
"""

import argparse
import signal
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from local_stack.hub import LocalHubTerms
from local_stack.interrupts import Interrupted, Interrupts
from local_stack.process import StackError, signal_when_parent_ends
from local_stack.stack import StackSettings, running_stack

from demo.bounty import Cast, Funded, Submitted
from demo.examples import same_files
from demo.person import UnexpectedEnd

REVEAL_DELAY_SECONDS: Final = 3
LEAST_SUBMISSION_SECONDS: Final = 3 * REVEAL_DELAY_SECONDS
"""The sections that the readiness review asks for."""
PUBLISHING_SECONDS: Final = 5
"""The least time until the page is reviewed."""
JUDGING_SECONDS: Final = 60
ESCROW: Final = 25_000_000
"""The escrow that the example page states, in base units."""


class NotVerified(Exception):
    """A step did not have the effect it should have."""


@dataclass(slots=True)
class Story:
    """The demo's log: what happens, and each step that was verified."""

    started: float = field(default_factory=time.monotonic)

    def tell(self, text: str) -> None:
        """Write a line on what happens next."""
        sys.stderr.write(f"[{time.monotonic() - self.started:5.1f} s] {text}\n")

    def echo(self, line: str) -> None:
        """Write a line of someone's terminal."""
        sys.stderr.write(f"    {line}\n")

    def verified(self, step: str, how: str, holds: bool) -> None:
        """State a verified step; raise when it does not hold."""
        if not holds:
            raise NotVerified(f"{step}: {how}")
        sys.stdout.write(f"  ok  {step}: {how}\n")
        sys.stdout.flush()

    def wait(self, cast: Cast, moment: int) -> None:
        """Count down until the chain's clock has passed a moment."""
        while (left := moment - cast.chain_time()) > 0:
            if sys.stderr.isatty():
                sys.stderr.write(f"\r  {left:3} s left \r")
            cast.wait_for(min(moment, cast.chain_time() + 1))


def main() -> int:
    """Run the demo; the exit code."""
    parser = argparse.ArgumentParser(prog="./noxw -s demo --", description="One whole bounty on a local stack.")
    parser.add_argument("--agents", action="store_true", help="everybody acts over MCP; installs its packages")
    parser.add_argument("--verbose", action="store_true", help="show what is typed and answered")
    options = parser.parse_args()
    interrupts, story = Interrupts(), Story()
    settings = StackSettings(terms=LocalHubTerms(reveal_delay=REVEAL_DELAY_SECONDS))
    signal_when_parent_ends(signal.SIGTERM)
    try:
        with (
            running_stack(settings, checkpoint=interrupts.checkpoint, say=story.tell) as stack,
            tempfile.TemporaryDirectory(prefix="bounty-demo-") as folder,
        ):
            stack.runtime.family.remove_after_death(Path(folder))
            # A machine that starts the stack slowly publishes and seals slowly too: it gets time in proportion.
            starting = int(time.monotonic() - story.started)
            submission_seconds = max(LEAST_SUBMISSION_SECONDS + max(PUBLISHING_SECONDS, starting), 2 * starting)
            story.started = time.monotonic()
            cast = Cast(stack, Path(folder), story.echo if options.verbose else lambda _: None)
            (play_by_agents if options.agents else play)(story, cast, submission_seconds)
    except Interrupted:
        sys.stderr.write("demo: interrupted; everything is stopped\n")
        return 130
    except (NotVerified, UnexpectedEnd, StackError) as error:
        sys.stderr.write(f"demo: {error}\n")
        return 1
    sys.stderr.write(f"demo: every step verified, {time.monotonic() - story.started:.0f} s after set-up\n")
    return 0


def play(story: Story, cast: Cast, submission_seconds: int) -> None:
    """One bounty from the page to the opened work; ``NotVerified`` when a step had another effect than it should."""
    bounty = _fund(story, cast, submission_seconds)
    story.tell(f"Anyone can look at it: {cast.page_address(bounty)}")
    _look(story, cast, bounty, "open", "Open for work")
    winner, loser = _submit(story, cast, bounty)
    _open_and_judge(story, cast, bounty, winner, loser)
    _look(story, cast, bounty, "decided", "Awarded")
    _pay(story, cast, bounty, winner)
    _deliver(story, cast, bounty, winner)
    _check_record(story, cast, bounty, winner)


def play_by_agents(story: Story, cast: Cast, submission_seconds: int) -> None:
    """The same over MCP."""
    from demo import agents

    story.tell("A Poster, a Solver and two Guardians each have an agent, and each agent a server of its own.")
    try:
        agents.play(cast, story.verified, submission_seconds, JUDGING_SECONDS)
    except agents.ToolRefused as refused:
        raise NotVerified(str(refused)) from refused


def _tokens(amount: int) -> str:
    return f"{amount / 10**6:g} tUSDC"


def _fund(story: Story, cast: Cast, submission_seconds: int) -> Funded:
    story.tell("The Poster publishes a challenge page; the service reviews it; the Poster funds the escrow in the Hub.")
    poster, hub = cast.address("poster"), cast.stack.hub.hub.address
    before = cast.token_balance(poster), cast.token_balance(hub)
    bounty = cast.fund(submission_seconds=submission_seconds, judging_seconds=JUDGING_SECONDS, again=False)
    moved = before[0] - cast.token_balance(poster), cast.token_balance(hub) - before[1]
    story.verified(
        "fund", f"the escrow of {_tokens(ESCROW)} moved from the Poster to the Hub", moved == (ESCROW, ESCROW)
    )
    page = cast.person("poster").home / "bounty_challenge.md"
    derived = cast.person("poster").run("spec-commitment", str(page)).event("spec_commitment.derived")
    on_chain = "0x" + cast.stack.hub.hub.call("getBounty", int(bounty.bounty_id))[2].hex()
    story.verified("publish", "spec_commitment on chain is the page's", derived.text("spec_commitment") == on_chain)
    return bounty


def _look(story: Story, cast: Cast, bounty: Funded, when: str, text: str) -> None:
    """Anyone can look: the page follows the chain within seconds, and states what it has checked."""
    story.verified(f"page, {when}", f"the bounty's page shows {text!r}", cast.page_shows(bounty, text))


def _submit(story: Story, cast: Cast, bounty: Funded) -> tuple[Submitted, Submitted]:
    story.tell(
        "Two Solvers seal their work for the Guardians and record it. Nobody can read it before the reveal point."
    )
    first, second = (cast.submit(bounty, solver, note=f"By {solver}.") for solver in ("solver-1", "solver-2"))
    for number, submitted in enumerate((first, second), 1):
        recorded = "0x" + cast.stack.hub.hub.call("getSubmission", int(bounty.bounty_id), submitted.solver).hex()
        story.verified(f"submit {number}", "the commitment on chain is the Solver's", recorded == submitted.commitment)
    _look(story, cast, bounty, "submitted", "2 Submissions.")
    _open_early(story, cast, bounty, first)
    return first, second


def _open_early(story: Story, cast: Cast, bounty: Funded, submitted: Submitted) -> None:
    """Refused; on a machine so slow that the reveal point is a moment away, the client waits for it instead."""
    story.tell("A Guardian who tries to open it now is refused: the beacon's round is not due yet.")
    named = (bounty.bounty_id, submitted.solver, submitted.commitment)
    early = cast.person("guardian-1").run("guardian:open", *named, "early", code=None)
    if early.code == 0:
        kept_out = time.time() >= bounty.reveal_at
    else:
        kept_out = early.event("guardian_open.refused").text("code") == "reveal_point_not_reached"
    story.verified("sealed", "a Guardian cannot open before the reveal point", kept_out)


def _open_and_judge(story: Story, cast: Cast, bounty: Funded, winner: Submitted, loser: Submitted) -> None:
    story.tell(f"Now everybody waits for the reveal point ({bounty.reveal_at - cast.chain_time()} s).")
    story.wait(cast, bounty.reveal_at)
    listed = cast.person("guardian-1").run("guardian:judgeable", "--guardian-address", cast.address("guardian-1"))
    ids = [event.fields["bounty_id"] for event in listed.events if event.name == "guardian_judgeable.bounty"]
    story.verified("judgeable", "the Guardian sees the bounty waiting", bounty.bounty_id in ids)
    _look(story, cast, bounty, "judging", "Being judged")
    story.tell("The Guardians open the work with their own keys and the beacon's signature, and judge it.")
    for guardian, submitted in (("guardian-1", winner), ("guardian-2", loser), ("guardian-2", winner)):
        folder = f"opened-{submitted.commitment[2:10]}"
        cast.person(guardian).run("guardian:open", bounty.bounty_id, submitted.solver, submitted.commitment, folder)
        same = same_files(cast.person(guardian).home / folder, submitted.directory)
        story.verified("open", f"{guardian} opened files identical to the submitted ones", same)
    for guardian in ("guardian-1", "guardian-2"):
        cast.award(bounty, guardian, winner, f"Meets every criterion; bench.py printed 3.4. Checked by {guardian}.\n")
    view = cast.stack.hub.hub.call("getBounty", int(bounty.bounty_id))
    story.verified("judge", "two of three Verdicts made the award final", (view[13], view[15]) == (1, winner.solver))


def _pay(story: Story, cast: Cast, bounty: Funded, winner: Submitted) -> None:
    story.tell("The winner claims the award; the Poster claims the share of the Guardian who did not judge.")
    due = ESCROW - ESCROW * 100 // 10_000 - ESCROW * 300 // 10_000
    before = cast.token_balance(winner.solver)
    claimed = cast.person("solver-1").run("claim", bounty.bounty_id).event("claim.claimed")
    paid = cast.token_balance(winner.solver) - before
    story.verified(
        "claim",
        f"the winner received {_tokens(due)}, the escrow less both fees",
        paid == due == int(claimed.text("claimable_amount")),
    )
    transaction = claimed.text("tx_hash")
    _look(story, cast, bounty, "paid", f"{transaction[:6]}…{transaction[-4:]}")
    again = cast.person("solver-1").run("claim", bounty.bounty_id, code=1).event("claim.refused").text("code")
    story.verified(
        "claim again",
        "a second claim is refused and pays nothing",
        again == "award_already_claimed" and cast.token_balance(winner.solver) - before == due,
    )
    guardian_fee = ESCROW * 300 // 10_000
    share = guardian_fee - 2 * (guardian_fee // 3)
    before = cast.token_balance(cast.address("poster"))
    cast.person("poster").run("claim", bounty.bounty_id)
    refunded = cast.token_balance(cast.address("poster")) - before
    story.verified("refund", f"the Poster received the unpaid guardian share of {_tokens(share)}", refunded == share)


def _deliver(story: Story, cast: Cast, bounty: Funded, winner: Submitted) -> None:
    story.tell("A Guardian delivers the winning key to the delivery service; the Poster opens the winning work.")
    pair = (bounty.bounty_id, winner.solver, winner.commitment)
    stored = cast.person("guardian-2").run("guardian:deliver-key", *pair).event("guardian_deliver_key.stored")
    story.verified("deliver", "the delivery service accepted the wrapped key", stored.fields["created"] is True)
    poster = cast.person("poster")
    poster.run("poster:open-winning-submission", bounty.bounty_id, "winning-work")
    same = same_files(poster.home / "winning-work", winner.directory)
    story.verified("open winning work", "the Poster's files are identical to the winner's", same)


def _check_record(story: Story, cast: Cast, bounty: Funded, winner: Submitted) -> None:
    story.tell("Anyone can read the advisory record and compare it with the chain.")
    fetched = cast.person("poster").run("verification-record", bounty.bounty_id).event("verification_record.fetched")
    record = fetched.fields["record"]
    view = cast.stack.hub.hub.call("getBounty", int(bounty.bounty_id))
    agrees = isinstance(record, dict) and (
        record["outcome"] == "awarded"
        and record["winner"] == {"solver_address": view[15], "submission_commitment": "0x" + view[16].hex()}
        and record["winner"]["submission_commitment"] == winner.commitment
        and record["spec_commitment"] == "0x" + view[2].hex()
        and sum(int(amount["amount"]) for amount in record["amounts"]) == view[1]
    )
    story.verified("record", "the VerificationRecord agrees with the chain", agrees)
    story.tell("Anyone can also derive the whole bounty from the chain, and compare the service's answers with it.")
    finished = cast.person("solver-2").audit(bounty.bounty_id).event("audit.finished")
    held = f"{finished.fields['comparisons']} values compared, none differs"
    story.verified("audit", held, finished.fields["differences"] == 0)


if __name__ == "__main__":
    sys.exit(main())
