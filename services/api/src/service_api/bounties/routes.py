"""``/api/bounties``: the list, one bounty, its page's bytes for those who take part; and ``/api/accounts``."""

from bounty_protocol.auth.verify import VerifiedRequest
from bounty_protocol.shapes import to_json
from bounty_protocol.types import Address, BountyId, parse_address, parse_bounty_id
from bounty_protocol.wire.accounts import AccountRecord
from bounty_protocol.wire.bounties import BountyDetail, BountyList, BountyQuery
from flask import Blueprint, Response
from service_common.db.hub_facts import FactSource
from service_common.web.authentication import public, read_query, signed
from service_common.web.dependencies import provided
from service_common.web.parsing import load_query, parse

from service_api.bounties.list_bounties import list_bounties
from service_api.bounties.parties import read_page
from service_api.bounties.show_account import account_record
from service_api.bounties.show_bounty import show_bounty
from service_api.bounties.verification_records import Records
from service_api.openapi.description import Described
from service_api.versions import FINALIZED, REVALIDATE, Version, exact_bytes, json_version, link_to_next, versioned

routes = Blueprint("bounties", __name__, url_prefix="/api/bounties")
accounts = Blueprint("accounts", __name__, url_prefix="/api/accounts")

_DETAIL = "invalid_bounty_detail_request"


@routes.route("", methods=["GET"])
@Described(BountyList, ("bounty_projection_unavailable",), query=BountyQuery, versioned=True, indexed=True)
@public
def get_bounties() -> Response:
    """List bounties: open ones first, newest first within each group, or as ``sort`` says."""
    query = load_query(BountyQuery)
    return versioned(lambda: _page(query))


def _page(query: BountyQuery) -> Version:
    with provided(FactSource).open() as facts:
        found = list_bounties(facts, query)
    following = found.next_cursor
    link = None if following is None else link_to_next("cursor", following)
    return json_version(to_json(found), link=link, at=facts.head)


@routes.route("/<bounty_id>", methods=["GET"])
@Described(BountyDetail, (_DETAIL, "bounty_not_found", "bounty_projection_unavailable"), versioned=True, indexed=True)
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
    head, shown = show_bounty(provided(Records), bounty_id)
    is_whole = shown.verification_record is not None and shown.challenge is not None
    return json_version(to_json(shown), FINALIZED if is_whole else REVALIDATE, at=head)


@routes.route("/<bounty_id>/challenge", methods=["GET"])
@Described(
    "text/markdown",
    (
        "bounty_chain_state_unavailable",
        "bounty_not_found",
        "bounty_projection_unavailable",
        "challenge_not_found",
        "forbidden",
    ),
)
@signed(None)
def get_challenge(request: VerifiedRequest, bounty_id: str) -> Response:
    """Read the exact bytes of a bounty's page, even while it is withheld.

    Signed by the funding Poster, a Solver with a recorded Submission, or a Guardian of the pinned roster.
    """
    read_query(allowed=frozenset())
    number = parse(bounty_id, parse_bounty_id, path="bounty_id")
    return exact_bytes(read_page(provided(FactSource), request, number))


@accounts.route("/<account_address>", methods=["GET"])
@Described(AccountRecord, ("bounty_projection_unavailable",), versioned=True, indexed=True)
@public
def get_account(account_address: str) -> Response:
    """An account's record as Poster, Solver and Guardian, of its newest thousand bounties in each role.

    Accounts cost nothing, so that an empty record says nothing.
    """
    read_query(allowed=frozenset())
    account = parse(account_address, parse_address, path="account_address")
    return versioned(lambda: _record(account))


def _record(account: Address) -> Version:
    with provided(FactSource).open() as facts:
        return json_version(to_json(account_record(facts.connection, account)), at=facts.head)
