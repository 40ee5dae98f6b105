"""What only the pages of a deployment need to be told."""

import re
from dataclasses import dataclass

from service_common.config import EnvironmentReader, parse_switch
from service_common.web.settings import parse_origin


@dataclass(frozen=True, slots=True)
class PageSettings:
    """The settings of the pages alone."""

    explorer_url: str | None
    """A block explorer with the paths ``/address/…`` and ``/tx/…``; without one nothing is linked."""
    security_contact: str | None
    """Whom to tell of a weakness; without one ``security.txt`` is not there."""
    may_be_standby: bool
    """Whether a process that answers only pages may read a standby on purpose."""


def read_page_settings(reader: EnvironmentReader) -> PageSettings:
    """Read the settings of the pages; mistakes are collected by ``reader``."""
    return PageSettings(
        explorer_url=reader.optional(
            "SERVICE_EXPLORER_URL",
            parse_origin,
            None,
            "a block explorer with the paths `/address/…` and `/tx/…`",
            shown="none: nothing is linked",
        ),
        security_contact=reader.optional(
            "SERVICE_SECURITY_CONTACT",
            parse_contact,
            None,
            "whom to tell of a weakness, such as `mailto:security@bounties.example`, for `/.well-known/security.txt`",
            shown="none: there is no such file",
        ),
        may_be_standby=reader.optional(
            "SERVICE_PAGES_STANDBY",
            parse_switch,
            False,
            "`on` if the pods `pages` are to read a standby of the database: they are ready at one then",
        ),
    )


def parse_contact(text: str) -> str:
    """Parse an address under which people are reached; ``ValueError`` for any other."""
    if not text.startswith(("mailto:", "https://", "tel:")) or not re.fullmatch("[!-~]{1,500}", text):
        raise ValueError("an address that begins with mailto:, https:// or tel:")
    return text
