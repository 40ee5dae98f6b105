"""Which bounties an account has funded on a page: by the Hub's log, the API's index, and what this machine saw of both.

What node and API show alike in a final block is remembered, whichever machine made it: it can be hidden from later runs
by nobody. That they show nothing of it later is a disagreement with this machine, which a person decides.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from bounty_protocol.domain.lifecycle.hub_events import BountyCreated
from bounty_protocol.types import Address, BlockNumber, BountyId, Bytes32

from service_cli.api import ApiClient
from service_cli.chain import agreement
from service_cli.chain.agreement import Fact, agreed, disagreement
from service_cli.chain.receipts import account_topic, earliest_block, hub_events
from service_cli.chain.session import ChainClient, chain_errors
from service_cli.errors import CommandRefused

MOST_LISTED: Final = 100
"""Bounties of one account on one page that the API is asked for."""
FUNDED_QUERY: Final = (
    "query Funded($poster: String!, $page: String!, $first: Int!) {"
    " bounties(where: {poster_address: $poster, spec_commitment: $page}, first: $first)"
    " { bounty_id authorization_nonce block_number } }"
)


@dataclass(frozen=True, slots=True)
class _FundedRow:
    bounty_id: BountyId
    authorization_nonce: Bytes32
    block_number: BlockNumber


@dataclass(frozen=True, slots=True)
class _FundedRows:
    bounties: tuple[_FundedRow, ...]


@dataclass(frozen=True, slots=True)
class Escrow:
    """A bounty on the page, the nonce of the terms that it was created with, and where that was."""

    bounty_id: BountyId
    nonce: Bytes32
    tx_hash: Bytes32
    block_number: BlockNumber


_Listed = Mapping[tuple[BountyId, Bytes32], BlockNumber]
"""The API's fields of each: its id, its nonce, and the block of its creation."""


def escrows_of(
    chain: ChainClient, api: ApiClient, poster: Address, page: Bytes32
) -> tuple[tuple[Escrow, ...], BlockNumber]:
    """List every bounty of this account on this page, oldest first, and return them with the block of this look;
    remember those that are final by all of them.

    ``sources_disagree`` if the API shows one that an endpoint's log lacks, or endpoints differ: one of them hides or
    invents an escrow. The API may be a few blocks behind the log.
    """
    variables = {"poster": poster, "page": page, "first": MOST_LISTED}
    for look in range(agreement.LAG_LOOKS):
        if look:
            time.sleep(agreement.LAG_SECONDS)
        rows = api.query(_FundedRows, FUNDED_QUERY, variables, "/subgraph").bounties
        listed, tip = {(row.bounty_id, row.authorization_nonce): row.block_number for row in rows}, chain.tip()
        found = agreed(chain.at(tip), Fact.UNFUNDED, partial(_logged, poster, page, listed))
        if set(listed) <= {(escrow.bounty_id, escrow.nonce) for escrow in found}:
            break
    else:
        raise disagreement(Fact.UNFUNDED, chain.named, api.peer.named)
    for escrow in found:
        if (escrow.bounty_id, escrow.nonce) in listed and _is_final(chain, escrow, poster, page):
            chain.records.note_done(*_names(poster, page), str(escrow.bounty_id), escrow.nonce)
    return found, tip


def escrows_hidden(chain: ChainClient, api: ApiClient, hidden: list[int]) -> CommandRefused:
    """Return the refusal for escrows of this account on this page that an earlier run saw and no source shows now."""
    here = f"this machine, which saw bounty {', '.join(map(str, hidden))} in a final block,"
    refusal = disagreement(Fact.UNFUNDED, here, f"{chain.named} with {api.peer.named}")
    next_action = "Nothing was signed. Use other endpoints; to fund the page even if that bounty exists, add --again."
    return CommandRefused(refusal.code, refusal.message, next_action=next_action)


def hidden_escrows(chain: ChainClient, poster: Address, page: Bytes32, known: tuple[Escrow, ...]) -> list[int]:
    """List the bounties that an earlier run saw in a final block and that no source shows now."""
    shown = {(str(escrow.bounty_id), escrow.nonce) for escrow in known}
    seen = chain.records.below(*_names(poster, page))
    return sorted(int(bounty_id) for *_, bounty_id, nonce in seen if (bounty_id, nonce) not in shown)


def _names(poster: Address, page: Bytes32) -> tuple[str, ...]:
    """Return the prefix of the names under which seen escrows are noted."""
    return "escrow", poster, page


def _is_final(chain: ChainClient, escrow: Escrow, poster: Address, page: Bytes32) -> bool:
    """Return whether every endpoint has the escrow in its finalized block."""
    for each in chain.everywhere:
        finalized = each.final_block()
        view = each.hub.bounty(escrow.bounty_id, finalized)
        if view is None or (view.poster, view.spec_commitment) != (poster, page):
            return False
    return True


def _logged(poster: Address, page: Bytes32, listed: _Listed, chain: ChainClient) -> tuple[Escrow, ...]:
    """Read the Hub's log from its start; if that is unknown, the log of the last day and the blocks that the API
    names.
    """
    with chain_errors():
        start = earliest_block(chain, chain.tip())
    found = {}
    for first, each in [*((block, chain.at(block)) for block in set(listed.values()) if block < start), (start, chain)]:
        for log, event in hub_events(each, first, [None, None, account_topic(poster), page]):
            if isinstance(event, BountyCreated) and (event.poster, event.spec_commitment) == (poster, page):
                escrow = Escrow(event.bounty_id, event.authorization_nonce, log.tx_hash, log.block_number)
                found[escrow.bounty_id] = escrow
    return tuple(found[bounty_id] for bounty_id in sorted(found))
