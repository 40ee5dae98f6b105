"""False facts of an operator, an index, a node or a Hub: changes of true answers, with what the audit must name."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import eth_abi
from eth_utils.crypto import keccak
from service_audit.http import HttpReply

from tests.audit.recorded import Altered, Request

Change = Callable[[Any], None]


def path_of(request: Request) -> str:
    """The path and query of a request."""
    return "/" + request[1].partition("://")[2].partition("/")[2]


def at(begin: str, change: Change, *, when: Callable[[Any], bool] = lambda _: True) -> Altered:
    """A change of the JSON of every answer whose path begins so."""

    def alter(request: Request, answer: HttpReply) -> HttpReply:
        is_json = "json" in answer.headers.get("content-type", "")
        if not path_of(request).startswith(begin) or answer.status != 200 or not is_json:
            return answer
        value = json.loads(answer.body)
        if not when(value):
            return answer
        change(value)
        return replace(answer, body=json.dumps(value).encode())

    return alter


def detail(change: Change, outcome: str | None = "awarded", reason: str | None = "judged") -> Altered:
    """A change of the details of bounties that ended so."""

    def ended_so(value: Any) -> bool:
        found = value.get("facts", {})
        return bool(found.get("outcome") == outcome and found.get("settlement_reason") == reason)

    return at("/api/bounties/", change, when=ended_so)


def graphql(contains: str, change: Change) -> Altered:
    """A change of the rows of queries that have a text."""

    def alter(request: Request, answer: HttpReply) -> HttpReply:
        if path_of(request) != "/subgraph" or contains not in (request[2] or b"").decode():
            return answer
        value = json.loads(answer.body)
        change(value["data"])
        return replace(answer, body=json.dumps(value).encode())

    return alter


def rpc(method: str, change: Change, *, contains: str = "") -> Altered:
    """A change of the result of a node's answers, alone or in a batch."""

    def alter(request: Request, answer: HttpReply) -> HttpReply:
        asked = json.loads(request[2] or b"{}")
        value = json.loads(answer.body)
        pairs = zip(asked, value, strict=True) if isinstance(asked, list) else [(asked, value)]
        for call, result in pairs:
            if call.get("method") == method and contains in json.dumps(call):
                change(result)
        return replace(answer, body=json.dumps(value).encode())

    def of_the_node(request: Request, answer: HttpReply) -> HttpReply:
        return alter(request, answer) if b'"jsonrpc"' in (request[2] or b"") else answer

    return of_the_node


def header(begin: str, name: str, value: Callable[[str], str]) -> Altered:
    """A change of one field of every answer whose path begins so."""

    def alter(request: Request, answer: HttpReply) -> HttpReply:
        if not path_of(request).startswith(begin) or name not in answer.headers:
            return answer
        return replace(answer, headers={**answer.headers, name: value(answer.headers[name])})

    return alter


def text(begin: str, change: Callable[[bytes], bytes]) -> Altered:
    """A change of the bytes of every answer whose path begins so."""

    def alter(request: Request, answer: HttpReply) -> HttpReply:
        found = path_of(request)
        return replace(answer, body=change(answer.body)) if found.startswith(begin) and answer.status == 200 else answer

    return alter


def plus(value: str, amount: int = 1) -> str:
    """A decimal string, and more."""
    return str(int(value) + amount)


def topic(signature: str) -> str:
    """The first topic of an event."""
    return "0x" + keccak(text=signature).hex()


FINALIZED: Final = topic("BountyFinalized(uint256,uint8,uint8,address,bytes32,uint256,uint256,uint256,uint256,uint256)")
CREATED: Final = topic(
    "BountyCreated(uint256,address,bytes32,bytes32,uint256,uint256,uint256,uint256,uint256,uint256,uint256,"
    "address,bytes32)"
)
AWARD_CLAIMED: Final = topic("AwardClaimed(uint256,address,uint256)")
VERDICT: Final = topic("VerdictRecorded(uint256,address,uint8,address,bytes32,bytes32)")
ROSTER: Final = topic("RosterPublished(uint256,bytes32,address[],bytes32[],uint256,uint256)")
TRANSFER: Final = topic("Transfer(address,address,uint256)")


def word(event: str, place: int, change: Callable[[int], int]) -> Altered:
    """A change of one word of the data of an event's first log."""

    def altered(found: Any) -> None:
        for log in found["result"]:
            if log["topics"][0] == event:
                words = bytes.fromhex(log["data"][2:])
                old = int.from_bytes(words[place * 32 : place * 32 + 32], "big")
                new = change(old).to_bytes(32, "big")
                log["data"] = "0x" + (words[: place * 32] + new + words[place * 32 + 32 :]).hex()
                return

    return rpc("eth_getLogs", altered)


