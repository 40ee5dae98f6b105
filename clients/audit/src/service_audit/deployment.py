"""What the API says of the deployment as a whole: its status, its facts, its delivery key, accounts and changes."""

from dataclasses import dataclass, field
from typing import Any, Final

from service_audit.answers import AnswerCheck
from service_audit.chain import Moment
from service_audit.events import ZERO_BYTES32, HubLog
from service_audit.expected import Json, account, changes, roster, totals

CHANGES_AT_ONCE: Final = 500


def check_status(reading: AnswerCheck) -> None:
    """Compare totals and position."""
    report, chain = reading.report, reading.chain
    found, moments = reading.get("/api/status")
    position = found["position"]
    (newest, *_) = chain.moments(position["block_number"])
    report.same("status.position", "/api/status block_hash", newest.block.hash, position["block_hash"])
    report.same("status.position", "/api/status block_time", newest.block.time, position["block_time"])
    reading.is_recent(newest.block, "/api/status position")
    finalized, latest = position["finalized_block_number"], chain.block("finalized").number
    sound = type(finalized) is int and 0 <= finalized <= latest
    where = "/api/status finalized_block_number"
    report.holds("status.position", where, f"at most {latest}", sound, finalized)
    if sound:
        behind = chain.finalized.time - chain.blocks([finalized])[finalized].time
        report.holds("liveness.index", where, "no long way behind", behind <= reading.max_lag_seconds, finalized)
    reading.fields("status.totals", "/api/status totals", moments, totals, found["totals"])
    for name, value in (("chain_id", chain.chain_id), ("hub_address", chain.hub)):
        report.same("api.deployment", f"/api/status {name}", value, found[name])
    report.holds("liveness.index", "/api/status state", "following", found["state"] == "following", found["state"])


def check_deployment(reading: AnswerCheck) -> None:
    """Compare what a client needs to know of the deployment."""
    found = reading.answer("/api/deployment").json()
    moments = reading.chain.moments(reading.chain.head.number)
    world = moments[0].world
    terms = world.terms

    def expected(moment: Moment) -> Json:
        protocol, guardian, recipient = moment.world.fees
        current = moment.world.current_roster(moment.block.time)
        fees = {"protocol_fee_bps": protocol, "guardian_fee_bps": guardian, "protocol_fee_recipient": recipient}
        return {
            "chain_id": world.chain_id,
            "hub_address": world.hub,
            "reveal_delay_seconds": terms.reveal_delay,
            "fee_policy": fees,
            "guardian_roster": roster(moment.world, current) if current else None,
        }

    reading.fields("api.deployment", "/api/deployment", moments, expected, found)
    reading.report.same("api.deployment", "/api/deployment token", terms.token, found["escrow_token"]["address"])
    limits = {
        "min_submission_window_seconds": terms.min_submission_window,
        "max_submission_window_seconds": terms.max_submission_window,
        "min_judging_window_seconds": terms.min_judging_window,
        "max_judging_window_seconds": terms.max_judging_window,
        "min_escrow_amount": str(terms.min_escrow),
    }
    reading.fields("api.deployment", "/api/deployment limits", moments, lambda _: limits, found["limits"])
    _check_delivery_key(reading)


def _check_delivery_key(reading: AnswerCheck) -> None:
    """Compare the delivery key in force; while the owner has withdrawn it there is none to compare."""
    path = "/api/deployment/delivery-key"
    moments = reading.chain.moments(reading.chain.head.number)

    def key_at(moment: Moment) -> str:
        return moment.world.delivery_key(moment.block.time)

    if all(key_at(moment) == ZERO_BYTES32 for moment in moments):
        return
    answer = reading.answer(path)
    if reading.report.same("api.deployment", f"{path} status", 200, answer.status):
        reading.value("api.deployment", path, moments, key_at, answer.json()["delivery_public_key"])


def check_account(reading: AnswerCheck, address: str) -> None:
    """Compare an account's record."""
    path = f"/api/accounts/{address}"
    found, moments = reading.get(path)
    reading.report.same("account.record", f"{path} account_address", address, found["account_address"])
    for role in ("poster", "solver"):
        reading.fields(
            "account.record", f"{path} {role}", moments,
            lambda moment, role=role: account(moment.world, address)[role], found[role],  # type: ignore[misc]
        )  # fmt: skip


# ---------------------------------------------------------------------- changes


@dataclass(slots=True)
class ChangesCursor:
    """Up to where changes were compared: everything before is final, and was right."""

    after: int = 0
    place: tuple[int, int] = (-1, -1)
    """Block and log index of the last final event that was compared."""

    def reset(self) -> None:
        """Begin again with the first change."""
        self.after, self.place = 0, (-1, -1)


