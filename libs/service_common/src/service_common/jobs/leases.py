"""Leases: keys of Redis that the server lets end, and that show that somebody does something, or has just looked.

Whoever can write to Redis can set such a key. One without an end, or with a later end than a lease has, is nobody's: it
would keep all from the work for good.
"""

from redis import Redis


def take_lease(redis: Redis, key: str, seconds: int) -> bool:
    """Take it unless somebody has it; whether it was taken."""
    if redis.set(key, 1, ex=seconds, nx=True):
        return True
    if is_leased(redis, key, seconds):
        return False
    redis.set(key, 1, ex=seconds)
    return True


def is_leased(redis: Redis, key: str, seconds: int) -> bool:
    """Whether somebody has a lease of at most ``seconds``."""
    return 0 <= redis.ttl(key) <= seconds  # below zero: it has no end, or is not there
