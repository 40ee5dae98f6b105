"""``GET /api/bounties`` and ``GET /api/bounties/{bounty_id}``."""

from collections.abc import Callable
from typing import TypeVar

from flask import Response
from flask_smorest import Blueprint
from service_common.domain.lifecycle import BountyStatus
from service_common.types import BountyId, parse_address, parse_bounty_id, parse_decimal
from service_common.web.authentication import public, read_query
from service_common.web.parsing import parse, parse_boolean
from service_common.web.versions import FINALIZED, REVALIDATE, Version, json_version, versioned

from service_api.dependencies import dependencies
from service_api.usecases.list_bounties import DEFAULT_LIMIT, MAX_LIMIT, BountyQuery, list_bounties, parse_cursor
from service_api.usecases.show_bounty import show_bounty

T = TypeVar("T")

routes = Blueprint("bounties", __name__, url_prefix="/api/bounties", description="Bounties as the chain has them")

_FILTERS = frozenset(
    {"cursor", "limit", "status", "accepting", "judgeable", "poster_address", "solver_address", "guardian_address"}
)
_DETAIL = "invalid_bounty_detail_request"


@routes.route("", methods=["GET"])
@public
def get_bounties() -> Response:
    """List bounties, open ones first."""
    query = _parse_query(read_query(allowed=_FILTERS))
    return versioned(lambda: json_version(list_bounties(dependencies(), query)))


@routes.route("/<bounty_id>", methods=["GET"])
@public
def get_bounty(bounty_id: str) -> Response:
    """Show one bounty."""
    read_query(allowed=frozenset(), code=_DETAIL)
    number = parse(bounty_id, parse_bounty_id, path="bounty_id", code=_DETAIL)
    return versioned(lambda: _detail(number))


def _detail(bounty_id: BountyId) -> Version:
    """Others may keep a bounty that is shown whole, record and page: all that still changes of it is when its Guardians
    were last active. A page that is missing or altered can be restored at any moment."""
    shown = show_bounty(dependencies(), bounty_id)
    is_whole = "verification_record" in shown and shown["challenge"] is not None
    return json_version(shown, FINALIZED if is_whole else REVALIDATE)


def _parse_query(query: dict[str, str]) -> BountyQuery:
    def given(name: str, parser: Callable[[str], T]) -> T | None:
        return parse(query[name], parser, path=name) if name in query else None

    return BountyQuery(
        limit=given("limit", _parse_limit) or DEFAULT_LIMIT,
        cursor=given("cursor", parse_cursor),
        status=given("status", _parse_status),
        accepting=given("accepting", parse_boolean),
        judgeable=given("judgeable", parse_boolean),
        poster=given("poster_address", parse_address),
        solver=given("solver_address", parse_address),
        guardian=given("guardian_address", parse_address),
    )


def _parse_limit(text: str) -> int:
    limit = parse_decimal(text)
    if not 1 <= limit <= MAX_LIMIT:
        raise ValueError(f"a number from 1 to {MAX_LIMIT}")
    return limit


def _parse_status(text: str) -> BountyStatus:
    try:
        return BountyStatus(text)
    except ValueError:
        raise ValueError("open or final") from None
