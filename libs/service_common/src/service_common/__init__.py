"""Shared by the services: database, jobs, storage settings, traces, web, and their settings.

The protocol itself is ``bounty_protocol``, which the client uses, too. The packages here build on each other in one
direction: the import contracts in ``pyproject.toml`` list them.
"""
