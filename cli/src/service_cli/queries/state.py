"""A bounty as an act rests on it: read once, the same at every endpoint, and compared with the API in one place.

A wallet is requested to sign only after the fact that a request depends on is finalized in the index, so that no
signature is wasted on a 503. A field that is missing, of another type or of another value is a difference, and nothing
is signed over one. The API's own judgement of a page (``challenge_terms``) is never used: the page is hashed and read
here.
"""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from bounty_protocol.chain.blocks import Header, NearTip, header_call
from bounty_protocol.chain.hub import BountyView
from bounty_protocol.domain.challenge.commitments import spec_commitment
from bounty_protocol.domain.lifecycle.bounty import term_differences
from bounty_protocol.domain.lifecycle.roster import Roster
from bounty_protocol.domain.lifecycle.states import BountyStatus, Outcome
from bounty_protocol.errors import Issue, ServiceError
from bounty_protocol.types import Address, BountyId, UnixSeconds
from bounty_protocol.wire.deployment import DeploymentStatus

from service_cli.api import ApiClient, bounty_detail
from service_cli.chain import agreement
from service_cli.chain.agreement import Fact, agreed
from service_cli.chain.finality import PATIENCE_SECONDS
from service_cli.chain.session import ChainClient
from service_cli.chain.times import latest_moment
from service_cli.errors import CommandFailed, CommandRefused
from service_cli.queries.submissions import Pair
from service_cli.ui.output import Waiting, say
from service_cli.ui.text import moment, printable

_POLL_SECONDS: Final = 1.0
LAST_CHANGE: Final = "the chain has finalized the bounty's last change"


@dataclass(frozen=True, slots=True)
class BountyState:
    """A bounty: its terms and outcome by every endpoint, the roster that it pins, and the newest block."""

    bounty_id: BountyId
    bounty: BountyView
    roster: Roster
    head: Header

    @property
    def now(self) -> UnixSeconds:
        """The newest block's time."""
        return self.head.time

    @property
    def is_accepting(self) -> bool:
        """Whether the bounty accepts Submissions, by the chain's clock."""
        status = BountyStatus.OPEN if self.bounty.outcome is None else BountyStatus.FINAL
        return self.bounty.schedule.accepting(status, self.now)


def read_state(chain: ChainClient, bounty_id: BountyId) -> BountyState:
    """Read the bounty's state; ``sources_disagree`` if a further endpoint has another bounty under this number.

    The blocks near the tip come with it, for requests that are signed soon.
    """
    asked = _ask(chain, bounty_id)
    bounty, head = agreed(asked, Fact.TERMS, lambda each: each.bounty(bounty_id)), asked.latest()
    more = chain.ask(chain.hub.call("getRoster", bounty.roster_version), *NearTip.calls(head))
    chain.note_near(head, more)
    return BountyState(bounty_id, bounty, more.pinned_roster(bounty), head)


def read_again(chain: ChainClient, state: BountyState) -> BountyState:
    """Read the same bounty at a later moment: only its outcome and the time may have changed."""
    asked = _ask(chain, state.bounty_id)
    return replace(state, bounty=asked.bounty(state.bounty_id), head=asked.latest())


def _ask(chain: ChainClient, bounty_id: BountyId) -> ChainClient:
    return chain.ask(chain.hub.call("getBounty", bounty_id), header_call("latest"))


def require_seat(roster: Roster, bounty_id: BountyId, guardian: Address) -> None:
    """Refuse an account outside the roster that the bounty pinned."""
    if guardian not in roster.accounts:
        message = f"{guardian} is not on the roster that bounty {bounty_id} pinned."
        raise CommandRefused("not_guardian", message, next_action="Use a pinned Guardian's account.")


# --- the API beside it


def require_same(
    chain: ChainClient, state: BountyState, api: ApiClient, what: str = LAST_CHANGE
) -> Mapping[str, object]:
    """Return the API's detail once the bounty's last change is final in its index and everything matches the chain;
    ``what`` says what is waited for. An index that has not reached the block of ``state`` is ``index_behind``.
    """

    detail = _wait_finalized(api, state, what)
    for look in range(agreement.LAG_LOOKS + 1):
        facts = detail.get("facts")
        lacks_end = isinstance(facts, dict) and facts.get("outcome") is None and state.bounty.outcome is not None
        if not lacks_end:
            break
        if look == agreement.LAG_LOOKS:
            require_indexed(api, state)
            break
        time.sleep(agreement.LAG_SECONDS)  # its index may be a few blocks behind
        detail = bounty_detail(api, state.bounty_id).json()
    bounty, is_awarded = state.bounty, state.bounty.outcome is Outcome.AWARDED
    winner = {"solver_address": bounty.winner, "submission_commitment": bounty.winning_submission}
    ended = {
        "outcome": None if bounty.outcome is None else bounty.outcome.value,
        "winner": winner if is_awarded else None,
    }
    require_same_terms(chain, state, detail, ended)
    return detail


