"""``status``: whose accounts are configured, what they hold, and what waits for each of them, soonest deadline first.

Nothing is signed. The API's list says which bounties to look at; what waits is read from the contract, so that an API
that shows less than there is can only hide work, never invent any. A key is read to know its account.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from bounty_protocol.chain.hub import BountyView
from bounty_protocol.domain.lifecycle import Outcome
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import Address, BountyId, parse_bounty_id
from bounty_protocol.wire.deployment import DeploymentStatus
from bounty_protocol.wire.reading import read

from service_cli.api import ApiClient, api_of, is_delivered, subgraph_of
from service_cli.chain.journal import was_done, winning_work_name
from service_cli.chain.session import ChainClient, chain_errors
from service_cli.chain.signer import account_of
from service_cli.chain.token import allowance
from service_cli.config.environment import CLAIMANT_KEY, GUARDIAN_KEY, POSTER_KEY, SOLVER_KEY
from service_cli.config.settings import Settings
from service_cli.queries.listing import listed, require_deployment
from service_cli.queries.status_events import AccountStatus, Role, StatusTotal, WaitingTask
from service_cli.ui.output import emit, warn
from service_cli.ui.text import counted

MOST_BOUNTIES: Final = 200
"""Looked at for each account in each role, the newest first; and of those that it may have to judge now, as many, those
first whose deadlines passed first."""
LOST: Final = """
query Lost($solver: String!) {
  submissions(where: {solver_address: $solver, lost_since_gt: 0}, first: 100) { bounty_id submission_commitment }
}
"""
KEYS: Final[Mapping[Role, str]] = {
    "poster": POSTER_KEY,
    "solver": SOLVER_KEY,
    "guardian": GUARDIAN_KEY,
    "claimant": CLAIMANT_KEY,
}
"""The variable that has each role's key."""
TO_JUDGE: Final[Mapping[str, str]] = {"judgeable": "true", "sort": "deadline"}
_LISTS: Final = (
    ("guardian_address", True),
    ("poster_address", False),
    ("solver_address", False),
    ("guardian_address", False),
)
"""The filters by which an account's bounties are listed, and whether those to judge now alone."""


@dataclass(frozen=True, slots=True)
class _LostSubmission:
    bounty_id: str
    submission_commitment: str


@dataclass(frozen=True, slots=True)
class _LostSubmissions:
    submissions: tuple[_LostSubmission, ...]


@dataclass(frozen=True, slots=True)
class _LostAnswer:
    data: _LostSubmissions


@dataclass(frozen=True, slots=True)
class AccountsAtWork:
    """Each account, and what waits for them."""

    accounts: tuple[AccountStatus, ...]
    tasks: tuple[WaitingTask, ...]
    cut: tuple[Address, ...] = ()
    """Those of which more bounties are listed than were looked at: more may wait for them."""
    unknown: tuple[str, ...] = ()
    """What could not be looked at, each in a few words: more may wait there, and work be called ready to open early."""


