"""The client for programs: each act of each role as one call, which returns what came of it or raises why not.

A ``Client`` is one deployment and the keys of those who act on it. Nothing is printed and nobody is asked anything:
where the command asks a person at a terminal, the call takes the answer as an argument, and without it raises the
command's refusal. Every act is remembered in the state directory that the command uses, so that a call that was
interrupted, in this process or by its end, continues when it is made again, and is done once.

Raises ``Refused`` for what the state does not permit and ``Failed`` for what may pass when it is called again, both
with ``code``, ``message`` and ``next_action``. Amounts are whole numbers of the token's smallest unit, moments are
seconds since 1970 by the chain, and results are frozen dataclasses that the reference of events describes.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeVar

from bounty_protocol.errors import ServiceError
from bounty_protocol.types import Address, BlockNumber, BountyId, Bytes32, TokenAmount, Wei
from bounty_protocol.wire.bounties import BountyDetail, BountyItem
from bounty_protocol.wire.changes import ChangeList
from bounty_protocol.wire.deployment import Deployment, RubricDocument
from bounty_protocol.wire.reading import read

from service_cli.acts.claim_all import claim_all
from service_cli.acts.claim_events import ClaimedFee, ClaimTotal, PaidClaim, SignOfLife
from service_cli.acts.claims import ClaimPreview, claim, claim_fee, claimant, preview_claim
from service_cli.acts.deliver import deliver_key
from service_cli.acts.fund_events import FundedBounty, FundingPreview
from service_cli.acts.heartbeat import heartbeat
from service_cli.acts.publish import FundingConsent, check_page, publish_and_fund
from service_cli.acts.submit import SubmitOptions, check_submission, submit
from service_cli.acts.submit_events import SubmissionPreview, SubmittedWork
from service_cli.acts.verdict import VerdictPreview, preview_verdict, record_verdict
from service_cli.acts.verdict_checks import VerdictOptions
from service_cli.acts.verdict_events import AnchoredVerdict, DeliveredKey
from service_cli.api import ApiClient, api_of
from service_cli.chain.outside import ExternalSigner
from service_cli.chain.session import ChainClient
from service_cli.chain.signer import account_of, local_signer
from service_cli.chain.transactions import most_cost
from service_cli.config.environment import GUARDIAN_KEY, SOLVER_KEY, Environment
from service_cli.config.settings import BEACON, CHAIN, CHAIN_AND_API, Settings, ToBeSigned, load_settings
from service_cli.disk import state_below
from service_cli.errors import CommandFailed as Failed
from service_cli.errors import CommandRefused as Refused
from service_cli.queries.events import FinalBounty, ShownVerdict
from service_cli.queries.judgeable import Judgeable, list_judgeable
from service_cli.queries.listing import deployment, listed, show_bounty
from service_cli.queries.status import KEYS, AccountsAtWork, show_status
from service_cli.queries.submissions import Choice, CommitmentBeginning
from service_cli.queries.verdicts import show_verdicts
from service_cli.queries.watch import watch_bounty
from service_cli.ui.event import Event
from service_cli.ui.output import OutputSink, redirected
from service_cli.work.checking import review_page
from service_cli.work.events import OpenedBounty, OpenedSubmission, OpenedWinningWork
from service_cli.work.opening import open_one, open_submissions
from service_cli.work.page_events import PageIssue
from service_cli.work.winning import open_winning_submission

__all__ = ["Client", "Failed", "ProgressReport", "Refused", "ToBeSigned"]

_API = ("SERVICE_API_BASE_URL",)
_HUB_AND_API = ("SERVICE_HUB_ADDRESS", "SERVICE_API_BASE_URL")
R = TypeVar("R")
Sort = Literal["newest", "deadline", "award"]
Role = Literal["poster", "solver", "guardian", "claimant"]
Named = tuple[Address, Bytes32] | str | None
"""A Submission: its Solver and commitment, or how the commitment of one that was opened here begins; or none."""


@dataclass(frozen=True, slots=True)
class ProgressReport:
    """How far a long part of a call is, such as sealing or an upload; ``done`` and ``total`` are bytes."""

    what: str
    done: int
    total: int


class Client:
    """One deployment, and the accounts that act on it."""

    def __init__(
        self,
        values: Mapping[str, str],
        network: str | None = None,
        *,
        max_cost: int | None = None,
        state_directory: Path | None = None,
        on_progress: Callable[[ProgressReport], None] = lambda _: None,
        on_event: Callable[[Event], None] = lambda _: None,
        on_message: Callable[[str], None] = lambda _: None,
        before_signing: Callable[[ToBeSigned], None] = lambda _: None,
    ) -> None:
        """``values``: by the names of the command's variables (the reference of settings), keys included; neither the
        environment nor a ``.env`` is read. ``network``: ``mainnet``, ``staging``, ``local`` or a chain id, instead of
        ``SERVICE_CHAIN_ID``.

        ``max_cost``: the most each transaction may cost in gas, in wei; by default 0.003 ether. ``state_directory``:
        where acts are remembered, instead of the command's; two programs with one account need the same one.

        ``on_progress``, ``on_event`` (each step of an act as it is done) and ``on_message`` (sentences for people) are
        called from the thread of the call, and so is ``before_signing`` with each transaction or authorization of the
        token that a key here is about to sign: with a ``Refused`` that it raises, nothing is signed.
        """
        self._environment = Environment(dict(values), {})
        self._network, self._max_cost, self._state = network, max_cost, state_directory
        self._before_signing = before_signing
        self._sink = OutputSink(on_event, on_message, lambda *step: on_progress(ProgressReport(*step)))

        self._reading: ApiClient | None = None

    # --- what anybody can read

    def deployment(self) -> Deployment:
        """Read the API's own description; refuse another deployment's."""
        with self._at_work(_API) as settings:
            return deployment(settings, self._reading or api_of(settings))

    def find_bounties(
        self,
        *,
        status: Literal["open", "final"] | None = None,
        accepting: bool = False,
        judgeable: bool = False,
        poster: Address | None = None,
        solver: Address | None = None,
        guardian: Address | None = None,
        search: str | None = None,
        tag: str | None = None,
        min_award: TokenAmount | None = None,
        max_award: TokenAmount | None = None,
        deadline_after: int | None = None,
        deadline_before: int | None = None,
        sort: Sort = "newest",
        limit: int = 20,
    ) -> tuple[BountyItem, ...]:
        """List the first ``limit`` bounties of the API's list that match every filter.

        ``accepting`` and ``judgeable`` are as of the newest indexed block; ``search`` searches titles and summaries; an
        award is what a winner gets, after fees.
        """
        asked: Mapping[str, object] = {
            "status": status,
            "accepting": "true" if accepting else None,
            "judgeable": "true" if judgeable else None,
            "poster_address": poster,
            "solver_address": solver,
            "guardian_address": guardian,
            "search": search,
            "tag": tag,
            "min_award": min_award,
            "max_award": max_award,
            "deadline_after": deadline_after,
            "deadline_before": deadline_before,
            "sort": sort,
        }
        with self._at_work(_API) as settings:
            api = self._api(settings)
            filters = {name: str(value) for name, value in asked.items() if value is not None}
            return tuple(api.peer.read(BountyItem, item) for item in listed(api, filters, limit))

    def bounty(self, bounty_id: BountyId) -> BountyDetail:
        """Read one bounty from the API: its facts, roster, active Submissions, page and record."""
        with self._at_work(_HUB_AND_API) as settings:
            return read(BountyDetail, show_bounty(settings, bounty_id).more)

    def verdicts(self, bounty_id: BountyId) -> tuple[ShownVerdict, ...]:
        """Read each Guardian's last Verdict from the Hub's log, with the reasons that match its hash."""
        with self._at_work(CHAIN_AND_API) as settings:
            return show_verdicts(settings, bounty_id)

    def changes(self, after: int = 0, limit: int = 100) -> ChangeList:
        """List every event of the Hub after change number ``after``, in order, and retractions after reorgs; pass
        ``next_after`` to get more. At most 500 at once.
        """
        with self._at_work(_API) as settings:
            query = {"after": str(after), "limit": str(limit)}
            return self._api(settings).get("/api/changes", query).read(ChangeList)

    def taking_part_cost(self) -> Wei:
        """Return the most that recording a Submission and claiming its award may cost in gas now, in wei."""
        with self._at_work(CHAIN) as settings:
            return most_cost(ChainClient(settings), ("submit", "claim"))

    def rubric(self) -> str:
        """Read what a readiness review of a page checks, as Markdown."""
        with self._at_work(_API) as settings:
            return self._api(settings).get("/api/readiness-rubric").read(RubricDocument).text

    def account(self, role: Role) -> Address | None:
        """Return the account of a role's key; None if the role has no key here."""
        with self._at_work(None) as settings:
            has_key = settings.environment.source(KEYS[role]) is not None
            return account_of(settings, KEYS[role]) if has_key else None

    def is_final(self, block_number: BlockNumber) -> bool:
        """Return whether the chain has finalized a block."""
        with self._at_work(CHAIN) as settings:
            return ChainClient(settings).finalized().number >= block_number

    def watch(self, bounty_id: BountyId) -> FinalBounty:
        """Follow a bounty on the chain until its outcome is finalized; ``on_event`` gets each of its events."""
        with self._at_work(CHAIN_AND_API) as settings:
            return watch_bounty(settings, bounty_id)

    def status(self, accounts: Sequence[Address] = (), *, most_bounties: int = 200) -> AccountsAtWork:
        """Report, for each account with a configured key and for ``accounts``, what it holds and what it can do now,
        over at most ``most_bounties`` in each role; ``cut`` names accounts with more, ``unknown`` what could not be
        checked.
        """
        with self._at_work(CHAIN_AND_API) as settings:
            return show_status(settings, tuple(accounts), most_bounties=most_bounties)

    # --- the Poster

    def check_page(self, page: bytes, *, offline: bool = False) -> tuple[PageIssue, ...]:
        """Check a page by the rules and, unless ``offline``, by the limits of a configured Hub; send nothing to the
        API.
        """
        with self._at_work(None) as settings:
            return review_page(settings, page, offline=offline)

    def preview_funding(self, page: bytes, poster: Address | None = None) -> FundingPreview:
        """Preview what funding this page would fix and cost; refuse whatever can be known that ``fund`` would
        refuse.
        """
        with self._at_work(CHAIN) as settings:
            return check_page(settings, page, poster)

    def fund(self, page: bytes, *, again: bool = False) -> FundedBounty:
        """Publish a page and pay its escrow into the Hub, once: the same page is the same bounty.

        ``again``: a further escrow for the same page.
        """
        with self._at_work(CHAIN_AND_API) as settings:
            return publish_and_fund(settings, page, FundingConsent(yes=True, again=again))

    def open_winning_work(
        self, bounty_id: BountyId, directory: Path | None = None, *, original_names: bool = False
    ) -> OpenedWinningWork:
        """Open the winner's files in a new or empty directory."""
        with self._at_work(CHAIN_AND_API) as settings:
            return open_winning_submission(settings, bounty_id, directory, original_names=original_names)

    # --- the Solver

    def preview_submission(
        self, bounty_id: BountyId, directory: Path, *, wallet: Address | None = None
    ) -> SubmissionPreview:
        """List the files that would be sealed, and what recording them costs; seal, sign and send nothing."""
        with self._at_work((*CHAIN_AND_API, *BEACON)) as settings:
            signer = local_signer(settings, SOLVER_KEY) if wallet is None else ExternalSigner(wallet)
            return check_submission(settings, signer, bounty_id, directory, SubmitOptions())

    def submit(
        self,
        bounty_id: BountyId,
        directory: Path,
        *,
        replace: bool = False,
        include_suspicious: bool = False,
        accept_term_differences: bool = False,
        without_api: bool = False,
        in_place_of: Bytes32 | None = None,
    ) -> SubmittedWork:
        """Seal a directory, upload it and record the Submission; the options are those of ``solver:submit``.

        With ``in_place_of``, the commitment that a preview named as ``replaces`` (32 zero bytes for none), it is
        refused with ``submission_exists`` once the Hub records another one.
        """
        options = SubmitOptions(accept_term_differences, without_api, replace, include_suspicious, in_place_of)
        with self._at_work((*CHAIN_AND_API, *BEACON)) as settings:
            return _done(
                submit(settings, local_signer(settings, SOLVER_KEY), bounty_id, directory, options), SubmittedWork
            )

    # --- the Guardian

    def judgeable(self, guardian: Address | None = None) -> Judgeable:
        """List what a Guardian can judge now; without ``guardian``, for the account of the key."""
        with self._at_work((*_HUB_AND_API, "SERVICE_SUBGRAPH_ENDPOINT")) as settings:
            return list_judgeable(settings, account_of(settings, GUARDIAN_KEY) if guardian is None else guardian)

    def open_submissions(self, bounty_id: BountyId, directory: Path, *, original_names: bool = False) -> OpenedBounty:
        """Open every Submission of a bounty, each in its own directory in ``directory``."""
        with self._at_work((*CHAIN_AND_API, *BEACON)) as settings:
            return open_submissions(settings, bounty_id, directory, original_names=original_names)

    def open_submission(
        self, bounty_id: BountyId, submission: str, directory: Path, *, original_names: bool = False
    ) -> OpenedSubmission:
        """Open the Submission whose commitment begins with these 16 or more digits."""
        choice = _beginning(submission)
        with self._at_work((*CHAIN_AND_API, *BEACON)) as settings:
            return open_one(settings, bounty_id, choice, directory, None, original_names=original_names)

    def record_verdict(
        self,
        bounty_id: BountyId,
        reasons: str,
        winner: Named,
        *,
        replace: bool = False,
        unopened: bool = False,
    ) -> AnchoredVerdict:
        """Publish the reasons and record an award to ``winner``: a Solver with a commitment, or the first digits of an
        opened one; None means that no Submission is valid. The options are those of ``guardian:verdict``.
        """
        options = VerdictOptions(replace, unopened)
        with self._at_work(CHAIN_AND_API) as settings:
            return record_verdict(settings, bounty_id, _choice(winner), reasons.encode(), options)

    def preview_verdict(
        self, bounty_id: BountyId, reasons: str, winner: Named, guardian: Address | None = None
    ) -> VerdictPreview:
        """Preview the Verdict that ``record_verdict`` would record, by ``guardian`` or the account of the key, and what
        it costs; refuse what ``record_verdict`` would refuse.
        """
        with self._at_work(CHAIN_AND_API) as settings:
            return preview_verdict(settings, bounty_id, _choice(winner), reasons.encode(), guardian)

    def deliver_key(self, bounty_id: BountyId) -> DeliveredKey:
        """Deliver the winning work's key to the delivery service, for the Poster."""
        with self._at_work((*CHAIN_AND_API, *BEACON)) as settings:
            return deliver_key(settings, bounty_id, None)

    def claim_fee(self, bounty_id: BountyId) -> ClaimedFee:
        """Claim the Guardian's share of a bounty that ended."""
        with self._at_work(CHAIN) as settings:
            return _done(claim_fee(settings, bounty_id), ClaimedFee)

    def heartbeat(self) -> SignOfLife:
        """Record the Guardian's heartbeat."""
        with self._at_work(CHAIN) as settings:
            return heartbeat(settings)

    # --- whoever is owed something

    def preview_claim(self, bounty_id: BountyId, account: Address | None = None) -> ClaimPreview:
        """Preview the award or refund that the Hub owes ``account``, by default the account of the key; sign
        nothing.
        """
        with self._at_work(CHAIN) as settings:
            return preview_claim(settings, bounty_id, account or claimant(settings).address)

    def claim(self, bounty_id: BountyId, *, account: Address | None = None) -> PaidClaim:
        """Claim the award or the refund of one bounty, only with the key of ``account``."""
        with self._at_work(CHAIN) as settings:
            return _done(claim(settings, bounty_id, claimant(settings, account)), PaidClaim)

    def claim_all(self) -> ClaimTotal:
        """Claim every amount that the account can claim now."""
        with self._at_work(CHAIN) as settings:
            return claim_all(settings, claimant(settings))

    def _api(self, settings: Settings) -> ApiClient:
        """Return the API for public reads, once found to serve this deployment: its connections stay open between
        calls.
        """
        if self._reading is None:
            api = api_of(settings)
            deployment(settings, api)
            self._reading = api
        return self._reading

    @contextmanager
    def _at_work(self, needs: Sequence[str] | None) -> Iterator[Settings]:
        """Open the settings of one call, in which nothing is printed and every refusal becomes a ``Refused`` or
        ``Failed``.
        """
        with ExitStack() as stack:
            stack.enter_context(redirected(self._sink))
            if self._state is not None:
                stack.enter_context(state_below(self._state))
            try:
                found = load_settings(self._network, None, needs, self._environment, self._max_cost)
                yield replace(found, before_signing=self._before_signing)
            except (Refused, Failed):
                raise
            except ServiceError as error:  # a page, an envelope or sealed data was refused: final for these bytes
                raise Refused(error.code, error.message, issues=error.issues, next_action=error.next_action) from error


def _done(found: object, kind: type[R]) -> R:
    """Return the result of an act, which a key's own call always has."""
    if not isinstance(found, kind):
        raise TypeError("an act returned another signer")
    return found


def _choice(winner: Named) -> Choice | None:
    return _beginning(winner) if isinstance(winner, str) else winner


def _beginning(submission: str) -> CommitmentBeginning:
    """Parse the first digits of a commitment; refuse anything else."""
    try:
        return CommitmentBeginning.parse(submission)
    except ValueError as error:
        next_action = "Name the Submission as its directory is named, such as 0xf0abebe67af0486f."
        raise Refused("invalid_request", f"A Submission is named by {error}.", next_action=next_action) from None
