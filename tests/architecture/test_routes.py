"""Every route is decided: signed or public, and this is the list."""

from collections.abc import Callable, Iterator

import pytest
from flask import Flask

from tests import offline

API = {
    "GET /api/accounts/<account_address>": "public",
    "GET /api/bounties": "public",
    "GET /api/bounties/<bounty_id>": "public",
    "GET /api/bounties/<bounty_id>/challenge": "signed",
    "GET /api/bounties/<bounty_id>/delivery/status": "public",
    "GET /api/bounties/<bounty_id>/submissions/<submission_commitment>/content": "signed",
    "GET /api/changes": "public",
    "GET /api/deployment": "public",
    "GET /api/deployment/client.env": "public",
    "GET /api/deployment/delivery-key": "public",
    "GET /api/docs": "public",
    "GET /api/openapi.json": "public",
    "GET /api/readiness-rubric": "public",
    "GET /api/schemas/bounty-challenge.json": "public",
    "GET /api/status": "public",
    "GET /api/written-verdicts/<report_commitment>": "public",
    "GET /api/written-verdicts/<report_commitment>/document": "signed",
    "GET /api/withheld": "public",
    "GET /healthz": "public",
    "GET /subgraph/schema.graphql": "public",
    "POST /api/bounties/<bounty_id>/delivery/retrieve": "signed",
    "POST /api/bounties/<bounty_id>/delivery/wrap": "signed",
    "POST /api/bounties/<bounty_id>/submissions/contents": "signed",
    "POST /api/bounties/<bounty_id>/submissions/<solver_address>/artifact-upload-url": "signed",
    "POST /api/bounties/<bounty_id>/submissions/<solver_address>/prepare": "signed",
    "POST /api/bounty-challenge-specs/check": "public",
    "POST /api/bounty-challenge-specs/prepare-publication": "signed",
    "POST /api/written-verdicts/<report_commitment>": "signed",
    "POST /subgraph": "public",
}
DELIVERY = {route: access for route, access in API.items() if "delivery" in route} | {
    "GET /healthz": "public",
}
REVIEWER = dict.fromkeys(("GET /healthz", "POST /findings"), "public")
"""Reached from inside the deployment alone."""
PAGES = dict.fromkeys(
    (
        "GET /",
        "GET /feed.atom",
        "GET /assets/<name>",
        "GET /beacon/<chain_hash>/public/<number>",
        "GET /bounties",
        "GET /bounties/<bounty_id>",
        "GET /bounties/<bounty_id>/feed.atom",
        "GET /bounties/<bounty_id>/challenge.md",
        "GET /deployment",
        "GET /find",
        "GET /glossary",
        "GET /guardians",
        "GET /how-it-works",
        "GET /people",
        "GET /people/<account>",
        "GET /people/<account>/feed.atom",
        "GET /publish",
        "GET /withheld",
        "GET /robots.txt",
        "GET /agents.md",
        "GET /llms.txt",
        "GET /.well-known/security.txt",
    ),
    "public",
)


def decided(app: Flask) -> Iterator[tuple[str, str | None]]:
    for rule in app.url_map.iter_rules():
        view = app.view_functions[rule.endpoint]
        access = getattr(view, "access", None)
        for method in sorted((rule.methods or set()) - {"HEAD", "OPTIONS"}):
            yield f"{method} {rule.rule}", access


@pytest.mark.spec(70, 80, 110, 111, 112, 170, 172, 178, 327, 328, 329, 330, 331)
@pytest.mark.parametrize(
    ("make", "expected"),
    [(offline.api, API | PAGES), (offline.delivery, DELIVERY), (offline.reviewer, REVIEWER)],
)
def test_routes_are_each_signed_or_public(make: Callable[[], Flask], expected: dict[str, str]) -> None:
    found = dict(decided(make()))
    undecided = {route: access for route, access in found.items() if access is None or access != expected.get(route)}
    assert undecided == {}, "decide in this file whether it is public or signed, and mark its view so"
    assert set(expected) == set(found)
