"""The tools that act for a role: prepare a plan, carry it out, open work, deliver a key.

Nothing is signed here unless a policy permits exactly that; otherwise a person approves in a wallet, on the service's
pages. What came of it is read from the chain, whoever signed it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Final

from bounty_protocol.types import ZERO_BYTES32, Address, BlockNumber, BountyId, Bytes32, ChainId
from pydantic import Field
from service_cli.client import Client, ToBeSigned
from service_cli.errors import CommandRefused
from service_cli.work.sealing import fingerprint
from service_cli.work.selection import select

from service_mcp import answers, plans
from service_mcp.answers import CarriedOut, Plan, money
from service_mcp.plans import Action, Content, Exact, KeptPlan, Request
from service_mcp.policy import ROLES, Policy, Role, Spending, charge, require_room, require_within
from service_mcp.reading import Id, Reading
from service_mcp.refusals import Refusal
from service_mcp.untrusted import shown
from service_mcp.work_dir import OPENED, WINNING, WorkDir

MOST_NAMES: Final = 50
CLAIMING: Final[frozenset[Role]] = frozenset({"solver", "poster"})
"""The roles to which the Hub pays something that ``prepare_claim`` claims."""
_ROLE_OF: Final[dict[Action, Role]] = {"fund": "poster", "submit": "solver", "verdict": "guardian", "claim": "solver"}
"""A claim is a Poster's, too: of what nobody won."""


@dataclass(frozen=True, slots=True)
class Derived:
    """What an act would do now: what is exact in it, and what is shown beside that."""

    exact: Exact
    words: str
    gas: int
    files: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    funded_as: tuple[BountyId, ...] = ()


