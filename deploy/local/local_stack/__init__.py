"""Real servers on this machine, without Docker and without system services.

Used by the local stack and by the fixtures of every test folder: PostgreSQL, Valkey, anvil and the services as child
processes that never outlive the process that started them. Importable with ``PYTHONPATH=deploy/local``.
"""
