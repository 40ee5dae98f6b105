"""docs/adr/README.md: the list of the decisions, by their headings."""

from collections.abc import Iterator
from typing import Final

from tools.generate.derived import TOP, part


def _list() -> Iterator[str]:
    pages = sorted((TOP / "docs/adr").glob("[0-9]*.md"))
    titles = ((page.name, page.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")) for page in pages)
    yield "\n".join(f"- [{title.partition('. ')[0]}]({name}) {title.partition('. ')[2]}" for name, title in titles)


DECISIONS: Final = part("docs/adr/README.md", "decisions", _list)
