"""The public reads of REST, each compared with the replay."""

from collections.abc import Callable, Iterable
from typing import Any, Final
from urllib.parse import urlencode

import yaml
from eth_utils.crypto import keccak

from service_checker.asking import Unread
from service_checker.expected import (
    Json,
    Moment,
    accepting,
    account,
    award_of,
    changes,
    facts,
    facts_log,
    judgeable,
    record,
    roster,
    submissions,
    totals,
    verdict_fields,
)
from service_checker.hub_log import ZERO_BYTES32
from service_checker.reading import AnswerCheck
from service_checker.replay import ReplayedBounty

MAX_PAGES: Final = 10_000
"""Of a list that never ends."""
_CHANGES_AT_ONCE: Final = 100
"""On a page of changes."""
MAX_FRONTMATTER: Final = 1 << 18
"""Characters: a whole document has no more."""
MAX_ACTIVE: Final = 1_000
MAX_COUNTED: Final = 1_000
"""Matches of a filter that the list counts."""
MAX_SURPLUS: Final = 100
"""Items beyond twice the bounties of the chain after which a list is read no further: each page is a request."""
Wanted = Callable[[ReplayedBounty, int], bool]


def check_status(reading: AnswerCheck) -> None:
    """Totals and position; the pass begins with it."""
    findings = reading.findings
    found, moments = reading.get("/api/status")
    position = found["position"]
    number = position["block_number"]
    findings.same(
        "status.position", "/api/status block_hash", reading.moment(number).block.hash, position["block_hash"]
    )
    findings.same(
        "status.position", "/api/status block_time", reading.moment(number).block.time, position["block_time"]
    )
    reading.is_recent(number, "/api/status position")
    finalized = position["finalized_block_number"]
    latest = reading.chain.block("finalized").number
    sound = type(finalized) is int and finalized <= latest
    findings.holds("status.position", "/api/status finalized_block_number", f"at most {latest}", sound, finalized)
    follows = sound and reading.seconds_behind(finalized, reading.chain.finalized) <= reading.max_lag_seconds
    findings.holds("liveness.index", "/api/status finalized_block_number", "no long way behind", follows, finalized)
    reading.final_for_sure, reading.indexed = finalized, number
    reading.fields("status.totals", "/api/status totals", moments, totals, found["totals"])
    for name, value in (("chain_id", moments[0].world.chain_id), ("hub_address", reading.chain.hub)):
        findings.same("api.deployment", f"/api/status {name}", value, found[name])
    findings.holds("liveness.index", "/api/status state", "following", found["state"] == "following", found["state"])


def check_deployment(reading: AnswerCheck) -> None:
    """What a client needs to know of the deployment."""
    found = reading.api.get("/api/deployment").json()
    moments = reading.moments(reading.chain.head.number)
    world = moments[0].world
    config = world.config

    def expected(moment: Moment) -> Json:
        protocol, guardian, recipient = moment.world.fees
        current = moment.world.current_roster(moment.block.time)
        fees = {"protocol_fee_bps": protocol, "guardian_fee_bps": guardian, "protocol_fee_recipient": recipient}
        return {
            "chain_id": world.chain_id,
            "hub_address": world.hub,
            "reveal_delay_seconds": world.reveal_delay,
            "fee_policy": fees,
            "guardian_roster": roster(moment.world, current) if current else None,
        }

    reading.fields("api.deployment", "/api/deployment", moments, expected, found)
    reading.findings.same("api.deployment", "/api/deployment token", world.token, found["escrow_token"]["address"])
    limits = {
        "min_submission_window_seconds": config[3],
        "max_submission_window_seconds": config[4],
        "min_judging_window_seconds": config[5],
        "max_judging_window_seconds": config[6],
        "min_escrow_amount": str(config[7]),
    }
    reading.fields("api.deployment", "/api/deployment limits", moments, lambda _: limits, found["limits"])
    _check_delivery_key(reading)


def _check_delivery_key(reading: AnswerCheck) -> None:
    """The key in force; 503 while the owner has withdrawn it."""
    path = "/api/deployment/delivery-key"
    moments = reading.moments(reading.chain.head.number)
    if all(moment.world.delivery_key(moment.block.time) == ZERO_BYTES32 for moment in moments):
        return
    answer = reading.api.get(path)
    if reading.findings.same("api.deployment", f"{path} status", 200, answer.status):
        seen = answer.json()["delivery_public_key"]
        reading.value(
            "api.deployment", path, moments, lambda moment: moment.world.delivery_key(moment.block.time), seen
        )


