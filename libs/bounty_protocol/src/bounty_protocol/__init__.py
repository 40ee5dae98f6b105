"""Formats, crypto, request signatures, the Hub's calls and events, rules, wire shapes; on its own.

Its packages build on each other in one direction: the import contracts in ``pyproject.toml`` of the repository list
them.

It never needs a server, a database or a command line.
"""
