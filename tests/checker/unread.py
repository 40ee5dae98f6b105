"""The faults of ``unread_faults.toml``, planted: each a change of true answers, with the requirement that must name it.

What they are was decided before the checker was read; how each alters an answer, and the requirement, came afterwards.
"""

import json
from dataclasses import replace
from typing import Any, Final

from service_checker.asking import HttpReply

from tests.checker.planted import (
    Change,
    at,
    detail,
    drop_a_row,
    first_row,
    graphql,
    header,
    hide_an_item,
    path_of,
    plus,
    status_total,
    text,
)
from tests.checker.recorded import Altered, Request

OTHER: Final = "0x" + "cd" * 20
OTHER_HASH: Final = "0x" + "ab" * 32


def facts(**changed: Any) -> Altered:
    """The facts of judged awards say something else; a callable is given the true value."""

    def change(found: Any) -> None:
        for name, value in changed.items():
            found["facts"][name] = value(found["facts"][name]) if callable(value) else value

    return detail(change)


def record(change: Change) -> Altered:
    """A change of the record of judged awards."""
    return detail(lambda found: change(found["verification_record"]))


def refused(begin: str, status: int = 404) -> Altered:
    """Answers whose path begins so are refused."""

    def alter(request: Request, answer: HttpReply) -> HttpReply:
        return replace(answer, status=status) if path_of(request).startswith(begin) else answer

    return alter


def final_too_early(found: Any) -> None:
    found["finality"] = "finalized"


def swap_keys(found: Any) -> None:
    one, other, *_ = found["guardian_roster"]["members"]
    one["encryption_public_key"], other["encryption_public_key"] = (
        other["encryption_public_key"],
        one["encryption_public_key"],
    )


def leave_a_submission_out(found: Any) -> None:
    del found["active_submissions"][0]
    found["active_submission_count"] -= 1


def reopened(found: Any) -> None:
    """As it was when it was open."""
    found["facts"].update(status="open", outcome=None, settlement_reason=None, winner=None)
    del found["verification_record"]


def record_of_another(found: Any) -> None:
    found["verification_record"] = {"version": 1, "status": "final", "outcome": "awarded"}


def both(found: Any) -> None:
    found["verification_record_error"] = {"code": "derivation_failed", "message": "It could not be derived."}


def no_record(found: Any) -> None:
    del found["verification_record"]
    both(found)


def amount_of(kind: str, **changed: Any) -> Change:
    def change(found: Any) -> None:
        each = next(each for each in found["amounts"] if each["kind"] == kind)
        each.update({name: value(each[name]) if callable(value) else value for name, value in changed.items()})

    return change


def flip_support(found: Any) -> None:
    each = next(each for each in found["verdicts"] if each["kind"])
    each["supported_result"] = not each["supported_result"]


def drop_a_verdict(found: Any) -> None:
    found["verdicts"].remove(next(each for each in found["verdicts"] if each["kind"]))


def same_reports(found: Any) -> None:
    one, other, *_ = (each for each in found["verdicts"] if each["kind"])
    one["report_commitment"] = other["report_commitment"]


def repeat_the_last(found: Any) -> None:
    found["items"].append(found["items"][-1])


def count_less(found: Any) -> None:
    found["total_count"] -= 1


def change_places(found: Any) -> None:
    if len(found["items"]) > 1:
        found["items"][0], found["items"][1] = found["items"][1], found["items"][0]


def a_final_one_more(found: Any) -> None:
    found["items"].append({**found["items"][0], "bounty_id": "1"})


def title_of_another(found: Any) -> None:
    found["items"][0]["title"] = "Another title"


def award_denied(data: Any) -> None:
    """Of a Verdict that awards: the market has others, too."""
    next(row for row in data["rows"] if row["kind"] == "awarded")["kind"] = "no_valid_submission"


def equal_ones_too(data: Any) -> None:
    data["rows"].extend({"id": str(number)} for number in range(1, 4))


def first_of(name: str, change: Change) -> Change:
    """A change of the first event of a name, where a page of the changes has one."""

    def altered(found: Any) -> None:
        event = next(
            (item["event"] for item in found["items"] if item["event"] and item["event"]["name"] == name), None
        )
        if event is not None:
            change(event)

    return altered


def no_claims(found: Any) -> None:
    found["items"] = [item for item in found["items"] if not (item["event"] or {}).get("name", "").endswith("Claimed")]


def ends_early(found: Any) -> None:
    found.update(items=found["items"][:5], has_more=False, next_after=found["items"][4]["number"])


