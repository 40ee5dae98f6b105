"""Hold a deployment, or one bounty, against its chain: a program that shares no code with what it checks.

Written from docs/hub.md, docs/formats.md, docs/interface.md and docs/subgraph.md. It needs no key and sends only public
reads.
"""

__version__ = "0.1.0"
