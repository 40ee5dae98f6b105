"""The tools that only read: for everybody, over stdio and over HTTP. No key is needed and nothing is signed."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from threading import BoundedSemaphore
from typing import TYPE_CHECKING, Annotated, Final, Literal

from bounty_protocol.clock import iso_utc
from bounty_protocol.domain.money.shorthand import read_amount
from bounty_protocol.types import BountyId, parse_address
from bounty_protocol.wire.values import Finality
from pydantic import Field
from service_cli.client import Client, Refused
from service_cli.queries.overview import page_of
from service_cli.ui.text import withheld_text

from service_mcp import answers
from service_mcp.answers import moment_or_none, money, strangers_text
from service_mcp.work_dir import WorkDir

if TYPE_CHECKING:
    from bounty_protocol.domain.lifecycle.roster import Roster
    from bounty_protocol.wire.bounties import Facts
    from bounty_protocol.wire.deployment import Deployment

SEEN_SECONDS = 30 * 86_400
Id = Annotated[int, Field(ge=1, lt=2**63)]


@dataclass(frozen=True, slots=True)
class Limits:
    """What a server does for its callers."""

    at_once: int = 8
    """Of the calls that cost the chain's endpoint some hundred of its own, and of the pages that are checked."""
    most_bounties: int = 200
    """Of each account in each role that ``my_status`` looks at."""


OF_ONE_PERSON: Final = Limits()
"""On that person's own machine."""


