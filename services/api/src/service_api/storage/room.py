"""Data kept for accounts that have not paid for it yet: envelopes that the Hub does not record, unfunded pages.

Accounts cost nothing, so that anyone can have the api keep such rows until the deadline of a bounty or page. All of one
kind together take at most ``pending_bytes`` of the configuration. From half of it on, only accounts that the chain
knows may add to it: they hold ether or code, or have sent a transaction. What the chain records is not counted, and
always has a place.
"""

from collections.abc import Iterator
from enum import StrEnum
from typing import Final

from bounty_protocol.chain.rpc import ChainUnavailable, Rpc, hex_bytes, quantity
from bounty_protocol.clock import Clock
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import Address
from prometheus_client.core import GaugeMetricFamily, Metric
from service_common.db import app as t
from service_common.db import hub_index as h
from service_common.db.engine import reading, writing
from service_common.db.hub_reads import is_newest
from service_common.recent import Recent
from sqlalchemy import ColumnElement, Engine, and_, exists, func, select, update

RETRY_SECONDS: Final = 3_600
COUNTED_SECONDS: Final = 30.0
"""For how long a sum is not made again: what is written meanwhile passes the bound."""
_LATEST: Final = "latest"


class Pending(StrEnum):
    """Data that waits for its transaction."""

    ENVELOPES = "envelopes"
    PAGES = "pages"


_TABLES: Final = {Pending.ENVELOPES: t.submission_envelopes, Pending.PAGES: t.challenge_pages}
_NEXT_ACTIONS: Final = {
    Pending.ENVELOPES: "Record the Submission first (solver:submit --without-api), then prepare it: recorded "
    "Submissions are not limited.",
    Pending.PAGES: "Publish from an account that holds ether, or try again later.",
}
ROW_BYTES: Final = 4_096
"""The bytes of a row beside its content: its keys, its indexes, the summary of a page."""


class PendingRoom:
    """The room for each kind: at most so many bytes. Thread-safe."""

    def __init__(self, engine: Engine, rpc: Rpc, most_bytes: int, clock: Clock) -> None:
        self._engine, self._rpc, self._most = engine, rpc, most_bytes
        self._sums: Recent[Pending, int] = Recent(COUNTED_SECONDS, len(Pending), clock)

    def require(self, kind: Pending, account: Address) -> None:
        """Raise 503 ``pending_storage_full`` if no more unrecorded data of a kind is kept for this account."""
        taken = self._sums.get(kind, lambda: count_pending(self._engine, kind))
        if taken >= self._most or (taken >= self._most // 2 and not self._is_on_chain(account)):
            raise ServiceError(
                "pending_storage_full",
                f"This deployment has reached its limit of {kind} without a matching record on chain.",
                next_action=_NEXT_ACTIONS[kind],
                retry_after=RETRY_SECONDS,
            )

    def _is_on_chain(self, account: Address) -> bool:
        """Return whether the account holds ether or code, or has sent a transaction."""
        balance, count, code = self._rpc.batch(
            [
                ("eth_getBalance", [account, _LATEST]),
                ("eth_getTransactionCount", [account, _LATEST]),
                ("eth_getCode", [account, _LATEST]),
            ]
        )
        try:
            return quantity(balance) > 0 or quantity(count) > 0 or len(hex_bytes(code)) > 0
        except ValueError as error:
            raise ChainUnavailable("an RPC endpoint shows no code of an account") from error


def count_pending(engine: Engine, kind: Pending) -> int:
    """Count the stored pending bytes of a kind."""
    pending = _TABLES[kind].c.pending_bytes
    # The condition lets the database use the partial index of waiting rows.
    waiting = select(func.coalesce(func.sum(pending), 0)).where(pending.is_not(None))
    with reading(engine) as connection:
        return int(connection.execute(waiting).scalar_one())


def pending_figures(engine: Engine, most: int) -> Iterator[Metric]:
    """Yield how much there is of what is kept for strangers, as a part of what is kept at most."""
    family = GaugeMetricFamily(
        "service_pending_ratio",
        "Part of what is kept at most that is taken by `envelopes` which the Hub does not "
        "record and by `pages` which nobody funded",
        labels=["kind"],
    )
    for kind in Pending:
        family.add_metric([kind], count_pending(engine, kind) / most)
    yield family


def settle_pending(engine: Engine) -> int:
    """Stop counting what is now on chain; return how many rows."""
    settled = 0
    for kind, paid in ((Pending.ENVELOPES, is_recorded()), (Pending.PAGES, _is_funded())):
        table = _TABLES[kind]
        statement = update(table).where(table.c.pending_bytes.is_not(None), paid).values(pending_bytes=None)
        with writing(engine) as connection:
            settled += connection.execute(statement).rowcount
    return settled


def is_its_envelope() -> ColumnElement[bool]:
    """Return whether an envelope is that of a recorded Submission beside it."""
    e, s = t.submission_envelopes.c, h.submissions.c
    return and_(s.bounty_id == e.bounty_id, s.solver == e.solver, s.submission_commitment == e.submission_commitment)


def is_recorded() -> ColumnElement[bool]:
    """Return whether the Hub's log records the Submission of an envelope."""
    return exists().where(is_its_envelope())


def is_active() -> ColumnElement[bool]:
    """Return whether the Submission of an envelope is its Solver's newest one."""
    return exists().where(is_its_envelope(), is_newest(h.submissions, "solver"))


def _is_funded() -> ColumnElement[bool]:
    return exists().where(h.bounties.c.spec_commitment == t.challenge_pages.c.spec_commitment)
