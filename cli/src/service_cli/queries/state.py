"""A bounty's terms, the point from which its work can be opened, and its winner."""

from collections.abc import Mapping
from dataclasses import dataclass, fields

from bounty_protocol.chain.hub import BountyView
from bounty_protocol.domain.hub_events import BountyTerms
from bounty_protocol.domain.lifecycle import Outcome
from bounty_protocol.domain.roster import Roster
from bounty_protocol.types import Address, BountyId, Bytes32, UnixSeconds

from service_cli.api import ApiClient
from service_cli.chain.agreement import ENDPOINTS, Vouched, agreed, vouch
from service_cli.chain.session import NEWEST_HEADER, ChainClient, chain_errors
from service_cli.chain.times import latest_moment
from service_cli.chain.witness_table import Fact, Witness
from service_cli.errors import CommandFailed, CommandRefused
from service_cli.queries.facts import LAST_CHANGE, check_detail, require_agreement, wait_finalized
from service_cli.ui.text import moment

Pair = tuple[Address, Bytes32]
"""A Submission as it is named in full: its Solver and its commitment."""


def agreed_bounty(chain: ChainClient, bounty_id: BountyId) -> BountyView:
    """The bounty; ``sources_disagree`` where a further endpoint has other terms of it."""
    views: dict[str, BountyView] = {}

    def fixed(each: ChainClient) -> BountyTerms:
        views[each.url] = each.bounty(bounty_id)
        return _fixed(views[each.url])

    agreed(chain, Fact.TERMS, fixed)
    return views[chain.url]


def _fixed(view: BountyView) -> BountyTerms:
    """The terms fixed at a bounty's creation."""
    return BountyTerms(**{field.name: getattr(view, field.name) for field in fields(BountyTerms)})


def terms_of(
    chain: ChainClient, bounty_id: BountyId, api: ApiClient, what: str = LAST_CHANGE
) -> tuple[Vouched[BountyView], Mapping[str, object]]:
    """A bounty's terms by every endpoint and the API, and the API's detail once the last change of it is final.

    ``what`` is waited for, in words.
    """
    bounty = agreed_bounty(chain, bounty_id)
    detail = wait_finalized(api, bounty_id, what)
    check_detail(chain, bounty_id, bounty, detail)
    return vouch(Fact.TERMS, bounty, ENDPOINTS | {Witness.API}), detail


def terms_without_api(chain: ChainClient, bounty_id: BountyId) -> Vouched[BountyView]:
    """A bounty's terms by the endpoints alone, as a Solver may decide to rest on them."""
    return vouch(Fact.TERMS, agreed_bounty(chain, bounty_id), ENDPOINTS)


@dataclass(frozen=True, slots=True)
class SealingTerms:
    """The terms under which work is sealed: for which page, for whom, and until when."""

    terms: Vouched[BountyView]
    roster: Vouched[Roster]
    reveal_at: Vouched[UnixSeconds]


def sealing_terms(chain: ChainClient, terms: Vouched[BountyView]) -> SealingTerms:
    """The roster that the terms pin, which hashes to what was vouched for, and a reveal point that is still to come."""
    with chain.prefetched(chain.hub.call("getRoster", terms.value.roster_version), NEWEST_HEADER):
        roster = chain.pinned_roster(terms.value)
        return SealingTerms(terms, vouch(Fact.ROSTER, roster, terms.by), reveal_point(chain, terms.value))


def reveal_point(chain: ChainClient, bounty: BountyView) -> Vouched[UnixSeconds]:
    """When sealed work can be opened; ``reveal_point_wrong`` unless it is what a deadline that is to come makes it.

    The Hub's delay is immutable and was compared with the network's record, or what is configured in its place. So
    whoever lies about the deadline, in all endpoints at once, has nothing sealed for less than that delay.
    """
    delay, now = chain.settings.reveal_delay(), latest_moment(chain)
    if (wrong := wrong_reveal_point(bounty.submission_deadline, bounty.reveal_at, delay, now)) is None:
        return vouch(Fact.REVEAL_POINT, bounty.reveal_at, ENDPOINTS | {Witness.CLOCK, Witness.RECORD})
    raise wrong


def require_closed(chain: ChainClient, reveal_at: UnixSeconds) -> None:
    """Refuse to let sealed work out that can be opened by now, as where sealing and uploading took that long."""
    if reveal_at <= (now := latest_moment(chain)):
        message = f"The reveal point was {moment(reveal_at, now)}: anyone who has the Guardians' keys could open this."
        raise CommandRefused("reveal_point_wrong", message, next_action="What was sealed stays on this machine.")


def wrong_reveal_point(
    deadline: UnixSeconds, reveal_at: UnixSeconds, delay: int, now: UnixSeconds
) -> CommandRefused | None:
    """Why nothing is sealed until a reveal point, at the latest time that a witness gives; None where it is right."""
    expected = UnixSeconds(deadline + delay)
    if reveal_at != expected:
        message = f"The reveal point is not {moment(reveal_at, now)}: the deadline makes it {moment(expected, now)}."
        next_action = "Nothing was sealed. Use another RPC endpoint."
        return CommandRefused("reveal_point_wrong", message, next_action=next_action)
    if deadline <= now:
        message = f"Submissions closed at {moment(deadline, now)}: what is sealed now can be opened too soon."
        next_action = "Nothing was sealed. If they are still open by other clocks, set this machine's."
        return CommandRefused("reveal_point_wrong", message, next_action=next_action)
    return None


def final_winner(chain: ChainClient, bounty_id: BountyId, winner: Pair, api: ApiClient) -> Vouched[Pair]:
    """The winner, once it is that in every endpoint's finalized block and in the API's index, too."""
    terms, detail = terms_of(chain, bounty_id, api)
    named = {"solver_address": winner[0], "submission_commitment": winner[1]}
    next_action = "Do not deliver; find out which of SERVICE_API_BASE_URL and SERVICE_RPC_URL is wrong."
    expected = {"facts": {"outcome": Outcome.AWARDED.value, "winner": named}}
    require_agreement(detail, expected, "read_model_mismatch", next_action)
    for each in chain.everywhere:
        _require_final(each, bounty_id, winner)
    return vouch(Fact.WINNER, winner, terms.by)


def _require_final(chain: ChainClient, bounty_id: BountyId, winner: Pair) -> None:
    finalized = chain.finalized().number
    with chain_errors():
        view = chain.hub.bounty(bounty_id, finalized)
    if view is None or view.outcome is not Outcome.AWARDED:
        message = f"The award is not in a block that the chain has finalized, as {chain.named} has it."
        raise CommandFailed("not_finalized", message, next_action="Run the command again when the block is finalized.")
    if (view.winner, view.winning_submission) != winner:
        message = "The contract does not name this Submission as the finalized winner."
        raise CommandRefused("not_the_winner", message, next_action="Deliver only the finalized winner's key.")
