"""Schema ``webhooks``: which facts each webhook gets, and how far each is.

``subscriptions`` is written by the api alone, ``deliveries`` and ``progress`` by the worker of the queue ``webhooks``.
A subscription without a row of ``deliveries`` is one that the worker has not seen yet. A secret is sealed to the
worker's key, so that the api cannot read it back.
"""

from sqlalchemy import (
    BigInteger,
    Column,
    DateTime,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    func,
)
from sqlalchemy.dialects.postgresql import ARRAY

SCHEMA = "webhooks"
metadata = MetaData(schema=SCHEMA)

subscriptions = Table(
    "subscriptions",
    metadata,
    Column("webhook_id", Text, primary_key=True),
    Column("subscriber", Text, nullable=False),
    Column("url", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("finality", Text, nullable=False),
    Column("sealed_secret", Text, nullable=False),
    Column("former_sealed_secret", Text),
    Column("former_until", DateTime(timezone=True)),
    Column("older_sealed_secrets", ARRAY(Text), nullable=False, server_default="{}"),
    Column("older_until", ARRAY(DateTime(timezone=True)), nullable=False, server_default="{}"),
    Column("after_number", BigInteger, nullable=False),
    Column("after_block", BigInteger, nullable=False),
    Column("test_requested_at", DateTime(timezone=True)),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Index("subscriptions_once", "subscriber", "url", "subject", "finality", unique=True),
)
"""``after_number`` and ``after_block``: the change and the block of its registration, from which it hears.
``former_sealed_secret`` was replaced last; the ``older_sealed_secrets`` before it, newest first, each with its end in
``older_until``."""

deliveries = Table(
    "deliveries",
    metadata,
    Column("webhook_id", Text, ForeignKey(subscriptions.c.webhook_id, ondelete="CASCADE"), primary_key=True),
    Column("state", Text, nullable=False),
    Column("after_number", BigInteger, nullable=False),
    Column("sent_block", BigInteger, nullable=False),
    Column("sent_log", BigInteger, nullable=False),
    Column("until_number", BigInteger),
    Column("missed_block", BigInteger),
    Column("failure_count", Integer, nullable=False, server_default="0"),
    Column("failing_since", DateTime(timezone=True)),
    Column("next_attempt_at", DateTime(timezone=True), nullable=False),
    Column("last_attempt_at", DateTime(timezone=True)),
    Column("last_success_at", DateTime(timezone=True)),
    Column("last_result", Text),
    Column("last_status", Integer),
    Column("slow_until", DateTime(timezone=True)),
    Column("tested_at", DateTime(timezone=True)),
    Column("after_notice", BigInteger),
)
"""``after_number``: every change up to it was looked at. ``sent_block`` and ``sent_log``: the place in the chain up to
which facts were looked at, and sent where they concern it. ``until_number``: the last change of a message that has to
be tried again as it was. ``missed_block``: the receiver is to be told that what it was sent of later blocks may not
hold, because the index lost count. ``after_notice``: every notice about sealed work up to it was sent where it concerns
it."""

progress = Table(
    "progress",
    metadata,
    Column("chain_id", BigInteger, primary_key=True, autoincrement=False),
    Column("caught_up_at", DateTime(timezone=True), nullable=False),
)
"""When the worker last had nothing left to send to receivers that answer."""
