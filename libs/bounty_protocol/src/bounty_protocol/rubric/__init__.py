"""The readiness rubric: one versioned file, applied by the reviewer and served to everyone by the api.

The file of the release before is kept beside it: while an upgrade goes on, or is taken back, processes of both releases
request reviews, and each review is held against the text that it was requested for.
"""

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from bounty_protocol.keccak import keccak256
from bounty_protocol.types import Bytes32, bytes32


@dataclass(frozen=True, slots=True)
class Rubric:
    """The text reviews are held against. ``hash`` is keccak256 of its exact bytes."""

    version: str
    hash: Bytes32
    text: str


@cache
def current_rubric() -> Rubric:
    """The rubric of this release."""
    return _read("readiness.md")


@cache
def known_rubrics() -> tuple[Rubric, ...]:
    """The rubrics of this release: its own rubric, and the one of the release before."""
    return current_rubric(), _read("former.md")


def _read(name: str) -> Rubric:
    data = (files(__package__) / name).read_bytes()
    text = data.decode()
    version = text.splitlines()[0].rsplit(" ", 1)[-1]
    return Rubric(version, bytes32(keccak256(data)), text)