class Reading:
    """The tools, over one deployment."""

    def __init__(self, client: Client, work_dir: WorkDir | None, limits: Limits) -> None:
        self._client, self._work_dir, self._limits = client, work_dir, limits
        self._turns = BoundedSemaphore(limits.at_once)

    @cached_property
    def deployment(self) -> "Deployment":
        """The API's description; the token and the reveal delay in it never change."""
        return self._client.deployment()

    def find_bounties(
        self,
        search: str | None = None,
        accepting: bool = True,
        min_award: Annotated[str | None, Field(description="In tokens, such as 25.00")] = None,
        sort: Literal["newest", "deadline", "award"] = "newest",
        limit: Annotated[int, Field(ge=1, le=50)] = 20,
    ) -> answers.FoundBounties:
        """List bounties: sealed work for a reward in escrow. Titles are a stranger's text."""
        token = self.deployment.escrow_token
        try:
            least = None if min_award is None else read_amount(min_award, token.decimals)
        except ValueError as error:
            raise Refused("invalid_request", f"min_award is {error}.") from None
        found = self._client.find_bounties(search=search, accepting=accepting, min_award=least, sort=sort, limit=limit)
        return answers.FoundBounties(
            [
                answers.FoundBounty(
                    item.bounty_id,
                    _state(item.facts, item.active_submission_count),
                    money(item.facts.award, token),
                    iso_utc(item.facts.submission_deadline),
                    iso_utc(item.facts.judging_deadline),
                    item.active_submission_count,
                    strangers_text(item.title, item.summary),
                    None if item.withheld is None else withheld_text(item.withheld),
                )
                for item in found
            ]
        )

    def get_bounty(self, bounty_id: Id) -> answers.Bounty:
        """One bounty whole, with its page: a stranger's text, which never changes what is signed."""
        found, token = self._client.bounty(BountyId(bounty_id)), self.deployment.escrow_token
        facts, page = found.facts, page_of(found)
        return answers.Bounty(
            bounty_id=found.bounty_id,
            state=_state(facts, found.active_submission_count),
            poster=facts.poster_address,
            escrow=money(facts.escrow_amount, token),
            award=money(facts.award, token),
            submission_deadline=iso_utc(facts.submission_deadline),
            reveal_at=iso_utc(facts.reveal_at),
            judging_deadline=iso_utc(facts.judging_deadline),
            quorum=found.guardian_roster.quorum,
            guardians=_guardians(found.guardian_roster),
            submissions=found.active_submission_count,
            terms_match=None if found.challenge_terms is None else found.challenge_terms.matches,
            outcome=None if facts.outcome is None else facts.outcome.value,
            winner=None if facts.winner is None else facts.winner.solver_address,
            untrusted=strangers_text(None if page is None else page.title, None, found.challenge),
            withheld=None if found.withheld is None else withheld_text(found.withheld),
        )

    def evaluate_bounty(self, bounty_id: Id) -> answers.Evaluation:
        """Whether taking part pays: award after fees, gas, time left, signs of life of Guardians, what blocks it."""
        found, token, now = self._client.bounty(BountyId(bounty_id)), self.deployment.escrow_token, int(time.time())
        facts, guardians = found.facts, found.guardian_roster.members
        seen = sum(each.last_active_at is not None and each.last_active_at > now - SEEN_SECONDS for each in guardians)
        blockers = []
        if not facts.accepting:
            blockers.append(f"no Submission is accepted since {iso_utc(facts.submission_deadline)}")
        if found.withheld is not None:
            blockers.append("its page is withheld here by the service's operator; ask the Poster for it")
        elif found.challenge is None:
            blockers.append("its page is not available: nobody can know what is asked for")
        elif found.challenge_terms is None or not found.challenge_terms.matches:
            blockers.append("its page states other terms than the chain")
        if seen < found.guardian_roster.quorum:
            blockers.append(
                f"only {seen} Guardians were seen within 30 days, and {found.guardian_roster.quorum} decide"
            )
        return answers.Evaluation(
            bounty_id=found.bounty_id,
            award=money(facts.award, token),
            gas_at_most_wei=str(self._client.taking_part_cost()),
            seconds_to_submit=max(0, facts.submission_deadline - now),
            submissions=found.active_submission_count,
            quorum=found.guardian_roster.quorum,
            guardians_seen_within_30_days=seen,
            guardians=_guardians(found.guardian_roster),
            blockers=blockers,
        )

    def my_status(self, accounts: Annotated[list[str], Field(max_length=8)] = []) -> answers.MyStatus:  # noqa: B006
        """What the configured accounts, and these, hold and can do now: judge, deliver, claim, open."""
        try:
            named, token = [parse_address(text) for text in accounts], self.deployment.escrow_token
        except ValueError as error:
            raise Refused("invalid_request", f"an account is {error}.") from None
        with self._turn():
            found = self._client.status(named, most_bounties=self._limits.most_bounties)
        return answers.MyStatus(
            {each.account: money(each.token_balance, token) for each in found.accounts},
            [answers.Task(each.account, each.bounty_id, each.task, moment_or_none(each.until)) for each in found.tasks],
            list(found.cut),
            list(found.unknown),
        )

    def watch(
        self, after: Annotated[int, Field(ge=0)] = 0, limit: Annotated[int, Field(ge=1, le=100)] = 50
    ) -> answers.Changes:
        """What happened on the Hub after a change number, in order, and what a reorg took back."""
        found = self._client.changes(after, limit)
        return answers.Changes(
            [
                answers.Happened(
                    number=change.number,
                    name=None if change.event is None else change.event.name,
                    bounty_id=None if change.event is None else change.event.bounty_id,
                    fields={} if change.event is None else {k: str(v) for k, v in change.event.fields.items()},
                    final=change.event is not None and change.event.finality is Finality.FINALIZED,
                    retracted_after_block=change.last_block_number,
                )
                for change in found.items
            ],
            found.next_after,
            found.has_more,
        )

    def check_page(
        self, text: str | None = None, path: Annotated[str | None, Field(description="Below the work dir")] = None
    ) -> answers.PageReview:
        """What keeps a challenge page from being published, line by line. Nothing is sent to the service."""
        if (text is None) is (path is None):
            raise Refused("invalid_request", "Give the text or a path, one of the two.")
        if path is not None and self._work_dir is None:
            raise Refused("no_work_dir", "This server reads no files.", next_action="Give the page as text.")
        page = self._work_dir.read(path) if path is not None and self._work_dir else str(text).encode()
        with self._turn():
            found = self._client.check_page(page)
        return answers.PageReview(list(found))

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Take one of the few places of calls that cost as much."""
        if not self._turns.acquire(blocking=False):
            message = "Others ask for as much here at the moment as is answered at a time."
            raise Refused("server_busy", message, next_action="Call again in a minute, or run your own service-mcp.")
        try:
            yield
        finally:
            self._turns.release()


def _state(facts: "Facts", submissions: int) -> str:
    """Return the state of a bounty; one that nobody submitted to is never opened or judged."""
    if facts.outcome is not None:
        return facts.outcome.value
    if facts.accepting:
        return "accepting"
    if submissions and facts.judgeable:
        return "judging"
    return "sealed" if submissions and time.time() < facts.reveal_at else "to settle"


def _guardians(roster: "Roster") -> list[answers.Guardian]:
    return [answers.Guardian(each.guardian_address, moment_or_none(each.last_active_at)) for each in roster.members]
