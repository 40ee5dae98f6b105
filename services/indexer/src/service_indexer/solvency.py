"""Whether the Hub holds what it owes, at each scrape: the debts from the copy, the balance from each endpoint alone.

The two are different sources of the same moment: what all bounties are owed follows from every log up to the newest
indexed block, and the balance is what the token says there. One endpoint that lies shows in its own figure alone, and
one that does not answer in time has none.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from bounty_protocol.chain.hub import Hub
from bounty_protocol.chain.hub_constants import balance_of
from bounty_protocol.chain.rpc import ChainUnavailable, Rpc, RpcRefused
from bounty_protocol.types import BlockNumber
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from service_common.chain.settings import ChainSettings
from service_common.db.engine import reading
from service_common.db.errors import DatabaseUnavailable
from service_common.db.hub_reads import read_head, read_totals
from sqlalchemy import Engine

ANSWER_SECONDS: Final = 2.0
"""How long an endpoint may take for each of two answers: which token, and its balance."""
COLLECTED_SECONDS: Final = 2 * ANSWER_SECONDS + 1
"""How long the figures take at most, while the database answers."""
_MOST_BYTES: Final = 1 << 16


class SolvencyCollector(Collector):
    """The Hub's debts and what it lacks of them, by each endpoint; only what can be read at this moment."""

    def __init__(self, engine: Engine, chain: ChainSettings) -> None:
        self._engine, self._chain = engine, chain
        self._endpoints = [
            Rpc([url]).bounded(seconds=ANSWER_SECONDS, max_answer_bytes=_MOST_BYTES) for url in chain.rpc_urls
        ]

    def collect(self) -> Iterator[Metric]:
        """The figures of this moment, in units of the token."""
        try:
            with reading(self._engine) as connection:
                head = read_head(connection, self._chain.chain_id)
                owed = read_totals(connection).held
        except DatabaseUnavailable:
            return
        if head is None:
            return
        yield GaugeMetricFamily(
            "service_hub_owed", "What all bounties are owed by the copy, in units of the token", owed
        )
        missing = GaugeMetricFamily(
            "service_hub_missing",
            "What the Hub's balance lacks of `service_hub_owed` by each endpoint",
            labels=["endpoint"],
        )
        with ThreadPoolExecutor(len(self._endpoints)) as pool:
            balances = pool.map(lambda rpc: self._balance(rpc, head.block_number), self._endpoints)
        for place, balance in enumerate(balances, 1):
            if balance is not None:
                missing.add_metric([str(place)], max(0, owed - balance))
        yield missing

    def _balance(self, rpc: Rpc, block: BlockNumber) -> int | None:
        """By one endpoint; None where it does not answer: that hides no other's figure."""
        hub = self._chain.hub_address
        try:
            return balance_of(rpc, Hub(rpc, hub).token(), hub, hex(block))
        except (ChainUnavailable, RpcRefused, ValueError):
            return None
