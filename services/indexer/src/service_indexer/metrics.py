"""How far the copy is, as metrics, read from the copy itself at each scrape: every process says the same."""

from collections.abc import Iterator

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from service_common.clock import Clock
from service_common.db.engine import DatabaseUnavailable, reading
from service_common.db.hub_reads import read_head
from service_common.types import ChainId
from sqlalchemy import Engine


class IndexCollector(Collector):
    """Blocks, lag and halt of one chain's copy; nothing while the database does not answer."""

    def __init__(self, engine: Engine, chain_id: ChainId, clock: Clock) -> None:
        self._engine, self._chain_id, self._clock = engine, chain_id, clock

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """The figures of this moment."""
        try:
            with reading(self._engine) as connection:
                head = read_head(connection, self._chain_id)
        except DatabaseUnavailable:
            return
        if head is None:
            return
        yield GaugeMetricFamily("service_index_block", "Newest indexed block", head.block_number)
        yield GaugeMetricFamily("service_index_finalized_block", "Newest finalized block", head.finalized_number)
        lag = max(0, self._clock.now() - head.block_time)
        yield GaugeMetricFamily("service_index_lag_seconds", "Age of the newest indexed block", lag)
        yield GaugeMetricFamily("service_index_finality_lag_seconds", "Block to finality", head.finality_lag_seconds)
        yield GaugeMetricFamily("service_index_halted", "1 when the copy is halted", float(head.halted is not None))
