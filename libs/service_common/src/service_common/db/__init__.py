"""PostgreSQL, the record: tables by schema and owner, sessions, the schema, and the reads of the indexed Hub log.

Each schema has one writer: ``hub_index`` the indexer, ``app`` the api, ``delivery`` the delivery service, ``review``
the reviewer, ``settler`` the indexer.
"""
