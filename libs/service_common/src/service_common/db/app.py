"""Schema ``app``: the bytes and results the api stores. Sole writer: the api and its worker.

Never consulted for authorization: who may do what comes from ``hub_index`` alone. The rows of every table that anyone
can fill are deleted in the end: ``service_api.usecases.lifetimes``.
"""

from datetime import datetime
from enum import StrEnum

from sqlalchemy import (
    BigInteger,
    Column,
    Computed,
    Date,
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


class WorkNotice(StrEnum):
    """What happened to sealed work in the storage."""

    LOST = "lost"
    RESTORED = "restored"


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
published_pages = Table("published_pages", metadata, Column("spec_commitment", Text, primary_key=True))
"""Commitments of pages that were kept here when the index had their bounty: never deleted, so that a page that is lost
is noticed. Nobody misses the page of a bounty that was never published here."""
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
"""Signed requests that count once: publications by their digest, registrations and other secrets of webhooks by digest
and signer. The column ``poster`` is named after the first."""
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
recorded_envelopes = Table(
    "recorded_envelopes",
    metadata,
    Column("bounty_id", BigInteger, primary_key=True, autoincrement=False),
    Column("solver", Text, primary_key=True),
    Column("submission_commitment", Text, primary_key=True),
)
"""Keys of envelopes that were kept here when the index had their Submission: never deleted, so that an envelope that is
lost is noticed. Nobody misses the envelope of a Submission that was never prepared here."""
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
    Column("rebuilds", Integer, nullable=False, server_default="0"),
)
inspections = Table(
    "inspections",
    metadata,
    Column("name", Text, primary_key=True),
    Column("position", Text, nullable=False, server_default=""),
    Column("began_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("ended_at", DateTime(timezone=True)),
    Column("day", Date, nullable=False, server_default=func.current_date()),
    Column("spent_bytes", BigInteger, nullable=False, server_default="0"),
)
"""How far each walk over what is kept has come: after which key, since when, and what it read today. ``ended_at`` is
when the walk began that ended last."""
defects = Table(
    "defects",
    metadata,
    Column("inspection", Text, primary_key=True),
    Column("subject", Text, primary_key=True),
    Column("bounty_id", BigInteger, primary_key=True, autoincrement=False),
    Column("what", Text, nullable=False),
    _created_at("found_at"),
    _created_at("seen_at"),
    Column("lost_by", Text),
)
"""Damaged data of a bounty, until an inspection finds it whole. ``lost_by``: the Solver whose sealed work it is,
where the storage does not have it; ``subject`` is its commitment then."""
work_notices = Table(
    "work_notices",
    metadata,
    Column("number", BigInteger, Identity(always=True), primary_key=True),
    Column("kind", Text, nullable=False),
    Column("bounty_id", BigInteger, nullable=False),
    Column("solver", Text, nullable=False),
    Column("submission_commitment", Text, nullable=False),
    _created_at(),
)
"""That sealed work was found lost, or is there again, in order: what webhooks are sent of it. One writer at a time, by
a lock: the inspections, or an operator's look at what they found."""
hub_notices = Table(
    "hub_notices",
    metadata,
    Column("hub_address", Text, primary_key=True),
    Column("signer", Text, primary_key=True),
    Column("reason", Text, nullable=False),
    Column("issued_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Column("signature", Text, nullable=False),
    _created_at("received_at"),
)
"""The latest notice about the Hub of each account that was named for them when it came."""
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
