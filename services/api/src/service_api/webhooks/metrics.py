"""Metrics of the webhooks' worker; none names an account, a bounty or a receiver."""

from collections.abc import Iterator
from typing import Final

from bounty_protocol.types import ChainId
from bounty_protocol.wire.values import WebhookState
from prometheus_client import Counter
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from service_common.counters import counter_by
from service_common.db.engine import reading
from service_common.db.errors import DatabaseUnavailable
from sqlalchemy import Engine, case, func, select

from service_api.webhooks import tables as t
from service_api.webhooks.sending import AttemptEnd

ATTEMPTS: Final = counter_by(
    "result",
    [each.value for each in AttemptEnd],
    "service_webhook_attempts_total",
    "Messages to receivers of webhooks, by how they ended ([webhooks.md](webhooks.md#when-it-fails))",
)
SWITCHED_OFF: Final = Counter("service_webhooks_switched_off_total", "Webhooks switched off after days of failure")
_FAILING: Final = "failing"
_STATES: Final = (*(each.value for each in WebhookState), _FAILING)


class WebhookCollector(Collector):
    """How many webhooks there are by state, and how long ago nothing was waiting; read at each scrape. Where that
    never was, since the first was registered."""

    def __init__(self, engine: Engine, chain_id: ChainId) -> None:
        self._engine, self._chain_id = engine, chain_id

    def collect(self) -> Iterator[Metric]:
        """The figures of this moment."""
        d, p, s = t.deliveries.c, t.progress.c, t.subscriptions.c
        failing = (d.state == WebhookState.ACTIVE.value) & (d.failure_count > 0)
        state = case((failing, _FAILING), else_=d.state).label("state")
        try:
            with reading(self._engine) as connection:
                counted = connection.execute(select(state, func.count()).group_by(state)).all()
                caught_up = select(p.caught_up_at).where(p.chain_id == self._chain_id).scalar_subquery()
                first = select(func.min(s.created_at)).scalar_subquery()  # of a worker that never got so far
                lag = func.extract("epoch", func.now() - func.coalesce(caught_up, first))
                found = connection.execute(select(lag)).scalar()
        except DatabaseUnavailable:
            return
        counts = {row[0]: row[1] for row in counted}
        family = GaugeMetricFamily(
            "service_webhooks", "Webhooks that are `pending`, `active`, `failing`, `off`", labels=["state"]
        )
        for name in _STATES:
            family.add_metric([name], counts.get(name, 0))
        yield family
        if found is not None:
            yield GaugeMetricFamily(
                "service_webhooks_lag_seconds",
                "Time since nothing was left to send to receivers that answer",
                max(0.0, float(found)),
            )
