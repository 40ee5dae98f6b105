"""docs/poster.md: what each line of a page fixes."""

from collections.abc import Iterator
from typing import Final

from bounty_protocol.domain.challenge import FIELDS

from tools.generate.derived import part, table


def _lines() -> Iterator[str]:
    rows = (f"| `{name}` | {'' if each.is_required else 'optional: '}{each.about} |" for name, each in FIELDS.items())
    yield table("| line | what it fixes |", rows)


CHALLENGE: Final = part("docs/poster.md", "challenge", _lines)
