"""The text of each event, by the event's name. A new event gets its text in the module of its command's role."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from service_cli.shell.about import About
from service_cli.shell.render import bounties, guardian, machine, page, poster, solver
from service_cli.shell.render.fields import Fields
from service_cli.shell.render.screen import Screen, Shown

Text = Callable[[Fields, About, Screen], Iterable[Shown]]

TEXTS: Final[Mapping[str, Text]] = {
    **poster.TEXTS,
    **solver.TEXTS,
    **guardian.TEXTS,
    **bounties.TEXTS,
    **page.TEXTS,
    **machine.TEXTS,
}
