"""How many words of the documents are written by hand: ``python -m tools.words`` prints the pages, the longest first.

Counted is what README, CONTRIBUTING and docs have outside of the parts that ``./noxw -s generate`` writes between its
marks. Pages that a session writes whole, references that are made for the site, and ADRs are not counted. A word has a
letter or a digit: the lines of a table and the marks of Markdown are none.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

TOP: Final = Path(__file__).parents[1]
GENERATED: Final = re.compile(r"(?ms)^<!-- generated: [\w-]+ -->$.*?^<!-- end -->$")
WORD: Final = re.compile(r"\S*\w\S*")
NOT_COUNTED: Final = ("docs/adr/", "docs/reference/", "docs/benchmarks.md")


def words_by_hand(text: str) -> int:
    """The words of a page outside of its generated parts; a part that does not end is counted."""
    return len(WORD.findall(GENERATED.sub("", text)))


def pages(top: Path = TOP) -> Iterator[str]:
    """The pages whose words are counted, as paths below ``top``."""
    yield from ("README.md", "CONTRIBUTING.md")
    for path in sorted((top / "docs").rglob("*.md")):
        name = path.relative_to(top).as_posix()
        if not name.startswith(NOT_COUNTED):
            yield name


def counts(top: Path = TOP) -> dict[str, int]:
    """The words by hand of each page, the longest page first."""
    found = {page: words_by_hand((top / page).read_text(encoding="utf-8")) for page in pages(top)}
    return dict(sorted(found.items(), key=lambda each: -each[1]))


def main() -> None:
    found = counts()
    for page, words in found.items():
        print(f"{words:7,} {page}")
    print(f"{sum(found.values()):7,} words written by hand on {len(found)} pages")


if __name__ == "__main__":
    main()
