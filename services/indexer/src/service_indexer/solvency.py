"""Whether the Hub holds what it owes, at each scrape: the debts from the copy, the balance from the chain.

The two are different sources of the same moment: what all bounties are owed follows from every log up to the newest
indexed block, and the balance is what the token says there, by two endpoints where there are several.
"""

from collections.abc import Iterator
from typing import Final

from bounty_protocol.chain.hub import Hub
from bounty_protocol.chain.hub_constants import balance_of
from bounty_protocol.chain.rpc import ChainUnavailable, OneEndpoint, RpcRefused
from bounty_protocol.types import TokenAmount
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from service_common.chain.settings import ChainSettings
from service_common.db.engine import reading
from service_common.db.errors import DatabaseUnavailable
from service_common.db.hub_reads import read_head, read_totals
from sqlalchemy import Engine

ANSWER_SECONDS: Final = 2.0
"""How long an endpoint may take for each of two answers: which token, and its balance."""
COLLECTED_SECONDS: Final = 5.0
"""How long the figures take at most; an endpoint that is silent rests at the next scrape."""
_MOST_BYTES: Final = 1 << 16


class SolvencyCollector(Collector):
    """The Hub's debts and what it lacks of them; only what can be read at this moment."""

    def __init__(self, engine: Engine, chain: ChainSettings) -> None:
        self._engine, self._chain = engine, chain
        self._rpc = chain.rpc().bounded(seconds=ANSWER_SECONDS, max_answer_bytes=_MOST_BYTES)

    def collect(self) -> Iterator[Metric]:
        """Yield the figures of this moment, in units of the token."""
        try:
            with reading(self._engine) as connection:
                head = read_head(connection, self._chain.chain_id)
                owed = read_totals(connection).held
        except DatabaseUnavailable:
            return
        if head is None:
            return
        yield GaugeMetricFamily(
            "service_hub_owed", "What the Hub owes to all bounties according to the copy, in units of the token", owed
        )
        hub, block = self._chain.hub_address, hex(head.block_number)

        def ask(one: OneEndpoint) -> TokenAmount:
            return balance_of(one, Hub(one, hub).token(), hub, block)

        try:
            balance = self._rpc.agreed(ask, self._rpc.pair)
        except (ChainUnavailable, RpcRefused):
            return
        yield GaugeMetricFamily(
            "service_hub_missing", "How much the Hub's balance is below `service_hub_owed`", max(0, owed - balance)
        )
