"""What a review of a page comes to: a judgement, or the reason why there is none."""

from collections.abc import Sequence
from dataclasses import dataclass

from bounty_protocol.errors import Issue
from bounty_protocol.types import UnixSeconds
from service_common.reviews import ReviewEnding


@dataclass(frozen=True, slots=True)
class Judgement:
    """What was found. No issue means ready."""

    issues: Sequence[Issue]
    provider: str
    model: str


class NoJudgement(Exception):
    """The review came to nothing; ``ending`` is what the Poster gets, ``spent`` whether it may have cost money."""

    def __init__(
        self, code: str, *, retry_after: int | None = None, retry_at: UnixSeconds | None = None, spent: bool = False
    ) -> None:
        super().__init__(code)
        self.ending = ReviewEnding(code, retry_after, retry_at)
        self.spent = spent
