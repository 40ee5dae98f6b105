"""The scalars that GraphQL does not have."""

from decimal import Decimal
from typing import Final, cast

from bounty_protocol.types import MAX_UINT256, parse_decimal
from graphql import GraphQLScalarType


def _decimal_text(value: object) -> str:
    return str(int(cast("Decimal", value)))


def _amount(value: object) -> Decimal:
    try:
        if isinstance(value, str) and (amount := parse_decimal(value)) <= MAX_UINT256:
            return Decimal(amount)
    except ValueError:
        pass
    raise ValueError(f"an amount is a decimal string up to {MAX_UINT256}")


def _integer(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**63:
        raise ValueError("must be a whole number from 0 to 9223372036854775807")
    return value


BIG_INT: Final = GraphQLScalarType(
    "BigInt",
    serialize=_decimal_text,
    parse_value=_amount,
    description=f"A decimal string up to {MAX_UINT256}: in TypeScript and Python a string.",
)
INTEGER: Final = GraphQLScalarType(
    "Integer",
    serialize=int,
    parse_value=_integer,
    description="A whole number up to 9223372036854775807, of which none in use exceeds 53 bits: in TypeScript "
    "a number, in Python an int.",
)
