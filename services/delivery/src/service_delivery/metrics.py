"""Metrics of the delivery service; none shows a bounty, a Guardian or a key."""

from typing import Final

from service_common.counters import counter_by

WRAPS: Final = counter_by(
    "event",
    ("stored", "retrieved", "swept"),
    "service_delivery_wraps_total",
    "Wraps of content keys, by what was done: `swept` since they did not win",
)
