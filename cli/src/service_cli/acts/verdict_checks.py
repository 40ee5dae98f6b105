"""What is refused or asked before a Verdict is recorded: by whom, of which Submission, when, and what may be a mistake.

The Hub would refuse the most of it, too. Here it is said before the reasons are written, and in words.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from bounty_protocol.errors import ServiceError
from bounty_protocol.types import Address, BountyId

from service_cli.chain.agreement import Fact, agreed, disagreement
from service_cli.chain.sender import keep_looking
from service_cli.chain.session import ChainClient, Session, chain_errors
from service_cli.chain.signer import Signer
from service_cli.chain.times import warn_of_late_chain
from service_cli.chain.transactions import count_call, nonce_of
from service_cli.errors import CommandFailed, CommandRefused
from service_cli.queries.state import BountyState
from service_cli.queries.submissions import Pair, listing
from service_cli.ui.consent import require_consent
from service_cli.ui.output import say
from service_cli.ui.text import moment

_POLL_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class VerdictOptions:
    """The person's earlier decision."""

    replace: bool = False
    """Put it in the place of an earlier Verdict."""
    unopened: bool = False
    """Award a Submission that was not opened on this machine."""
    unpublished: Path | None = None
    """Write the document to this file instead of publishing it: no service is there to take it."""


def require_active(chain: ChainClient, bounty_id: BountyId, named: Pair) -> None:
    """Refuse a Submission that is not the Solver's active one on every endpoint."""
    if agreed(chain, Fact.SUBMISSION, lambda each: each.hub.submission(bounty_id, named[0])) != named[1]:
        message = "The named Submission is not that Solver's active one."
        raise CommandRefused("submission_not_active", message, next_action="guardian:judgeable lists the current ones.")


def require_judging(chain: ChainClient, state: BountyState) -> None:
    """Refuse outside the judging time, with the moment in readable form."""
    bounty, now = state.bounty, state.now
    if bounty.outcome is not None:
        message = f"Bounty {state.bounty_id} is final: a Verdict no longer counts."
        next_action = (
            f"See service-cli bounty:show {state.bounty_id}; claim the fee of a recorded Verdict with "
            "guardian:claim-fee."
        )
        raise CommandRefused("bounty_final", message, next_action=next_action)
    if now < bounty.reveal_at:
        message = f"Judging starts at the reveal point, {moment(bounty.reveal_at, now)}."
        raise CommandRefused("judging_not_started", message, next_action="Wait until then and try again.")
    warn_of_late_chain(chain, bounty.judging_deadline, "Your Verdict")


def refuse_second(chain: ChainClient, bounty_id: BountyId, account: Address) -> None:
    """Refuse to replace a Verdict by accident: one that a single endpoint shows is asked about.

    Wait while an endpoint knows a transaction of the account that is in no block: it may be a Verdict from another
    machine, in whose place the next one would come.
    """
    known, mined = (count_call(account, tag) for tag in ("pending", "latest"))

    def has_pending(each: ChainClient) -> bool:
        asked = each.ask(known, mined, each.hub.call("getVerdict", bounty_id, account))
        with chain_errors():
            recorded = asked.hub.verdict(bounty_id, account)
            is_pending = nonce_of(asked.rpc.answer(known)) > nonce_of(asked.rpc.answer(mined))
        if recorded.kind is not None:
            message = f"The Hub already holds a Verdict of {account} on bounty {bounty_id}: {recorded.kind.value}."
            raise CommandRefused(
                "verdict_already_recorded", message, next_action="To replace it with this one, add --replace."
            )
        return is_pending

    def is_clear() -> Literal[True] | None:
        found = [has_pending(each) for each in chain.everywhere]
        return None if any(found) else True

    if is_clear():
        return
    say("waiting until an earlier transaction of this account is mined; nothing is signed before that")
    if keep_looking(is_clear, "nothing is signed yet", _POLL_SECONDS)[0] is None:
        message = f"A transaction of {account} is not mined yet: it may be a Verdict from another machine."
        next_action = (
            "Wait until it is mined, then run the command again. To sign without waiting, add --replace: of two "
            "Verdicts, the last one counts."
        )
        raise CommandFailed("nonce_contended", message, next_action=next_action)


def confirm_opened(session: Session[Signer], bounty_id: BountyId, named: Pair | None, opts: VerdictOptions) -> None:
    """Ask about work that was not opened on this machine, so that a Guardian does not by mistake award unseen work or
    reject work that may be valid."""
    chain = session.chain
    if named is None:
        if not opts.unopened:
            _confirm_none_is_valid(session, bounty_id, opts)
    elif not chain.records.was_opened(bounty_id, *named):
        message = f"Submission {named[1]} of {named[0]} was not opened on this machine, and you are about to award it."
        next_action = (
            f"Open it: service-cli guardian:open {bounty_id} --submission {named[1][:18]}. If you judged it on another "
            "machine, add --unopened."
        )
        _ask(message, "award it unopened", next_action, is_given=opts.unopened)


def _confirm_none_is_valid(session: Session[Signer], bounty_id: BountyId, opts: VerdictOptions) -> None:
    chain, api = session.chain, None if opts.unpublished is not None else session.api
    try:
        found = listing(chain, api, bounty_id)
        if api is not None and found.api_agrees is False:
            raise disagreement(Fact.SUBMISSION, chain.named, api.peer.named)
    except ServiceError as error:  # an unknown list is not an empty one: ask, and let a Guardian judge
        message = (
            f"It is not known which Submissions bounty {bounty_id} has, and whether each was opened on this machine: "
            f"{error.message}"
        )
        next_action = "Run the command again once this is known; to record anyway that none is valid, add --unopened."
        _ask(message, "record it without knowing", next_action)
        return
    recorded = found.submissions
    unopened = [one for one in recorded if not chain.records.was_opened(bounty_id, *one.pair)]
    if unopened:
        message = (
            f"{len(unopened)} of {len(recorded)} Submissions of bounty {bounty_id} were not opened on this machine, "
            "and you are about to record that none is valid."
        )
        next_action = (
            f"Open them: service-cli guardian:open {bounty_id}. If nobody can open them, or you judged them on another "
            "machine, add --unopened."
        )
        _ask(message, "record it unopened", next_action)


def _ask(message: str, what: str, next_action: str, *, is_given: bool = False) -> None:
    refusal = CommandRefused("work_not_opened", f"{message} Nothing was signed.", next_action=next_action)
    require_consent(message, what, refusal, is_given=is_given)


def text_of(body: bytes) -> str:
    """Return a body as text; refuse an empty one, and bytes that are not text, since what is recorded is permanent."""
    if not body.strip():
        message = "There are no reasons: the file named for them is empty."
        raise CommandRefused("reasons_unfinished", message, next_action="Write the reasons as Markdown text.")
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        message = "The file with the reasons is not UTF-8."
        raise CommandRefused("verdict_body_malformed", message, next_action="Save the file as UTF-8.") from None
