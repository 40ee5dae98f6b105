"""What an operator's insider does, by the operator's rows of docs/threat-model.md: each with who has to name it.

A deed is prepared by reading; ``None`` where the stack has nothing to do it to yet. It is done, seen by each of its
finders, and put right as docs/run.md says. Rows are of final blocks: a reorg takes none of them back.
"""

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, LiteralString

from bounty_protocol.domain.envelope import CiphertextReference, parse_envelope
from bounty_protocol.types import BountyId
from service_cli import ServiceError
from service_common.jobs import QueueName, connect, open_queue

from tests.kept import kept_by, put_object
from tools.market.drawn import DeedKind
from tools.market.faults import pick
from tools.market.lives import NOTE
from tools.market.people import NotMined
from tools.market.reach import InsiderReach, NotDone, Row

INDEXER: Final = "service_indexer"
API: Final = "service_api"
DELIVERY: Final = "service_delivery"
_QUEUES: Final = (QueueName.ARTIFACTS, QueueName.REVIEWS, QueueName.SETTLE)
"""Whose workers have no job that goes on for minutes."""


@dataclass(frozen=True, slots=True)
class Deed:
    """One act, and what it has to come to. Every step may be tried several times."""

    target: str
    do: Callable[[], object]
    found_by: Mapping[str, Callable[[], bool]]
    """Who has to name the act, by words for the log."""
    put_right: Callable[[], object]
    over: Mapping[str, Callable[[], object]] = field(default_factory=dict)
    """What has to hold once it is put right."""


def _some(reach: InsiderReach, choice: float, role: str, statement: LiteralString) -> Row | None:
    rows = reach.rows(role, statement)
    return pick(rows, choice) if rows else None


def _of_index(
    reach: InsiderReach,
    target: str,
    table: str,
    requirement: str,
    do: Callable[[], object],
    bounty: int | None = None,
    part: str | None = None,
) -> Deed:
    """A change of the index: the audit names it, a rebuild puts it right."""
    return Deed(
        f"{table} {target}",
        do,
        {
            f"service-audit: {requirement}": lambda: reach.checked(requirement, bounty, part),
        },
        reach.rebuild,
    )


_BOUNTY: Final[LiteralString] = (
    "SELECT bounty_id FROM hub_index.bounties WHERE block_number <= (SELECT finalized_number FROM hub_index.head)"
    " ORDER BY bounty_id"
)
_ENDED: Final[LiteralString] = (
    "SELECT bounty_id, outcome FROM hub_index.finalizations"
    " WHERE block_number <= (SELECT finalized_number FROM hub_index.head) ORDER BY bounty_id"
)
_WORK: Final[LiteralString] = (
    "SELECT e.bounty_id, e.submission_commitment, e.content FROM app.submission_envelopes e"
    " JOIN hub_index.submissions s USING (bounty_id, solver, submission_commitment)"
    " WHERE s.block_number <= (SELECT finalized_number FROM hub_index.head) AND NOT EXISTS"
    " (SELECT FROM hub_index.submissions l WHERE l.bounty_id = s.bounty_id AND l.solver = s.solver"
    " AND (l.block_number, l.log_index) > (s.block_number, s.log_index)) ORDER BY e.bounty_id, e.submission_commitment"
)
_OPENABLE: Final[LiteralString] = _WORK.replace(
    " ORDER BY",
    " AND e.bounty_id IN (SELECT b.bounty_id FROM hub_index.bounties b, hub_index.head h WHERE reveal_at < block_time)"
    " ORDER BY",
)
"""What a Guardian's client would open, but for the bytes."""


# --- rows of the index


def _terms(reach: InsiderReach, choice: float) -> Deed | None:
    if (row := _some(reach, choice, INDEXER, _BOUNTY)) is None:
        return None
    change: LiteralString = "UPDATE hub_index.bounties SET escrow_amount = escrow_amount + 1 WHERE bounty_id = %s"
    return _of_index(
        reach, str(row[0]), "bounties", "bounty.facts", lambda: reach.write(INDEXER, change, row[0]), row[0]
    )


def _hidden(reach: InsiderReach, choice: float) -> Deed | None:
    if (row := _some(reach, choice, INDEXER, _BOUNTY)) is None:
        return None
    change: LiteralString = "DELETE FROM hub_index.bounties WHERE bounty_id = %s"
    return _of_index(
        reach, str(row[0]), "bounties", "list.order",
        lambda: reach.rows(INDEXER, change + " RETURNING 1", row[0]), row[0], "/api/bounties",
    )  # fmt: skip


