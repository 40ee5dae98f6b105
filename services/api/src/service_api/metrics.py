"""The counters of the api alone; its worker's jobs count the same ciphertexts."""

from collections.abc import Iterator
from typing import Final

from prometheus_client import Counter, Histogram
from prometheus_client.core import GaugeMetricFamily, Metric
from service_common.counters import counter_by
from service_common.reviews import OUTCOMES
from sqlalchemy import Engine

from service_api.storage.pending import Pending, count_pending
from service_api.storage.verify import Verification

PUBLICATIONS: Final = counter_by(
    "outcome",
    OUTCOMES,
    "service_publications_total",
    "Publications answered, by the outcome of their review",
)
PUBLICATION_SECONDS: Final = Histogram(
    "service_publication_review_seconds",
    "Time a publication waited for its review",
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60),
)
CIPHERTEXTS: Final = counter_by(
    "result",
    [each.value for each in Verification],
    "service_ciphertexts_total",
    "Uploaded ciphertexts hashed, by result; `unfinished` ones continue in the queue",
)
CIPHERTEXT_BYTES: Final = Counter(
    "service_ciphertext_bytes_total", "Bytes of uploaded ciphertexts that match the announced ones"
)
VERDICTS: Final = Counter("service_written_verdicts_total", "Written Verdicts stored for the first time")


def pending_figures(engine: Engine, most: int) -> Iterator[Metric]:
    """Yield how much there is of what is kept for strangers, as a part of what is kept at most."""
    family = GaugeMetricFamily(
        "service_pending_ratio",
        "Part of what is kept at most that is taken by `envelopes` which the Hub does not "
        "record and by `pages` which nobody funded",
        labels=["kind"],
    )
    for kind in Pending:
        family.add_metric([kind], count_pending(engine, kind) / most)
    yield family
