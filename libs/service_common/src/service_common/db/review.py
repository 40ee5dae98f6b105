"""Schema ``review``: readiness reviews. Sole writer: the reviewer; the api reads it to join a review.

A review is identified by what it judges (``review_id`` = Poster, page and rubric hashed), so the same work is never
done twice and a lost queue loses nothing.
"""

from sqlalchemy import Column, DateTime, Index, MetaData, Table, Text, func
from sqlalchemy.dialects.postgresql import JSONB

SCHEMA = "review"
metadata = MetaData(schema=SCHEMA)

reviews = Table(
    "reviews",
    metadata,
    Column("review_id", Text, primary_key=True),
    Column("poster", Text, nullable=False),
    Column("spec_commitment", Text, nullable=False),
    Column("rubric_version", Text, nullable=False),
    Column("provider", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("result", Text, nullable=False),
    Column("issues", JSONB, nullable=False),
    Column("finished_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
)
paid_calls = Table(
    "paid_calls",
    metadata,
    Column("call_id", Text, primary_key=True),
    Column("review_id", Text, nullable=False),
    Column("called_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Index("paid_calls_called_at", "called_at"),
)
