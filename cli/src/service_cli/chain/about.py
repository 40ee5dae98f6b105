"""Facts for the text of an event beside its fields, read from the chain when it is printed as text."""

from dataclasses import replace
from functools import partial

from bounty_protocol.chain.blocks import header_at
from bounty_protocol.chain.hub import BountyView
from bounty_protocol.chain.rpc import mapping, quantity
from bounty_protocol.domain.lifecycle import Outcome
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import Address, BlockNumber, BountyId, Bytes32

from service_cli.chain.session import ChainClient, chain_errors
from service_cli.chain.token import token_of
from service_cli.ui.text import About, BountyEnd, FindAbout, Token


def about_chain(chain: ChainClient, bounty_id: BountyId | None = None, block: BlockNumber | None = None) -> FindAbout:
    """The token and the chain's time; with these also the terms of a bounty, and the time of a block."""
    return partial(_find_out, chain, bounty_id, block, None)


def about_sent(chain: ChainClient, sender: Address, tx_hash: Bytes32, bounty_id: BountyId | None = None) -> FindAbout:
    """The same, and what a transaction cost this account; nothing where another one sent it."""
    return partial(_find_out, chain, bounty_id, None, (sender, tx_hash))


def _find_out(
    chain: ChainClient, bounty_id: BountyId | None, block: BlockNumber | None, sent: tuple[Address, Bytes32] | None
) -> About:
    bounty = None if bounty_id is None else chain.bounty(bounty_id)
    happened_at = None
    if block is not None:
        with chain_errors():
            happened_at = header_at(chain.rpc, block).time
    gas_cost = None if sent is None else _gas_cost(chain, *sent)
    known = About(_known_token(chain), chain.latest().time, bounty, gas_cost, happened_at)
    if bounty is None or bounty.outcome is None:
        return known
    return replace(known, ended=ended_as(bounty), paid=is_paid(bounty))


def is_paid(bounty: BountyView) -> bool:
    """Whether the award, or without a winner the refund, was claimed."""
    return bounty.award_claimed or bounty.refund_claimed


def ended_as(bounty: BountyView) -> BountyEnd | None:
    """How it ended; None while it is open."""
    if bounty.outcome is None:
        return None
    return BountyEnd(bounty.outcome is Outcome.AWARDED, None if bounty.reason is None else bounty.reason.value)


def _known_token(chain: ChainClient) -> Token | None:
    try:
        return token_of(chain)
    except ServiceError:  # one that does not describe itself
        return None


def _gas_cost(chain: ChainClient, sender: Address, tx_hash: Bytes32) -> int | None:
    """Gas at the price that was paid, and what a rollup adds for its data; None where the node does not show it."""
    try:
        with chain_errors():
            receipt = mapping(chain.rpc.call("eth_getTransactionReceipt", tx_hash))
            if str(receipt.get("from")).lower() != sender:
                return None
            execution = quantity(receipt.get("gasUsed")) * quantity(receipt.get("effectiveGasPrice"))
            return execution + (quantity(receipt["l1Fee"]) if receipt.get("l1Fee") is not None else 0)
    except ServiceError:
        return None
