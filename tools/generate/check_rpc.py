"""docs/indexer.md: what ``service-indexer check-rpc`` looks at, by the docstrings of its checks."""

from collections.abc import Iterator
from typing import Final

from service_indexer.provider import CHECKS

from tools.generate.attributes import as_cell
from tools.generate.derived import part, table


def _table() -> Iterator[str]:
    about = {name: (check.__doc__ or "").splitlines()[0] for name, check in CHECKS.items()}
    rows = (f"| `{name}` | {as_cell(text)} |" for name, text in about.items())
    yield table("| line | checks |", rows)


CHECK_RPC: Final = part("docs/indexer.md", "check-rpc", _table)
