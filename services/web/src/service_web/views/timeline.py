"""The life of a bounty as a drawing: its moments in order, the present marked between them.

Moments stand at equal distances: the time between a deadline and its reveal point would be too narrow to see beside
weeks. A drawing is an SVG of its own with presentation attributes only, since no page allows inline styles; for light
and dark, wide and narrow there is one each. A bounty's page has the same moments as a list, and the drawing an address
of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Final

from bounty_protocol.types import UnixSeconds
from markupsafe import escape

from service_web.formatting import day
from service_web.texts import gettext


class Theme(StrEnum):
    """For which colours of a page a drawing is made."""

    LIGHT = "light"
    DARK = "dark"


class Shape(StrEnum):
    """For which width."""

    WIDE = "wide"
    NARROW = "narrow"


@dataclass(frozen=True, slots=True)
class Milestone:
    """One moment. ``at`` None: it has not come, or the index does not state when it did."""

    name: str
    at: UnixSeconds | None
    is_past: bool
    is_key: bool = False
    """How the bounty ended, or that it was paid."""


@dataclass(frozen=True, slots=True)
class Colours:
    """Of a drawing."""

    text: str
    muted: str
    line: str
    done: str
    now: str
    paper: str


_COLOURS: Final = {
    Theme.LIGHT: Colours("#14202b", "#4b5b6b", "#b9c4cf", "#0b5c4d", "#a33a00", "#ffffff"),
    Theme.DARK: Colours("#edf2f6", "#a9b7c4", "#4a5a69", "#5fd0b3", "#ffb07a", "#121a21"),
}
WIDTH: Final = {Shape.WIDE: 960, Shape.NARROW: 340}
_WIDE_HEIGHT: Final = 132
_STEP: Final = 66
_FONT: Final = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


def height(shape: Shape, count: int) -> int:
    """The height of a drawing of several moments."""
    return _WIDE_HEIGHT if shape is Shape.WIDE else 24 + _STEP * count


def draw(milestones: Sequence[Milestone], now: int, theme: Theme, shape: Shape) -> str:
    """The SVG."""
    colours = _COLOURS[theme]
    wide, tall = WIDTH[shape], height(shape, len(milestones))
    places = _places(len(milestones), shape)
    present = _present(milestones, places, now, shape)
    drawn = [_track(shape, places, present, colours)]
    drawn += [
        _mark(each, at, shape, colours, index, len(places))
        for index, (each, at) in enumerate(zip(milestones, places, strict=True))
    ]
    if present is not None:
        drawn.append(_now(present, shape, colours))
    return frame(wide, tall, "".join(drawn))


def frame(width: int, tall: int, drawn: str) -> str:
    """A drawing of a size."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{tall}" viewBox="0 0 {width} {tall}" '
        f'font-family="{_FONT}" font-size="14">{drawn}</svg>\n'
    )


def palette(theme: Theme) -> Colours:
    """The colours of a theme, which are those of the stylesheet."""
    return _COLOURS[theme]


def _places(count: int, shape: Shape) -> list[float]:
    """Where each moment is along the track."""
    if shape is Shape.NARROW:
        return [28.0 + _STEP * index for index in range(count)]
    left, right = 14.0, WIDTH[shape] - 14.0
    return [left + (right - left) * index / max(1, count - 1) for index in range(count)]


def _present(milestones: Sequence[Milestone], places: Sequence[float], now: int, shape: Shape) -> float | None:
    """Where the present is: between the last moment that has passed and the next; None once all have."""
    for (before, start), (after, end) in pairwise(zip(milestones, places, strict=True)):
        if before.is_past and not after.is_past:
            if shape is Shape.NARROW or before.at is None or after.at is None or after.at <= before.at:
                return (start + end) / 2
            part = (now - before.at) / (after.at - before.at)
            return start + (end - start) * min(0.85, max(0.15, part))
    return None


def _track(shape: Shape, places: Sequence[float], present: float | None, colours: Colours) -> str:
    last = places[-1] if present is None else present
    if shape is Shape.WIDE:
        ends = [(places[0], 52.0, places[-1], 52.0, colours.line), (places[0], 52.0, last, 52.0, colours.done)]
    else:
        ends = [(20.0, places[0], 20.0, places[-1], colours.line), (20.0, places[0], 20.0, last, colours.done)]
    return "".join(
        f'<line x1="{a:.1f}" y1="{b:.1f}" x2="{c:.1f}" y2="{d:.1f}" stroke="{colour}" stroke-width="3"/>'
        for a, b, c, d, colour in ends
    )


def _mark(each: Milestone, at: float, shape: Shape, colours: Colours, index: int, count: int) -> str:
    x, y = (at, 52.0) if shape is Shape.WIDE else (20.0, at)
    fill = colours.done if each.is_past else colours.paper
    stroke = colours.done if each.is_past else colours.muted
    radius = 9 if each.is_key else 7
    dot = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{fill}" stroke="{stroke}" stroke-width="3"/>'
    when = day(each.at) if each.at is not None else _when_unknown(each)
    weight = ' font-weight="600"'
    if shape is Shape.NARROW:
        return (
            dot
            + words_at(44, at - 2, each.name, colours.text, "start", weight)
            + words_at(44, at + 17, when, colours.muted)
        )
    anchor = "start" if index == 0 else "end" if index == count - 1 else "middle"
    x = at - 10 if index == 0 else at + 10 if index == count - 1 else at
    return (
        dot + words_at(x, 86, each.name, colours.text, anchor, weight) + words_at(x, 107, when, colours.muted, anchor)
    )


def _when_unknown(each: Milestone) -> str:
    return gettext("time not in the index") if each.is_past else gettext("not yet")


def _now(at: float, shape: Shape, colours: Colours) -> str:
    if shape is Shape.WIDE:
        mark = f'<path d="M{at:.1f} 44 l-7 -12 h14 z" fill="{colours.now}"/>'
        return mark + words_at(at, 26, gettext("now"), colours.now, "middle", ' font-weight="600"')
    mark = f'<path d="M28 {at:.1f} l12 -7 v14 z" fill="{colours.now}"/>'
    return mark + words_at(44, at + 5, gettext("now"), colours.now, "start", ' font-weight="600"')


def words_at(x: float, y: float, text: str, colour: str, anchor: str = "start", more: str = "") -> str:
    """Text of a drawing; ``y`` is its baseline."""
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" text-anchor="{anchor}"{more}>{escape(text)}</text>'
