"""Why a review of a page comes to no judgement."""

from bounty_protocol.types import UnixSeconds
from service_common.reviews import ReviewEnding


class NoJudgement(Exception):
    """The review came to nothing; ``ending`` is what the Poster gets, ``spent`` whether it may have cost money."""

    def __init__(
        self, code: str, *, retry_after: int | None = None, retry_at: UnixSeconds | None = None, spent: bool = False
    ) -> None:
        super().__init__(code)
        self.ending = ReviewEnding(code, retry_after, retry_at)
        self.spent = spent
