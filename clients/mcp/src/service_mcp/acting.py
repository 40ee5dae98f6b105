"""The tools that act for a role: prepare a plan, carry it out, open work, deliver a key.

Nothing is signed here unless a policy permits exactly that; otherwise a person approves in a wallet, on the service's
pages. What came of it is read from the chain, whoever signed it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Final, Literal

from bounty_protocol.clock import iso_utc
from bounty_protocol.domain.challenge.readable import readable
from bounty_protocol.types import ZERO_BYTES32, Address, BountyId
from pydantic import Field
from service_cli.acts.claim_events import PaidClaim
from service_cli.acts.fund_events import FundedBounty
from service_cli.acts.submit_events import SubmittedWork
from service_cli.acts.verdict_events import AnchoredVerdict
from service_cli.client import Client, Refused, ToBeSigned
from service_cli.work.sealing import fingerprint
from service_cli.work.selection import select

from service_mcp import answers, plans
from service_mcp.answers import CarriedOut, Plan, money
from service_mcp.plans import Action, Actor, Exact, KeptPlan, Request
from service_mcp.policy import ROLES, Policy, Role, Spending, charge, require
from service_mcp.reading import Id, Reading
from service_mcp.work_dir import OPENED, WINNING, WorkDir

MOST_NAMES: Final = 50
_ROLE_OF: Final[dict[Action, Role]] = {"fund": "poster", "submit": "solver", "verdict": "guardian", "claim": "solver"}
"""A claim is a Poster's, too: of what nobody won."""
_DONE: Final[dict[Action, str]] = {
    "fund": "The bounty is funded.",
    "submit": "The work is recorded; it counts until this account records other work.",
    "verdict": "The Verdict is recorded.",
    "claim": "The amount is paid.",
}


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
        policy: Policy,
        accounts: Mapping[Role, Address],
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
                raise Refused("key_of_another", message, next_action=next_action)

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

    def _prepared(self, request: Request) -> Plan:
        """Derive a plan and keep it."""
        role = self._role(request)
        if (actor := self._actor(role)) is None:
            message = f"No account of a {role} is known here."
            raise Refused("account_unknown", message, next_action=f"Start the server with --account {role}=0x….")
        with plans.read_once(request, self._work_dir) as content:
            derived = self._derived(request, content, actor)
        exact, token = derived.exact, self._reading.deployment.escrow_token
        plans.keep(plan := KeptPlan(request, exact))
        return Plan(
            plan_id=plan.plan_id,
            action=request.action,
            account=actor.account,
            in_words=derived.words,
            spends=money(exact.spends, token) if exact.spends else None,
            receives=money(exact.receives, token) if exact.receives else None,
            gas_at_most_wei=str(derived.gas),
            files=[readable(name[:200]) for name in derived.files[:MOST_NAMES]],
            file_count=len(derived.files),
            byte_length=exact.byte_length,
            warnings=[readable(text[:500]) for text in derived.warnings],
            signed_by="policy" if self._signs(role) else "wallet",
        )

    def carry_out(self, plan_id: str) -> CarriedOut:
        """Carry out a plan that was prepared, once; call again to learn what came of it."""
        plan = plans.kept(plan_id)
        actor = plan.exact.actor
        if actor != self._actor(actor.role):
            message = (
                f"This plan is of {actor.account} at the Hub {actor.hub_address} on chain {actor.chain_id}, and this "
                "server acts for another. Nothing was signed."
            )
            next_action = "Prepare it anew; what was begun goes on where the server is started as it was then."
            raise Refused("plan_of_another", message, next_action=next_action)
        if not self._signs(actor.role):
            with plans.read_once(plan.request, self._work_dir) as draft:
                return self._by_pages(plan, self._derived_again(plan, draft))
        content = plans.begun(plan) or self._begun(plan)

        # What was signed before is only waited for; before anything more is, the policy of now is asked.
        def count(signing: ToBeSigned) -> None:
            charge(self._policy, _spending(plan, signing.gas_cost, signing.nonce))

        return self._carried_out(self._signing(count), plan, content)

    def _begun(self, plan: KeptPlan) -> Path:
        """Return what a plan is carried out with: the bytes that it was derived from, and was permitted with."""
        with plans.read_once(plan.request, self._work_dir) as draft:
            if (before := plans.begun(plan)) is not None:
                return before  # by another call while this one waited
            derived = self._derived_again(plan, draft)
            require(self._policy, _spending(plan, derived.gas))
            return plans.begin(plan, draft)

    def _derived_again(self, plan: KeptPlan, content: Path) -> Derived:
        """Return what the plan would do now; refuse if that is not what was prepared."""
        derived = self._derived(plan.request, content, plan.exact.actor)
        if derived.exact != plan.exact:
            raise _changed("What it would do now is not what was prepared: an amount, a file or a text changed.")
        return derived

    # --- work

    def open_work(self, bounty_id: Id) -> answers.OpenedWork:
        """Open a bounty's Submissions as a Guardian, or the winning work as its Poster, below the work dir."""
        wanted, is_poster, judges = BountyId(bounty_id), self._signs("poster"), self._signs("guardian")
        if is_poster and judges:
            roster = self._client.bounty(wanted).guardian_roster
            judges = self._client.account("guardian") in {each.guardian_address for each in roster.members}
        if judges:
            found = self._client.open_submissions(wanted, self._work_dir.opened(OPENED, bounty_id))
            left_out = len(found.left_out)  # for their size; what cannot be opened is refused, by name
            return answers.OpenedWork(bounty_id, found.output_dir, found.opened, found.opened_before, left_out)
        if is_poster:
            work = self._client.open_winning_work(wanted, self._work_dir.opened(WINNING, bounty_id))
            return answers.OpenedWork(bounty_id, work.output_dir, 1, 0, 0)
        raise _no_policy("service-cli guardian:open or poster:open-winning-submission opens it")

    def deliver_key(self, bounty_id: Id) -> answers.Delivered:
        """Deliver the winning work's key for the Poster, as a Guardian; after the bounty is final."""
        if not self._signs("guardian"):
            raise _no_policy(f"service-cli guardian:deliver-key {bounty_id} does it")
        return answers.Delivered(bounty_id, not self._client.deliver_key(BountyId(bounty_id)).created)

    # --- who acts, and who signs

    @cached_property
    def _client(self) -> Client:
        return self._signing(lambda _: None)

    def _signing(self, before_signing: Callable[[ToBeSigned], None]) -> Client:
        """Return a client that asks this before each transaction or authorization that it signs."""
        return self._make(max_cost=self._policy.most_gas_per_action, before_signing=before_signing)

    def _signs(self, role: Role) -> bool:
        """Return whether this process signs for a role: a policy has it, and a key is here."""
        return role in self._policy.roles and self._client.account(role) is not None

    def _known(self, role: Role) -> Address | None:
        return self._accounts.get(role) or self._client.account(role)

    def _actor(self, role: Role) -> Actor | None:
        account, deployment = self._known(role), self._reading.deployment
        return None if account is None else Actor(deployment.chain_id, deployment.hub_address, role, account)

    def _role(self, request: Request) -> Role:
        """Return whose act it is. A claim is the winner's or the Poster's; for a person with both accounts, the
        winner's if that account won.
        """
        if request.action != "claim" or (poster := self._known("poster")) is None:
            return _ROLE_OF[request.action]
        solver = self._known("solver")
        if solver in {None, poster}:
            return "poster" if solver is None else "solver"
        winner = self._client.bounty(request.bounty).facts.winner
        return "solver" if winner is not None and winner.solver_address == solver else "poster"

    # --- the four acts: deriving

    def _derived(self, request: Request, content: Path, actor: Actor) -> Derived:
        match request.action:
            case "fund":
                return self._funding(request, (content / plans.PAGE).read_bytes(), actor)
            case "submit":
                return self._submission(request, content, actor)
            case "verdict":
                return self._verdict(request, actor)
            case "claim":
                due = self._client.preview_claim(request.bounty, actor.account)
                amount = money(due.amount, self._reading.deployment.escrow_token).text
                words = f"Claim {amount} of bounty {request.bounty_id} for {actor.account}."
                return Derived(Exact(actor, due.function_name, receives=due.amount), words, due.gas_cost)

    def _funding(self, request: Request, page: bytes, actor: Actor) -> Derived:
        found, token = self._client.preview_funding(page, actor.account), self._reading.deployment.escrow_token
        issues, known = self._client.check_page(page), found.funded_as or ()
        warnings = [f"line {each.line}, {each.field}: {each.message}" for each in issues[:MOST_NAMES]]
        if known:
            warnings.append(f"funded already as bounty {', '.join(map(str, known))}")
        words = (
            f"Publish {request.path} and put {money(found.escrow_amount, token).text} into escrow for "
            f"Submissions until {iso_utc(found.submission_deadline)} and Verdicts until "
            f"{iso_utc(found.judging_deadline)}; it comes back only where nobody wins."
        )
        exact = Exact(actor, found.spec_commitment, spends=found.escrow_amount, byte_length=len(page))
        return Derived(exact, words, found.gas_cost_at_most, (str(request.path),), tuple(warnings), known)

    def _submission(self, request: Request, directory: Path, actor: Actor) -> Derived:
        wallet = None if self._signs("solver") else actor.account
        found = self._client.preview_submission(request.bounty, directory, wallet=wallet)
        if found.secret_files and not self._policy.allow_secret_files:
            named = ", ".join(readable(name[:100]) for name in found.secret_files[:5])
            next_action = "Take them out, or name them in .bountyignore; a policy may allow them."
            message = f"Files that look like secrets would be sealed: {named}."
            raise Refused("secrets_found", message, next_action=next_action)
        selection = select(directory)
        words = (
            f"Seal {found.file_count} files for the Guardians of bounty {request.bounty_id} and record them before "
            f"{iso_utc(found.submission_deadline)}; they are sealed until {iso_utc(found.reveal_at)}."
        )
        exact = Exact(
            actor,
            fingerprint(selection),
            receives=found.award,
            byte_length=found.byte_length,
            replaces=found.replaces,
        )
        return Derived(exact, words, found.gas_cost, tuple(one.path for one in selection.files), found.warnings)

    def _verdict(self, request: Request, actor: Actor) -> Derived:
        guardian, text = None if self._signs("guardian") else actor.account, str(request.text)
        found = self._client.preview_verdict(request.bounty, text, request.submission, guardian)
        outcome = "that no Submission is valid" if found.solver is None else f"an award to {found.solver}"
        words = f"Record on bounty {request.bounty_id} {outcome}, with these reasons, as {actor.account}."
        exact = Exact(actor, found.report_commitment, byte_length=len(text.encode()))
        return Derived(exact, words, found.gas_cost)

    # --- the four acts: carrying out

    def _carried_out(self, client: Client, plan: KeptPlan, content: Path) -> CarriedOut:
        """Do it, or wait for what an earlier call sent; return what is on the chain."""
        action, bounty_id = plan.request.action, plan.request.bounty_id
        try:
            done = self._done(client, plan, content)
        except Refused as refused:
            if action == "submit" and refused.code == "submission_exists":
                raise _changed(refused.message) from None
            if action != "claim" or not refused.code.endswith("_already_claimed"):
                raise
            return CarriedOut(plan.plan_id, "recorded", refused.message, bounty_id=bounty_id)
        if isinstance(done, FundedBounty):
            bounty_id = done.bounty_id
        state: Literal["finalized", "recorded"] = "finalized" if client.is_final(done.block_number) else "recorded"
        return CarriedOut(plan.plan_id, state, _DONE[action], tx_hash=done.tx_hash, bounty_id=bounty_id)

    def _done(
        self, client: Client, plan: KeptPlan, content: Path
    ) -> FundedBounty | SubmittedWork | AnchoredVerdict | PaidClaim:
        request, account = plan.request, plan.exact.actor.account
        match request.action:
            case "fund":
                return client.fund((content / plans.PAGE).read_bytes())
            case "submit":
                place = plan.exact.replaces or ZERO_BYTES32  # what was recorded since it was prepared is newer work
                secrets = self._policy.allow_secret_files
                return client.submit(request.bounty, content, include_suspicious=secrets, in_place_of=place)
            case "verdict":
                return client.record_verdict(request.bounty, str(request.text), request.submission)
            case "claim":
                return client.claim(request.bounty, account=account)

    def _by_pages(self, plan: KeptPlan, derived: Derived) -> CarriedOut:
        """Return the address of the service's pages. Deriving the plan has shown whether it was done there before, but
        for a page.
        """
        place = f"bounties/{plan.request.bounty_id}"
        if plan.request.action == "fund":
            if derived.funded_as:
                return CarriedOut(plan.plan_id, "recorded", "It is funded.", bounty_id=derived.funded_as[-1])
            place = "publish"
        words = f"{plan.exact.actor.account} does this there, with the wallet's approval."
        return CarriedOut(plan.plan_id, "needs_wallet", words, f"{self._pages}/{place}")


def _spending(plan: KeptPlan, gas: int, nonce: int | None = None) -> Spending:
    award = plan.exact.receives if plan.request.action == "submit" else None
    return Spending(plan.plan_id, plan.exact.actor.role, plan.exact.spends, gas, nonce, award)


def _changed(message: str) -> Refused:
    return Refused("plan_changed", message, next_action="Prepare it again, and have the new plan approved.")


def _no_policy(instead: str) -> Refused:
    message = "This server signs nothing by itself: it has no policy for that role, or no key."
    return Refused("policy_missing", message, next_action=f"Ask the person: {instead}.")
