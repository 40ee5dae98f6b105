"""``GET /api/accounts/{account_address}``."""

from bounty_protocol.shapes import to_json
from bounty_protocol.types import Address, parse_address
from bounty_protocol.wire.accounts import AccountRecord
from flask import Blueprint, Response
from service_common.db.hub_facts import FactSource
from service_common.web.authentication import public, read_query
from service_common.web.parsing import parse
from service_common.web.provided import provided

from service_api.bounties.show_account import account_record
from service_api.openapi.described import Described
from service_api.versions import Version, json_version, versioned

routes = Blueprint("accounts", __name__, url_prefix="/api/accounts")


@routes.route("/<account_address>", methods=["GET"])
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