@dataclass(slots=True)
class ReadChanges:
    """The events that are left after the retractions with their numbers, and the moments of the last page."""

    events: list[tuple[int, Any]] = field(default_factory=list)
    moments: list[Moment] = field(default_factory=list)
    least_kept: int = 1 << 62
    """The least block that a retraction went back to."""


def check_changes(reading: AnswerCheck, cursor: ChangesCursor) -> None:
    """Compare the changes after the cursor with the Hub's log: what is left after the retractions is the log."""
    report, read = reading.report, _changes_after_cursor(reading, cursor)
    kept, moments = read.events, read.moments
    events = [event for _, event in kept]
    logs = min(
        (_logs_between(reading, cursor, moment) for moment in moments),
        key=lambda each: abs(len(each) - len(events)),
        default=list[HubLog](),
    )
    wanted = changes(reading.chain.world_at(reading.chain.head.number), logs)
    report.same("changes.log", "/api/changes count of events", len(wanted), len(events))
    places = [(event["block_number"], event["log_index"]) for event in events]
    report.holds("changes.order", "/api/changes", "the order of the chain", places == sorted(set(places)), places)
    seen = dict(zip(places, events, strict=True))
    for expected in wanted:
        _compare_change(reading, expected, seen.pop((expected["block_number"], expected["log_index"]), None))
    for place, event in seen.items():
        report.add("changes.log", f"/api/changes block {place[0]} log {place[1]}", "no event", event.get("name"))
    final = [(number, place) for (number, _), place in zip(kept, places, strict=True) if place[0] <= _final(reading)]
    if final and not report.count:
        cursor.after, cursor.place = final[-1]


def _final(reading: AnswerCheck) -> int:
    """Return the block up to which chain and index agree that all is final."""
    return min(reading.position.finalized, reading.chain.finalized.number)


def _logs_between(reading: AnswerCheck, cursor: ChangesCursor, moment: Moment) -> list[HubLog]:
    logs = reading.chain.logs[: moment.world.count]
    begin = len(logs)
    while begin and (logs[begin - 1].place.block_number, logs[begin - 1].place.log_index) > cursor.place:
        begin -= 1
    return logs[begin:]


def _compare_change(reading: AnswerCheck, expected: Json, event: Any) -> None:
    report, number = reading.report, expected["block_number"]
    where = f"/api/changes {expected['name']} of block {number} log {expected['log_index']}"
    if event is None:
        report.add("changes.log", where, "an event", "nothing")
        return
    for name, value in expected.items():
        report.same("changes.log", f"{where} {name}", value, event.get(name, "nothing"))
    if "replaces" not in expected:
        report.same("changes.log", f"{where} replaces", None, event.get("replaces"))
    if number <= reading.position.finalized:
        report.same("changes.log", f"{where} finality", "finalized", event["finality"])


def _changes_after_cursor(reading: AnswerCheck, cursor: ChangesCursor) -> ReadChanges:
    """Read on from the cursor; from the first change where what it had seen was retracted, or the index restored."""
    try:
        found = _changes_after(reading, cursor.after)
    except ValueError:
        if not cursor.after:
            raise
    else:
        if found.least_kept >= cursor.place[0]:
            return found
    cursor.reset()
    return _changes_after(reading, 0)


def _changes_after(reading: AnswerCheck, after: int) -> ReadChanges:
    report, read, begin = reading.report, ReadChanges(), reading.api.received
    while True:
        found, read.moments = reading.get(f"/api/changes?after={after}&limit={CHANGES_AT_ONCE}")
        reading.api.bound_list(begin)
        if len(found["items"]) > CHANGES_AT_ONCE:
            raise ValueError("a page with more changes than were asked for")
        for item in found["items"]:
            number = item["number"]
            report.holds("changes.order", "/api/changes number", f"more than {after}", number > after, number)
            after = max(after, int(number))
            if item["kind"] == "retraction":
                last = item["last_block_number"]
                read.least_kept = min(read.least_kept, int(last))
                while read.events and read.events[-1][1]["block_number"] > last:
                    read.events.pop()
            elif report.same("changes.log", f"/api/changes {number} kind", "event", item["kind"]):
                read.events.append((number, item["event"]))
        report.same("changes.order", "/api/changes next_after", after, found["next_after"])
        if not found["has_more"]:
            return read
        if not found["items"]:
            raise ValueError("a page without changes that is not the last one")
