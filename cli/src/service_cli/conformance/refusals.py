"""Requests that cannot be met: each is refused with its code and status, in one shape, and changes nothing."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from service_cli.conformance.asking import Broken, as_json
from service_cli.conformance.public import Known

_JSON: Final = {"Content-Type": "application/json"}
_MARKDOWN: Final = {"Content-Type": "text/markdown"}
CHECK: Final = "/api/bounty-challenge-specs/check"
TOO_LARGE: Final = b"---\ntitle: a\n---\n" + b"a" * (1024 * 1024)
NEVER: Final = 2**53 - 1
"""A bounty that no Hub has."""


@dataclass(frozen=True, slots=True)
class ExpectedRefusal:
    """A request, and the code that answers it."""

    code: str
    method: str
    path: str
    query: str = ""
    body: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)


ROUTES: Final = (
    ExpectedRefusal("route_not_found", "GET", "/api/nothing-of-this-name"),
    ExpectedRefusal("route_not_found", "GET", "/api/bounties/1/nothing"),
    ExpectedRefusal("method_not_allowed", "DELETE", "/api/bounties"),
    ExpectedRefusal("method_not_allowed", "POST", "/api/deployment", body=b""),
)
IDENTIFIERS: Final = (
    *(
        ExpectedRefusal("invalid_bounty_detail_request", "GET", f"/api/bounties/{text}")
        for text in ("0", "-1", "01", "1.0", "0x1", "one")
    ),
    ExpectedRefusal("bounty_not_found", "GET", f"/api/bounties/{NEVER}"),
    ExpectedRefusal("invalid_request", "GET", "/api/accounts/0x12"),
    ExpectedRefusal("written_verdict_not_found", "GET", f"/api/written-verdicts/0x{'00' * 32}"),
)
QUERIES: Final = tuple(
    ExpectedRefusal("invalid_request", "GET", path, query=query)
    for path, query in (
        ("/api/bounties", "limit=0"),
        ("/api/bounties", "limit=101"),
        ("/api/bounties", "limit=two"),
        ("/api/bounties", "limit=1&limit=2"),
        ("/api/bounties", "cursor=nothing"),
        ("/api/bounties", "status=closed"),
        ("/api/bounties", "poster_address=0x12"),
        ("/api/bounties", "of_no_such_name=1"),
        ("/api/changes", "after=-1"),
        ("/api/changes", "limit=0"),
    )
)
BODIES: Final = (
    ExpectedRefusal("unsupported_media_type", "POST", CHECK, body=b"a", headers={"Content-Type": "image/png"}),
    ExpectedRefusal("payload_too_large", "POST", CHECK, body=TOO_LARGE, headers=_MARKDOWN),
)
GRAPHQL: Final = tuple(
    ExpectedRefusal("invalid_request", "POST", "/subgraph", body=body, headers=_JSON)
    for body in (
        b"{",
        as_json([]),
        as_json({"query": ""}),
        as_json({"query": "{ bounties { no_such_field } }"}),
        as_json({"query": "{" + " bounties {" * 40 + " id" + " }" * 40 + " }"}),
        as_json({"query": "mutation { bounties { id } }"}),
    )
)


def routes(known: Known) -> str:
    """What is no route, and a method that a route does not take, are refused; the latter names those that it takes."""
    for each in ROUTES:
        answer = _refuse(known, each)
        if each.code == "method_not_allowed" and not answer.get("Allow"):
            raise Broken(f"{each.method} {each.path} is answered 405 without Allow")
    return f"{len(ROUTES)} requests"


def identifiers(known: Known) -> str:
    """A number, an account or a commitment in another form is refused; one that nobody has is not found."""
    return _all(known, IDENTIFIERS)


def queries(known: Known) -> str:
    """A parameter out of its range, twice, or of an unknown name is refused."""
    return _all(known, QUERIES)


def bodies(known: Known) -> str:
    """A body of another media type, or longer than its route takes, is refused."""
    return _all(known, BODIES)


def graphql(known: Known) -> str:
    """A query that cannot be read, names what is not there, goes too deep or would write is refused."""
    return _all(known, GRAPHQL)


def _all(known: Known, requests: tuple[ExpectedRefusal, ...]) -> str:
    for each in requests:
        _refuse(known, each)
    return f"{len(requests)} requests"


def _refuse(known: Known, each: ExpectedRefusal) -> Mapping[str, str]:
    """The header fields of the refusal."""
    answer = known.deployed.refused(
        each.method, each.path, each.code, query=each.query, body=each.body, headers=each.headers
    )
    return answer.headers
