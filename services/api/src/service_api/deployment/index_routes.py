"""``GET /api/status`` and ``GET /api/changes``: how the index does, and what changes in it."""

from bounty_protocol.shapes import to_json
from bounty_protocol.wire.changes import ChangeList, ChangeQuery
from bounty_protocol.wire.deployment import DeploymentStatus
from flask import Blueprint, Response
from service_common.db.hub_facts import FactSource
from service_common.web.authentication import public, read_query
from service_common.web.parsing import load_query
from service_common.web.provided import provided

from service_api.deployment.changes import list_changes
from service_api.deployment.show_status import show_status
from service_api.openapi.described import Described
from service_api.versions import Version, json_version, link_to_next, versioned

routes = Blueprint("index", __name__, url_prefix="/api")


@routes.route("/status", methods=["GET"])
@Described(DeploymentStatus, versioned=True, indexed=True)
@public
def get_status() -> Response:
    """How far the index is behind the chain, and what all bounties come to; also answered without a database."""
    read_query(allowed=frozenset())
    return versioned(_status)


def _status() -> Version:
    found = show_status(provided(FactSource))
    return json_version(to_json(found), at=found.position)


@routes.route("/changes", methods=["GET"])
@Described(ChangeList, ("bounty_projection_unavailable",), query=ChangeQuery, versioned=True, indexed=True)
@public
def get_changes() -> Response:
    """Every change of the index after a number, in order, answered at once: events, and what reorgs took back."""
    query = load_query(ChangeQuery)
    return versioned(lambda: _page(query))


def _page(query: ChangeQuery) -> Version:
    with provided(FactSource).open() as facts:
        page = list_changes(facts, query)
    link = link_to_next("after", str(page.next_after)) if page.has_more else None
    return json_version(to_json(page), link=link, at=facts.head)
