"""``service-cli``: the flows of each role over the API and the chain, as JSON lines.

Thin: it never tallies Verdicts, never settles, and signs only what it has encoded itself from verified values.
"""

__version__ = "0.1.0"
