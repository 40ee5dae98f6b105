"""Work of which a process does so much at a time: what waits on another service holds a thread that others need."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore

from bounty_protocol.errors import ServiceError


@contextmanager
def place_at(places: BoundedSemaphore, refusal: ServiceError, patience: float = 0.0) -> Iterator[None]:
    """Hold one of the places, waited for so many seconds at most; raises ``refusal`` where none is free."""
    if not places.acquire(blocking=patience > 0, timeout=patience or None):
        raise refusal
    try:
        yield
    finally:
        places.release()
