"""What the services and the client share, and nothing else.

Packages, each importing only those before it:
``types < errors < crypto, domain < auth, chain, db, jobs, storage, traces < web``; ``config``, ``clock`` and ``log``
are beside ``errors``.
"""
