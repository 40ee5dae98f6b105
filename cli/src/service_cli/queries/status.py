"""``status``: whose accounts are configured, what they hold, and what waits for each of them, soonest deadline first.

Nothing is signed. The API's list says which bounties to look at; what waits is read from the contract, so that an API
that shows less than there is can only hide work, never invent any. A key is read to know its account.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from bounty_protocol.chain.hub import BountyView
from bounty_protocol.domain.lifecycle.states import Outcome
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import Address, BountyId, Bytes32, parse_bounty_id
from bounty_protocol.wire.deployment import DeploymentStatus

from service_cli.api import ApiClient, api_of, is_delivered, subgraph_of
from service_cli.chain.journal import OPENED_WINNER
from service_cli.chain.session import ChainClient, chain_errors
from service_cli.chain.signer import account_of
from service_cli.chain.token import allowance
from service_cli.config.environment import CLAIMANT_KEY, GUARDIAN_KEY, POSTER_KEY, SOLVER_KEY
from service_cli.config.settings import Settings
from service_cli.queries.listing import deployment, listed
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
    bounty_id: BountyId
    submission_commitment: Bytes32


@dataclass(frozen=True, slots=True)
class _LostSubmissions:
    submissions: tuple[_LostSubmission, ...]


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
    """Run the command ``status``."""
    chain, api = ChainClient(settings), api_of(settings)
    accounts = _accounts(settings, addresses)
    deployment(settings, api)
    # One line where the service lacks bytes of recorded Submissions; an API that cannot say ends nothing.
    with suppress(ServiceError):
        if lost := api.get("/api/status", patient=False).read(DeploymentStatus).lost_submission_count:
            warn(
                f"the service lacks sealed bytes of {counted(lost, 'recorded Submission')}: each Solver can upload them"
            )
    look, held, tasks = _Look(chain, api, most_bounties), list[AccountStatus](), list[WaitingTask]()
    for account, roles in accounts.items():
        amounts = (chain.balance(account), chain.token_balance(account), allowance(chain, account))
        held.append(emit(AccountStatus(account, roles, *amounts)))
        found = [task for each in look.bounties(account) for task in look.tasks(*each, account)]
        for task in found:
            command = task.command
            if not roles and task.task in {"claim", "claim_fee"}:  # its key is not here: the claim that a wallet sends
                which = str(task.bounty_id) if task.task == "claim" else "--all"
                command = f"service-cli claim {which} --claimant-address {account}"
            tasks.append(replace(task, command=command))
        tasks += look.to_upload_again(account)
    tasks.sort(key=lambda task: (task.until is None, task.until, task.bounty_id))
    for task in tasks:
        emit(task)
    if not_there := [str(bounty_id) for bounty_id, view in look.views.items() if view is None]:
        what = f"what waits for you in bounty {', '.join(not_there[:20])}"
        look.note(what, "the RPC endpoint does not show it, and may be a block behind.")
    for account in look.cut:
        warn(f"{account} has more bounties than are checked ({most_bounties} a role): more may wait for it")
    emit(StatusTotal(len(accounts), len(tasks), len(look.unknown) + len(look.cut)))
    return AccountsAtWork(tuple(held), tuple(tasks), tuple(look.cut), tuple(look.unknown))


def _accounts(settings: Settings, addresses: tuple[Address, ...]) -> dict[Address, tuple[Role, ...]]:
    """Return each account with the roles whose keys it has."""
    found: dict[Address, tuple[Role, ...]] = {}
    for role, variable in KEYS.items():
        if settings.environment.source(variable) is not None:
            account = account_of(settings, variable)
            found[account] = (*found.get(account, ()), role)
    return found | {address: found.get(address, ()) for address in addresses}


class _Look:
    """What is looked at for all accounts: each bounty once, as the contract has it, and what could not be looked at."""

    def __init__(self, chain: ChainClient, api: ApiClient, most: int) -> None:
        self.chain, self.api, self.most, self.now = chain, api, most, chain.latest().time
        self.views: dict[BountyId, BountyView | None] = {}
        """None if the node has none: it may be behind the API, and what is listed may be made up."""
        self.cut: list[Address] = []
        """Accounts of which not all bounties are looked at."""
        self.unknown: list[str] = []
        self._owed: dict[BountyId, bool] = {}
        self._has_answers = True

    def note(self, what: str, reason: str) -> None:
        """Report something that is not known. The reason goes only to stderr, since the queried party may have written
        it.
        """
        self.unknown.append(what)
        warn(f"{what} is not known: {reason}")

    def bounties(self, account: Address) -> Iterator[tuple[BountyId, BountyView]]:
        """Yield the account's bounties by the API's lists. Every open bounty has the newest roster, so those to judge
        now are requested separately: they are among a Guardian's older ones.
        """
        found = set[BountyId]()
        for name, to_judge in _LISTS:
            items = list(listed(self.api, {name: account, **(TO_JUDGE if to_judge else {})}, self.most + 1))
            if len(items) > self.most and account not in self.cut:
                self.cut.append(account)
            for item in items[: self.most]:
                with suppress(ValueError):
                    found.add(parse_bounty_id(str(item.get("bounty_id"))))
        for bounty_id in sorted(found):
            if bounty_id not in self.views:
                self.views[bounty_id] = self.chain.hub.bounty(bounty_id)
            if (view := self.views[bounty_id]) is not None:
                yield bounty_id, view

    def tasks(self, bounty_id: BountyId, bounty: BountyView, account: Address) -> Iterator[WaitingTask]:
        """Yield what the account can do in a bounty."""
        chain, guards = self.chain, account in self.chain.pinned_roster(bounty).accounts
        if bounty.outcome is None:
            if guards and bounty.has_submissions and bounty.reveal_at <= self.now < bounty.judging_deadline:
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
            yield WaitingTask(account, bounty_id, "claim_fee", None, f"service-cli guardian:claim-fee {bounty_id}")
        if bounty.outcome is not Outcome.AWARDED:
            return
        if guards and self._is_owed(bounty_id, bounty):
            yield WaitingTask(account, bounty_id, "deliver", None, f"service-cli guardian:deliver-key {bounty_id}")
        was_opened = chain.records.was_done(OPENED_WINNER, str(bounty_id), bounty.winning_submission)
        is_closed = account == bounty.poster and not was_opened
        if is_closed and not self._is_owed(bounty_id, bounty):
            opening = f"service-cli poster:open-winning-submission {bounty_id}"
            yield WaitingTask(account, bounty_id, "open", None, opening)

    def _is_owed(self, bounty_id: BountyId, bounty: BountyView) -> bool:
        """Return whether a Poster is waiting for a winning key. Only the API knows, and it is queried once; False if it
        cannot say.
        """
        if bounty_id not in self._owed:
            try:
                self._owed[bounty_id] = self._has_answers and not is_delivered(
                    self.api, str(bounty_id), bounty.winning_submission, patient=False
                )
            except ServiceError as error:
                self._owed[bounty_id] = self._has_answers = False
                self.note("which winning keys are still to be delivered", error.message)
        return self._owed[bounty_id]

    def to_upload_again(self, account: Address) -> Iterator[WaitingTask]:
        """Yield work of this Solver that the service reports as lost, if the contract records that work."""
        try:
            subgraph = subgraph_of(self.chain.settings)
            rows = subgraph.query(_LostSubmissions, LOST, {"solver": account}, patient=False).submissions
        except ServiceError as error:
            self.note(f"whether sealed work of {account} was lost", error.message)
            return
        for row in rows:
            recorded = self.chain.hub.submission(row.bounty_id, account)
            if recorded == row.submission_commitment:
                uploading = f"service-cli solver:submit {row.bounty_id} DIRECTORY"
                yield WaitingTask(account, row.bounty_id, "reupload", None, uploading)
