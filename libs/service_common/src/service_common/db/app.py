"""Schema ``app``: the bytes and results the api stores. Sole writer: the api and its worker.

Never consulted for authorization: who may do what comes from ``hub_index`` alone. The rows of every table that anyone
can fill are deleted in the end: ``service_api.storage.lifetimes``.
"""

from datetime import datetime

from sqlalchemy import (
    BigInteger,
    Column,
    Computed,
    DateTime,
    ForeignKey,
    Identity,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    func,
)
from sqlalchemy.dialects.postgresql import ARRAY, TSVECTOR

SCHEMA = "app"
metadata = MetaData(schema=SCHEMA)


def _created_at(name: str = "created_at") -> Column[datetime]:
    return Column(name, DateTime(timezone=True), nullable=False, server_default=func.now())


def _pending(table: str) -> tuple[Column[int], Index]:
    """The length of a row's content while nobody has paid for it: null once the chain has what it belongs to."""
    column = Column("pending_bytes", Integer)
    return column, Index(f"{table}_pending", column, postgresql_where=column.is_not(None))


challenge_pages = Table(
    "challenge_pages",
    metadata,
    Column("spec_commitment", Text, primary_key=True),
    Column("content", LargeBinary, nullable=False),
    _created_at(),
    Column("submission_deadline", BigInteger),
    *_pending("challenge_pages"),
)
challenge_summaries = Table(
    "challenge_summaries",
    metadata,
    Column(
        "spec_commitment", Text, ForeignKey(challenge_pages.c.spec_commitment, ondelete="CASCADE"), primary_key=True
    ),
    Column("title", Text, nullable=False),
    Column("summary", Text, nullable=False),
    Column("tags", ARRAY(Text), nullable=False, server_default="{}"),
    Column("folded", Text, nullable=False),
    Column("grams", ARRAY(Integer), nullable=False),
    Column(
        "words", TSVECTOR, Computed("to_tsvector('simple', title || ' ' || summary)", persisted=True), nullable=False
    ),
    Index("challenge_summaries_words", "words", postgresql_using="gin"),
    Index("challenge_summaries_tags", "tags", postgresql_using="gin"),
    Index("challenge_summaries_grams", "grams", postgresql_using="gin"),
)
"""Summaries of pages for lists and search: written with the page, from bytes that hash to the commitment."""
processed_approvals = Table(
    "processed_approvals",
    metadata,
    Column("approval_digest", Text, primary_key=True),
    Column("poster", Text, key="signer", nullable=False),
    _created_at(),
    Column("block_number", BigInteger, nullable=False),
)
"""Signed requests that count once: publications by their digest."""
review_charges = Table(
    "review_charges",
    metadata,
    Column("review_id", Text, primary_key=True),
    Column("poster", Text, nullable=False),
    _created_at("charged_at"),
    Column("attempt", Text, nullable=False, server_default=""),
    Index("review_charges_poster", "poster", "charged_at"),
)
submission_envelopes = Table(
    "submission_envelopes",
    metadata,
    Column("bounty_id", BigInteger, primary_key=True, autoincrement=False),
    Column("solver", Text, primary_key=True),
    Column("submission_commitment", Text, primary_key=True),
    Column("content", LargeBinary, nullable=False),
    Column("storage_locator", Text, nullable=False),
    _created_at(),
    Index("submission_envelopes_commitment", "bounty_id", "submission_commitment"),
    *_pending("submission_envelopes"),
)
verified_objects = Table(
    "verified_objects",
    metadata,
    Column("storage_locator", Text, primary_key=True),
    Column("generation", BigInteger, primary_key=True, autoincrement=False),
    Column("sha256", Text, nullable=False),
    Column("byte_length", BigInteger, nullable=False),
    _created_at("verified_at"),
    Column("checksum", Text),
)
written_verdicts = Table(
    "written_verdicts",
    metadata,
    Column("report_commitment", Text, primary_key=True),
    Column("content", LargeBinary, nullable=False),
    Column("bounty_id", BigInteger, nullable=False),
    Column("guardian", Text, nullable=False),
    _created_at(),
    Index("written_verdicts_guardian", "bounty_id", "guardian"),
)
verification_records = Table(
    "verification_records",
    metadata,
    Column("bounty_id", BigInteger, primary_key=True, autoincrement=False),
    Column("content", LargeBinary, nullable=False),
    Column("block_hash", Text, nullable=False),
    _created_at(),
)
defects = Table(
    "defects",
    metadata,
    Column("bounty_id", BigInteger, primary_key=True, autoincrement=False),
    Column("solver", Text, primary_key=True),
    Column("submission_commitment", Text, primary_key=True),
    _created_at("found_at"),
)
"""Sealed work of active Submissions in whose place other bytes were found, until the right ones are."""
withholdings = Table(
    "withholdings",
    metadata,
    Column("number", BigInteger, Identity(always=True), primary_key=True),
    Column("kind", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("bounty_id", BigInteger),
    Column("reason", Text, nullable=False),
    _created_at("since"),
    Column("until", DateTime(timezone=True)),
    Column("decided_by", Text, nullable=False),
    _created_at("decided_at"),
    Column("ended_at", DateTime(timezone=True)),
    Column("ended_by", Text),
    Column("ended_why", Text),
    Column("since_block", BigInteger),
)
"""What the operator decided not to show, by whom and why: a row for each decision, which is never deleted. The
subject is the commitment of a bounty's page or of a written Verdict, or an account; ``since`` is when it was first not
shown, and ``since_block`` the chain's newest block then."""
Index(
    "withholdings_not_ended",
    withholdings.c.kind,
    withholdings.c.subject,
    unique=True,
    postgresql_where=withholdings.c.ended_at.is_(None),
)
