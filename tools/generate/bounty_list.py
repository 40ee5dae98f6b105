"""docs/interface.md: what the list of bounties takes, by the type that reads its query."""

from collections.abc import Iterator
from dataclasses import fields
from typing import Annotated, Final, get_args, get_origin, get_type_hints

from bounty_protocol.shapes import Note
from bounty_protocol.wire.bounties import BountyQuery

from tools.generate.attributes import as_cell
from tools.generate.derived import part, table


def _table() -> Iterator[str]:
    hints = get_type_hints(BountyQuery, include_extras=True)
    rows = (_row(each.name, hints[each.name], each.default) for each in fields(BountyQuery))
    yield table("| parameter | what it is |", rows)


def _row(name: str, hint: object, default: object) -> str:
    notes = [each for each in get_args(hint) if isinstance(each, Note)] if get_origin(hint) is Annotated else []
    bounds = [f"{each.minimum} to {each.maximum}" for each in notes if each.minimum is not None]
    texts = [as_cell(each.description) for each in notes]
    bounds += [f"{default} by default"] if default is not None else []
    return f"| `{name}` | {'; '.join([*texts, *bounds])} |".replace("|  |", "| |")


BOUNTY_LIST: Final = part("docs/interface.md", "bounty-list", _table)
