"""Settings, database, jobs and web of the services.

The packages here build on each other in one direction: the import contracts in ``pyproject.toml`` list them.

It never imports the services, and the client never imports it.
"""
