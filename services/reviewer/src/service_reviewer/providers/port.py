"""The port every review provider satisfies."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from bounty_protocol.errors import Issue
from bounty_protocol.readiness.material import Material
from bounty_protocol.types import UnixSeconds
from service_common.reviews import ReviewEnding


@dataclass(frozen=True, slots=True)
class Judgement:
    """A provider's findings. No issue means ready. ``prompt`` and ``output`` are kept as hashes for repetition.

    ``withhold`` means that the page must not be kept: it holds what looks like a secret.
    """

    issues: Sequence[Issue]
    provider: str
    model: str
    prompt: bytes
    output: bytes
    withhold: bool = False


class ProviderError(Exception):
    """The provider gave no judgement; ``ending`` is what the Poster gets, ``spent`` whether it may cost money."""

    def __init__(
        self, code: str, *, retry_after: int | None = None, retry_at: UnixSeconds | None = None, spent: bool = False
    ) -> None:
        super().__init__(code)
        self.ending = ReviewEnding(code, retry_after, retry_at)
        self.spent = spent


class Provider(Protocol):
    """Judges one page against the rubric."""

    def judge(self, material: Material) -> Judgement:
        """The judgement, or ``ProviderError``."""


class PaidProvider(Protocol):
    """A provider whose judgements cost money."""

    def judge(self, material: Material) -> Judgement:
        """The judgement, or ``ProviderError``."""

    def objection(self, material: Material) -> Judgement | None:
        """Findings without paying: a page that it cannot take."""
