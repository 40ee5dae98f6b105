"""The Markdown of a stranger on a terminal: headings, lists, quotes and code as text, links with their address.

A library reads it; nothing of it drives the terminal or looks like text of ours: every line begins with a bar. A body
that would cost too much to read, or that is nested too deeply, is shown as the text it is.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from service_cli.ui.items import Item, Quoted
from service_cli.ui.phrases import safe

if TYPE_CHECKING:
    from markdown_it.token import Token

MAX_LINES_AND_CELLS: Final = 40_000
"""Of a body: the parser takes up to 2 KB of memory for each."""
MAX_MARKS: Final = 20_000
"""Of each kind: each may open something whose end the parser looks for."""
MAX_NESTING: Final = 20
_MOST_OF_A_TEXT: Final = 256 * 1024
_MOST_IN_A_LINE: Final = 20_000
_EMPTY: Final = Quoted("", verbatim=True)


def markdown_items(body: str) -> Iterator[Item]:
    """The lines of a body."""
    if _is_expensive(body):
        yield from plain_items(body)
        return
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark", {"html": False, "maxNesting": MAX_NESTING}).enable(["table", "strikethrough"])
    reader.validateLink = lambda url: True  # type: ignore[method-assign]  # noqa: ARG005  # nothing can be clicked: all are shown
    tokens = reader.parse(body)
    if any(token.level >= MAX_NESTING - 1 for token in tokens):  # what is deeper, the parser leaves out
        yield from plain_items(body)
        return
    writer = _Writer()
    for token in tokens:
        writer.take(token)
    yield from writer.done[: -1 if writer.done and writer.done[-1] == _EMPTY else None]


def plain_items(text: str) -> Iterator[Item]:
    """Each line as it is, but for what would drive a terminal; empty ones that follow each other are one.

    No more than a page may have is shown: an answer that is no page may have megabytes.
    """
    after_empty = False
    for line in text[:_MOST_OF_A_TEXT].splitlines():
        if line.strip() or not after_empty:
            yield Quoted(_line(line.expandtabs(4)), verbatim=True)
        after_empty = not line.strip()
    if (left := len(text) - _MOST_OF_A_TEXT) > 0:
        yield Quoted(f"[… {left:,} more characters; without --text it is there in full]", verbatim=True)


def _is_expensive(text: str) -> bool:
    if text.count("\n") + text.count("|") > MAX_LINES_AND_CELLS:
        return True
    return any(text.count(mark) > MAX_MARKS for mark in "[]*_~`<!&\\")


def _line(text: str) -> str:
    left = len(text) - _MOST_IN_A_LINE
    return safe(text, _MOST_IN_A_LINE) + (f" [… {left:,} more characters]" if left > 0 else "")


@dataclass(slots=True)
class _Writer:
    """The lines made of the tokens so far."""

    done: list[Item] = field(default_factory=list)
    _lists: list[int | None] = field(default_factory=list)
    """The next number of each list that is open, None for one with bullets."""
    _marker: str = ""
    """The prefix of the next line of the innermost list item."""
    _heading: int = 0
    _quotes: int = 0
    _cells: list[str] | None = None

    def take(self, token: "Token") -> None:
        """One more token."""
        if token.type in _CODE:
            self._code(token.content)
        elif token.type == "inline":
            self._inline(token)
        elif token.type == "hr":
            self._put("-" * 20)
        elif (taking := _TAKING.get(token.type)) is not None:
            taking(self, token)

    def begin_heading(self, token: "Token") -> None:
        self._heading = int(token.tag[1])

    def end_heading(self, _token: "Token") -> None:
        self._heading = 0

    def begin_list(self, token: "Token") -> None:
        self._lists.append(int(token.attrs.get("start", 1)) if token.type == "ordered_list_open" else None)

    def end_list(self, _token: "Token") -> None:
        self._lists.pop()
        self._apart()

    def begin_item(self, _token: "Token") -> None:
        self._marker = self._next_marker()

    def quote(self, token: "Token") -> None:
        self._quotes += token.nesting

    def begin_row(self, _token: "Token") -> None:
        self._cells = []

    def end_row(self, _token: "Token") -> None:
        self._put(" | ".join(self._cells or []), apart=False)
        self._cells = None

    def end_table(self, _token: "Token") -> None:
        self._apart()

    def _next_marker(self) -> str:
        number = self._lists[-1]
        if number is None:
            return "- "
        self._lists[-1] = number + 1
        return f"{number}. "

    def _inline(self, token: "Token") -> None:
        text = _flat(token.children or [])
        if self._cells is not None:
            self._cells.append(" ".join(text.split()))
            return
        for line in text.split("\n"):
            self._put(f"{'#' * self._heading} {line}" if self._heading else line, strong=bool(self._heading),
                      apart=False)  # fmt: skip
        if not self._lists:
            self._apart()

    def _code(self, content: str) -> None:
        for line in content.rstrip("\n").split("\n"):
            self._put(f"    {line.expandtabs(4)}", verbatim=True, apart=False)
        self._apart()

    def _put(self, text: str, *, verbatim: bool = False, strong: bool = False, apart: bool = True) -> None:
        depth = "  " * (len(self._lists) - 1) if self._lists else ""
        begin = depth + "> " * self._quotes + (self._marker or ("  " if self._lists else ""))
        after = depth + "> " * self._quotes + " " * len(self._marker or ("  " if self._lists else ""))
        self._marker = ""
        self.done.append(Quoted(_line(text), begin, after, verbatim=verbatim, strong=strong))
        if apart:
            self._apart()

    def _apart(self) -> None:
        if self.done and self.done[-1] != _EMPTY:
            self.done.append(_EMPTY)


_CODE: Final = {"fence", "code_block"}
_TAKING: Final = {
    "heading_open": _Writer.begin_heading,
    "heading_close": _Writer.end_heading,
    "bullet_list_open": _Writer.begin_list,
    "ordered_list_open": _Writer.begin_list,
    "bullet_list_close": _Writer.end_list,
    "ordered_list_close": _Writer.end_list,
    "list_item_open": _Writer.begin_item,
    "blockquote_open": _Writer.quote,
    "blockquote_close": _Writer.quote,
    "tr_open": _Writer.begin_row,
    "tr_close": _Writer.end_row,
    "table_close": _Writer.end_table,
}
"""The effect of each token without text of its own."""
_MARKS: Final = {
    "strong_open": "**",
    "strong_close": "**",
    "em_open": "*",
    "em_close": "*",
    "s_open": "~~",
    "s_close": "~~",
    "softbreak": " ",
    "hardbreak": "\n",
}


def _flat(tokens: Sequence["Token"]) -> str:
    """Inline tokens as text: code in backquotes, links and pictures with where they lead."""
    made, targets = "", list[str]()
    for token in tokens:
        if token.type == "code_inline":
            made += f"`{token.content}`"
        elif token.type == "link_open":
            targets.append(str(token.attrs.get("href", "")))
        elif token.type == "link_close":
            target = targets.pop()
            made += "" if made.endswith(target) else f" <{target}>"
        elif token.type == "image":
            made += f"[picture: {token.content} <{token.attrs.get('src', '')}>]"
        else:
            made += _MARKS.get(token.type, token.content)
    return made
