"""``GET /api/status`` and ``GET /api/changes``: how the index does, and what changes in it."""

from bounty_protocol.shapes import to_json
from bounty_protocol.wire.changes import ChangeList, ChangeQuery
from bounty_protocol.wire.deployment import DeploymentStatus
from flask import Response
from service_common.db.hub_facts import FactSource
from service_common.web.authentication import public, read_query
from service_common.web.operations import Routes, described
from service_common.web.parsing import load_query
from service_common.web.provided import provided
from service_common.web.versions import Version, json_version, link_to_next, versioned

from service_api.deployment.list_changes import list_changes
from service_api.deployment.show_status import show_status

routes = Routes("index", __name__, url_prefix="/api", description="The index of the Hub's log")


@routes.route("/status", methods=["GET"])
@routes.response(200, DeploymentStatus, versioned=True, indexed=True)
@public
def get_status() -> Response:
    """How far the index is behind the chain, and the totals of all bounties; answered even without a database."""
    read_query(allowed=frozenset())
    return versioned(_status)


def _status() -> Version:
    found = show_status(provided(FactSource))
    return json_version(to_json(found), at=found.position)


@routes.route("/changes", methods=["GET"])
@routes.response(200, ChangeList, versioned=True, indexed=True)
@described("bounty_projection_unavailable", query=ChangeQuery)
@public
def get_changes() -> Response:
    """The changes of the index after a number, in order, answered at once: events, and retractions after reorgs."""
    query = load_query(ChangeQuery)
    return versioned(lambda: _page(query))


def _page(query: ChangeQuery) -> Version:
    found = list_changes(provided(FactSource), query)
    page = found.value
    link = link_to_next("after", str(page.next_after)) if page.has_more else None
    return json_version(to_json(page), link=link, at=found.head)
