"""A rule: one thing that the rubric asks for and a program can check, with what it finds and what it leaves alone."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from bounty_protocol.errors import Issue
from bounty_protocol.readiness.reading import Reading


@dataclass(frozen=True, slots=True)
class Example:
    """Two texts for one part of a page (``body``, or the first entry of a list): an issue, and its neighbour."""

    part: str
    found: str
    left_alone: str


@dataclass(frozen=True, slots=True)
class Rule:
    """``point`` is the rubric's; ``check`` yields the issues of a page; ``examples`` are run by a test."""

    name: str
    point: int
    check: Callable[[Reading], Iterable[Issue]]
    examples: tuple[Example, ...]
