"""The labelled pages, and how well a provider tells them apart.

A page that is not ready counts as positive: precision is the share of refused pages that deserved it, recall the share
of pages that are not ready and were refused. ``named`` is the share of labelled defects with an issue where they are.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from bounty_protocol.domain.challenge.page import parse_challenge
from bounty_protocol.errors import Issue
from bounty_protocol.readiness.material import Material
from bounty_protocol.types import UnixSeconds

CORPUS: Final = Path(__file__).parent / "corpus"
WRITTEN_AT: Final = UnixSeconds(1_795_132_800)
REVEAL_DELAY: Final = 3_600


@dataclass(frozen=True, slots=True)
class Labelled:
    """One page. ``defects`` are (what, path); none means ready."""

    name: str
    material: Material
    defects: tuple[tuple[str, str], ...]


@dataclass(slots=True)
class Score:
    """How a provider did."""

    pages: int = 0
    wrongly_refused: list[str] = field(default_factory=list)
    wrongly_accepted: list[str] = field(default_factory=list)
    rightly_refused: int = 0
    defects: int = 0
    named: int = 0

    @property
    def precision(self) -> float:
        return self.rightly_refused / (self.rightly_refused + len(self.wrongly_refused))

    @property
    def recall(self) -> float:
        return self.rightly_refused / (self.rightly_refused + len(self.wrongly_accepted))


def labelled_pages() -> Iterator[Labelled]:
    """All of them, ready ones first."""
    labels = json.loads((CORPUS / "labels.json").read_text(encoding="utf-8"))["defects"]
    for path in (*sorted((CORPUS / "ready").glob("*.md")), *sorted((CORPUS / "not_ready").glob("*.md"))):
        content = path.read_bytes()
        defects = tuple((one["defect"], one["path"]) for one in labels.get(path.stem, ()))
        assert bool(defects) == (path.parent.name == "not_ready"), f"{path.stem} has no label"
        yield Labelled(path.stem, Material(parse_challenge(content), content, WRITTEN_AT, REVEAL_DELAY), defects)


def score(judge: Callable[[Material], Sequence[Issue]]) -> Score:
    """Hold a judge against the labels."""
    result = Score()
    for page in labelled_pages():
        issues = judge(page.material)
        result.pages += 1
        if page.defects:
            result.rightly_refused += bool(issues)
            result.wrongly_accepted += [] if issues else [page.name]
            result.defects += len(page.defects)
            result.named += sum(any(issue.path == path for issue in issues) for _, path in page.defects)
        elif issues:
            result.wrongly_refused.append(page.name)
    return result
