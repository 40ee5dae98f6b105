"""Whatever can be written has a row in ``docs/operations.md`` that says who ends it."""

import re
from pathlib import Path

from service_common.db import app, hub_index, review
from service_delivery import tables as delivery
from service_indexer import settler_tables as settler

OPERATIONS = (Path(__file__).parents[2] / "docs/operations.md").read_text(encoding="utf-8")
SECTION = OPERATIONS.split("## What is kept, and until when\n")[1].split("\n## ")[0]


def test_tables__of_every_schema__have_a_bound_and_an_end() -> None:
    rows = [line.strip("| ").split(" | ") for line in SECTION.splitlines() if line.startswith("| ")][1:]
    told = {name for row in rows for name in re.findall(r"`(\w+\.\w+)`", row[0])}
    assert any("each other table of facts in `hub_index`" in row[0] for row in rows)
    told |= {f"{hub_index.SCHEMA}.{table.name}" for table in hub_index.FACTS}
    there = {name for room in (app, delivery, hub_index, review, settler) for name in room.metadata.tables}
    assert told == there
    assert [row for row in rows if len(row) != 4 or not all(row)] == []
