"""What everybody may read: shapes, pages of lists, documents behind their commitments, and two views of one fact."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, cast
from urllib.parse import urlsplit

from bounty_protocol.domain.commitments import spec_commitment
from bounty_protocol.domain.lifecycle import BountyStatus
from bounty_protocol.types import BountyId
from bounty_protocol.wire.accounts import AccountRecord
from bounty_protocol.wire.bounties import BountyDetail, BountyItem, BountyList
from bounty_protocol.wire.changes import ChangeList
from bounty_protocol.wire.deployment import Deployment, DeploymentStatus, RubricDocument
from bounty_protocol.wire.publication import PageFindings

from service_cli.conformance.asking import Broken, ExaminedApi, NotChecked, as_json, as_shape, expect, json_of, shown

MOST_WINDOW_SECONDS: Final = 300
"""For how long a signature may count."""
PAGE_SIZE: Final = 3
MOST_PAGES: Final = 4
"""Of a list that is read: enough to see that pages join, and little for a deployment with very many bounties."""
LIST_ATTEMPTS: Final = 3
"""A bounty that is created between two reads is on one of them alone; hardly at each attempt."""
LOOKED_AT: Final = 3
"""Bounties whose details are read."""
PAGE: Final = b"---\ntitle: A page to look at\n---\n\n# A page\n\nIt asks for nothing.\n"
QUERY: Final = (
    "query Some($ids: [String!]) { bounties(where: {bounty_id_in: $ids}) "
    "{ bounty_id status poster_address escrow_amount spec_commitment submission_deadline judging_deadline } }"
)


@dataclass(slots=True)
class Known:
    """What the checks of one run found out, and later ones build on."""

    deployed: ExaminedApi
    deployment: Deployment | None = None
    items: list[BountyItem] = field(default_factory=list)
    details: list[BountyDetail] = field(default_factory=list)

    def needed(self) -> Deployment:
        """The deployment's facts."""
        if self.deployment is None:
            raise NotChecked("the deployment's own facts could not be read")
        return self.deployment

    def some(self) -> list[BountyItem]:
        """A few bounties."""
        if not self.items:
            raise NotChecked("it has no bounty")
        return self.items[:LOOKED_AT]


def deployment_facts(known: Known) -> str:
    """``GET /api/deployment`` is of its shape, and names the host that signatures are for."""
    found = known.deployed.read("/api/deployment", Deployment)
    known.deployment = found
    parts = urlsplit(known.deployed.base_url)
    hosts = {parts.netloc.lower(), (parts.hostname or "").lower()}
    if found.public_host.lower() not in hosts:
        raise Broken(f"public_host is {shown(found.public_host)}; a signature for {parts.netloc} would be refused")
    window = found.freshness_window_blocks * found.block_time_seconds
    if window > MOST_WINDOW_SECONDS:
        raise Broken(f"signatures count for {window:.0f} s; it has to be at most {MOST_WINDOW_SECONDS}")
    return f"chain {found.chain_id}, Hub {found.hub_address}"


def status_facts(known: Known) -> str:
    """``GET /api/status`` is of its shape, and its block is not behind what it calls final."""
    position = known.deployed.read("/api/status", DeploymentStatus).position
    if position is None:
        raise NotChecked("nothing is indexed")
    if not position.finalized_block_number <= position.block_number <= position.tip_block_number:
        raise Broken(
            f"block {position.block_number} is not between the final one ({position.finalized_block_number}) and the "
            f"newest ({position.tip_block_number})"
        )
    return f"block {position.block_number}, {position.lag_seconds} s behind now"


def list_pages(known: Known) -> str:
    """Pages of the list hold at most ``limit`` bounties, join without a gap or a repetition, and end."""
    for _ in range(LIST_ATTEMPTS - 1):
        with suppress(Broken):
            return _joined_pages(known)
    return _joined_pages(known)


def _joined_pages(known: Known) -> str:
    pages = list(_pages(known.deployed))
    for page in pages:
        if len(page.items) > PAGE_SIZE:
            raise Broken(f"a page of limit={PAGE_SIZE} has {len(page.items)} bounties")
        if page.next_cursor is not None and not page.items:
            raise Broken("an empty page has a next_cursor")
    known.items = [item for page in pages for item in page.items]
    ids = [item.bounty_id for item in known.items]
    if len(set(ids)) != len(ids):
        raise Broken(f"bounties are on two pages: {ids}")
    whole = known.deployed.read("/api/bounties", BountyList, query={"limit": str(PAGE_SIZE * MOST_PAGES)})
    if (together := [item.bounty_id for item in whole.items[: len(ids)]]) != ids:
        raise Broken(f"pages of {PAGE_SIZE} list {ids}, one page lists {together}")
    return f"{len(ids)} bounties on {len(pages)} pages"


