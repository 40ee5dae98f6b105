"""What is refused or asked before a Verdict is recorded: by whom, of which Submission, when, and what may be a mistake.

The Hub would refuse the most of it, too. Here it is said before the reasons are written, and in words.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from bounty_protocol.errors import ServiceError
from bounty_protocol.types import Address, BountyId, Bytes32

from service_cli.api_session import ApiSession
from service_cli.chain.agreement import agreed, disagreement
from service_cli.chain.journal import was_opened
from service_cli.chain.sender import keep_looking
from service_cli.chain.session import ChainClient, chain_errors
from service_cli.chain.signer import Signer
from service_cli.chain.times import warn_of_late_chain
from service_cli.chain.transactions import account_nonce, next_nonce, nonce_of
from service_cli.chain.witness_table import Fact
from service_cli.errors import CommandFailed, CommandRefused
from service_cli.queries.numbers import listing
from service_cli.queries.state import Pair
from service_cli.ui.consent import require_consent
from service_cli.ui.output import say
from service_cli.ui.text import moment
from service_cli.work.reasons import doubt_of

_POLL_SECONDS: Final = 1.0
Named = Pair | None
"""The Solver and Submission that an awarded Verdict names."""


@dataclass(frozen=True, slots=True)
class VerdictOptions:
    """The person's earlier decision."""

    replace: bool = False
    """Put it in the place of an earlier Verdict."""
    unopened: bool = False
    """Award a Submission that was not opened on this machine."""
    unpublished: Path | None = None
    """Write the document to this file instead of publishing it: no service is there to take it."""


def require_recordable(session: ApiSession[Signer], bounty_id: BountyId, named: Named, *, replace: bool) -> None:
    """Refuse, before any reasons are written, what would be refused with them."""
    require_pinned(session, bounty_id)
    require_active(session.chain, bounty_id, named)
    require_judging(session.chain, bounty_id)
    if not replace:
        refuse_second(session.chain, bounty_id, session.account)


def require_judging(chain: ChainClient, bounty_id: BountyId) -> None:
    """The Hub would refuse, too; here the moment is one that people read."""
    bounty, now = chain.bounty(bounty_id), chain.latest().time
    if bounty.outcome is not None:
        message = f"Bounty {bounty_id} is final: no Verdict counts any more."
        next_action = f"See service-cli bounty:show {bounty_id}; guardian:claim-fee pays a recorded Verdict."
        raise CommandRefused("bounty_final", message, next_action=next_action)
    if now < bounty.reveal_at:
        message = f"Judging starts at the reveal point, {moment(bounty.reveal_at, now)}."
        raise CommandRefused("judging_not_started", message, next_action="Wait until then and try again.")
    warn_of_late_chain(chain, bounty.judging_deadline, "Your Verdict")


def confirm_opened(session: ApiSession[Signer], bounty_id: BountyId, named: Named, options: VerdictOptions) -> None:
    """A Guardian may have opened it elsewhere; by mistake it should award nothing that it never saw."""
    chain = session.chain
    if named is None:
        _confirm_none_is_valid(session, bounty_id, options)
        return
    if was_opened(chain.chain_id, chain.hub.address, bounty_id, *named):
        return
    message = f"Submission {named[1]} of {named[0]} was not opened on this machine, and you are about to award it."
    next_action = (
        f"Open it: service-cli guardian:open {bounty_id} --submission {named[1][:10]}. If you judged it on another "
        "machine, add --unopened."
    )
    refusal = CommandRefused("work_not_opened", f"{message} Nothing was signed.", next_action=next_action)
    require_consent(message, "award it unopened", refusal, is_given=options.unopened)


