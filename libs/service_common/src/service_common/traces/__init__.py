"""Traces: the port that every room calls (``port``), its configuration (``settings``), how a process begins and ends
with them (``setup``), OpenTelemetry behind the port (``otel``), and what is known of a collector that is away
(``outage``)."""
