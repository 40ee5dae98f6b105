"""The table of facts and witnesses in ``docs/witnesses.md``: ``python -m tests.cli.witnesses_page`` writes it."""

from pathlib import Path
from typing import Final

from service_cli.witnesses.table import TABLE, Rule, Witness

PAGE: Final = Path(__file__).parents[2] / "docs" / "witnesses.md"
BEGIN, END = "<!-- table -->", "<!-- end of the table -->"
HEAD: Final = "| what | for | who has to vouch | when one is silent | when two differ |"


def with_table(page: str) -> str:
    """The page with the table as the client has it."""
    before, _, rest = page.partition(BEGIN)
    rows = "\n".join([HEAD, "|---|---|---|---|---|", *map(_row, TABLE)])
    return f"{before}{BEGIN}\n\n{rows}\n\n{END}{rest.partition(END)[2]}"


def _row(rule: Rule) -> str:
    vouching = ", ".join(_named(rule.needs))
    if rule.one_of:
        vouching += f"; one of: {', '.join(_named(rule.one_of))}"
    acts = ", ".join(f"`{act}`" for act in rule.acts)
    return f"| {rule.what} | {acts} | {vouching} | {rule.silence} | `{rule.differs}` |"


def _named(witnesses: frozenset[Witness]) -> list[str]:
    return [witness.value for witness in Witness if witness in witnesses]


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