def _poster(reach: InsiderReach, choice: float) -> Deed | None:
    """An accomplice in the Poster's place, to read sealed work."""
    if (row := _some(reach, choice, API, _WORK)) is None:
        return None
    town = reach.town
    accomplice = town.actors["stranger-1"]
    change: LiteralString = "UPDATE hub_index.bounties SET poster = %s WHERE bounty_id = %s"
    path = f"/api/bounties/{row[0]}/submissions/{row[1]}/content"

    def is_refused() -> bool:
        answer = town.request("GET", path, by=accomplice)
        if answer.status == 200:
            town.log.differs("sealed work was served to an insider's accomplice", bounty=row[0])
        return (
            answer.status == 503 and answer.json()["error"]["code"] == "bounty_submission_content_authority_unavailable"
        )

    deed = _of_index(
        reach, str(row[0]), "bounties", "bounty.facts",
        lambda: reach.write(INDEXER, change, accomplice.address, row[0]), row[0],
    )  # fmt: skip
    return Deed(deed.target, deed.do, {"api: 503": is_refused, **deed.found_by}, deed.put_right)


def _ending(reach: InsiderReach, choice: float) -> Deed | None:
    if (row := _some(reach, choice, INDEXER, _ENDED)) is None:
        return None
    change: LiteralString = (
        "UPDATE hub_index.finalizations SET refund = refund + 1, winner = %s,"
        " reason = CASE reason WHEN 3 THEN 4 ELSE 3 END WHERE bounty_id = %s"
    )
    accomplice = reach.town.actors["stranger-1"].address
    return _of_index(
        reach, str(row[0]), "finalizations", "bounty.facts",
        lambda: reach.write(INDEXER, change, accomplice, row[0]), row[0],
    )  # fmt: skip


def _verdict(reach: InsiderReach, choice: float) -> Deed | None:
    row = _some(
        reach, choice, INDEXER,
        "SELECT block_number, log_index, bounty_id FROM hub_index.verdicts"
        " WHERE block_number <= (SELECT finalized_number FROM hub_index.head) ORDER BY block_number, log_index",
    )  # fmt: skip
    if row is None:
        return None
    change: LiteralString = (
        "UPDATE hub_index.verdicts SET report_commitment = %s WHERE block_number = %s AND log_index = %s"
    )
    other = "0x" + secrets.token_hex(32)
    return _of_index(
        reach, f"{row[0]}-{row[1]}", "verdicts", "graphql.rows",
        lambda: reach.write(INDEXER, change, other, *row[:2]), row[2], "/subgraph",
    )  # fmt: skip


def _totals(reach: InsiderReach, _: float) -> Deed | None:
    if not reach.rows(INDEXER, "SELECT 1 FROM hub_index.totals LIMIT 1"):
        return None
    change: LiteralString = "UPDATE hub_index.totals SET awards_paid = awards_paid + 7"
    return _of_index(reach, "", "totals", "status.totals", lambda: reach.write(INDEXER, change))


_CHANGE: Final[LiteralString] = (
    "SELECT number, block_number FROM hub_index.changes WHERE log_index IS NOT NULL"
    " AND block_number <= (SELECT finalized_number FROM hub_index.head) ORDER BY number"
)


def _change_dropped(reach: InsiderReach, choice: float) -> Deed | None:
    if (row := _some(reach, choice, INDEXER, _CHANGE)) is None:
        return None
    change: LiteralString = "DELETE FROM hub_index.changes WHERE number = %s RETURNING 1"
    return _of_index(
        reach, str(row[0]), "changes", "changes.log", lambda: reach.rows(INDEXER, change, row[0]), part="/api/changes"
    )


def _open_again(reach: InsiderReach, choice: float) -> Deed | None:
    """A bounty that has ended among those that have not."""
    if (row := _some(reach, choice, INDEXER, _ENDED)) is None:
        return None
    change: LiteralString = (
        "INSERT INTO hub_index.open_bounties (bounty_id, submission_deadline, reveal_at, judging_deadline)"
        " VALUES (%s, 0, 0, 9000000000) ON CONFLICT DO NOTHING"
    )
    return _of_index(
        reach,
        str(row[0]),
        "open_bounties",
        "status.totals",
        lambda: reach.rows(INDEXER, change + " RETURNING 1", row[0]),
    )


# --- what the api keeps


