"""The readiness rubric: one versioned file, applied by the reviewer and served to everyone by the api."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

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
    """Return the rubric of this release."""
    data = Path(__file__).with_name("readiness.md").read_bytes()
    text = data.decode()
    version = text.splitlines()[0].rsplit(" ", 1)[-1]
    return Rubric(version, bytes32(keccak256(data)), text)
