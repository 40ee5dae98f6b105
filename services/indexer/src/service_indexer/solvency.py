"""Whether the Hub holds what it owes, at each scrape: the debts from the copy, the balance from the chain.

The two are different sources of the same moment: what all bounties are owed follows from every log up to the newest
indexed block, and the balance is what the token says there, by two endpoints where there are several.
"""

from collections.abc import Iterator
from typing import Final

from bounty_protocol.chain.hub import Hub
from bounty_protocol.chain.hub_constants import balance_of
from bounty_protocol.chain.rpc import ChainUnavailable, OneEndpoint, Rpc, RpcRefused
from bounty_protocol.types import TokenAmount
from prometheus_client.core import GaugeMetricFamily, Metric
from service_common.chain.settings import ChainSettings
from service_common.db.engine import reading
from service_common.db.hub_reads import read_head, read_totals
from sqlalchemy import Engine

ANSWER_SECONDS: Final = 2.0
"""How long an endpoint may take for each of two answers: which token, and its balance."""
COLLECTED_SECONDS: Final = 5.0
"""How long the figures take at most; an endpoint that is silent rests at the next scrape."""
_MOST_BYTES: Final = 1 << 16


def scraped_rpc(chain: ChainSettings) -> Rpc:
    """Return a client that answers in time for a scrape."""
    return chain.rpc().bounded(seconds=ANSWER_SECONDS, max_answer_bytes=_MOST_BYTES)


def solvency_figures(engine: Engine, chain: ChainSettings, rpc: Rpc) -> Iterator[Metric]:
    """Yield the Hub's debts and what it lacks of them, in units of the token; only what can be read at this moment."""
    with reading(engine) as connection:
        head = read_head(connection, chain.chain_id)
        owed = read_totals(connection).held
    if head is None:
        return
    yield GaugeMetricFamily(
        "service_hub_owed", "What the Hub owes to all bounties according to the copy, in units of the token", owed
    )
    hub, block = chain.hub_address, hex(head.block_number)

    def ask(one: OneEndpoint) -> TokenAmount:
        return balance_of(one, Hub(one, hub).token(), hub, block)

    try:
        balance = rpc.agreed(ask, rpc.pair)
    except (ChainUnavailable, RpcRefused):
        return
    yield GaugeMetricFamily(
        "service_hub_missing", "How much the Hub's balance is below `service_hub_owed`", max(0, owed - balance)
    )