def show_status(
    settings: Settings, addresses: tuple[Address, ...], *, most_bounties: int = MOST_BOUNTIES
) -> AccountsAtWork:
    """The command ``status``."""
    chain, api = ChainClient.checked(settings), api_of(settings)
    accounts = _accounts(settings, addresses)
    require_deployment(settings, api)
    unknown = _Unknown()
    # One line where the service lacks bytes of recorded Submissions; an API that cannot say ends nothing.
    with suppress(ServiceError):
        if lost := api.get("/api/status", patient=False).read(DeploymentStatus).lost_submission_count:
            warn(
                f"the service lacks sealed bytes of {counted(lost, 'recorded Submission')}: each Solver can upload them"
            )
    now, tasks, deliveries = chain.latest().time, list[WaitingTask](), _Deliveries(api, unknown)
    bounties = _Bounties(chain, api, most_bounties)
    held = []
    for account, roles in accounts.items():
        amounts = (chain.balance(account), chain.token_balance(account), allowance(chain, account))
        held.append(emit(AccountStatus(account, roles, *amounts)))
        found = [
            task
            for bounty_id, bounty in bounties.of(account)
            for task in _of_bounty(chain, deliveries, bounty_id, bounty, account, now)
        ]
        tasks += found if roles else map(_for_wallet, found)
        tasks += _to_upload_again(settings, chain, account, unknown)
    tasks.sort(key=lambda task: (task.until is None, task.until, task.bounty_id))
    for task in tasks:
        emit(task)
    if bounties.not_there:
        which = ", ".join(map(str, bounties.not_there[:20]))
        unknown.add(f"what waits in bounty {which}", "the RPC endpoint does not have it, and may be a block behind.")
    for account in bounties.cut:
        warn(f"{account} has more bounties than are looked at ({most_bounties} a role): more may wait for it")
    emit(StatusTotal(len(accounts), len(tasks), len(unknown.found) + len(bounties.cut)))
    return AccountsAtWork(tuple(held), tuple(tasks), tuple(bounties.cut), tuple(unknown.found))


def _accounts(settings: Settings, addresses: tuple[Address, ...]) -> dict[Address, tuple[Role, ...]]:
    """Each account with the roles whose keys it has."""
    found: dict[Address, tuple[Role, ...]] = {}
    for role, variable in KEYS.items():
        if settings.environment.source(variable) is not None:
            account = account_of(settings, variable)
            found[account] = (*found.get(account, ()), role)
    return found | {address: found.get(address, ()) for address in addresses}


class _Unknown:
    """What could not be looked at. Its reason is on stderr alone: whoever was asked may have written it."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def add(self, what: str, reason: str) -> None:
        self.found.append(what)
        warn(f"{what} is not known: {reason}")


class _Deliveries:
    """Whether a Poster waits for a winning key. Only the API knows, and is asked once; of all where it cannot say."""

    def __init__(self, api: ApiClient, unknown: _Unknown) -> None:
        self._api, self._unknown = api, unknown
        self._answers = True
        self._owed: dict[BountyId, bool] = {}

    def owed(self, bounty_id: BountyId, bounty: BountyView) -> bool:
        """False, too, where the API cannot say."""
        if bounty_id not in self._owed:
            self._owed[bounty_id] = self._is_owed(bounty_id, bounty)
        return self._owed[bounty_id]

    def _is_owed(self, bounty_id: BountyId, bounty: BountyView) -> bool:

        try:
            return self._answers and not is_delivered(
                self._api, str(bounty_id), bounty.winning_submission, patient=False
            )
        except ServiceError as error:
            self._answers = False
            self._unknown.add("which winning keys are still to be delivered", error.message)
            return False


class _Bounties:
    """The bounties to look at for each account by the API, as the contract has them; each read once."""

    def __init__(self, chain: ChainClient, api: ApiClient, most: int) -> None:
        self._chain, self._api, self._most = chain, api, most
        self._views: dict[BountyId, BountyView | None] = {}
        self._named: dict[Address, list[BountyId]] = {}
        self.cut: list[Address] = []
        """Accounts of which not all bounties are looked at."""
        self.not_there: list[BountyId] = []
        """Those that the node does not have: it may be behind the API, and what is listed may be made up."""

    def of(self, account: Address) -> Iterator[tuple[BountyId, BountyView]]:
        """In any of its roles."""
        if account not in self._named:
            texts = sorted(self._listed(account))
            known = [text for text in texts if text.isascii() and text.isdigit() and 0 < int(text) < 2**63]
            self._named[account] = [BountyId(int(text)) for text in known]
        for bounty_id in self._named[account]:
            if bounty_id not in self._views:
                with chain_errors():
                    self._views[bounty_id] = self._chain.hub.bounty(bounty_id)
                if self._views[bounty_id] is None:
                    self.not_there.append(bounty_id)
            if (view := self._views[bounty_id]) is not None:
                yield bounty_id, view

    def _listed(self, account: Address) -> set[str]:
        """Their numbers by the API, and whether that is cut. Every open bounty has the newest roster, so that those to
        judge now are asked for apart: among all of a Guardian's they are the older ones."""
        found: set[str] = set()
        for name, to_judge in _LISTS:
            items = list(listed(self._api, {name: account, **(TO_JUDGE if to_judge else {})}, self._most + 1))
            if len(items) > self._most and account not in self.cut:
                self.cut.append(account)
            found.update(str(item.get("bounty_id")) for item in items[: self._most])
        return found


