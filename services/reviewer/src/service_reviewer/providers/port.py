"""The port every review provider satisfies."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from service_common.domain.challenge import ChallengePage
from service_common.errors import Issue
from service_common.types import UnixSeconds


@dataclass(frozen=True, slots=True)
class Material:
    """What is judged: the parsed page, its exact bytes, when, and on which terms of the deployment.

    ``reveal_delay`` is None where nobody said; the token is the escrow token, as it describes itself.
    """

    page: ChallengePage
    content: bytes
    now: UnixSeconds
    reveal_delay: int | None = None
    token_symbol: str = "USDC"  # noqa: S105 (the token is money here)
    token_decimals: int = 6


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a provider found. No issue means ready. ``prompt`` and ``output`` are kept as hashes for repetition."""

    issues: Sequence[Issue]
    model: str
    prompt: bytes
    output: bytes


class ProviderError(Exception):
    """The provider gave no judgement; ``code`` is what the Poster is told."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class Provider(Protocol):
    """Judges one page against the rubric."""

    name: str

    def judge(self, material: Material) -> Judgement:
        """The judgement, or ``ProviderError``."""
