"""Locks of a chain: what at most one process at a time does for it, whichever machine it runs on.

A lock is held by a session and ends with it.
"""

from bounty_protocol.types import ChainId
from sqlalchemy import Connection, text


def try_chain_lock(connection: Connection, space: int, chain_id: ChainId) -> bool:
    """Whether this session holds the chain's lock of ``space`` now."""
    return bool(connection.execute(text("SELECT pg_try_advisory_lock(:space, :chain)"), _key(space, chain_id)).scalar())


def release_chain_lock(connection: Connection, space: int, chain_id: ChainId) -> None:
    """Let it go at once; of a session that is closed the server does when it notices."""
    connection.execute(text("SELECT pg_advisory_unlock(:space, :chain)"), _key(space, chain_id))


def _key(space: int, chain_id: ChainId) -> dict[str, int]:
    # Two numbers of 31 bits; chains that share one would wait for each other, and do no harm.
    return {"space": space, "chain": chain_id % 2**31}
