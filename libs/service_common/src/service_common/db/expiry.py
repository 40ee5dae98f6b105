"""Deleting rows that are no longer needed.

It deletes a few rows at a time, so that nobody waits for a lock and no statement reaches its time limit.
"""

from typing import Final

from sqlalchemy import ColumnElement, Engine, Table, delete, select, tuple_

from service_common.db.engine import writing

AT_A_TIME: Final = 500


def delete_where(engine: Engine, table: Table, condition: ColumnElement[bool]) -> int:
    """Delete every row for which ``condition`` holds; return how many."""
    key = tuple_(*table.primary_key)
    some = select(*table.primary_key).where(condition).limit(AT_A_TIME)
    count = 0
    while True:
        with writing(engine) as connection:
            deleted = connection.execute(delete(table).where(key.in_(some))).rowcount
        count += deleted
        if deleted < AT_A_TIME:
            return count
