"""docs/witnesses.md: the table of facts and of those who vouch for them."""

from collections.abc import Iterator
from typing import Final

from service_cli.witnesses.table import TABLE, Witness, WitnessRule

from tools.generate.derived import part, table

_HEAD: Final = "| what | for | who has to vouch | when one is silent | when two differ |"


def _table() -> Iterator[str]:
    yield table(_HEAD, map(_row, TABLE))


def _row(rule: WitnessRule) -> str:
    vouching = ", ".join(_named(rule.needs))
    if rule.one_of:
        vouching += f"; one of: {', '.join(_named(rule.one_of))}"
    acts = ", ".join(f"`{act}`" for act in rule.acts)
    return f"| {rule.what} | {acts} | {vouching} | {rule.silence} | `{rule.differs}` |"


def _named(witnesses: frozenset[Witness]) -> list[str]:
    return [witness.value for witness in Witness if witness in witnesses]


WITNESSES: Final = part("docs/witnesses.md", "witnesses", _table)
