"""An account's record, as a field of a query: the shape of ``GET /api/accounts/{account_address}``."""

from collections.abc import Callable
from inspect import cleandoc
from typing import Any, Final

from bounty_protocol.shapes import Nested, Part, Scalar, parts
from bounty_protocol.types import TokenAmount
from bounty_protocol.wire.accounts import AccountRecord
from graphql import GraphQLArgument, GraphQLField, GraphQLNonNull, GraphQLObjectType, GraphQLString

from service_api.subgraph.scalars import BIG_INT, INTEGER

ACCOUNT: Final = "account"


def account_field(resolve: Callable[..., Any]) -> GraphQLField:
    """The field at the top of a query; ``resolve`` finds the record that was loaded for it."""
    record = _type_of(AccountRecord)
    address = GraphQLArgument(GraphQLNonNull(GraphQLString), description="The account's address.")
    return GraphQLField(GraphQLNonNull(record), {"id": address}, resolve=resolve, description=_about(AccountRecord))


def _type_of(shape: type) -> GraphQLObjectType:
    fields = {part.name: _field(part) for part in parts(shape)}
    return GraphQLObjectType(shape.__name__, fields, description=_about(shape))


def _field(part: Part) -> GraphQLField:
    shown: Any = GraphQLString
    about = part.note.description or part.name.replace("_", " ").capitalize() + "."
    match part.kind:
        case Nested(shape):
            shown, about = _type_of(shape), _about(shape)
        case Scalar(of):
            shown = {TokenAmount: BIG_INT, int: INTEGER}.get(of, GraphQLString)
    return GraphQLField(shown if part.nullable else GraphQLNonNull(shown), description=about)


def _about(shape: type) -> str:
    return " ".join(cleandoc(shape.__doc__ or "").replace("``", "").split())
