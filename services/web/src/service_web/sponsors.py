"""Who may pay the network's fee of what people do on the pages: a paymaster service (ERC-7677) that the operator names.

The wallet asks it, never these processes. All of it is shown to everybody who opens a page: a key has no place in it.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from bounty_protocol.foreign_json import read_object
from service_common.config import EnvironmentReader

MAX_URL: Final = 500
MAX_CONTEXT: Final = 1_000
_URL: Final = re.compile(
    r"https://[a-z0-9.-]+(:[0-9]{1,5})?(/[!-~]*)?|http://(127\.0\.0\.1|localhost):[0-9]{1,5}(/[!-~]*)?"
)


class Act(StrEnum):
    """Acts of people on the chain."""

    CREATE = "create"
    SUBMIT = "submit"
    VERDICT = "verdict"
    CLAIM = "claim"
    SETTLE = "settle"
    HEARTBEAT = "heartbeat"


@dataclass(frozen=True, slots=True)
class Sponsor:
    """A paymaster service, what it is asked with, and for which acts."""

    url: str
    context: dict[str, object]
    acts: tuple[Act, ...]


def read_sponsor(reader: EnvironmentReader) -> Sponsor | None:
    """The sponsor; None where none is named."""
    url = reader.optional(
        "SERVICE_PAYMASTER_URL",
        parse_page,
        None,
        "a paymaster service (ERC-7677) that wallets on the pages may ask to pay the network's fee; everybody sees "
        "the address, so it has no key in it",
        shown="none: everybody pays the fee",
    )
    context: dict[str, object] = reader.optional(
        "SERVICE_PAYMASTER_CONTEXT",
        _parse_context,
        {},
        'a JSON object that it is asked with, such as `{"policyId": "…"}`; everybody sees it',
        shown="`{}`",
    )
    acts = reader.optional(
        "SERVICE_PAYMASTER_ACTS",
        _parse_acts,
        tuple(Act),
        f"for which acts it is offered, with commas between: {', '.join(f'`{act}`' for act in Act)}",
        shown="all of them",
    )
    return None if url is None else Sponsor(url, context, acts)


def parse_page(text: str) -> str:
    """An address of the web that people may be shown; no login is in it."""
    if len(text) > MAX_URL or _URL.fullmatch(text) is None:
        raise ValueError(f"an address that begins with https://, of at most {MAX_URL} characters, without a login")
    return text


def _parse_context(text: str) -> dict[str, object]:
    if len(text) > MAX_CONTEXT:
        raise ValueError(f"a JSON object of at most {MAX_CONTEXT} characters")
    try:
        context = read_object(text.encode())
    except ValueError:
        raise ValueError("a JSON object") from None
    if "token" in context:
        raise ValueError("a JSON object without a token, in which people would pay the fee themselves")
    return context


def _parse_acts(text: str) -> tuple[Act, ...]:
    named = {each.strip() for each in text.split(",")}
    if not named <= {act.value for act in Act}:
        raise ValueError(f"names of {', '.join(Act)}, with commas between")
    return tuple(act for act in Act if act in named)