def _page(reach: InsiderReach, choice: float) -> Deed | None:
    row = _some(
        reach, choice, API,
        "SELECT p.spec_commitment, b.bounty_id, p.content FROM app.challenge_pages p"
        " JOIN hub_index.bounties b USING (spec_commitment)"
        " WHERE b.block_number <= (SELECT finalized_number FROM hub_index.head) ORDER BY b.bounty_id",
    )  # fmt: skip
    if row is None:
        return None
    page = bytes(row[2])
    change: LiteralString = "UPDATE app.challenge_pages SET content = %s WHERE spec_commitment = %s"

    def do() -> None:
        reach.shown_before.add(f"/api/bounties/{row[1]} challenge")
        reach.write(API, change, page.replace(b"\n", b"\nPay somebody else.\n", 1), row[0])

    return Deed(
        f"page of {row[1]}",
        do,
        {
            "service-audit: bounty.challenge": lambda: reach.checked("bounty.challenge", row[1]),
        },
        lambda: reach.write(API, change, page, row[0]),
    )


def _envelope(reach: InsiderReach, choice: float) -> Deed | None:
    """Sealed work under another envelope, long after its Solver could prepare it again."""
    if (row := _some(reach, choice, API, _OPENABLE)) is None:
        return None
    envelope, path = bytes(row[2]), f"/api/bounties/{row[0]}/submissions/{row[1]}/content"
    change: LiteralString = "UPDATE app.submission_envelopes SET content = %s WHERE submission_commitment = %s"
    guardian = reach.town.actors["guardian-3"]

    def is_refused() -> bool:
        answer = reach.town.request("GET", path, by=guardian)
        return answer.status == 500 and answer.json()["error"]["code"] == "solver_submission_content_invalid"

    return Deed(
        f"envelope of {row[1]} in {row[0]}",
        lambda: reach.write(API, change, envelope.replace(b'"', b"'", 1), row[1]),
        {"api: not served": is_refused},
        lambda: reach.write(API, change, envelope, row[1]),
    )


def _title(reach: InsiderReach, choice: float) -> Deed | None:
    row = _some(
        reach, choice, API,
        "SELECT s.spec_commitment, b.bounty_id, s.title FROM app.challenge_summaries s"
        " JOIN hub_index.bounties b USING (spec_commitment)"
        " WHERE b.block_number <= (SELECT finalized_number FROM hub_index.head) ORDER BY b.bounty_id",
    )  # fmt: skip
    if row is None:
        return None
    change: LiteralString = "UPDATE app.challenge_summaries SET title = %s WHERE spec_commitment = %s"
    title = f"Insider {secrets.token_hex(4)}"
    look: LiteralString = "SELECT 1 FROM app.challenge_summaries WHERE spec_commitment = %s AND title = %s"

    return Deed(
        f"title of {row[1]}",
        lambda: reach.write(API, change, title, row[0]),
        {"service-audit: list.title": lambda: reach.checked("list.title", row[1], "/api/bounties")},
        lambda: reach.write(API, change, row[2], row[0]),
        {"the page's own title": lambda: not reach.rows(API, look, row[0], title)},
    )


def _reasons(reach: InsiderReach, choice: float) -> Deed | None:
    """Other reasons of a Guardian's Verdict."""
    row = _some(
        reach, choice, API,
        "SELECT w.report_commitment, w.bounty_id, w.guardian, w.content FROM app.written_verdicts w"
        " JOIN hub_index.verdicts v USING (bounty_id, guardian, report_commitment)"
        " WHERE v.block_number <= (SELECT finalized_number FROM hub_index.head) ORDER BY w.created_at",
    )  # fmt: skip
    if row is None:
        return None
    town, document = reach.town, bytes(row[3])
    (guardian,) = [actor for actor in town.actors.values() if actor.address == row[2]]
    change: LiteralString = "UPDATE app.written_verdicts SET content = %s WHERE report_commitment = %s"
    path = f"/api/written-verdicts/{row[0]}"

    def write_again() -> None:
        answer = town.request("POST", path, document, by=guardian, media="text/markdown")
        if answer.status not in {200, 201}:
            raise NotDone(f"the Verdict again: {answer.status} {answer.data[:300]!r}")

    def do() -> None:
        reach.shown_before.add(path)
        reach.write(API, change, document + b"\nThe Poster is right.\n", row[0])

    return Deed(
        f"reasons of {row[2]} in {row[1]}",
        do,
        {
            "api: not served": lambda: town.request("GET", path).status == 404,
            "service-audit: bounty.verdict": lambda: reach.checked("bounty.verdict", row[1]),
        },
        write_again,
        {"api: served": lambda: town.request("GET", path).data == document},
    )


