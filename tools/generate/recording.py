"""docs/pages/recording-*.svg: one bounty at the terminal, drawn from the screens of the tour.

A picture that moves by its own style, without a script and without a video: each screen is shown for as long as it
takes to read it. Where motion is not wanted, the first screen stays.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Final

from tests.cli.tour import TOUR, Typed, screen_of
from tools.generate.derived import Derived

SCENES: Final[Mapping[str, str]] = {
    "poster:publish-fund": "The Poster puts the reward into escrow",
    "solver:submit": "A Solver seals work that nobody can read yet",
    "guardian:open": "A Guardian opens it after the reveal point",
    "guardian:verdict": "and judges it; enough that agree decide",
    "claim": "The winner is paid",
    "poster:open-winning-submission": "The Poster opens the work",
    "service-audit": "and anybody can check it all against the chain",
}
"""The commands that are shown, with who types them and why."""
_SECONDS: Final = 4
_COLUMNS: Final = 80
_LETTER: Final = 7.8
"""Of a monospaced face of 13 pixels."""
_LINE: Final = 18
_EDGE: Final = 18


@dataclass(frozen=True, slots=True)
class Palette:
    """Of one theme."""

    paper: str
    ink: str
    quiet: str
    mark: str


THEMES: Final = {
    "light": Palette("#ffffff", "#1f2328", "#59636e", "#1a7f37"),
    "dark": Palette("#0d1117", "#e6edf3", "#9198a1", "#3fb950"),
}


def _make() -> Mapping[str, bytes]:
    return {f"docs/pages/recording-{name}.svg": _drawn(colours).encode() for name, colours in THEMES.items()}


def _chosen() -> list[tuple[str, Typed]]:
    """Each caption with the first command of the tour that it is about."""
    found = []
    for name, caption in SCENES.items():
        typed = next(one for one in TOUR if name in one.line.split())
        found.append((caption, typed))
    return found


def _drawn(colours: Palette) -> str:
    scenes = [(caption, _lines(typed)) for caption, typed in _chosen()]
    rows = max(len(lines) for _, lines in scenes) + 3
    width, height = round(_COLUMNS * _LETTER + 2 * _EDGE), rows * _LINE + 2 * _EDGE
    whole = _SECONDS * len(scenes)
    frames = "\n".join(_frame(number, *scene) for number, scene in enumerate(scenes))
    style = (
        f"text{{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:{colours.ink};"
        f"white-space:pre}}.quiet{{fill:{colours.quiet}}}.mark{{fill:{colours.mark};font-weight:600}}"
        f"g{{opacity:0;animation:shown {whole}s step-end infinite}}"
        f"@keyframes shown{{0%{{opacity:1}}{100 / len(scenes):.4f}%{{opacity:0}}100%{{opacity:0}}}}"
        + "".join(f"#s{n}{{animation-delay:{n * _SECONDS}s}}" for n in range(len(scenes)))
        + "@media (prefers-reduced-motion:reduce){g{animation:none}#s0{opacity:1}}"
    )
    told = "; ".join(caption for caption, _ in scenes)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img" aria-label="One bounty at a terminal: {escape(told)}">\n<style>{style}</style>\n'
        f'<rect width="{width}" height="{height}" rx="8" fill="{colours.paper}" stroke="{colours.quiet}"/>\n'
        f"{frames}\n</svg>\n"
    )


def _lines(typed: Typed) -> list[str]:
    return [f"$ {typed.line}", *screen_of(typed, _COLUMNS).rstrip("\n").split("\n")]


def _frame(number: int, caption: str, lines: list[str]) -> str:
    texts = [_text(0, caption, "mark"), _text(2, lines[0], "quiet")]
    texts += [_text(at + 3, line, "") for at, line in enumerate(lines[1:])]
    return f'<g id="s{number}">' + "".join(texts) + "</g>"


def _text(row: int, line: str, kind: str) -> str:
    if not line:
        return ""
    named = f' class="{kind}"' if kind else ""
    return f'<text x="{_EDGE}" y="{_EDGE + 12 + row * _LINE}"{named} xml:space="preserve">{escape(line)}</text>'


RECORDING: Final = Derived("recording", "docs/pages/recording-*.svg", _make)
