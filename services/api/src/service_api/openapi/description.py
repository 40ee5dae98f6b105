"""What a view states of itself for the published document; nothing here parses or answers a request."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from service_common.web.problems import PLAIN, Refusals

V = TypeVar("V", bound=Callable[..., object])


@dataclass(frozen=True, slots=True)
class Described:
    """A decorator that notes of a view what it takes and answers.

    Its summary is the view's docstring, and error codes that follow from how it is let in (``@public``, ``@signed``)
    are not named again.
    """

    answer: object
    """The shape of the answer, or the media type of a text."""
    errors: tuple[str, ...] = ()
    """The error codes that the view itself can answer."""
    query: type | None = None
    body: type | None = None
    example: object = None
    """An example of the body."""
    shown: object = None
    """An example of the answer."""
    created: bool = False
    """Whether what is stored for the first time is 201."""
    versioned: bool = False
    """Whether a conditional request gets 304 if nothing has changed."""
    indexed: bool = False
    """Whether the answer states how far the index was."""
    refusals: Refusals = field(default_factory=lambda: PLAIN)
    """The shapes of its errors by their media types, which its answers then have, too."""

    def __call__(self, view: V) -> V:
        view.described, view.refusals = self, self.refusals  # type: ignore[attr-defined]
        return view