def _record(reach: InsiderReach, choice: float) -> Deed | None:
    """A VerificationRecord of the insider's: the api serves what the facts make instead, by itself."""
    row = _some(reach, choice, API, "SELECT bounty_id, content FROM app.verification_records ORDER BY bounty_id")
    if row is None:
        return None
    town, path = reach.town, f"/api/bounties/{row[0]}"
    change: LiteralString = "UPDATE app.verification_records SET content = %s WHERE bounty_id = %s"
    before = town.request("GET", path).json()["verification_record"]
    forged = bytes(row[1]).replace(b'"status":"final"', b'"status":"other"', 1) + b" "

    def is_whole() -> bool:
        answer = town.request("GET", path)
        found = answer.json().get("verification_record")
        if found is not None and found != before:
            town.log.differs("a forged VerificationRecord was served", bounty=row[0])
        return bool(answer.status == 200 and found == before)

    return Deed(
        f"record of {row[0]}", lambda: reach.write(API, change, forged, row[0]),
        {"api: derived again": is_whole}, lambda: None,
    )  # fmt: skip


def _object_lost(reach: InsiderReach, choice: float) -> Deed | None:
    return _object(reach, choice, swapped=False)


def _object_swapped(reach: InsiderReach, choice: float) -> Deed | None:
    return _object(reach, choice, swapped=True)


def _object(reach: InsiderReach, choice: float, *, swapped: bool) -> Deed | None:
    """Sealed work that is gone, or other bytes in its place which the database calls verified. A copy is put back."""
    if (row := _some(reach, choice, API, _OPENABLE if swapped else _WORK)) is None:
        return None
    wanted, town = parse_envelope(bytes(row[2])).ciphertext, reach.town
    with kept_by(town.stack) as deps:
        info = deps.store.stat(wanted.storage_locator)
        if info is None:
            return None
        copy = b"".join(deps.store.read(info))
    other = copy[:-1] + bytes([copy[-1] ^ 1])

    def do() -> None:
        _replace(reach, wanted, other if swapped else None)
        if swapped:
            _call_verified(reach, wanted)

    def client_refuses() -> bool:
        folder = reach.folder / f"opened-{secrets.token_hex(4)}"
        try:
            town.actors["guardian-3"].client.open_submission(BountyId(row[0]), row[1][:10], folder)
        except ServiceError as refused:
            if refused.code not in {"storage_mismatch", "ciphertext_mismatch"}:
                raise NotDone(f"the client refuses it as {refused.code}") from refused
            return True
        town.log.differs("a client opened swapped work", bounty=row[0])
        return True

    def is_refused() -> bool:
        path = f"/api/bounties/{row[0]}/submissions/{row[1]}/content"
        return town.request("GET", path, by=town.actors["guardian-3"]).status == 500

    return Deed(
        f"object of {row[1]} in {row[0]}", do,
        {"client: refuses": client_refuses} if swapped else {"api: not served": is_refused},
        lambda: _replace(reach, wanted, copy),
    )  # fmt: skip


def _replace(reach: InsiderReach, wanted: CiphertextReference, content: bytes | None) -> None:
    with kept_by(reach.town.stack) as deps:
        info = deps.store.stat(wanted.storage_locator)
        if info is not None:
            deps.store.delete(info.locator, generation=info.generation)
        if content is not None:
            put_object(deps, wanted.storage_locator, content, wanted.sha256)


def _call_verified(reach: InsiderReach, wanted: CiphertextReference) -> None:
    with kept_by(reach.town.stack) as deps:
        info = deps.store.stat(wanted.storage_locator)
    if info is None:
        raise NotDone("a reader had it verified, and it is gone")
    change: LiteralString = (
        "INSERT INTO app.verified_objects (storage_locator, generation, sha256, byte_length, checksum)"
        " VALUES (%s, %s, %s, %s, %s)"
    )
    known = (info.locator, info.generation, wanted.sha256, wanted.byte_length, info.checksum)
    reach.write(API, change, *known)


# --- what delivery keeps, queues, Secrets


