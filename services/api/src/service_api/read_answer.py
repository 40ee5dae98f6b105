"""What a public read of the index answers, with how far the index was."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from service_common.db.hub_reads import Head

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ReadAnswer(Generic[T]):
    """What one moment of the index shows, and how far the index was."""

    value: T
    head: Head
