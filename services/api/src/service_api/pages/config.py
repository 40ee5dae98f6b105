"""What only the pages of a deployment need to be told."""

import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from bounty_protocol.foreign_json import read_object
from bounty_protocol.types import Address, parse_address
from service_common.common_settings import parse_contact
from service_common.config import EnvironmentReader
from service_common.web.settings import parse_origin

from service_api.pages.texts import ENGLISH, Texts, parse_language, read_texts

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
    """A paymaster service (ERC-7677) that may pay the network's fee, what it is asked with, and for which acts.

    A wallet asks it, never this process. All of it is shown to everybody who opens a page: a key has no place in it.
    """

    url: str
    context: dict[str, object]
    acts: tuple[Act, ...]


@dataclass(frozen=True, slots=True)
class PageSettings:
    """The settings of the pages alone."""

    explorer_url: str | None
    """A block explorer with the paths ``/address/…`` and ``/tx/…``; without one nothing is linked."""
    sponsor: Sponsor | None
    """Who may pay the network's fee."""
    rate_feed: Address | None
    """A contract that states the price of an ether in the escrow token; without one fees are shown in ether alone."""
    faucet_url: str | None
    """Where ether of a test network is given away, for accounts without any."""
    security_contact: str | None
    """Whom to tell of a weakness; without one ``security.txt`` is not there."""
    texts: Texts
    """Those of the one language in which the pages are."""


def read_page_settings(reader: EnvironmentReader) -> PageSettings:
    """Read the settings of the pages; mistakes are collected by ``reader``."""
    catalogues = reader.optional(
        "SERVICE_PAGES_CATALOGUES",
        Path,
        None,
        "a folder of catalogues, looked into instead",
        shown="none: those of the package",
    )
    return PageSettings(
        explorer_url=reader.optional(
            "SERVICE_EXPLORER_URL",
            parse_origin,
            None,
            "a block explorer with the paths `/address/…` and `/tx/…`",
            shown="none: nothing is linked",
        ),
        sponsor=_read_sponsor(reader),
        rate_feed=reader.optional(
            "SERVICE_RATE_FEED",
            parse_address,
            None,
            "a price feed on this chain (`latestRoundData()`, `decimals()`) that states what one ether is in the "
            "escrow token; the pages then show network fees in both, with the feed and its age",
            shown="none: fees are shown in ether",
        ),
        faucet_url=reader.optional(
            "SERVICE_FAUCET_URL",
            parse_page,
            None,
            "on a test network, where an account without ether gets some",
            shown="none",
        ),
        security_contact=reader.optional(
            "SERVICE_SECURITY_CONTACT",
            parse_contact,
            None,
            "whom to tell of a weakness, such as `mailto:security@bounties.example`, for `/.well-known/security.txt`",
            shown="none: there is no such file",
        ),
        texts=reader.optional(
            "SERVICE_PAGES_LANGUAGE",
            lambda text: read_texts(parse_language(text), catalogues),
            ENGLISH,
            "the one language of the pages and feeds, such as `de` or `pt-BR`; each but "
            "`en` needs its catalogue ([pages](pages.md#running-and-changing-them))",
            shown="`en`",
        ),
    )


def _read_sponsor(reader: EnvironmentReader) -> Sponsor | None:
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