def require_same_terms(
    chain: ChainClient, state: BountyState, detail: Mapping[str, object], ended: Mapping[str, object] | None = None
) -> None:
    """Refuse if API and chain show bounties with different terms, or outcomes if given: one of the two is wrong,
    perhaps on purpose."""
    bounty = state.bounty
    facts = {
        "poster_address": bounty.poster,
        "escrow_amount": str(bounty.escrow_amount),
        "spec_commitment": bounty.spec_commitment,
        "submission_deadline": bounty.submission_deadline,
        "reveal_at": bounty.reveal_at,
        "judging_deadline": bounty.judging_deadline,
        "guardian_roster_hash": bounty.guardian_roster_hash,
    }
    expected = {
        "bounty_id": str(state.bounty_id),
        "chain_id": chain.chain_id,
        "hub_address": chain.hub.address,
        "facts": {**facts, **(ended or {})},
        "guardian_roster": roster_shown(state.roster),
    }
    next_action = "Do not sign; find out which of SERVICE_API_BASE_URL and SERVICE_RPC_URL is wrong."
    require_agreement(detail, expected, "read_model_mismatch", next_action)


def roster_shown(roster: Roster) -> dict[str, object]:
    """Return a roster as the API must show it, except for values that change with a Guardian's activity."""
    members = {
        place: {"guardian_address": one.guardian_address, "encryption_public_key": one.encryption_public_key}
        for place, one in enumerate(roster.members)
    }
    return {
        "version": roster.version,
        "guardian_roster_hash": roster.guardian_roster_hash,
        "quorum": roster.quorum,
        "members": members,
    }


def require_indexed(api: ApiClient, state: BountyState) -> None:
    """Raise ``index_behind`` if the API's index has not reached the block of ``state``, by its own word: what it shows
    is old, and contradicts nobody. An API that does not say how far its index is keeps its contradiction.
    """
    try:
        position = api.get("/api/status", patient=False).read(DeploymentStatus).position
    except ServiceError:
        return
    if position is None or position.block_number >= state.head.number:
        return
    seconds = max(1, state.head.time - position.block_time)
    message = (
        f"The API's index is behind the chain by {seconds:,} seconds, and lacks what happened to the bounty since."
    )
    raise CommandFailed("index_behind", message, next_action="Nothing was signed. Run the command again later.")


def _wait_finalized(api: ApiClient, state: BountyState, what: str) -> Mapping[str, object]:
    """Return the detail once the bounty's last change is final; an unknown bounty may simply not be indexed yet."""
    ends, shown = time.monotonic() + PATIENCE_SECONDS, False
    with Waiting("waiting") as waiting:
        while time.monotonic() < ends:
            try:
                detail = bounty_detail(api, state.bounty_id).json()
            except CommandRefused as refusal:
                if refusal.code != "bounty_not_found":
                    raise
                detail = {}
            if detail.get("finality") == "finalized":
                return detail
            if not shown:
                say(f"waiting until {what}")
                shown = True
            waiting.tick()
            time.sleep(_POLL_SECONDS)
    require_indexed(api, state)
    raise CommandFailed("not_finalized", f"Still waiting until {what}.", next_action="Run the command again later.")


Expected = Mapping[str, object] | Mapping[int, object] | Mapping[str | int, object]


def differences(answer: object, expected: Expected, path: str = "") -> Iterator[tuple[str, object, object]]:
    """Yield ``(name, theirs, ours)`` where an answer lacks or contradicts what is expected; integer keys are list
    indexes.
    """
    for key, ours in expected.items():
        name = f"{path}[{key}]" if isinstance(key, int) else f"{path}.{key}".lstrip(".")
        if isinstance(key, int):
            theirs = answer[key] if isinstance(answer, list) and key < len(answer) else None
        else:
            theirs = answer.get(key) if isinstance(answer, dict) else None
        if isinstance(ours, Mapping):
            yield from differences(theirs, ours, name)
        elif theirs != ours or type(theirs) is not type(ours):
            yield name, theirs, ours


def require_agreement(answer: object, expected: Expected, code: str, next_action: str) -> None:
    """Refuse an answer that differs, with the first differences named."""
    found = [
        Issue(name[:120], f"the API says {_shown(theirs)}; this client derives {_shown(ours)}")
        for name, theirs, ours in differences(answer, expected)
    ]
    if found:
        message = f"The API's answer differs in {found[0].path} from what this client derives."
        raise CommandRefused(code, message, issues=found[:5], next_action=next_action)


