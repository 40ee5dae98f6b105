"""What the services and the client share, and nothing else.

Rooms, each importing only those before it:
``types < errors < crypto, domain < auth, chain, db, jobs, storage, traces < web``; ``config``, ``clock`` and ``log``
stand beside ``errors``.
"""
