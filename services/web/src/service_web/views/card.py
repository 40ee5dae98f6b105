"""The picture that a chat or a social network shows for a link to a bounty: title, award, deadline.

Drawn with the one font that the library brings, which has Latin letters only: of a title with others the card shows
the bounty's number, rather than boxes. A card whose other texts have such letters is in English.
"""

import io
import textwrap
from collections.abc import Sequence
from functools import cache
from typing import Final

from PIL import Image, ImageDraw, ImageFont

WIDTH: Final = 1_200
HEIGHT: Final = 630
_PAPER, _TEXT, _MUTED, _ACCENT, _SHADE = "#ffffff", "#14202b", "#4b5b6b", "#0b5c4d", "#f3f6f8"
_MARGIN: Final = 72
_TITLE_LINES: Final = 3
_COLOURS: Final = 32
_TAG_LETTERS: Final = 64
"""Of the line above the title, within its margins."""


def draw_card(title: str, number: str, award: str, note: str, tags: Sequence[str] = ()) -> bytes:
    """The PNG. Tags have letters that the font has."""
    picture = Image.new("RGB", (WIDTH, HEIGHT), _PAPER)
    pen = ImageDraw.Draw(picture)
    pen.rectangle((0, 0, WIDTH, 18), fill=_ACCENT)
    pen.rectangle((0, HEIGHT - 190, WIDTH, HEIGHT), fill=_SHADE)
    pen.text((_MARGIN, 66), "  ·  ".join(["Bounty Escrow", number, *tags])[:_TAG_LETTERS], font=_font(30), fill=_MUTED)
    shown = title if title.strip() and is_drawable(title) else number
    for row, line in enumerate(_lines(shown, _font(64))):
        pen.text((_MARGIN, 136 + 84 * row), line, font=_font(64), fill=_TEXT)
    pen.text((_MARGIN, HEIGHT - 158), award, font=_font(60), fill=_ACCENT)
    pen.text((_MARGIN, HEIGHT - 76), note, font=_font(30), fill=_MUTED)
    made = io.BytesIO()
    picture.quantize(_COLOURS, Image.Quantize.FASTOCTREE).save(made, "PNG")  # 15 ms; the smallest takes 60
    return made.getvalue()


def _lines(text: str, font: ImageFont.FreeTypeFont) -> list[str]:
    """The text in as many lines as a title has, each within the margins, whatever its letters are as wide as."""
    most = WIDTH - 2 * _MARGIN
    for letters in range(48, 8, -2):
        lines = textwrap.wrap(text, letters, max_lines=_TITLE_LINES, placeholder=" …")
        if max(map(font.getlength, lines)) <= most:
            return lines
    return [text[:8]]


@cache
def _font(size: int) -> ImageFont.FreeTypeFont:
    found = ImageFont.load_default(size)
    if not isinstance(found, ImageFont.FreeTypeFont):
        raise TypeError("Pillow was built without FreeType; install one of its wheels")
    return found


def is_drawable(text: str) -> bool:
    """Whether the font has all letters of a text."""
    return all(" " <= letter < "\u0180" or letter in "–—‘’“”…€" for letter in text)
