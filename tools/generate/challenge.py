"""docs/poster.md: an example that can be published as it is, and what each of its lines fixes."""

from collections.abc import Iterator
from typing import Final

from bounty_protocol.domain.challenge import FIELDS

from tools.generate.derived import part, table
from tools.generate.examples import whole_file


def _example() -> Iterator[str]:
    yield whole_file("examples/csv_dialect.md", "markdown")
    rows = (f"| `{name}` | {'' if each.is_required else 'optional: '}{each.about} |" for name, each in FIELDS.items())
    yield table("| line | what it fixes |", rows)


CHALLENGE: Final = part("docs/poster.md", "challenge", _example)