def list_order(known: Known) -> str:
    """Open bounties come first, and the newest first within open and final."""
    keys = [(item.facts.status is not BountyStatus.OPEN, -item.bounty_id) for item in known.items]
    if keys != sorted(keys):
        raise Broken(f"the order is {[item.bounty_id for item in known.items]}")
    return f"{len(keys)} in order"


def list_filters(known: Known) -> str:
    """A filter leaves what fits it, and nothing else."""
    first = known.some()[0]
    poster = first.facts.poster_address
    filters: list[tuple[dict[str, str], Any]] = [
        ({"status": "open"}, lambda each: each.facts.status is BountyStatus.OPEN),
        ({"status": "final"}, lambda each: each.facts.status is BountyStatus.FINAL),
        ({"accepting": "true"}, lambda each: each.facts.accepting),
        ({"poster_address": poster}, lambda each: each.facts.poster_address == poster),
    ]
    for query, fits in filters:
        listed = known.deployed.read("/api/bounties", BountyList, query=query | {"limit": "100"})
        if wrong := [each.bounty_id for each in listed.items if not fits(each)]:
            raise Broken(f"{query} lists {wrong}, which do not fit")
    own = known.deployed.read("/api/bounties", BountyList, query={"poster_address": poster, "limit": "100"})
    if own.next_cursor is None and first.bounty_id not in {each.bounty_id for each in own.items}:
        raise Broken(f"poster_address={poster} does not list bounty {first.bounty_id}")
    return f"{len(filters)} filters"


def bounty_details(known: Known) -> str:
    """A bounty's detail agrees with the list, and a final one has its record or why it has none."""
    for item in known.some():
        path = f"/api/bounties/{item.bounty_id}"
        detail = known.deployed.read(path, BountyDetail)
        known.details.append(detail)
        deployment = known.needed()
        if (detail.bounty_id, detail.chain_id, detail.hub_address) != (
            item.bounty_id,
            deployment.chain_id,
            deployment.hub_address,
        ):
            raise Broken(f"GET {path} is of another bounty, chain or Hub")
        if detail.block == item.block and _lasting(detail) != _lasting(item):
            raise Broken(f"GET {path} has other facts than the list, of one block")
        has = (detail.verification_record is not None) + (detail.verification_record_error is not None)
        if has != (detail.facts.status is BountyStatus.FINAL):
            raise Broken(f"GET {path} is {detail.facts.status}, and has {has} of record and reason for none")
        if len(detail.active_submissions) > detail.active_submission_count:
            raise Broken(f"GET {path} lists more Submissions than it counts")
    return f"{len(known.details)} bounties"


def challenge_bytes(known: Known) -> str:
    """A challenge page is the bytes that the Hub's commitment names, or absent with a code."""
    if not known.details:
        raise NotChecked("no bounty's detail could be read")
    shown_pages = 0
    reasons = {"bounty_challenge_content_mismatch", "bounty_challenge_withheld"}
    for detail in known.details:
        if detail.challenge is None:
            if detail.error is None or detail.error.code not in reasons:
                raise Broken(f"bounty {detail.bounty_id} has no challenge, and no code of the interface that says why")
            continue
        shown_pages += 1
        if spec_commitment(detail.challenge.encode()) != detail.facts.spec_commitment:
            raise Broken(f"the challenge of bounty {detail.bounty_id} does not hash to its spec_commitment")
    if not shown_pages:
        raise NotChecked("no page is shown")
    return f"{shown_pages} pages hashed"


def not_modified(known: Known) -> str:
    """An answer with its own ETag in If-None-Match is 304 and empty, and with another one it is whole."""
    path = "/api/deployment"
    etag = expect(known.deployed.send("GET", path), 200, f"GET {path}").headers.get("ETag")
    if not etag:
        raise Broken(f"GET {path} has no ETag")
    same = known.deployed.send("GET", path, headers={"If-None-Match": etag})
    if same.status != 304 or same.body:
        raise Broken(f"GET {path} with its own ETag is answered {same.status} with {len(same.body)} bytes, not 304")
    expect(known.deployed.send("GET", path, headers={"If-None-Match": '"another"'}), 200, f"GET {path}, another ETag")
    return shown(etag)


