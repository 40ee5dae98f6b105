"""docs/client.md: the variables of the client that hold no key."""

from collections.abc import Iterator
from typing import Final

from service_cli.config.variables import ABOUT

from tools.generate.derived import part, table


def _table() -> Iterator[str]:
    rows = (f"| {', '.join(f'`{name}`' for name in names)} | {about} |" for names, about in ABOUT.items())
    yield table("| variable | what it is |", rows)


VARIABLES: Final = part("docs/client.md", "variables", _table)