# ---------------------------------------------------------------------- one bounty


def check_bounty(reading: AnswerCheck, bounty_id: int) -> None:
    """The detail of one bounty, with its documents and its record."""
    path, findings = f"/api/bounties/{bounty_id}", reading.findings
    found, moments = reading.get(path)
    bounty = moments[0].world.bounties[bounty_id]
    own = [moment for moment in moments if bounty_id in moment.world.bounties]

    def at(moment: Moment) -> ReplayedBounty:
        return moment.world.bounties[bounty_id]

    findings.same("bounty.facts", f"{path} bounty_id", str(bounty_id), found["bounty_id"])
    findings.same("bounty.facts", f"{path} hub_address", reading.chain.hub, found["hub_address"])
    findings.same("bounty.facts", f"{path} chain_id", own[0].world.chain_id, found["chain_id"])
    reading.fields("bounty.facts", f"{path} facts", own, lambda m: facts(at(m), m.block.time), found["facts"])
    reading.value(
        "bounty.roster", f"{path} guardian_roster", own,
        lambda m: roster(m.world, at(m).roster), found["guardian_roster"],
    )  # fmt: skip
    if len(bounty.submissions) <= MAX_ACTIVE:
        shown = sorted(found["active_submissions"], key=lambda each: str(each["solver_address"]))
        reading.value("bounty.submissions", f"{path} active_submissions", own, lambda m: submissions(at(m)), shown)
    reading.value(
        "bounty.submissions", f"{path} active_submission_count", own,
        lambda m: len(at(m).submissions), found["active_submission_count"],
    )  # fmt: skip
    reading.value("bounty.block", f"{path} block", own, lambda m: _block(at(m)), found["block"])
    reading.finality(path, int(found["block"]["number"]), found["finality"])
    check_challenge(reading, path, bounty, found)
    _check_record(reading, path, own, bounty_id, found)


def _block(bounty: ReplayedBounty) -> Json:
    place = facts_log(bounty).place
    return {"number": place.block_number, "hash": place.block_hash}


def check_challenge(reading: AnswerCheck, path: str, bounty: ReplayedBounty, found: Any) -> None:
    """The page of a detail hashes to its commitment; one that is not there is counted."""
    findings, text = reading.findings, found["challenge"]
    if text is None:
        code = (found.get("error") or {}).get("code")
        if code == "bounty_challenge_withheld":  # listed in public, with the reason
            findings.skip("bounty.challenge", f"{path} challenge")
        else:
            reading.missing("bounty.challenge", f"{path} challenge")
            findings.same("list.title", f"/api/bounties item {bounty.id} title", None, reading.titles.get(bounty.id))
        known = code in {"bounty_challenge_content_mismatch", "bounty_challenge_withheld"}
        findings.holds("bounty.challenge", f"{path} error", "why the challenge is null", known, code)
        return
    commitment = bounty.created.text("spec_commitment")
    findings.same("bounty.challenge", f"{path} challenge", commitment, "0x" + keccak(text.encode()).hex())
    reading.shown_before.add(f"{path} challenge")
    stated = frontmatter(text)
    if bounty.id in reading.titles:
        where = f"/api/bounties item {bounty.id} title"
        findings.same("list.title", where, stated.get("title"), reading.titles[bounty.id])
    own = {
        "escrow_amount": str(bounty.amount("escrow_amount")),
        "submission_deadline": str(bounty.amount("submission_deadline")),
        "judging_window_seconds": str(bounty.amount("judging_deadline") - bounty.amount("reveal_at")),
    }
    matches = all(stated.get(name) == value for name, value in own.items())
    findings.same("bounty.challenge", f"{path} challenge_terms matches", matches, found["challenge_terms"]["matches"])


