"""The tables of ``schema.sql`` for SQLAlchemy: each is defined there and nowhere else."""

import re
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, Final

from sqlalchemy import BigInteger, Column, DateTime, Integer, LargeBinary, MetaData, Numeric, SmallInteger, Table, Text
from sqlalchemy.dialects.postgresql import ARRAY, JSONB, TSVECTOR
from sqlalchemy.types import TypeEngine

SCHEMA_SQL: Final = files(__package__).joinpath("schema.sql").read_text(encoding="utf-8")
_TYPES: Final[Mapping[str, TypeEngine[Any]]] = {
    "bigint": BigInteger(),
    "bytea": LargeBinary(),
    "integer": Integer(),
    "integer[]": ARRAY(Integer),
    "jsonb": JSONB(),
    "numeric(78, 0)": Numeric(78, 0, asdecimal=True),
    "smallint": SmallInteger(),
    "text": Text(),
    "text[]": ARRAY(Text),
    "timestamptz": DateTime(timezone=True),
    "tsvector": TSVECTOR(),
}
_TABLE: Final = re.compile(r"^CREATE TABLE (\w+)\.(\w+) \(\n(.*?)\n\);$", re.MULTILINE | re.DOTALL)
_COLUMN: Final = re.compile(r"^    ([a-z]\w*) (numeric\(78, 0\)|[a-z]+(?:\[\])?)(.*?),?$", re.MULTILINE)
_KEY: Final = re.compile(r"^    PRIMARY KEY \((.*)\)$", re.MULTILINE)


def read_tables(schema: str) -> Mapping[str, Table]:
    """Read the tables of one schema by their names, with their columns and primary keys."""
    found, metadata = {}, MetaData(schema=schema)
    for of, name, body in _TABLE.findall(SCHEMA_SQL):
        if of == schema:
            keys = {each for key in _KEY.findall(body) for each in key.split(", ")}
            columns = [
                Column(column, _TYPES[kind], primary_key=column in keys or "PRIMARY KEY" in rest)
                for column, kind, rest in _COLUMN.findall(body)
            ]
            found[name] = Table(name, metadata, *columns)
    return found
