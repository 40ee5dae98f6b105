"""``GET /api/bounties``, ``GET /api/bounties/{bounty_id}`` and the page's bytes for those who take part."""

from bounty_protocol.auth.verify import VerifiedRequest
from bounty_protocol.shapes import to_json
from bounty_protocol.types import BountyId, parse_bounty_id
from bounty_protocol.wire.bounties import BountyDetail, BountyList, BountyQuery
from flask import Response
from service_common.db.hub_facts import FactSource
from service_common.web.authentication import public, read_query, signed
from service_common.web.operations import Routes, described
from service_common.web.parsing import load_query, parse
from service_common.web.provided import provided
from service_common.web.versions import FINALIZED, REVALIDATE, Version, json_version, link_to_next, versioned

from service_api.bounties.list_bounties import list_bounties
from service_api.bounties.parties import read_page
from service_api.bounties.show_bounty import show_bounty
from service_api.bounties.verification_records import Records
from service_api.exact import exact_bytes

routes = Routes("bounties", __name__, url_prefix="/api/bounties", description="Bounties as recorded on chain")

_DETAIL = "invalid_bounty_detail_request"


@routes.route("", methods=["GET"])
@routes.response(200, BountyList, versioned=True, indexed=True)
@described("bounty_projection_unavailable", query=BountyQuery)
@public
def get_bounties() -> Response:
    """List bounties: open ones first, newest first within each group, or as ``sort`` says."""
    query = load_query(BountyQuery)
    return versioned(lambda: _page(query))


def _page(query: BountyQuery) -> Version:
    found = list_bounties(provided(FactSource), query)
    following = found.value.next_cursor
    link = None if following is None else link_to_next("cursor", following)
    return json_version(to_json(found.value), link=link, at=found.head)


@routes.route("/<bounty_id>", methods=["GET"])
@routes.response(200, BountyDetail, versioned=True, indexed=True)
@described(_DETAIL, "bounty_not_found", "bounty_projection_unavailable")
@public
def get_bounty(bounty_id: str) -> Response:
    """One bounty: facts, roster, active Submissions, challenge and, once final, its VerificationRecord."""
    read_query(allowed=frozenset(), code=_DETAIL)
    number = parse(bounty_id, parse_bounty_id, path="bounty_id", code=_DETAIL)
    return versioned(lambda: _detail(number))


def _detail(bounty_id: BountyId) -> Version:
    """Return the version of a bounty's detail. Caches may keep a bounty that is shown completely, with record and page:
    only its Guardians' last activity still changes. A page that is missing or altered can be restored at any
    moment.
    """
    found = show_bounty(provided(Records), bounty_id)
    shown = found.value
    is_whole = shown.verification_record is not None and shown.challenge is not None
    return json_version(to_json(shown), FINALIZED if is_whole else REVALIDATE, at=found.head)


@routes.route("/<bounty_id>/challenge", methods=["GET"])
@routes.response(200, content_type="text/markdown")
@described(
    "bounty_chain_state_unavailable",
    "bounty_not_found",
    "bounty_projection_unavailable",
    "challenge_not_found",
    "forbidden",
)
@signed(None)
def get_challenge(request: VerifiedRequest, bounty_id: str) -> Response:
    """Read the exact bytes of a bounty's page, even while it is withheld.

    Signed by the funding Poster, a Solver with a recorded Submission, or a Guardian of the pinned roster.
    """
    read_query(allowed=frozenset())
    number = parse(bounty_id, parse_bounty_id, path="bounty_id")
    return exact_bytes(read_page(provided(FactSource), request, number))