def change_pages(known: Known) -> str:
    """The feed of changes has growing numbers, and its pages join."""
    first = known.deployed.read("/api/changes", ChangeList, query={"limit": "4"})
    second = known.deployed.read("/api/changes", ChangeList, query={"limit": "4", "after": str(first.next_after)})
    numbers = [change.number for change in (*first.items, *second.items)]
    if numbers != sorted(set(numbers)):
        raise Broken(f"the numbers of changes are {numbers}")
    if first.items and first.next_after != first.items[-1].number:
        raise Broken(f"next_after is {first.next_after}, and the last change {first.items[-1].number}")
    if first.has_more is not bool(second.items):
        raise Broken(f"has_more is {first.has_more}, and {len(second.items)} changes follow")
    both = known.deployed.read("/api/changes", ChangeList, query={"limit": "8"})
    if [change.number for change in both.items][: len(numbers)] != numbers:
        raise Broken("two pages of four changes are not one page of eight")
    return f"{len(numbers)} changes"


def graphql_facts(known: Known) -> str:
    """GraphQL has the facts of the REST interface, and its filter lists what was asked for and nothing else."""
    items = {int(item.bounty_id): item for item in known.some()}
    body = as_json({"query": QUERY, "variables": {"ids": [str(each) for each in items]}})
    answer = known.deployed.send("POST", "/subgraph", body=body, headers={"Content-Type": "application/json"})
    expect(answer, 200, "POST /subgraph")
    found = json_of(answer)
    rows = cast("Mapping[str, Any]", found).get("data", {}).get("bounties") if isinstance(found, Mapping) else None
    if not isinstance(rows, Sequence):
        raise Broken("POST /subgraph does not answer a list of bounties")
    if (ids := sorted(int(row["bounty_id"]) for row in rows)) != sorted(items):
        raise Broken(f"bounty_id_in {sorted(items)} lists {ids}")
    for row in rows:
        facts = items[int(row["bounty_id"])].facts
        expected = {
            "status": facts.status.value,
            "poster_address": facts.poster_address,
            "escrow_amount": str(facts.escrow_amount),
            "spec_commitment": facts.spec_commitment,
            "submission_deadline": facts.submission_deadline,
            "judging_deadline": facts.judging_deadline,
        }
        for name, value in expected.items():
            if row[name] != value:
                raise Broken(f"bounty {row['bounty_id']}: {name} is {shown(str(row[name]))}, and by REST {value}")
    return f"{len(rows)} bounties"


def documents(known: Known) -> str:
    """The rubric, the page's schema and the description of the interface are there."""
    known.deployed.read("/api/readiness-rubric", RubricDocument)
    schema = expect(known.deployed.send("GET", "/api/schemas/bounty-challenge.json"), 200, "GET the page's schema")
    if not isinstance(json_of(schema), Mapping):
        raise Broken("the schema of a challenge page is no JSON object")
    description = json_of(expect(known.deployed.send("GET", "/api/openapi.json"), 200, "GET /api/openapi.json"))
    match description:
        case {"openapi": str(version), "paths": Mapping() as paths}:
            return f"OpenAPI {shown(version)}, {len(paths)} paths"
        case _:
            raise Broken("GET /api/openapi.json is no OpenAPI document")


def page_check(known: Known) -> str:
    """``POST /api/bounty-challenge-specs/check`` answers findings, and stores nothing."""
    path = "/api/bounty-challenge-specs/check"
    answer = known.deployed.send("POST", path, body=PAGE, headers={"Content-Type": "text/markdown"})
    found = as_shape(PageFindings, expect(answer, 200, f"POST {path}"), f"POST {path}")
    if not found.issues:
        raise Broken("no rule objects to a page without any term of a bounty")
    return f"{len(found.issues)} issues"


def unknown_account(known: Known) -> str:
    """An account that never did anything has an empty record, and no error."""
    known.deployed.read(f"/api/accounts/0x{'00' * 18}dead", AccountRecord)
    return "an empty record"


def _pages(deployed: ExaminedApi) -> Iterator[BountyList]:
    query = {"limit": str(PAGE_SIZE)}
    for _ in range(MOST_PAGES):
        page = deployed.read("/api/bounties", BountyList, query=query)
        yield page
        if page.next_cursor is None:
            return
        query["cursor"] = page.next_cursor


def _lasting(found: BountyDetail | BountyItem) -> tuple[object, ...]:
    """The facts that one block settles; what is open at the moment depends on the clock."""
    facts = found.facts
    return (facts.status, facts.escrow_amount, facts.spec_commitment, facts.outcome, facts.winner, facts.poster_address)


def first_id(known: Known) -> BountyId:
    """A bounty that is there, else the first number."""
    return known.items[0].bounty_id if known.items else BountyId(1)
