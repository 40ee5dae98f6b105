"""Whether a page was funded before, on whichever machine: asked of the Hub's log, or of the API where that is too long.

Promises: a bounty counts only when the Hub itself says that it is this account's and this page's. The log is read from
the Hub's first block on; where that block is not known and the chain is a public one, the API's list says where to
look.
"""

from collections.abc import Iterator

from service_common.chain.events import BountyCreated
from service_common.types import Address, BlockNumber, BountyId, Bytes32, parse_bounty_id

from service_cli.client.api import api_of
from service_cli.client.browsing import listed
from service_cli.client.chain import ChainClient, chain_errors
from service_cli.client.facts import account_topic, find_event
from service_cli.outcome import Refused
from service_cli.settings import Settings

MOST_LISTED = 10_000


def refuse_second_escrow(settings: Settings, chain: ChainClient, poster: Address, commitment: Bytes32) -> None:
    """Refuse where the Hub holds a bounty of this account on this page already."""
    if (bounty_id := bounty_of(settings, chain, poster, commitment)) is None:
        return
    message = f"{poster} has funded this page before: bounty {bounty_id}. A second escrow would be another bounty."
    next_action = f"See service-cli bounty:show {bounty_id}; to fund the same page once more add --again."
    raise Refused("already_funded", message, next_action=next_action)


def bounty_of(settings: Settings, chain: ChainClient, poster: Address, commitment: Bytes32) -> BountyId | None:
    """The newest bounty of this account on this page."""
    if (start := first_block(settings, chain)) is not None:
        topics = [None, account_topic(poster), commitment]
        found = find_event(chain, BountyCreated, start, lambda created: created.spec_commitment == commitment, topics)
        ids = [one.bounty_id for one in found.events if isinstance(one, BountyCreated)] if found else []
        return ids[-1] if ids else None
    for bounty_id in _listed_ids(settings, poster, commitment):
        with chain_errors():
            view = chain.hub.bounty(bounty_id)
        if view is not None and (view.poster, view.spec_commitment) == (poster, commitment):
            return bounty_id
    return None


def funded_as(
    settings: Settings, chain: ChainClient, commitment: Bytes32, poster: Address | None
) -> tuple[BountyId, ...] | None:
    """The bounties on this page, of one account or of anyone's, by the Hub's log; None where that begins is unknown."""
    if (start := first_block(settings, chain)) is None:
        return None
    topics = [None, None if poster is None else account_topic(poster), commitment]
    found: list[BountyId] = []

    def keep(created: BountyCreated) -> bool:
        if created.spec_commitment == commitment and poster in {None, created.poster}:
            found.append(created.bounty_id)
        return False  # go on to the end of the log

    find_event(chain, BountyCreated, start, keep, topics)
    return tuple(found)


def first_block(settings: Settings, chain: ChainClient) -> BlockNumber | None:
    """Where the Hub's log begins, if that is known; a local chain is short."""
    if chain.is_local:
        return BlockNumber(0)
    record = settings.record
    return record.deploy_block if record is not None and record.hub_address == chain.hub.address else None


def _listed_ids(settings: Settings, poster: Address, commitment: Bytes32) -> Iterator[BountyId]:
    api = api_of(settings)
    for item in listed(api, {"poster_address": poster}, MOST_LISTED):
        facts = item.get("facts")
        if isinstance(facts, dict) and facts.get("spec_commitment") == commitment:
            try:
                yield parse_bounty_id(str(item.get("bounty_id")))
            except ValueError:
                continue