def topic_of(event: str, place: int) -> Altered:
    """Another account in a topic of an event's first log."""

    def altered(found: Any) -> None:
        for log in found["result"]:
            if log["topics"][0] == event:
                log["topics"][place] = "0x" + "00" * 12 + "cd" * 20
                return

    return rpc("eth_getLogs", altered)


def without_log(event: str) -> Altered:
    """A node that leaves the last log of an event out."""

    def altered(found: Any) -> None:
        places = [place for place, log in enumerate(found["result"]) if log["topics"][0] == event]
        if places:
            del found["result"][places[-1]]

    return rpc("eth_getLogs", altered)


def view(function: str, change: Callable[[int], int]) -> Altered:
    """A view of the Hub that answers another first word."""
    selector = "0x" + keccak(text=function)[:4].hex()

    def altered(found: Any) -> None:
        value = bytes.fromhex(found["result"][2:])
        first = change(int.from_bytes(value[:32], "big"))
        found["result"] = "0x" + (eth_abi.abi.encode(["uint256"], [first]) + value[32:]).hex()

    return rpc("eth_call", altered, contains=selector)


def take_nothing_back(found: Any) -> None:
    """Where a reorg took a sign of life, the sign of life."""
    heartbeat = next(
        item["event"] for item in found["items"] if item["event"] and item["event"]["name"] == "GuardianHeartbeat"
    )
    for item in found["items"]:
        if item["kind"] == "retraction":
            lost = {**heartbeat, "block_number": item["last_block_number"] + 1, "block_hash": "0x" + "ab" * 32}
            item.update(kind="event", event=lost, last_block_number=None)


def same_number(found: Any) -> None:
    found["items"][1]["number"] = found["items"][0]["number"]


def drop_a_change(found: Any) -> None:
    del found["items"][3]


def swap_changes(found: Any) -> None:
    first, second = found["items"][0], found["items"][5]
    first["event"], second["event"] = second["event"], first["event"]


def other_block(found: Any) -> None:
    found["verification_record"]["settlement"]["block_hash"] = "0x" + "ab" * 32


def forget_a_guardian(found: Any) -> None:
    amounts = found["verification_record"]["amounts"]
    amounts.remove(next(each for each in amounts if each["kind"] == "guardian_fee"))


def unsupported(found: Any) -> None:
    next(each for each in found["verification_record"]["verdicts"] if each["kind"])["supported_result"] = False


def missing_record(found: Any) -> None:
    del found["verification_record"]
    found["verification_record_error"] = {"code": "derivation_failed", "message": "It could not be derived."}


def early_record(found: Any) -> None:
    found["verification_record"] = {"version": 1, "status": "final"}


def winner_of_another(found: Any) -> None:
    found["facts"]["winner"]["solver_address"] = "0x" + "cd" * 20


def fee_up(found: Any) -> None:
    found["facts"]["guardian_fee"] = plus(found["facts"]["guardian_fee"])


def number_for_amount(found: Any) -> None:
    found["facts"]["escrow_amount"] = int(found["facts"]["escrow_amount"])


def stale_work(found: Any) -> None:
    found["active_submissions"][0]["submission_commitment"] = "0x" + "ef" * 32


def other_key(found: Any) -> None:
    found["guardian_roster"]["members"][0]["encryption_public_key"] = "0x" + "09" * 32


def list_amount(found: Any) -> None:
    for item in found["items"]:
        item["facts"]["escrow_amount"] = plus(item["facts"]["escrow_amount"], -1)


def hide_an_item(found: Any) -> None:
    found["items"][:1] = []


def two_deadlines(found: Any) -> None:
    found["items"].reverse()


def first_row(change: Change) -> Change:
    return lambda data: change(data["rows"][0])


def drop_a_row(data: Any) -> None:
    del data["rows"][0]


def status_total(name: str, change: Callable[[Any], Any]) -> Altered:
    def altered(found: Any) -> None:
        found["totals"][name] = change(found["totals"][name])

    return at("/api/status", altered)


def own_titles(found: Any) -> None:
    for item in found["items"]:
        item["title"] = "Yours"


def one_more(found: Any) -> None:
    found["total_count"] += 1


def is_page(request: Request) -> bool:
    """Whether it is for a bounty's web page."""
    return bool(re.fullmatch(r"/bounties/[0-9]+", path_of(request)))


def page(change: Callable[[bytes], bytes]) -> Altered:
    """A change of every bounty's web page."""
    return lambda request, answer: replace(answer, body=change(answer.body)) if is_page(request) else answer


