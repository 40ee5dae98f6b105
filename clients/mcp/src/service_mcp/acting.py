"""The tools that act for a role: prepare a plan, carry it out, open work, deliver a key.

Nothing is signed here unless a policy permits exactly that; otherwise a person approves in a wallet, on the service's
pages. What came of it is read from the chain, whoever signed it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Annotated, Final

from bounty_protocol.types import ZERO_BYTES32, Address, BlockNumber, BountyId, Bytes32
from pydantic import Field
from service_cli.client import Client, ToBeSigned
from service_cli.errors import CommandRefused
from service_cli.work.sealing import fingerprint
from service_cli.work.selection import select

from service_mcp import answers, plans
from service_mcp.answers import CarriedOut, Money, Plan, money
from service_mcp.plans import ROLE_OF, Content, Exact, KeptPlan, Request, plan_id_of
from service_mcp.policy import ROLES, Policy, Role, Spending, charge, require_room, require_within
from service_mcp.reading import Id, Reading
from service_mcp.refusals import Refusal
from service_mcp.untrusted import shown
from service_mcp.work_dir import OPENED, WINNING, WorkDir

MOST_NAMES: Final = 50
_RECORDED: Final = "The work is recorded; it counts until this account records other work."
CLAIMING: Final[frozenset[Role]] = frozenset({"solver", "poster"})
"""The roles to which the Hub pays something that ``prepare_claim`` claims."""


@dataclass(frozen=True, slots=True)
class Derived:
    """What an act would do now."""

    content: str
    words: str
    gas: int
    spends: int = 0
    receives: int = 0
    files: tuple[str, ...] = ()
    byte_length: int = 0
    warnings: tuple[str, ...] = ()
    replaces: Bytes32 | None = None
    funded_as: tuple[BountyId, ...] = ()


@dataclass(frozen=True, slots=True)
class ActingAccount:
    """Whose act it is."""

    role: Role
    account: Address


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
        self._lock = Lock()

    def require_own_keys(self, roles: frozenset[Role]) -> None:
        """Refuse to act as ``roles`` with a key of another account than those in whose name plans are signed."""
        signing = [role for role in ROLES if role in roles and self._signs(role)]
        for role in signing:
            if (named := self._known(role)) != (key := self._key(role)):
                message = f"--account names {named} as the {role}, and the key here is of {key}. Nothing was signed."
                next_action = f"Leave --account {role}=… out, or start the server without that key."
                raise Refusal("key_of_another", message, next_action=next_action)

    @cached_property
    def _client(self) -> Client:
        return self._signing(lambda _: None)

    def _signing(self, before_signing: Callable[[ToBeSigned], None]) -> Client:
        """One that asks this before each transaction or authorization that it signs."""
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
        kept = plans.kept(plan_id)
        request, exact, deployment = kept.request, kept.exact, self._reading.deployment
        if (exact.chain_id, exact.hub_address) != (deployment.chain_id, deployment.hub_address):
            raise _of_another(exact)
        actor = self._actor(request)
        if actor.account != exact.account:
            raise _of_another(exact)
        if not self._signs(actor.role):
            with plans.content_of(request, self._work_dir) as given:
                return self._by_pages(plan_id, kept, self._derived_as(plan_id, kept, given, actor))
        content = plans.begun(plan_id, request) or self._begun(plan_id, kept, actor)
        # What was signed before is only waited for; before anything more is, the policy of now is asked.
        client = self._signing(lambda signing: self._charge(actor.role, plan_id, kept, signing))
        return self._carried_out(client, plan_id, kept, content)

    def _begun(self, plan_id: str, kept: KeptPlan, actor: ActingAccount) -> Content:
        """What a plan is carried out with: the same bytes that it was derived from, and its spending counted by."""
        request = kept.request
        with plans.content_of(request, self._work_dir) as content:
            if (before := plans.begun(plan_id, request)) is not None:
                return before  # by another call while this one waited
            derived = self._derived_as(plan_id, kept, content, actor)
            spending = Spending(plan_id, kept.exact.spends, derived.gas)
            require_room(self._permitting(actor.role, spending, kept), spending)
            return plans.begin(plan_id, request, content)

    def _derived_as(self, plan_id: str, kept: KeptPlan, content: Content, actor: ActingAccount) -> Derived:
        """What the plan would do now, refused where that is another thing than what was prepared."""
        derived = self._derived(kept.request, content, actor)
        if plan_id_of(kept.request, self._exact(derived, actor)) != plan_id:
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
        """Whether the Poster's account here funded it, and the Guardian's is not on its roster."""
        found = self._client.bounty(bounty_id)
        judges = {member.guardian_address for member in found.guardian_roster.members}
        return found.facts.poster_address == self._key("poster") and self._key("guardian") not in judges

    def deliver_key(self, bounty_id: Id) -> answers.Delivered:
        """Deliver the winning work's key for the Poster, as a Guardian; after the bounty is final."""
        if not self._signs("guardian"):
            raise _no_policy(f"service-cli guardian:deliver-key {bounty_id} does it")
        return answers.Delivered(bounty_id, not self._client.deliver_key(BountyId(bounty_id)).created)

    # --- deriving

    def _prepared(self, request: Request) -> Plan:
        actor = self._actor(request)
        with plans.content_of(request, self._work_dir) as content:
            derived = self._derived(request, content, actor)
        exact = self._exact(derived, actor)
        plan_id = plan_id_of(request, exact)
        plans.keep(plan_id, KeptPlan(request, exact))
        return Plan(
            plan_id=plan_id,
            action=request.action,
            account=actor.account,
            in_words=derived.words,
            spends=self._money(derived.spends) if derived.spends else None,
            receives=self._money(derived.receives) if derived.receives else None,
            gas_at_most_wei=str(derived.gas),
            files=[shown(name, 200) for name in derived.files[:MOST_NAMES]],
            file_count=len(derived.files),
            byte_length=derived.byte_length,
            warnings=[shown(text, 500) for text in derived.warnings],
            signed_by="policy" if self._signs(actor.role) else "wallet",
        )

    def _exact(self, derived: Derived, actor: ActingAccount) -> Exact:
        deployment, counts = self._reading.deployment, (len(derived.files), derived.byte_length)
        return Exact(
            chain_id=deployment.chain_id,
            hub_address=deployment.hub_address,
            account=actor.account,
            spends=derived.spends,
            receives=derived.receives,
            content=derived.content,
            counts=counts,
            replaces=derived.replaces,
        )

    def _derived(self, request: Request, content: Content, actor: ActingAccount) -> Derived:
        match request.action:
            case "fund":
                return self._funding(request, content.page, actor)
            case "submit":
                return self._submission(request, content.directory, actor)
            case "verdict":
                return self._verdict(request, actor)
            case "claim":
                return self._claim(request, actor)

    def _funding(self, request: Request, page: bytes, actor: ActingAccount) -> Derived:
        found = self._client.preview_funding(page, actor.account)
        issues = self._client.check_page(page)
        warnings = [f"line {each.line}, {each.field}: {each.message}" for each in issues[:MOST_NAMES]]
        if found.funded_as:
            warnings.append(f"funded already as bounty {', '.join(map(str, found.funded_as))}")
        words = (
            f"Publish {request.path} and put {self._money(found.escrow_amount).text} into escrow for Submissions until "
            f"{answers.moment(found.submission_deadline)} and Verdicts until {answers.moment(found.judging_deadline)}; "
            "it comes back only where nobody wins."
        )
        return Derived(
            found.spec_commitment,
            words,
            found.gas_cost_at_most,
            spends=found.escrow_amount,
            files=(str(request.path),),
            byte_length=len(page),
            warnings=tuple(warnings),
            funded_as=found.funded_as or (),
        )

    def _submission(self, request: Request, directory: Path, actor: ActingAccount) -> Derived:
        bounty_id = _bounty(request)
        outside = None if self._signs("solver") else actor.account
        found = self._client.preview_submission(bounty_id, directory, wallet=outside)
        if found.secret_files and not (self._policy is not None and self._policy.allow_secret_files):
            named = ", ".join(shown(name, 100) for name in found.secret_files[:5])
            next_action = "Take them out, or name them in .bountyignore; a policy may allow them."
            message = f"What looks like secrets would be sealed: {named}."
            raise Refusal("secrets_found", message, next_action=next_action)
        selection = select(directory)
        names, digest = tuple(entry.path for entry in selection.files), fingerprint(selection)
        words = (
            f"Seal {found.file_count} files for the Guardians of bounty {bounty_id} and record them before "
            f"{answers.moment(found.submission_deadline)}; they are sealed until {answers.moment(found.reveal_at)}."
        )
        return Derived(
            digest,
            words,
            found.gas_cost,
            receives=found.award,
            replaces=found.replaces,
            files=names,
            byte_length=found.byte_length,
            warnings=found.warnings,
        )

    def _verdict(self, request: Request, actor: ActingAccount) -> Derived:
        bounty_id = _bounty(request)
        guardian = None if self._signs("guardian") else actor.account
        found = self._client.preview_verdict(bounty_id, str(request.text), request.submission, guardian)
        if found.is_unopened and self._signs("guardian"):
            raise _not_opened()
        outcome = "that no Submission is valid" if found.solver is None else f"an award to {found.solver}"
        words = f"Record on bounty {bounty_id} {outcome}, with these reasons, as {actor.account}."
        return Derived(found.report_commitment, words, found.gas_cost, byte_length=len(str(request.text).encode()))

    def _claim(self, request: Request, actor: ActingAccount) -> Derived:
        bounty_id = _bounty(request)
        found = self._client.preview_claim(bounty_id, actor.account)
        words = f"Claim {self._money(found.amount).text} of bounty {bounty_id} for {actor.account}."
        return Derived(found.function_name, words, found.gas_cost, receives=found.amount)

    def _money(self, value: int) -> Money:
        return money(value, self._reading.deployment.escrow_token)

    # --- who signs

    def _signs(self, role: Role) -> bool:
        """Whether this process signs for a role: a policy has it, and a key is here."""
        return self._policy is not None and role in self._policy.roles and self._key(role) is not None

    def _key(self, role: Role) -> Address | None:
        return self._client.account(role)

    def _role(self, request: Request) -> Role:
        """Whose act it is. A claim is the winner's or the Poster's; of a person who has both accounts, the winner's
        where that account won."""
        if request.action != "claim" or (poster := self._known("poster")) is None:
            return ROLE_OF[request.action]
        solver = self._known("solver")
        if solver in {None, poster}:
            return "poster" if solver is None else "solver"
        winner = self._client.bounty(_bounty(request)).facts.winner
        return "solver" if winner is not None and winner.solver_address == solver else "poster"

    def _known(self, role: Role) -> Address | None:
        return self._accounts.get(role) or self._key(role)

    def _actor(self, request: Request) -> ActingAccount:
        role = self._role(request)
        if (found := self._known(role)) is None:
            message = f"No account of a {role} is known here."
            raise Refusal("account_unknown", message, next_action=f"Start the server with --account {role}=0x….")
        return ActingAccount(role, found)

    def _permitting(self, role: Role, spending: Spending, kept: KeptPlan) -> Policy:
        """The policy, which permits this action now; its caps of a day, and of several transactions, are not looked
        at."""
        if (policy := self._policy) is None:
            raise _no_policy("a person approves it in a wallet")
        require_within(policy, role, spending, kept.exact.receives if kept.request.action == "submit" else None)
        return policy

    def _charge(self, role: Role, plan_id: str, kept: KeptPlan, signing: ToBeSigned) -> None:
        """Count what is about to be signed, which may still come to nothing; refused beyond what the policy permits."""
        spending = Spending(plan_id, kept.exact.spends, signing.gas_cost, signing.nonce)
        charge(self._permitting(role, spending, kept), spending)

    # --- carrying out

    def _carried_out(self, client: Client, plan_id: str, kept: KeptPlan, content: Content) -> CarriedOut:
        request = kept.request
        match request.action:
            case "fund":
                funded = client.fund(content.page)
                words = "The bounty is funded."
                return self._recorded(plan_id, funded.block_number, funded.tx_hash, funded.bounty_id, words)
            case "submit":
                return self._submitted(client, plan_id, kept, content)
            case "verdict":
                verdict = client.record_verdict(_bounty(request), str(request.text), request.submission)
                words = "The Verdict is recorded."
                return self._recorded(plan_id, verdict.block_number, verdict.tx_hash, verdict.bounty_id, words)
            case "claim":
                try:
                    paid = client.claim(_bounty(request), account=kept.exact.account)
                except CommandRefused as refused:
                    if not refused.code.endswith("_already_claimed"):
                        raise
                    return CarriedOut(plan_id, "recorded", refused.message, bounty_id=request.bounty_id)
                return self._recorded(plan_id, paid.block_number, paid.tx_hash, _bounty(request), "The amount is paid.")

    def _submitted(self, client: Client, plan_id: str, kept: KeptPlan, content: Content) -> CarriedOut:
        """In no other place than the plan's: what was recorded since it was prepared is newer work."""
        allowed = self._policy is not None and self._policy.allow_secret_files
        place = kept.exact.replaces or ZERO_BYTES32
        try:
            work = client.submit(
                _bounty(kept.request), content.directory, include_suspicious=allowed, in_place_of=place
            )
        except CommandRefused as refused:
            if refused.code != "submission_exists":
                raise
            raise plans.changed(refused.message) from None
        return self._recorded(plan_id, work.block_number, work.tx_hash, work.bounty_id, _RECORDED)

    def _recorded(
        self, plan_id: str, block: BlockNumber, tx_hash: Bytes32, bounty_id: BountyId, words: str
    ) -> CarriedOut:
        state = "finalized" if self._client.is_final(block) else "recorded"
        return CarriedOut(plan_id, state, words, tx_hash=tx_hash, bounty_id=bounty_id)  # type: ignore[arg-type]

    def _by_pages(self, plan_id: str, kept: KeptPlan, derived: Derived) -> CarriedOut:
        """On the service's own pages; whether it was done there before, deriving the plan has shown but for a page."""
        account, place = kept.exact.account, f"bounties/{kept.request.bounty_id}"
        if kept.request.action == "fund":
            if derived.funded_as:
                return CarriedOut(plan_id, "recorded", "It is funded.", bounty_id=derived.funded_as[-1])
            place = "publish"
        words = f"{account} does this there, with the wallet's approval."
        return CarriedOut(plan_id, "needs_wallet", words, f"{self._pages}/{place}")


def _not_opened() -> Refusal:
    message = "The work was not opened on this machine, or can be opened only now, and it would be judged."
    return Refusal("work_not_opened", message, next_action="Call open_work, read it, then prepare the Verdict.")


def _bounty(request: Request) -> BountyId:
    if request.bounty_id is None:
        raise Refusal("invalid_request", "This plan names no bounty.")
    return BountyId(request.bounty_id)


def _of_another(exact: Exact) -> Refusal:
    message = (
        f"This plan is of {exact.account} at the Hub {exact.hub_address} on chain {exact.chain_id}, and this server "
        "acts for another. Nothing was signed."
    )
    next_action = "Prepare it anew; what was begun goes on where the server is started as it was then."
    return Refusal("plan_of_another", message, next_action=next_action)


def _no_policy(instead: str) -> Refusal:
    message = "This server signs nothing by itself: it has no policy for that role, or no key."
    return Refusal("policy_missing", message, next_action=f"Ask the person: {instead}.")
