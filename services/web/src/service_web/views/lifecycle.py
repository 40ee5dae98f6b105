"""The life of any bounty as one drawing: what happens in which order, and where it can end."""

from dataclasses import dataclass
from typing import Final

from service_web.texts import gettext, marked
from service_web.views.timeline import WIDTH, Shape, Theme, frame, palette, words_at

_BOX_HEIGHT: Final = 92
_GAP: Final = 26


@dataclass(frozen=True, slots=True)
class LifecycleBox:
    """One box: who acts, and what is done, in two lines."""

    who: str
    what: str


STEPS: Final = (
    LifecycleBox(marked("Poster"), marked("publishes a page\nand funds the escrow")),
    LifecycleBox(marked("Solvers"), marked("submit sealed work\nuntil the deadline")),
    LifecycleBox(marked("Beacon"), marked("opens the work\nat the reveal point")),
    LifecycleBox(marked("Guardians"), marked("judge; a quorum\nmakes it final")),
    LifecycleBox(marked("Everyone"), marked("claims what is due\nfrom the contract")),
)


def height(shape: Shape) -> int:
    """Of the drawing."""
    return _BOX_HEIGHT + 8 if shape is Shape.WIDE else len(STEPS) * (_BOX_HEIGHT + _GAP) - _GAP + 8


def draw(theme: Theme, shape: Shape) -> str:
    """The SVG."""
    colours, width, count = palette(theme), WIDTH[shape], len(STEPS)
    wide = (width - 8 - (count - 1) * _GAP) / count if shape is Shape.WIDE else width - 8.0
    drawn = []
    for index, step in enumerate(STEPS):
        x = 4 + index * (wide + _GAP) if shape is Shape.WIDE else 4.0
        y = 4.0 if shape is Shape.WIDE else 4.0 + index * (_BOX_HEIGHT + _GAP)
        drawn.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{_BOX_HEIGHT}" rx="6" fill="{colours.paper}" '
            f'stroke="{colours.line}" stroke-width="2"/>'
        )
        drawn.append(words_at(x + 14, y + 28, gettext(step.who), colours.done, more=' font-weight="600"'))
        lines = gettext(step.what).splitlines()
        drawn += [words_at(x + 14, y + 52 + 21 * row, line, colours.text) for row, line in enumerate(lines)]
        if index < count - 1:
            drawn.append(_arrow(x, y, wide, shape, colours.muted))
    return frame(width, height(shape), "".join(drawn))


def _arrow(x: float, y: float, wide: float, shape: Shape, colour: str) -> str:
    if shape is Shape.WIDE:
        at = x + wide + 6
        return f'<path d="M{at:.1f} {y + _BOX_HEIGHT / 2 - 7:.1f} l12 7 l-12 7 z" fill="{colour}"/>'
    return f'<path d="M{x + wide / 2 - 7:.1f} {y + _BOX_HEIGHT + 6:.1f} l7 12 l7 -12 z" fill="{colour}"/>'
