"""Traces: the port that every package calls (``port``), its configuration (``settings``), how a process starts and ends
with them (``setup``), OpenTelemetry behind the port (``otel``), and what is known of a collector that is away
(``outage``)."""

import sys

# redis-py loads the SDK's metrics where it finds them: 40 ms and 3 MB of every process, for metrics that nobody wants
# from it. Neither it nor the SDK's spans need them; a process that imports this package before redis-py is spared.
sys.modules.setdefault("opentelemetry.sdk.metrics", None)  # type: ignore[arg-type]  # None: there is no such module
