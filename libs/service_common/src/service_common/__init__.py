"""What the services and the client share, and nothing else.

Its packages build on each other in one direction: the import contracts in ``pyproject.toml`` list them.
"""
