"""Pages of docs with a part that is derived: what is between the marks is written again, the prose around it stays."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

TOP: Final = Path(__file__).parents[2]
END: Final = "<!-- end -->"


def with_part(page: str, name: str, blocks: Iterable[str]) -> str:
    """The page with these blocks between the marks of ``name``; ``ValueError`` for a page without them."""
    begin = f"<!-- generated: {name} -->"
    before, mark, rest = page.partition(begin)
    _, end, after = rest.partition(END)
    if not mark or not end:
        raise ValueError(f"the page has no part {name}, from {begin} to {END}")
    return "\n\n".join([before + begin, *blocks, END + after])


def write_part(path: str, name: str, blocks: Iterable[str]) -> None:
    """Write the part ``name`` of a page below the project's folder."""
    page = TOP / path
    page.write_text(with_part(page.read_text(encoding="utf-8"), name, blocks), encoding="utf-8")