def ending(end: str, change: Callable[[bytes], bytes]) -> Altered:
    """A change of the bytes of every answer whose path ends so."""

    def alter(request: Request, answer: HttpReply) -> HttpReply:
        is_meant = path_of(request).endswith(end) and answer.status == 200
        return replace(answer, body=change(answer.body)) if is_meant else answer

    return alter


PLANTED: Final[dict[str, tuple[str, Altered]]] = {
    # The service's answers about one bounty.
    "a fee rounded up": ("bounty.facts", detail(fee_up)),
    "an amount as a number": ("bounty.facts", detail(number_for_amount)),
    "another winner": ("bounty.facts", detail(winner_of_another)),
    "a bounty that counts as accepting": (
        "bounty.facts",
        detail(lambda found: found["facts"].update(accepting=True), "no_valid_submission", "guardians_silent"),
    ),
    "a Submission that was replaced": ("bounty.submissions", detail(stale_work)),
    "a Guardian's other key": ("bounty.roster", detail(other_key)),
    "final too late": ("bounty.block", detail(lambda found: found.update(finality="unsafe"))),
    "a block that is not the chain's": (
        "bounty.block",
        detail(lambda found: found["block"].update(hash="0x" + "ab" * 32)),
    ),
    "another page": ("bounty.challenge", detail(lambda found: found.update(challenge=found["challenge"] + "\n"))),
    "terms that differ and are said to agree": (
        "bounty.challenge",
        detail(lambda found: found["challenge_terms"].update(matches=False)),
    ),
    "a written Verdict with one more letter": (
        "bounty.verdict",
        text("/api/written-verdicts/", lambda body: body + b"!"),
    ),
    # VerificationRecords.
    "a record with another block": ("bounty.record", detail(other_block)),
    "a record without an entitlement": ("bounty.record", detail(forget_a_guardian)),
    "a record of other logs": (
        "bounty.record",
        detail(lambda found: found["verification_record"].update(log_digest="0x" + "00" * 32)),
    ),
    "a record with a Verdict that counted and is said not to": ("bounty.record", detail(unsupported)),
    "no record long after the end": ("bounty.record", detail(missing_record)),
    "a record of an open bounty": ("bounty.record", detail(early_record, None, None)),
    # Lists.
    "a list with another amount": ("list.items", at("/api/bounties?", list_amount)),
    "a bounty that no list shows": ("list.order", at("/api/bounties?sort=award", hide_an_item)),
    "an order of its own": ("list.order", at("/api/bounties?sort=deadline", two_deadlines)),
    "a filter that leaves one out": ("list.filters", at("/api/bounties?status=final", hide_an_item)),
    "a least award that has to be passed": ("list.filters", at("/api/bounties?min_award=", hide_an_item)),
    "an award that an account did not get": (
        "account.record",
        at("/api/accounts/", lambda found: found["solver"].update(awards=plus(found["solver"]["awards"]))),
    ),
    # GraphQL.
    "a claim that GraphQL does not have": ("graphql.rows", graphql("rows: claims(", drop_a_row)),
    "a claim of another amount": (
        "graphql.rows",
        graphql("rows: claims(", first_row(lambda row: row.update(amount=plus(row["amount"])))),
    ),
    "a Verdict that was replaced without a trace": ("graphql.rows", graphql("verdict_replacements", drop_a_row)),
    "a Verdict that is said to be replaced again": (
        "graphql.rows",
        graphql(
            "rows: verdict_replacements",
            lambda data: data["rows"][-1].update(replaced_again_time=data["rows"][-1]["time"]),
        ),
    ),
    "a Verdict that is said to repeat another": (
        "graphql.rows",
        graphql(
            "rows: verdict_replacements",
            lambda data: next(row for row in data["rows"] if row["kind"] != row["replaced_kind"]).update(
                replaced_kind="no_valid_submission", replaced_solver_address=None, replaced_submission_commitment=None
            ),
        ),
    ),
    "an entitlement that GraphQL lacks": (
        "graphql.rows",
        graphql("rows: bounties(", first_row(lambda row: row.update(guardian_fee_each=None))),
    ),
    "rows of another branch": (
        "api.index",
        graphql("", lambda data: data["_meta"]["block"].update(hash="0x" + "ab" * 32)),
    ),
    # Changes.
    "a change that is dropped": ("changes.log", at("/api/changes", drop_a_change)),
    "a retraction that is not applied": ("changes.log", at("/api/changes", take_nothing_back)),
    "a number twice": ("changes.order", at("/api/changes", same_number)),
    "changes out of order": ("changes.order", at("/api/changes", swap_changes)),
    # Status and deployment.
    "one awarded bounty more": ("status.totals", status_total("awarded_count", lambda value: value + 1)),
    "escrow that includes what was paid": ("status.totals", status_total("escrow_held", lambda value: plus(value, 9))),
    "a position on another branch": (
        "status.position",
        at("/api/status", lambda found: found["position"].update(block_hash="0x" + "ab" * 32)),
    ),
    "final before the chain says so": (
        "status.position",
        at("/api/status", lambda found: found["position"].update(finalized_block_number=10**6)),
    ),
    "another token": (
        "api.deployment",
        at(
            "/api/deployment",
            lambda found: found["escrow_token"].update(address="0x" + "ab" * 20),
            when=lambda found: "escrow_token" in found,
        ),
    ),
    "fees of before": (
        "api.deployment",
        at(
            "/api/deployment",
            lambda found: found["fee_policy"].update(guardian_fee_bps=300),
            when=lambda found: "fee_policy" in found,
        ),
    ),
    "a delivery key that is withheld": (
        "api.deployment",
        lambda request, answer: (
            replace(answer, status=404) if path_of(request) == "/api/deployment/delivery-key" else answer
        ),
    ),
    "a delivery key of the operator's own": (
        "api.deployment",
        at("/api/deployment/delivery-key", lambda found: found.update(delivery_public_key="0x" + "09" * 32)),
    ),
    "an index that stands still": (
        "liveness.index",
        header("/api/bounties", "x-index-block", lambda value: str(max(int(value) - 600, 1))),
    ),
    "an index that does not say how far it is": ("api.index", header("/api/bounties", "x-index-block", lambda _: "")),
    "a title of the operator's own": (
        "list.title",
        at("/api/bounties?", own_titles),
    ),
    "a count of one more": ("list.total", at("/api/bounties?status=final", one_more)),
    "a key of work that nobody recorded": (
        "delivery.status",
        at("/api/bounties/", lambda found: found.update(exists=True), when=lambda found: "exists" in found),
    ),
    "another Hub in a header": ("api.hub", header("/api/bounties/", "x-hub", lambda value: value[:-2] + "zz")),
    "a bounty that GraphQL invents": (
        "graphql.rows",
        graphql("rows: bounties(", lambda data: data["rows"].append({**data["rows"][0], "id": "77"})),
    ),
    "an index with errors": (
        "graphql.rows",
        graphql("rows:", lambda data: data["_meta"].update(hasIndexingErrors=True)),
    ),
    # Pages.
    "a page of other bytes": ("pages.challenge", ending(".md", lambda body: body + b" ")),
    "a page that names another winner": (
        "pages.facts",
        page(lambda body: re.sub(rb"0x[0-9a-f]{40}", b"0x" + b"cd" * 20, body)),
    ),
    "a page with another record": (
        "pages.facts",
        page(lambda body: re.sub(rb"0x[0-9a-f]{64}", b"0x" + b"cd" * 32, body)),
    ),
    "a page that is away": (
        "pages.facts",
        lambda request, answer: replace(answer, status=404) if is_page(request) else answer,
    ),
    # The Hub, or a node that is wrong about it.
    "a fee that the Hub rounded up": ("chain.terms", word(CREATED, 6, lambda value: value + 1)),
    "a refund of one unit more": ("money.split", word(FINALIZED, 4, lambda value: value + 1)),
    "an award that nobody judged": ("chain.outcome", word(FINALIZED, 0, lambda value: 3 - value)),
    "a payment of another amount": ("money.claims", word(AWARD_CLAIMED, 0, lambda value: value - 1)),
    "a payment that the log does not have": ("money.transfers", without_log(AWARD_CLAIMED)),
    "a transfer that is hidden": ("money.transfers", without_log(TRANSFER)),
    "a Verdict that is hidden": ("chain.outcome", without_log(VERDICT)),
    "a roster of a lower quorum": ("chain.events", word(ROSTER, 2, lambda value: value - 1)),
    "a balance of one unit less": ("money.conservation", view("balanceOf(address)", lambda value: max(value - 1, 0))),
    "a claimable amount of one unit more": (
        "hub.views",
        view("claimable(uint256,address)", lambda value: value + 1),
    ),
    "a Submission that the Hub does not show": ("hub.views", view("getSubmission(uint256,address)", lambda _: 0)),
    "another owner": ("hub.views", view("owner()", lambda value: value ^ 1)),
    "a judging window that is too short": ("chain.terms", word(CREATED, 5, lambda value: value - 10_000)),
    "a winner that nobody named": ("chain.outcome", topic_of(FINALIZED, 2)),
    "a claim by somebody else": ("money.claims", topic_of(AWARD_CLAIMED, 2)),
    "a missing creation": ("chain.events", without_log(CREATED)),
}