class _ScalarLoader(yaml.BaseLoader):
    """Texts, lists and mappings alone, and no alias: a few of them stand for gigabytes."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise ValueError("an alias in a frontmatter")
        return super().compose_node(parent, index)


def frontmatter(text: str) -> dict[str, object]:
    """The frontmatter of a page: every scalar is the text as it is written. ``ValueError`` where there is none."""
    parts = text.split("---\n", 2)
    if len(parts) < 3 or parts[0]:
        raise ValueError("no frontmatter")
    if len(parts[1]) > MAX_FRONTMATTER:
        raise ValueError(f"a frontmatter of more than {MAX_FRONTMATTER} characters")
    try:
        found = yaml.load(parts[1], Loader=_ScalarLoader)  # noqa: S506 - makes texts, lists and mappings alone
    except yaml.YAMLError as error:
        raise ValueError(f"a frontmatter that is no YAML: {type(error).__name__}") from None
    if not isinstance(found, dict):
        raise ValueError("a frontmatter that is no mapping")
    return found


def _check_record(reading: AnswerCheck, path: str, moments: list[Moment], bounty_id: int, found: Any) -> None:
    findings, where = reading.findings, f"{path} verification_record"
    bounty = moments[0].world.bounties[bounty_id]
    shown, error = found.get("verification_record"), found.get("verification_record_error")
    findings.holds("bounty.record", where, "a record or its error, never both", not (shown and error), error)
    if bounty.ended is None:
        findings.holds("bounty.record", where, "no record of an open bounty", not shown and not error, shown or error)
        return
    if shown is not None:
        expected = record(moments[0].world, bounty)
        for name in expected.keys() | shown.keys():
            findings.same("bounty.record", f"{where} {name}", expected.get(name), shown.get(name))
        final = bounty.ended.place.block_number <= reading.chain.block("finalized").number
        findings.holds("bounty.record", where, "no record before its block is final", final, "a record")
    elif bounty.ended.place.block_number <= reading.final_for_sure:
        findings.add("bounty.record", where, "a record", error or "neither record nor error")
    else:
        code = error["code"] if error else "neither record nor error"
        findings.same("bounty.record", f"{where}_error", "not_finalized", code)


def check_verdicts(reading: AnswerCheck, bounty: ReplayedBounty) -> None:
    """Each written Verdict that is there hashes to its commitment and names what was recorded; others are counted."""
    for guardian, log in bounty.verdicts.items():
        commitment = log.text("report_commitment")
        path = f"/api/written-verdicts/{commitment}"
        answer = reading.api.get(path)
        if answer.status == 451:  # listed in public, with the reason
            reading.findings.skip("bounty.verdict", path)
            continue
        if answer.status == 404:  # it was never given to this service, or is kept back now
            reading.missing("bounty.verdict", path)
            continue
        if not reading.findings.same("bounty.verdict", f"{path} status", 200, answer.status):
            continue
        hashed = "0x" + keccak(answer.body).hex()
        if not reading.findings.same("bounty.verdict", path, commitment, hashed):
            continue
        reading.shown_before.add(path)
        stated, recorded = frontmatter(answer.body.decode()), verdict_fields(log)
        expected = {"bounty_id": str(bounty.id), "guardian_address": guardian, "kind": recorded["kind"]}
        for name, value in expected.items():
            reading.findings.same("bounty.verdict", f"{path} {name}", value, stated.get(name))


def check_delivery(reading: AnswerCheck, bounty: ReplayedBounty) -> None:
    """No key is held of a Submission that nobody recorded; of the others the chain does not say it."""
    unknown = "0x" + keccak(f"no Submission of bounty {bounty.id}".encode()).hex()
    path = f"/api/bounties/{bounty.id}/delivery/status?submission_commitment={unknown}"
    answer = reading.api.get(path)
    if reading.findings.same("delivery.status", f"{path} status", 200, answer.status):
        reading.findings.same("delivery.status", path, {"exists": False}, answer.json())


# ---------------------------------------------------------------------- the list


def check_list(reading: AnswerCheck) -> None:
    """Every bounty once, with its facts, in each order and by each filter."""
    items, _ = _pages(reading, {})
    for item, moments in items:
        where, bounty_id = f"/api/bounties item {item['bounty_id']}", int(item["bounty_id"])
        own = [moment for moment in moments if bounty_id in moment.world.bounties]
        if not reading.findings.holds("list.items", where, "a bounty of the chain", bool(own), bounty_id):
            continue
        _check_item(reading, where, own, bounty_id, item)
        reading.titles[bounty_id] = item.get("title")
    for order in ("newest", "deadline", "award"):
        _check_selection(reading, {"sort": order}, lambda _bounty, _time: True)
    world = reading.moment(reading.chain.head.number).world
    for query, wanted in _filters(world.bounties.values()):
        _check_selection(reading, query, wanted)


def _check_item(reading: AnswerCheck, where: str, moments: list[Moment], bounty_id: int, item: Any) -> None:
    def at(moment: Moment) -> ReplayedBounty:
        return moment.world.bounties[bounty_id]

    reading.fields("list.items", f"{where} facts", moments, lambda m: facts(at(m), m.block.time), item["facts"])
    reading.value(
        "list.items", f"{where} active_submission_count", moments,
        lambda m: len(at(m).submissions), item["active_submission_count"],
    )  # fmt: skip
    reading.value("bounty.block", f"{where} block", moments, lambda m: _block(at(m)), item["block"])
    reading.finality(where, int(item["block"]["number"]), item["finality"])


def _pages(reading: AnswerCheck, query: Json) -> tuple[list[tuple[Any, list[Moment]]], object]:
    """The items of all pages, each with the moments of its page, and the count that the last page states."""
    found, cursor, cursors = list[tuple[Any, list[Moment]]](), None, set[str]()
    begin = reading.api.received
    for _ in range(MAX_PAGES):
        page = {**query, "limit": "2" if len(found) < 20 else "100", **({"cursor": cursor} if cursor else {})}
        value, moments = reading.get(f"/api/bounties?{urlencode(page)}")
        reading.api.bound_part(begin)
        found += [(item, moments) for item in value["items"]]
        cursor = value["next_cursor"]
        if cursor is None:
            return found, value["total_count"]
        if cursor in cursors:
            raise ValueError("a cursor that leads back to itself")
        if not value["items"]:
            raise ValueError("a page without items that is not the last one")
        if len(found) > MAX_SURPLUS + 2 * max((len(moment.world.bounties) for moment in moments), default=0):
            raise ValueError("a list of more than twice the bounties of the chain")
        cursors.add(cursor)
    raise Unread("a list of bounties that does not end")


def _check_selection(reading: AnswerCheck, query: Json, wanted: Wanted) -> None:
    """The ids of all pages are those that the chain gives, in their order; tried again while the index moves on."""
    requirement = "list.order" if "sort" in query else "list.filters"
    where = f"/api/bounties?{urlencode(query)}"
    for _ in range(5):
        items, stated = _pages(reading, query)
        shown = [int(item["bounty_id"]) for item, _ in items]
        moments = [moment for _, found in items for moment in found] or reading.get(f"{where}&limit=1")[1]
        unique = list({moment.block.number: moment for moment in moments}.values())
        possible = [_selected(moment, query.get("sort", "newest"), wanted, shown) for moment in unique]
        if shown in possible or len(unique) < 4:
            break
    order = query.get("sort", "newest")
    reading.value(requirement, where, unique, lambda m: _selected(m, order, wanted, shown), shown)
    if stated is not None or len(shown) <= MAX_COUNTED:
        reading.value(
            "list.total", f"{where} total_count", unique,
            lambda m: len(_selected(m, order, wanted, shown)), stated,
        )  # fmt: skip


def _selected(moment: Moment, order: str, wanted: Wanted, shown: list[int]) -> list[int]:
    """The ids in an order; among equal deadlines or awards, which nothing orders, as they are shown."""
    found = [bounty for bounty in moment.world.bounties.values() if wanted(bounty, moment.block.time)]
    places = {number: place for place, number in enumerate(shown)}

    def key(bounty: ReplayedBounty) -> tuple[int, int]:
        place = places.get(bounty.id, len(places))
        if order == "deadline":
            return bounty.amount("submission_deadline"), place
        return (-award_of(bounty), place) if order == "award" else (int(bounty.ending is not None), -bounty.id)

    return [bounty.id for bounty in sorted(found, key=key)]


def _filters(bounties: Iterable[ReplayedBounty]) -> list[tuple[Json, Wanted]]:
    """Each filter, at values that the chain has and one beside them."""
    every = list(bounties)
    found: list[tuple[Json, Wanted]] = [
        ({"status": "open"}, lambda bounty, _: bounty.ending is None),
        ({"status": "final"}, lambda bounty, _: bounty.ending is not None),
        ({"accepting": "true"}, accepting),
        ({"accepting": "false"}, lambda bounty, time: not accepting(bounty, time)),
        ({"judgeable": "true"}, judgeable),
        ({"judgeable": "false"}, lambda bounty, time: not judgeable(bounty, time)),
    ]
    found += [({"poster_address": each}, _posted_by(each)) for each in _some(bounty.poster for bounty in every)]
    solvers = _some(solver for bounty in every for solver in bounty.submissions)
    found += [({"solver_address": each}, _submitted_by(each)) for each in solvers]
    guardians = _some(member for bounty in every for member in bounty.roster.accounts)
    found += [({"guardian_address": each}, _judged_by(each)) for each in guardians]
    awards = sorted({award_of(bounty) for bounty in every})
    for amount in {*awards[-2:], *(award + 1 for award in awards[-1:])}:
        found += [({"min_award": str(amount)}, _award(amount, None)), ({"max_award": str(amount)}, _award(0, amount))]
    return found


def _some(addresses: Iterable[str]) -> list[str]:
    return sorted(set(addresses))[:3]


def _posted_by(address: str) -> Wanted:
    return lambda bounty, _: bounty.poster == address


def _submitted_by(address: str) -> Wanted:
    return lambda bounty, _: address in bounty.submissions


def _judged_by(address: str) -> Wanted:
    return lambda bounty, _: address in bounty.roster.accounts


def _award(least: int, most: int | None) -> Wanted:
    return lambda bounty, _: least <= award_of(bounty) and (most is None or award_of(bounty) <= most)


# ---------------------------------------------------------------------- accounts and changes


def check_account(reading: AnswerCheck, address: str) -> None:
    """An account's record."""
    path = f"/api/accounts/{address}"
    found, moments = reading.get(path)
    reading.findings.same("account.record", f"{path} account_address", address, found["account_address"])
    reading.fields(
        "account.record", f"{path} poster", moments, lambda m: account(m.world, address)["poster"], found["poster"]
    )
    reading.fields(
        "account.record", f"{path} solver", moments, lambda m: account(m.world, address)["solver"], found["solver"]
    )


