"""``GET /api/withheld``: what the operator does not show."""

from bounty_protocol.shapes import to_json
from bounty_protocol.wire.withheld import WithheldList, WithheldQuery
from flask import Blueprint, Response
from service_common.db.hub_facts import FactSource
from service_common.web.authentication import public
from service_common.web.dependencies import provided
from service_common.web.parsing import load_query

from service_api.config import ApiConfig
from service_api.moderation.decisions import list_withheld
from service_api.openapi.description import Described
from service_api.versions import Version, json_version, link_to_next, versioned

routes = Blueprint("withheld", __name__, url_prefix="/api/withheld")


@routes.route("", methods=["GET"])
@Described(WithheldList, ("bounty_projection_unavailable",), query=WithheldQuery, versioned=True)
@public
def get_withheld() -> Response:
    """List the texts that the operator withholds at the moment: which, why, since when and until when."""
    query = load_query(WithheldQuery)
    return versioned(lambda: _page(query))


def _page(query: WithheldQuery) -> Version:
    with provided(FactSource).open() as facts:
        found = list_withheld(facts.connection, query, provided(ApiConfig).report_address)
    link = link_to_next("after", str(found.next_after)) if found.has_more else None
    return json_version(to_json(found), link=link)
