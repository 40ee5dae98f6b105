"""A market under attack on a local stack: actors and faults drawn from a seed, and ``service-audit`` in the end."""
