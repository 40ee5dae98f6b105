"""docs/threat-model.md: what this release assumes about the world, as a table."""

from collections.abc import Iterator
from typing import Final

from bounty_protocol.chain.deployment import NETWORKS, deployment_of
from bounty_protocol.chain.world import assumptions

from tools.generate.derived import part, table


def _table() -> Iterator[str]:
    record = deployment_of(NETWORKS["mainnet"])
    if record is None:
        raise RuntimeError("mainnet has no record")
    rows = [f"| {name} | {each.value} | {each.source} | {each.read_on} |" for name, each in assumptions(record).items()]
    yield table("| assumed | value | source | read on |", rows)


WORLD: Final = part("docs/threat-model.md", "world", _table)