def _of_bounty(
    chain: ChainClient,
    deliveries: "_Deliveries",
    bounty_id: BountyId,
    bounty: BountyView,
    account: Address,
    now: int,
) -> Iterator[WaitingTask]:

    guards = account in chain.pinned_roster(bounty).accounts
    if bounty.outcome is None:
        if guards and bounty.has_submissions and bounty.reveal_at <= now < bounty.judging_deadline:
            with chain_errors():
                judged = chain.hub.verdict(bounty_id, account).kind is not None
            if not judged:
                listing = f"service-cli guardian:judgeable --guardian-address {account}"
                yield WaitingTask(account, bounty_id, "judge", bounty.judging_deadline, listing)
        return
    with chain_errors():
        (due,) = chain.hub.read("claimable", bounty_id, account)
    if due and account in {bounty.poster, bounty.winner}:
        yield WaitingTask(account, bounty_id, "claim", None, f"service-cli claim {bounty_id}")
    elif due and guards:
        claiming = f"service-cli guardian:claim-fee {bounty_id}"
        yield WaitingTask(account, bounty_id, "claim_fee", None, claiming)
    if bounty.outcome is Outcome.AWARDED and guards and deliveries.owed(bounty_id, bounty):
        delivering = f"service-cli guardian:deliver-key {bounty_id}"
        yield WaitingTask(account, bounty_id, "deliver", None, delivering)
    if _may_open(chain, bounty_id, bounty, account) and not deliveries.owed(bounty_id, bounty):
        opening = f"service-cli poster:open-winning-submission {bounty_id}"
        yield WaitingTask(account, bounty_id, "open", None, opening)


def _to_upload_again(
    settings: Settings, chain: ChainClient, account: Address, unknown: _Unknown
) -> Iterator[WaitingTask]:
    """Work of this Solver that the service reports as lost, as far as it is the one that the contract has."""
    try:
        subgraph, path = subgraph_of(settings)
        answer = subgraph.post_json(path, {"query": LOST, "variables": {"solver": account}}, patient=False).json()
        rows = read(_LostAnswer, answer).data.submissions
        found = [(parse_bounty_id(row.bounty_id), row.submission_commitment) for row in rows]
    except (ServiceError, ValueError) as error:
        reason = error.message if isinstance(error, ServiceError) else "the answer has another form"
        unknown.add(f"whether sealed work of {account} was lost", reason)
        return
    for bounty_id, commitment in found:
        with chain_errors():
            recorded = chain.hub.submission(bounty_id, account)
        if recorded == commitment:
            uploading = f"service-cli solver:submit {bounty_id} DIRECTORY"
            yield WaitingTask(account, bounty_id, "reupload", None, uploading)


def _for_wallet(task: WaitingTask) -> WaitingTask:
    """For an account whose key is not here: the claim that a wallet sends."""
    if task.task not in {"claim", "claim_fee"}:
        return task
    which = str(task.bounty_id) if task.task == "claim" else "--all"
    return replace(task, command=f"service-cli claim {which} --claimant-address {task.account}")


def _may_open(chain: ChainClient, bounty_id: BountyId, bounty: BountyView, account: Address) -> bool:
    """Whether this Poster has winning work that it did not open on this machine."""
    name = winning_work_name(str(bounty_id), bounty.winning_submission)
    is_own = bounty.outcome is Outcome.AWARDED and account == bounty.poster
    return is_own and not was_done(chain.chain_id, chain.hub.address, *name)
