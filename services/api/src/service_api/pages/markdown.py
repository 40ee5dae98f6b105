"""The Markdown of a stranger as HTML that can run, load and frame nothing.

Three layers, each enough alone: the renderer knows no raw HTML, draws no picture and keeps only links that lead openly
elsewhere; a sanitizer built on a browser's parser lets through a short list of elements without style, class or id; and
the pages' policy forbids scripts, frames and requests to anyone else. A body that would cost too much to render, or is
nested so deeply that the parser leaves some of it out, is shown as the text it is.
"""

from collections.abc import Sequence
from typing import Any, Final

import nh3
from bounty_protocol.domain.challenge.readable import readable
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from markupsafe import Markup, escape

from service_api.pages.hostile import outside_link, shortened

MAX_LINES_AND_CELLS: Final = 40_000
"""Of a body: the parser takes up to 2 KB of memory for each. A book has fewer."""
MAX_BRACKETS: Final = 20_000
"""Of each kind: each may open a link or an emphasis that the parser looks for the end of."""
MAX_NESTING: Final = 20
MAX_RENDERED: Final = 1024 * 1024
_FIRST_HEADING: Final = 3
"""The level at which headings of a body begin: those above are the page's own."""
_REL: Final = "nofollow ugc noopener noreferrer external"
_ELEMENTS: Final = {
    *("p", "br", "hr", "h3", "h4", "h5", "h6", "blockquote", "pre", "code", "em", "strong", "s", "ul", "ol", "li"),
    *("table", "thead", "tbody", "tr", "th", "td", "a", "span"),
}
_ATTRIBUTES: Final[dict[str, set[str]]] = {"a": {"href"}, "ol": {"start"}, "*": set()}
_CLASSES: Final = {"span": {"outside", "picture"}}


class _Renderer(RendererHTML):
    """Differences from the usual renderer: links show where they lead, pictures are links to what was not loaded."""

    def link_open(self, tokens: Sequence[Token], index: int, _options: OptionsDict, env: EnvType) -> str:
        target = _target(tokens[index])
        env["targets"] = [*env.get("targets", []), target]
        return "" if target is None else f'<a href="{escape(tokens[index].attrs["href"])}">'

    def link_close(self, _tokens: Sequence[Token], _index: int, _options: OptionsDict, env: EnvType) -> str:
        target = env["targets"].pop()
        return "" if target is None else f'</a> <span class="outside">[{escape(target)}]</span>'

    def image(self, tokens: Sequence[Token], index: int, _options: OptionsDict, env: EnvType) -> str:
        token = tokens[index]
        text = escape(f"picture, not loaded: {token.content or 'without a description'}")
        address = str(token.attrs.get("src", ""))
        target = outside_link(address)
        in_link = any(each is not None for each in env.get("targets", []))
        if target is None or in_link:
            return f'<span class="picture">[{text}]</span>'
        return f'<span class="picture">[<a href="{escape(address)}">{text}</a>, {escape(target)}]</span>'


def render(body: str) -> Markup:
    """Return the HTML of a body."""
    text = shortened(readable(body))
    if not is_expensive(text):
        tokens = _MARKDOWN.parse(text)
        if all(token.level < MAX_NESTING - 1 for token in tokens):  # the parser leaves out what is deeper
            _lower_headings(tokens)
            made = _MARKDOWN.renderer.render(tokens, _MARKDOWN.options, {})
            if len(made) <= MAX_RENDERED:
                return sanitized(made)
    return Markup("<pre>{}</pre>").format(text)


def as_text(content: bytes) -> Markup:
    """Return bytes that have no known form as plain text."""
    return Markup("<pre>{}</pre>").format(shortened(readable(content.decode("utf-8", "replace"))))


def render_line(text: str) -> Markup:
    """Return the HTML of one entry of the frontmatter: emphasis, code and links, no blocks."""
    shown = shortened(readable(text))
    if is_expensive(shown):
        return escape(shown)
    return sanitized(_MARKDOWN.renderInline(shown))


def sanitized(html: str) -> Markup:
    """Return only elements on the list, whatever the input."""
    return Markup(  # noqa: S704  # the output of the sanitizer
        nh3.clean(
            html,
            tags=_ELEMENTS,
            clean_content_tags={"script", "style", "iframe", "object", "template", "noscript", "svg", "math"},
            attributes=_ATTRIBUTES,
            allowed_classes=_CLASSES,
            attribute_filter=_keep,
            url_schemes={"http", "https", "mailto"},
            link_rel=_REL,
            strip_comments=True,
        )
    )


def is_expensive(text: str) -> bool:
    """Return whether parsing could take more time or memory than a page may, here or in a browser."""
    if text.count("\n") + text.count("|") > MAX_LINES_AND_CELLS:
        return True
    return any(text.count(mark) > MAX_BRACKETS for mark in "[]*_~`<!&\\")


def _keep(element: str, attribute: str, value: str) -> str | None:
    if (element, attribute) == ("a", "href"):
        return value if outside_link(value) is not None else None
    if (element, attribute) == ("ol", "start"):
        return value if value.isascii() and value.isdigit() and len(value) < 10 else None
    return value


def _target(token: Token) -> str | None:
    return outside_link(str(token.attrs.get("href", "")))


def _lower_headings(tokens: Sequence[Token]) -> None:
    """Start at the level below the page's own headings and skip no level, for screen readers."""
    level = _FIRST_HEADING - 1
    for token in tokens:
        if token.type == "heading_open":
            level = min(int(token.tag[1]) + _FIRST_HEADING - 1, level + 1, 6)
        if token.type in {"heading_open", "heading_close"}:
            token.tag = f"h{level}"


def _make() -> MarkdownIt:
    made = MarkdownIt("commonmark", {"html": False, "maxNesting": MAX_NESTING}, renderer_cls=_Renderer)
    made.enable(["table", "strikethrough"])
    made.validateLink = lambda url: outside_link(url) is not None  # type: ignore[method-assign]
    return made


_MARKDOWN: Final[Any] = _make()
