"""What only the pages of a deployment need to be told."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from service_common.common_settings import parse_contact
from service_common.config import EnvironmentReader
from service_common.web.settings import parse_origin

from service_api.pages.texts import ENGLISH, Texts, parse_language, read_texts

MAX_URL: Final = 500
_URL: Final = re.compile(
    r"https://[a-z0-9.-]+(:[0-9]{1,5})?(/[!-~]*)?|http://(127\.0\.0\.1|localhost):[0-9]{1,5}(/[!-~]*)?"
)


@dataclass(frozen=True, slots=True)
class PageSettings:
    """The settings of the pages alone."""

    explorer_url: str | None
    """A block explorer with the paths ``/address/…`` and ``/tx/…``; without one nothing is linked."""
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


def parse_page(text: str) -> str:
    """An address of the web that people may be shown; no login is in it."""
    if len(text) > MAX_URL or _URL.fullmatch(text) is None:
        raise ValueError(f"an address that begins with https://, of at most {MAX_URL} characters, without a login")
    return text
