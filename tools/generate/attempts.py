"""docs/webhooks.md: how an attempt to send a message ends."""

from collections.abc import Iterator
from typing import Final

from service_api.webhooks.sending import AttemptEnd

from tools.generate.attributes import as_cell, attribute_texts
from tools.generate.derived import part, table


def _table() -> Iterator[str]:
    texts = attribute_texts(AttemptEnd)
    rows = (f"| `{each.value}` | {as_cell(texts[each.name])} |" for each in AttemptEnd)
    yield table("| result | what it means |", rows)


ATTEMPTS: Final = part("docs/webhooks.md", "attempts", _table)