def _wrap(reach: InsiderReach, choice: float) -> Deed | None:
    """A delivered key that opens nothing any more; a Guardian delivers again."""
    row = _some(
        reach, choice, DELIVERY,
        "SELECT w.bounty_id, w.submission_commitment FROM delivery.wraps w JOIN hub_index.finalizations f"
        " USING (bounty_id, submission_commitment)"
        " WHERE f.block_number <= (SELECT finalized_number FROM hub_index.head) ORDER BY w.bounty_id",
    )  # fmt: skip
    if row is None:
        return None
    change: LiteralString = "UPDATE delivery.wraps SET wrapped_key = %s WHERE bounty_id = %s"
    town, path = reach.town, f"/api/bounties/{row[0]}/delivery/status?submission_commitment={row[1]}"

    def is_held() -> bool:
        answer = town.request("GET", path)
        if answer.status != 200:
            raise NotDone(f"delivery/status: {answer.status}")
        return bool(answer.json()["exists"])

    return Deed(
        f"wrap of {row[0]}",
        lambda: reach.write(DELIVERY, change, secrets.token_bytes(80), row[0]),
        {"delivery: not delivered": lambda: not is_held()},
        lambda: town.actors["guardian-3"].client.deliver_key(BountyId(row[0])),
        {"delivery: delivered": is_held},
    )


def _job(reach: InsiderReach, choice: float) -> Deed:
    """A job that is a program of the insider's: the worker of each queue has the Secrets of its service."""
    town, queue = reach.town, open_queue(pick(_QUEUES, choice), connect(reach.town.stack.valkey.url()))
    ran = reach.folder / f"ran-{secrets.token_hex(4)}"
    jobs: list[str] = []

    def do() -> None:
        jobs.append(queue.enqueue("subprocess.check_call", ["touch", str(ran)], result_ttl=0, failure_ttl=60).id)

    def is_parked() -> bool:
        kept = queue.failed_job_registry.get_job_ids()
        are_parked = all(each in kept or queue.fetch_job(each) is None for each in jobs)  # or lost with Redis
        if ran.exists():
            town.log.differs("a worker ran an insider's program", queue=queue.name)
        return are_parked

    def remove() -> None:
        for each in jobs:
            if (job := queue.fetch_job(each)) is not None:
                job.delete()

    return Deed(f"job in {queue.name}", do, {"worker: parked": is_parked}, remove)


def _stored(reach: InsiderReach, _: float) -> Deed:
    """All that is stored, searched for plain work and people's keys."""
    town = reach.town
    keys = [actor.wallet.private_key for name, actor in town.actors.items() if name != "settler"]
    canaries = [each.encode() for each in (NOTE, *keys)]

    def finds_nothing() -> bool:
        if found := reach.find_stored(canaries):
            town.log.differs("an insider read what is secret", where=found[:5])
        return True

    return Deed("what is stored", lambda: None, {"nothing is readable": finds_nothing}, lambda: None)


def _gas_key(reach: InsiderReach, choice: float) -> Deed | None:
    """The Hub takes nothing of whoever has the settler's key that it would not take of anyone."""
    if (row := _some(reach, choice, INDEXER, _BOUNTY)) is None:
        return None
    town, refused = reach.town, set[str]()
    calls: dict[str, tuple[object, ...]] = {
        "claim": (row[0], b"", b""),
        "claimRefund": (row[0],),
        "recordVerdict": (row[0], 2, "0x" + "0" * 40, bytes(32), secrets.token_bytes(32)),
        "setFeePolicy": (0, 0, town.actors["settler"].address),
    }

    def are_refused() -> bool:
        for name, arguments in calls.items():
            if name in refused:
                continue
            try:
                town.transact(town.actors["settler"], town.hub, name, *arguments)
            except NotMined as error:
                if "reverted" in str(error):
                    refused.add(name)
            else:
                town.log.differs("the Hub took a call by the settler's key", act=name, bounty=row[0])
                refused.add(name)
        return refused == calls.keys()

    return Deed(f"settler's key at {row[0]}", lambda: None, {"Hub: reverts": are_refused}, lambda: None)


DEEDS: Final[dict[DeedKind, Callable[[InsiderReach, float], Deed | None]]] = {
    DeedKind.TERMS: _terms,
    DeedKind.HIDDEN: _hidden,
    DeedKind.POSTER: _poster,
    DeedKind.ENDING: _ending,
    DeedKind.VERDICT: _verdict,
    DeedKind.TOTALS: _totals,
    DeedKind.CHANGE_DROPPED: _change_dropped,
    DeedKind.OPEN_AGAIN: _open_again,
    DeedKind.PAGE: _page,
    DeedKind.ENVELOPE: _envelope,
    DeedKind.TITLE: _title,
    DeedKind.REASONS: _reasons,
    DeedKind.RECORD: _record,
    DeedKind.OBJECT_LOST: _object_lost,
    DeedKind.OBJECT_SWAPPED: _object_swapped,
    DeedKind.WRAP: _wrap,
    DeedKind.JOB: _job,
    DeedKind.STORED: _stored,
    DeedKind.GAS_KEY: _gas_key,
}