def check_changes(reading: AnswerCheck) -> None:
    """All changes from the first on: what is left after the retractions is the Hub's log."""
    findings = reading.findings
    kept, moments = _changes(reading)
    wanted = min((changes(moment.world) for moment in moments), key=lambda each: abs(len(each) - len(kept)), default=[])
    findings.same("changes.log", "/api/changes count of events", len(wanted), len(kept))
    places = [(event["block_number"], event["log_index"]) for event in kept]
    findings.holds("changes.order", "/api/changes", "the order of the chain", places == sorted(set(places)), places)
    seen = dict(zip(places, kept, strict=True))
    for expected in wanted:
        place = expected["block_number"], expected["log_index"]
        where = f"/api/changes {expected['name']} of block {place[0]} log {place[1]}"
        event = seen.pop(place, None)
        if event is None:
            findings.add("changes.log", where, "an event", "nothing")
            continue
        for name, value in expected.items():
            findings.same("changes.log", f"{where} {name}", value, event.get(name, "nothing"))
        if "replaces" not in expected:
            findings.same("changes.log", f"{where} replaces", None, event.get("replaces"))
        if place[0] <= reading.final_for_sure:
            findings.same("changes.log", f"{where} finality", "finalized", event["finality"])
    for place, event in seen.items():
        findings.add("changes.log", f"/api/changes block {place[0]} log {place[1]}", "no event", event.get("name"))


def _changes(reading: AnswerCheck) -> tuple[list[Any], list[Moment]]:
    """The events that are left after the retractions, and the moments of the last page."""
    findings, kept, after, begin = reading.findings, list[Any](), 0, reading.api.received
    for _ in range(MAX_PAGES):
        found, moments = reading.get(f"/api/changes?after={after}&limit={_CHANGES_AT_ONCE}")
        reading.api.bound_part(begin)
        if len(found["items"]) > _CHANGES_AT_ONCE:
            raise ValueError("a page with more changes than were asked for")
        for item in found["items"]:
            number = item["number"]
            findings.holds("changes.order", "/api/changes number", f"more than {after}", number > after, number)
            after = max(after, int(number))
            if item["kind"] == "retraction":
                last = item["last_block_number"]
                while kept and kept[-1]["block_number"] > last:  # in the chain's order, as check_changes sees to
                    kept.pop()
            elif findings.same("changes.log", f"/api/changes {number} kind", "event", item["kind"]):
                kept.append(item["event"])
        findings.same("changes.order", "/api/changes next_after", after, found["next_after"])
        if not found["has_more"]:
            return kept, moments
        if not found["items"]:
            raise ValueError("a page without changes that is not the last one")
    raise Unread("changes that do not end")