def _confirm_none_is_valid(session: ApiSession[Signer], bounty_id: BountyId, options: VerdictOptions) -> None:
    """Nobody's work is found valid by accident: what was not opened may be fine, or one that nobody can open."""
    if options.unopened:
        return
    chain, api = session.chain, None if options.unpublished is not None else session.api
    try:
        found = listing(chain, api, bounty_id)
        if api is not None and found.api_agrees is False:
            raise disagreement(Fact.NUMBER, chain.named, api.peer.named)
        recorded = found.submissions
    except ServiceError as error:  # a list that is missing keeps nobody from judging, and is no list without any
        message = (
            f"Which Submissions bounty {bounty_id} has, and whether each was opened on this machine, is not known: "
            f"{error.message}"
        )
        next_action = "Run the command again once it is; to record that none is valid without knowing, add --unopened."
        refusal = CommandRefused("work_not_opened", f"{message} Nothing was signed.", next_action=next_action)
        require_consent(message, "record it without knowing", refusal, is_given=False)
        return
    unopened = [
        one.number
        for one in recorded
        if not was_opened(chain.chain_id, chain.hub.address, bounty_id, one.solver, one.commitment)
    ]
    if not unopened:
        return
    message = (
        f"{len(unopened)} of {len(recorded)} Submissions of bounty {bounty_id} were not opened on this machine, and "
        "you are about to record that none is valid."
    )
    next_action = (
        f"Open them: service-cli guardian:open {bounty_id}. If nobody can open them, or you judged them on another "
        "machine, add --unopened."
    )
    refusal = CommandRefused("work_not_opened", f"{message} Nothing was signed.", next_action=next_action)
    require_consent(message, "record it unopened", refusal, is_given=False)


def confirm_reasons(text: str) -> None:
    """Reasons stay on the record for good: what looks like a mistake is asked for."""
    problem = doubt_of(text)
    if problem is None:
        return
    message = f"The reasons {problem}, and a recorded Verdict keeps them for good."
    next_action = "Write them as Markdown text, then run the command again."
    refusal = CommandRefused("reasons_doubtful", f"{message} Nothing was signed.", next_action=next_action)
    require_consent(message, "record them as they are", refusal, is_given=False)


def await_pending(session: ApiSession[Signer]) -> bool:
    """Wait while an endpoint knows a transaction of the account that is in no block: it may be a Verdict from another
    machine, in whose place the next one would come. Whether there was one."""

    def is_clear() -> Literal[True] | None:
        return None if any(_has_pending(each, session.account) for each in session.chain.everywhere) else True

    if is_clear():
        return False
    say("a transaction of this account is in no block yet; nothing is signed before it is")
    if keep_looking(is_clear, "nothing is signed yet", _POLL_SECONDS)[0] is None:
        message = f"A transaction of {session.account} is in no block yet: it may be a Verdict from another machine."
        next_action = (
            "Wait until it is, then run the command again; to sign beside it add --replace: of two Verdicts, the last "
            "one counts."
        )
        raise CommandFailed("nonce_contended", message, next_action=next_action)
    return True


def _has_pending(chain: ChainClient, account: Address) -> bool:
    known = next_nonce(chain, account)
    with chain_errors():
        return known > nonce_of(account_nonce(chain, account, "latest"))


def refuse_second(chain: ChainClient, bounty_id: BountyId, guardian: Address) -> None:
    """A Guardian may replace its Verdict, but not by accident: one that a single endpoint shows is asked about."""
    for each in chain.everywhere:
        with chain_errors():
            recorded = each.hub.verdict(bounty_id, guardian)
        if recorded.kind is not None:
            message = f"The Hub already holds a Verdict of {guardian} on bounty {bounty_id}: {recorded.kind.value}."
            raise CommandRefused(
                "verdict_already_recorded", message, next_action="To put this one in its place, add --replace."
            )


def require_pinned(session: ApiSession[Signer], bounty_id: BountyId) -> None:
    """Accounts outside the pinned roster are refused before anything is sent."""
    chain = session.chain
    if session.account not in chain.pinned_roster(chain.bounty(bounty_id)).accounts:
        message = f"{session.account} is not on the roster that bounty {bounty_id} pinned."
        raise CommandRefused("not_guardian", message, next_action="Use a pinned Guardian's account.")


def require_active(chain: ChainClient, bounty_id: BountyId, named: Named) -> None:
    if named is None:
        return

    def read(each: ChainClient) -> Bytes32:
        with chain_errors():
            return each.hub.submission(bounty_id, named[0])

    if agreed(chain, Fact.NUMBER, read) != named[1]:
        message = "The named Submission is not that Solver's active one."
        raise CommandRefused("submission_not_active", message, next_action="guardian:judgeable lists the current ones.")
