"""The protocol of the Bounty Escrow Service: what any implementation of it needs, and nothing that a server needs.

Formats and commitments, request signatures, the Hub's calls and events, sealing and opening, the readiness rules, and
the shapes that go over the wire. Its packages build on each other in one direction: the import contracts in
``pyproject.toml`` of the repository list them.
"""