def _shown(value: object) -> str:
    return "nothing" if value is None else printable(value, 80)


def check_page(bounty: BountyView, detail: Mapping[str, object]) -> None:
    """Refuse a page that does not hash to the commitment, or whose terms differ from the chain's: anyone can create a
    bounty on any commitment."""
    page = detail.get("challenge")
    next_action = "Read both; to continue anyway, add --accept-term-differences."
    error = detail.get("error")
    if page is None and isinstance(error, dict) and error.get("code") == "bounty_challenge_withheld":
        message = printable(error.get("message"), 1_000)
        next_action = "Ask the Poster for the page and hash it (spec-commitment); then add --accept-term-differences."
        raise CommandRefused("challenge_withheld", message, next_action=next_action)
    if not isinstance(page, str) or spec_commitment(page.encode()) != bounty.spec_commitment:
        message = "The API has no page that hashes to the spec commitment on chain."
        raise CommandRefused("challenge_terms_mismatch", message, next_action=next_action)
    from bounty_protocol.domain.challenge.page import parse_challenge  # with a YAML parser, which few commands need

    try:
        parsed = parse_challenge(page.encode())
    except ServiceError as error:
        message = "The committed page states no terms that can be read."
        raise CommandRefused(
            "challenge_terms_mismatch", message, issues=error.issues, next_action=next_action
        ) from error
    if found := term_differences(parsed, bounty):
        issues = [Issue(one.field, f"the page says {one.page}, the chain {one.chain}") for one in found]
        message = "The challenge page's terms differ from the chain's."
        raise CommandRefused("challenge_terms_mismatch", message, issues=issues, next_action=next_action)


# --- the moment from which sealed work can be opened


def require_reveal_point(chain: ChainClient, bounty: BountyView) -> UnixSeconds:
    """Refuse with ``reveal_point_wrong`` unless the reveal point follows from a deadline that is still to come; return
    the latest time that anyone gives.

    The Hub's delay is immutable and was compared with the network's record or its configured replacement. So even
    if all endpoints lie about the deadline, nothing is sealed for less than that delay.
    """
    delay, now = chain.settings.reveal_delay(), latest_moment(chain)
    if (wrong := wrong_reveal_point(bounty.submission_deadline, bounty.reveal_at, delay, now)) is not None:
        raise wrong
    return now


def require_closed(chain: ChainClient, reveal_at: UnixSeconds) -> None:
    """Refuse to release sealed work that can already be opened because sealing and uploading took too long."""
    if reveal_at <= (now := latest_moment(chain)):
        message = f"The reveal point was {moment(reveal_at, now)}: anyone who has the Guardians' keys could open this."
        raise CommandRefused("reveal_point_wrong", message, next_action="The sealed bytes stay on this machine.")


def wrong_reveal_point(
    deadline: UnixSeconds, reveal_at: UnixSeconds, delay: int, now: UnixSeconds
) -> CommandRefused | None:
    """Return why a reveal point is refused, by the latest time that any source gives; None if it is right."""
    expected = UnixSeconds(deadline + delay)
    if reveal_at != expected:
        message = f"The reveal point is not {moment(reveal_at, now)}: the deadline makes it {moment(expected, now)}."
        next_action = "Nothing was sealed. Use another RPC endpoint."
        return CommandRefused("reveal_point_wrong", message, next_action=next_action)
    if deadline <= now:
        message = f"Submissions closed at {moment(deadline, now)}: work sealed now could be opened too soon."
        next_action = "Nothing was sealed. If the bounty is still open by other clocks, set this machine's clock."
        return CommandRefused("reveal_point_wrong", message, next_action=next_action)
    return None


# --- the winner


def final_winner(chain: ChainClient, state: BountyState, api: ApiClient) -> Pair:
    """Return the winner, once every endpoint's finalized block and the API's index name it."""
    winner = (state.bounty.winner, state.bounty.winning_submission)
    for each in chain.everywhere:
        finalized = each.final_block()
        view = each.hub.bounty(state.bounty_id, finalized)
        if view is None or view.outcome is not Outcome.AWARDED:
            message = f"According to {each.named}, the block of the award is not finalized."
            next_action = "Run the command again when the block is finalized."
            raise CommandFailed("not_finalized", message, next_action=next_action)
        if (view.winner, view.winning_submission) != winner:
            message = "The contract does not name this Submission as the finalized winner."
            raise CommandRefused("not_the_winner", message, next_action="Deliver only the finalized winner's key.")
    require_same(chain, state, api)
    return winner
