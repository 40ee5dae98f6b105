"""Derived and committed files: how they are made, written, and compared with those that are there."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

TOP: Final = Path(__file__).parents[2]
END: Final = "<!-- end -->"


@dataclass(frozen=True, slots=True)
class Derived:
    """Files that follow from code.

    ``make`` returns the content of each by its path below the project. In ``folder`` there is nothing else, so that a
    file that is made no more is removed.
    """

    name: str
    make: Callable[[], Mapping[str, bytes]]
    folder: str | None = None

    def differences(self) -> Iterator[tuple[Path, bytes | None]]:
        """Yield the files that are not as they are made, with what they should be; None if there should be none."""
        made = {TOP / path: content for path, content in self.make().items()}
        for path, content in made.items():
            if not path.is_file() or path.read_bytes() != content:
                yield path, content
        if self.folder is not None:
            for path in sorted((TOP / self.folder).iterdir()):
                if path not in made:
                    yield path, None


def write(derived: Derived) -> list[Path]:
    """Put every file right; which ones were not."""
    changed = list(derived.differences())
    for path, content in changed:
        if content is None:
            path.unlink()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    return [path for path, _ in changed]


def part(path: str, name: str, blocks: Callable[[], Iterable[str]]) -> Derived:
    """Return the text between two marks on a page of docs: the prose around it is written by hand."""

    def make() -> Mapping[str, bytes]:
        page = (TOP / path).read_text(encoding="utf-8")
        return {path: with_part(page, name, blocks()).encode()}

    return Derived(name, make)


def table(head: str, rows: Iterable[str]) -> str:
    """Return a table of Markdown with this line of column names above its rows."""
    return "\n".join([head, "|---" * (head.count("|") - 1) + "|", *rows])


def with_part(page: str, name: str, blocks: Iterable[str]) -> str:
    """Return the page with these blocks between the marks of ``name``; ``ValueError`` for a page without them."""
    begin = f"<!-- generated: {name} -->"
    before, mark, rest = page.partition(begin)
    _, end, after = rest.partition(END)
    if not mark or not end:
        raise ValueError(f"the page has no part {name}, from {begin} to {END}")
    return "\n\n".join([before + begin, *blocks, END + after])