def two_places(found: Any) -> None:
    found["items"][2], found["items"][3] = found["items"][3], found["items"][2]


def open_for_final(found: Any) -> None:
    found["totals"]["open_count"] += 1
    found["totals"]["awarded_count"] -= 1


def long_behind(found: Any) -> None:
    found["position"]["block_number"] -= 200


def undecided(found: Any) -> None:
    found["items"] = [each for each in found["items"] if ":decided" not in each["id"]]


def skipping(request: Request) -> bool:
    return b"skip: 0," not in (request[2] or b"") and b"skip: " in (request[2] or b"")


def skip_one_more(request: Request, answer: HttpReply) -> HttpReply:
    if path_of(request) != "/subgraph" or not skipping(request):
        return answer
    value = json.loads(answer.body)
    value["data"]["rows"] = value["data"]["rows"][1:]
    return replace(answer, body=json.dumps(value).encode())


STATUS: Final = "/delivery/status"


def delivered(request: Request, answer: HttpReply) -> HttpReply:
    """Every question whether a key was delivered is answered with yes."""
    return replace(answer, body=b'{"exists": true}') if STATUS in path_of(request) else answer


PLANTED_UNREAD: Final[dict[str, tuple[str, Altered]]] = {
    "detail-award-of-loser": (
        "bounty.facts",
        detail(lambda found: found["facts"]["winner"].update(solver_address=OTHER)),
    ),
    "detail-reason-swapped": ("bounty.facts", facts(settlement_reason="guardians_silent")),
    "detail-refund-of-awarded": ("bounty.facts", facts(outcome="no_valid_submission", winner=None)),
    "detail-escrow-one-unit": ("bounty.facts", facts(escrow_amount=plus)),
    "detail-deadline-later": ("bounty.facts", facts(submission_deadline=lambda time: time + 1)),
    "detail-judging-deadline-earlier": ("bounty.facts", facts(judging_deadline=lambda time: time - 3_600)),
    "detail-amount-as-number": ("bounty.facts", facts(escrow_amount=int)),
    "detail-address-upper-case": ("bounty.facts", facts(poster_address=lambda text: "0x" + text[2:].upper())),
    "detail-roster-key-swapped": ("bounty.roster", detail(swap_keys)),
    "detail-roster-quorum": (
        "bounty.roster",
        detail(lambda found: found["guardian_roster"].update(quorum=found["guardian_roster"]["quorum"] - 1)),
    ),
    "detail-submission-missing": ("bounty.submissions", detail(leave_a_submission_out)),
    "detail-submission-former": (
        "bounty.submissions",
        detail(lambda found: found["active_submissions"][0].update(submission_commitment=OTHER_HASH)),
    ),
    "detail-challenge-trailing-space": (
        "bounty.challenge",
        detail(lambda found: found.update(challenge=found["challenge"] + " ")),
    ),
    "detail-challenge-of-another": (
        "bounty.challenge",
        detail(lambda found: found.update(challenge=found["challenge"].replace("Awarded", "Refunded"))),
    ),
    "detail-challenge-null-silent": ("bounty.challenge", detail(lambda found: found.update(challenge=None))),
    "detail-record-and-error": ("bounty.record", detail(both)),
    "detail-record-while-open": ("bounty.record", detail(record_of_another, None, None)),
    "detail-finality-too-early": (
        "bounty.block",
        at("/api/bounties/", final_too_early, when=lambda found: found.get("finality") == "unsafe"),
    ),
    "detail-chain-id": ("bounty.facts", detail(lambda found: found.update(chain_id=1))),
    "record-winner-amount": ("bounty.record", record(amount_of("winner_award", amount=plus))),
    "record-recipient": ("bounty.record", record(amount_of("winner_award", recipient=OTHER))),
    "record-support-flipped": ("bounty.record", record(flip_support)),
    "record-verdict-dropped": ("bounty.record", record(drop_a_verdict)),
    "record-report-commitment": ("bounty.record", record(same_reports)),
    "record-settlement-tx": ("bounty.record", record(lambda found: found["settlement"].update(tx_hash=OTHER_HASH))),
    "record-withheld": ("bounty.record", detail(no_record)),
    "verdict-document-edited": (
        "bounty.verdict",
        text("/api/written-verdicts/", lambda body: body.replace(b"criter", b"Criter")),
    ),
    "verdict-document-404": ("bounty.verdict", refused("/api/written-verdicts/")),
    "delivery-status-extra": ("delivery.status", delivered),
    "delivery-key-other": (
        "api.deployment",
        at("/api/deployment/delivery-key", lambda found: found.update(delivery_public_key=OTHER_HASH)),
    ),
    "list-bounty-left-out": ("list.order", at("/api/bounties?", hide_an_item, when=lambda found: found["items"])),
    "list-bounty-twice": ("list.order", at("/api/bounties?", repeat_the_last, when=lambda found: found["items"])),
    "list-total-short": ("list.total", at("/api/bounties?", count_less, when=lambda found: found["total_count"])),
    "list-order": ("list.order", at("/api/bounties?sort=newest", change_places)),
    "list-filter-status": (
        "list.filters",
        at("/api/bounties?status=open", a_final_one_more, when=lambda found: found["items"]),
    ),
    "list-filter-solver": ("list.filters", at("/api/bounties?solver_address=", hide_an_item)),
    "list-title-of-another": (
        "list.title",
        at("/api/bounties?limit", title_of_another, when=lambda found: found["items"]),
    ),
    "graphql-escrow-differs": (
        "graphql.rows",
        graphql("rows: bounties(", first_row(lambda row: row.update(escrow_amount=plus(row["escrow_amount"])))),
    ),
    "graphql-claim-amount": (
        "graphql.rows",
        graphql("rows: claims(first: 500", first_row(lambda row: row.update(amount=plus(row["amount"], -1)))),
    ),
    "graphql-claim-left-out": ("graphql.rows", graphql("rows: claims(first: 500", drop_a_row)),
    "graphql-verdict-kind": (
        "graphql.rows",
        graphql("rows: verdicts(first: 500", award_denied),
    ),
    "graphql-filter-inclusive": ("graphql.filters", graphql('"escrow_amount_gt"', equal_ones_too)),
    "graphql-skip": ("graphql.order", skip_one_more),
    "graphql-order-desc": (
        "graphql.order",
        graphql("orderDirection: desc", lambda data: data["rows"].reverse()),
    ),
    "graphql-tx-hash": (
        "graphql.rows",
        graphql("rows: submissions(first: 500", first_row(lambda row: row.update(tx_hash=OTHER_HASH))),
    ),
    "changes-event-left-out": ("changes.log", at("/api/changes", no_claims)),
    "changes-order": ("changes.order", at("/api/changes", two_places)),
    "changes-field": (
        "changes.log",
        at("/api/changes", first_of("BountyCreated", lambda event: event["fields"].update(poster=OTHER))),
    ),
    "changes-stop": ("changes.log", at("/api/changes", ends_early)),
    "changes-block-hash": (
        "changes.log",
        at("/api/changes", first_of("BountyCreated", lambda event: event.update(block_hash=OTHER_HASH))),
    ),
    "status-totals-paid": ("status.totals", status_total("awards_paid", plus)),
    "status-totals-states": ("status.totals", at("/api/status", open_for_final)),
    "status-following-while-behind": ("liveness.index", at("/api/status", long_behind)),
    "stale-detail": ("bounty.facts", detail(reopened)),
    "account-paid": (
        "account.record",
        at(
            "/api/accounts/",
            lambda found: found["solver"].update(won=found["solver"]["won"] - 1),
            when=lambda found: found["solver"]["won"],
        ),
    ),
    "page-challenge": ("pages.challenge", text("/bounties/", lambda body: body + b" ")),
    "x-hub-missing": ("api.hub", header("/api/", "x-hub", lambda _: "eip155:1:" + OTHER)),
}
"""By their names in ``unread_faults.toml``."""
BEFORE_FINALITY: Final = {"detail-finality-too-early"}
"""Planted at a moment at which a bounty's newest block is not final."""
NOT_PLANTED: Final = {
    "delivery-status-false": "that a Guardian delivered a key is known to the service alone",
    "content-former-active": "sealed work is read by a signature",
    "content-envelope-altered": "sealed work is read by a signature",
    "content-stranger-reads": "sealed work is read by a signature",
    "retrieve-loser": "a key is retrieved by a signature",
    "page-award": "the text of a page for people has no form that a program reads",
}
"""Faults in answers that the checker never asks for, and why it does not."""
MISSED_AT_FIRST: Final = {
    "verdict-document-404",
    "delivery-status-extra",
    "list-total-short",
    "list-title-of-another",
    "graphql-skip",
    "graphql-order-desc",
    "page-challenge",
    "x-hub-missing",
}
"""Planted faults that the checker, as its author had left it, did not find."""
