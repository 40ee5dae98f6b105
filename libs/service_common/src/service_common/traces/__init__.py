"""Traces: the port that every room calls (``port``), its configuration (``settings``), how a process begins and ends
with them (``setup``), OpenTelemetry behind the port (``otel``), and what is known of a collector that is away
(``outage``)."""

import sys

# redis-py loads the SDK's metrics where it finds them: 40 ms and 3 MB of every process, for metrics that nobody asked
# it for. Neither it nor the SDK's spans need them; whoever imports this room before redis-py is spared.
sys.modules.setdefault("opentelemetry.sdk.metrics", None)  # type: ignore[arg-type]  # None: there is no such module