class Acting:
    """The tools, for the accounts of one person."""

    def __init__(
        self,
        reading: Reading,
        client: Callable[..., Client],
        work_dir: WorkDir,
        policy: Policy | None,
        accounts: dict[Role, Address],
        pages: str,
    ) -> None:
        self._reading, self._make, self._work_dir, self._policy = reading, client, work_dir, policy
        self._accounts, self._pages = accounts, pages

    def require_own_keys(self, roles: frozenset[Role]) -> None:
        """Refuse to act as ``roles`` with a key of another account than those in whose name plans are signed."""
        for role in (each for each in ROLES if each in roles and self._signs(each)):
            if (named := self._known(role)) != (key := self._client.account(role)):
                message = f"--account names {named} as the {role}, and the key here is of {key}. Nothing was signed."
                next_action = f"Leave --account {role}=… out, or start the server without that key."
                raise Refusal("key_of_another", message, next_action=next_action)

    @cached_property
    def _client(self) -> Client:
        return self._signing(lambda _: None)

    def _signing(self, before_signing: Callable[[ToBeSigned], None]) -> Client:
        """Return a client that asks this before each transaction or authorization that it signs."""
        most = None if self._policy is None else self._policy.most_gas_per_action
        return self._make(max_cost=most, before_signing=before_signing)

    # --- plans

    def prepare_funding(self, path: Annotated[str, Field(description="The page, below the work dir")]) -> Plan:
        """Plan to publish a challenge page and put its escrow into the Hub. The escrow cannot be withdrawn early."""
        return self._prepared(Request("fund", path=path))

    def prepare_submission(
        self, bounty_id: Id, path: Annotated[str, Field(description="A directory below the work dir")]
    ) -> Plan:
        """Plan to seal every file of a directory for a bounty's Guardians. They and the Poster of an award read it."""
        return self._prepared(Request("submit", bounty_id, path))

    def prepare_verdict(
        self,
        bounty_id: Id,
        reasons: Annotated[str, Field(description="Markdown, published for good", max_length=100_000)],
        submission: Annotated[
            str | None, Field(description="The winner's directory's name; null: none is valid")
        ] = None,
    ) -> Plan:
        """Plan to record a Guardian's Verdict. Open the work first."""
        return self._prepared(Request("verdict", bounty_id, text=reasons, submission=submission))

    def prepare_claim(self, bounty_id: Id) -> Plan:
        """Plan to claim the award or the refund of a final bounty."""
        return self._prepared(Request("claim", bounty_id))

    def carry_out(self, plan_id: str) -> CarriedOut:
        """Carry out a plan that was prepared, once; call again to learn what came of it."""
        plan = plans.kept(plan_id)
        exact, deployment = plan.exact, self._reading.deployment
        here = (deployment.chain_id, deployment.hub_address, self._known(exact.role))
        if (exact.chain_id, exact.hub_address, exact.account) != here:
            message = (
                f"This plan is of {exact.account} at the Hub {exact.hub_address} on chain {exact.chain_id}, and this "
                "server acts for another. Nothing was signed."
            )
            next_action = "Prepare it anew; what was begun goes on where the server is started as it was then."
            raise Refusal("plan_of_another", message, next_action=next_action)
        if not self._signs(exact.role):
            with plans.content_of(plan.request, self._work_dir) as given:
                return self._by_pages(plan, self._derived_as(plan, given))
        content = plans.begun(plan) or self._begun(plan)

        # What was signed before is only waited for; before anything more is, the policy of now is asked.
        def count(signing: ToBeSigned) -> None:
            charge(*self._permitted(plan, Spending(plan_id, exact.spends, signing.gas_cost, signing.nonce)))

        return self._carried_out(self._signing(count), plan, content)

    def _begun(self, plan: KeptPlan) -> Content:
        """Return what a plan is carried out with: the bytes that it was derived from, and the spending it is counted
        by.
        """
        with plans.content_of(plan.request, self._work_dir) as content:
            if (before := plans.begun(plan)) is not None:
                return before  # by another call while this one waited
            derived = self._derived_as(plan, content)
            require_room(*self._permitted(plan, Spending(plan.plan_id, plan.exact.spends, derived.gas)))
            return plans.begin(plan, content)

    def _permitted(self, plan: KeptPlan, spending: Spending) -> tuple[Policy, Spending]:
        """Return the policy, which permits this action now, with what it spends; the caps of a day, and of several
        transactions, are not looked at.
        """
        if (policy := self._policy) is None:
            raise _no_policy("a person approves it in a wallet")
        award = plan.exact.receives if plan.request.action == "submit" else None
        require_within(policy, plan.exact.role, spending, award)
        return policy, spending

    def _derived_as(self, plan: KeptPlan, content: Content) -> Derived:
        """Return what the plan would do now; refuse if that is not what was prepared."""
        derived = self._derived(plan.request, content, plan.exact.role, plan.exact.account)
        if derived.exact != plan.exact:
            raise plans.changed("What it would do now is not what was prepared: an amount, a file or a text changed.")
        return derived

    # --- work

    def open_work(self, bounty_id: Id) -> answers.OpenedWork:
        """Open a bounty's Submissions as a Guardian, or the winning work as its Poster, below the work dir."""
        wanted, number = BountyId(bounty_id), str(bounty_id)
        is_poster = self._signs("poster")
        if self._signs("guardian") and not (is_poster and self._is_only_posted(wanted)):
            found = self._client.open_submissions(wanted, self._work_dir.new(OPENED, number))
            return answers.OpenedWork(bounty_id, found.output_dir, found.opened, found.opened_before, found.not_opened)
        if is_poster:
            work = self._client.open_winning_work(wanted, self._work_dir.new(WINNING, number))
            return answers.OpenedWork(bounty_id, work.output_dir, 1, 0, 0)
        raise _no_policy("service-cli guardian:open or poster:open-winning-submission opens it")

    def _is_only_posted(self, bounty_id: BountyId) -> bool:
        """Return whether the Poster's account here funded it, and the Guardian's is not on its roster."""
        found = self._client.bounty(bounty_id)
        judges = {member.guardian_address for member in found.guardian_roster.members}
        poster, guardian = self._client.account("poster"), self._client.account("guardian")
        return found.facts.poster_address == poster and guardian not in judges

    def deliver_key(self, bounty_id: Id) -> answers.Delivered:
        """Deliver the winning work's key for the Poster, as a Guardian; after the bounty is final."""
        if not self._signs("guardian"):
            raise _no_policy(f"service-cli guardian:deliver-key {bounty_id} does it")
        return answers.Delivered(bounty_id, not self._client.deliver_key(BountyId(bounty_id)).created)

    # --- deriving

    def _prepared(self, request: Request) -> Plan:
        role = self._role(request)
        if (account := self._known(role)) is None:
            message = f"No account of a {role} is known here."
            raise Refusal("account_unknown", message, next_action=f"Start the server with --account {role}=0x….")
        with plans.content_of(request, self._work_dir) as content:
            derived = self._derived(request, content, role, account)
        exact, token = derived.exact, self._reading.deployment.escrow_token
        plans.keep(plan := KeptPlan(request, exact))
        return Plan(
            plan_id=plan.plan_id,
            action=request.action,
            account=account,
            in_words=derived.words,
            spends=money(exact.spends, token) if exact.spends else None,
            receives=money(exact.receives, token) if exact.receives else None,
            gas_at_most_wei=str(derived.gas),
            files=[shown(name, 200) for name in derived.files[:MOST_NAMES]],
            file_count=len(derived.files),
            byte_length=exact.byte_length,
            warnings=[shown(text, 500) for text in derived.warnings],
            signed_by="policy" if self._signs(role) else "wallet",
        )

    def _role(self, request: Request) -> Role:
        """Return whose act it is. A claim is the winner's or the Poster's; for a person with both accounts, the
        winner's if that account won.
        """
        if request.action != "claim" or (poster := self._known("poster")) is None:
            return _ROLE_OF[request.action]
        solver = self._known("solver")
        if solver in {None, poster}:
            return "poster" if solver is None else "solver"
        winner = self._client.bounty(_bounty(request)).facts.winner
        return "solver" if winner is not None and winner.solver_address == solver else "poster"

    def _derived(self, request: Request, content: Content, role: Role, account: Address) -> Derived:
        deployment = self._reading.deployment
        place, token = (deployment.chain_id, deployment.hub_address, role, account), deployment.escrow_token
        match request.action:
            case "fund":
                found = self._client.preview_funding(content.page, account)
                issues = self._client.check_page(content.page)
                warnings = [f"line {each.line}, {each.field}: {each.message}" for each in issues[:MOST_NAMES]]
                if found.funded_as:
                    warnings.append(f"funded already as bounty {', '.join(map(str, found.funded_as))}")
                words = (
                    f"Publish {request.path} and put {money(found.escrow_amount, token).text} into escrow for "
                    f"Submissions until {answers.moment(found.submission_deadline)} and Verdicts until "
                    f"{answers.moment(found.judging_deadline)}; it comes back only where nobody wins."
                )
                size = len(content.page)
                exact = Exact(*place, found.spec_commitment, spends=found.escrow_amount, byte_length=size)
                files, known = (str(request.path),), found.funded_as or ()
                return Derived(exact, words, found.gas_cost_at_most, files, tuple(warnings), known)
            case "submit":
                return self._submission(request, content, place)
            case "verdict":
                guardian, text = None if self._signs("guardian") else account, str(request.text)
                verdict = self._client.preview_verdict(_bounty(request), text, request.submission, guardian)
                if verdict.is_unopened and guardian is None:
                    message = "The work was not opened on this machine, or can be only now, and it would be judged."
                    next_action = "Call open_work, read it, then prepare the Verdict."
                    raise Refusal("work_not_opened", message, next_action=next_action)
                outcome = "that no Submission is valid" if verdict.solver is None else f"an award to {verdict.solver}"
                words = f"Record on bounty {request.bounty_id} {outcome}, with these reasons, as {account}."
                exact = Exact(*place, verdict.report_commitment, byte_length=len(text.encode()))
                return Derived(exact, words, verdict.gas_cost)
            case "claim":
                due = self._client.preview_claim(_bounty(request), account)
                words = f"Claim {money(due.amount, token).text} of bounty {request.bounty_id} for {account}."
                return Derived(Exact(*place, due.function_name, receives=due.amount), words, due.gas_cost)

    def _submission(self, request: Request, content: Content, place: tuple[ChainId, Address, Role, Address]) -> Derived:
        wallet = None if self._signs("solver") else place[-1]
        found = self._client.preview_submission(_bounty(request), content.directory, wallet=wallet)
        if found.secret_files and not self._allows_secrets:
            named = ", ".join(shown(name, 100) for name in found.secret_files[:5])
            next_action = "Take them out, or name them in .bountyignore; a policy may allow them."
            message = f"Files that look like secrets would be sealed: {named}."
            raise Refusal("secrets_found", message, next_action=next_action)
        selection = select(content.directory)
        words = (
            f"Seal {found.file_count} files for the Guardians of bounty {request.bounty_id} and record them before "
            f"{answers.moment(found.submission_deadline)}; they are sealed until {answers.moment(found.reveal_at)}."
        )
        exact = Exact(
            *place,
            fingerprint(selection),
            receives=found.award,
            byte_length=found.byte_length,
            replaces=found.replaces,
        )
        return Derived(exact, words, found.gas_cost, tuple(one.path for one in selection.files), found.warnings)

    # --- who signs

    def _signs(self, role: Role) -> bool:
        """Return whether this process signs for a role: a policy has it, and a key is here."""
        return self._policy is not None and role in self._policy.roles and self._client.account(role) is not None

    def _known(self, role: Role) -> Address | None:
        return self._accounts.get(role) or self._client.account(role)

    @property
    def _allows_secrets(self) -> bool:
        return self._policy is not None and self._policy.allow_secret_files

    # --- carrying out

    def _carried_out(self, client: Client, plan: KeptPlan, content: Content) -> CarriedOut:
        request = plan.request
        match request.action:
            case "fund":
                funded = client.fund(content.page)
                return self._recorded(
                    plan, funded.block_number, funded.tx_hash, funded.bounty_id, "The bounty is funded."
                )
            case "submit":
                place = plan.exact.replaces or ZERO_BYTES32  # what was recorded since it was prepared is newer work
                try:
                    work = client.submit(
                        _bounty(request),
                        content.directory,
                        include_suspicious=self._allows_secrets,
                        in_place_of=place,
                    )
                except CommandRefused as refused:
                    if refused.code != "submission_exists":
                        raise
                    raise plans.changed(refused.message) from None
                words = "The work is recorded; it counts until this account records other work."
                return self._recorded(plan, work.block_number, work.tx_hash, work.bounty_id, words)
            case "verdict":
                verdict = client.record_verdict(_bounty(request), str(request.text), request.submission)
                words = "The Verdict is recorded."
                return self._recorded(plan, verdict.block_number, verdict.tx_hash, verdict.bounty_id, words)
            case "claim":
                try:
                    paid = client.claim(_bounty(request), account=plan.exact.account)
                except CommandRefused as refused:
                    if not refused.code.endswith("_already_claimed"):
                        raise
                    return CarriedOut(plan.plan_id, "recorded", refused.message, bounty_id=request.bounty_id)
                return self._recorded(plan, paid.block_number, paid.tx_hash, _bounty(request), "The amount is paid.")

    def _recorded(
        self, plan: KeptPlan, block: BlockNumber, tx_hash: Bytes32, bounty_id: BountyId, words: str
    ) -> CarriedOut:
        state = "finalized" if self._client.is_final(block) else "recorded"
        return CarriedOut(plan.plan_id, state, words, tx_hash=tx_hash, bounty_id=bounty_id)  # type: ignore[arg-type]

    def _by_pages(self, plan: KeptPlan, derived: Derived) -> CarriedOut:
        """Return the address of the service's pages. Deriving the plan has shown whether it was done there before, but
        for a page.
        """
        place = f"bounties/{plan.request.bounty_id}"
        if plan.request.action == "fund":
            if derived.funded_as:
                return CarriedOut(plan.plan_id, "recorded", "It is funded.", bounty_id=derived.funded_as[-1])
            place = "publish"
        words = f"{plan.exact.account} does this there, with the wallet's approval."
        return CarriedOut(plan.plan_id, "needs_wallet", words, f"{self._pages}/{place}")


def _bounty(request: Request) -> BountyId:
    if request.bounty_id is None:
        raise Refusal("invalid_request", "This plan names no bounty.")
    return BountyId(request.bounty_id)


def _no_policy(instead: str) -> Refusal:
    message = "This server signs nothing by itself: it has no policy for that role, or no key."
    return Refusal("policy_missing", message, next_action=f"Ask the person: {instead}.")
