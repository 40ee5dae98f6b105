"""Open bounties that a page may be a corrected copy of.

An escrow stays in the Hub until its bounty ends. A page whose text changed is another bounty with another escrow, so an
open one of the same file, which this machine remembers, or of the same title, which the API lists, is named before
anything is signed, and the person decides.
"""

import os
from collections.abc import Iterator
from typing import Final

from bounty_protocol.domain.challenge import ChallengePage
from bounty_protocol.errors import ServiceError
from bounty_protocol.keccak import keccak256
from bounty_protocol.types import Address, BountyId, parse_bounty_id

from service_cli.api_session import ApiSession
from service_cli.bounty.listing import listed
from service_cli.chain.journal import journals_below, note_done
from service_cli.chain.session import ChainClient, chain_errors
from service_cli.chain.signer import Signer
from service_cli.errors import CommandRefused
from service_cli.shell.consent import typed_yes
from service_cli.shell.text import printable

MOST_LISTED: Final = 1_000
"""Open bounties of the account whose titles are compared."""


def note_file(session: ApiSession[Signer], path: str | None, bounty_id: BountyId) -> None:
    """Remember which file a bounty was funded from."""
    if path is not None:
        chain = session.chain
        note_done(chain.chain_id, chain.hub.address, *_names(session.account, path), str(bounty_id))


def require_no_open_one(session: ApiSession[Signer], page: ChallengePage, path: str | None) -> None:
    """Go on only with consent while a bounty of this account from the same file, or with the same title, is open."""
    for bounty_id in _of_file(session, path):
        _require_consent(bounty_id, "was funded from this file")
    try:
        same = list(_of_title(session, page))
    except ServiceError as error:
        message = f"Whether this account has an open bounty with this page's title is not known: {error.message}"
        if not typed_yes(message, "fund the page without knowing"):
            next_action = "Run the command again once the API answers; to fund the page without knowing, add --again."
            raise CommandRefused("earlier_bounties_unknown", message, next_action=next_action) from error
        return
    for bounty_id in same:
        _require_consent(bounty_id, f"has this page's title, “{printable(page.title, 60)}”,")


def _require_consent(bounty_id: BountyId, why: str) -> None:
    message = (
        f"Bounty {bounty_id} of this account {why} and is still open: nobody can take "
        "its escrow back before it ends. This page would be another bounty with an escrow of its own."
    )
    if not typed_yes(message, "fund this page as well"):
        next_action = f"See service-cli bounty:show {bounty_id}; to fund this page as well add --again."
        raise CommandRefused("earlier_bounty_open", message, next_action=next_action)


def _of_file(session: ApiSession[Signer], path: str | None) -> Iterator[BountyId]:
    if path is None:
        return
    chain = session.chain
    noted = journals_below(chain.chain_id, chain.hub.address, *_names(session.account, path))
    yield from (one for *_, text in noted if _is_open(chain, one := BountyId(int(text)), session.account))


def _of_title(session: ApiSession[Signer], page: ChallengePage) -> Iterator[BountyId]:
    wanted = {"poster_address": session.account, "status": "open"}
    for item in listed(session.api, wanted, MOST_LISTED):
        title = item.get("title")
        if not isinstance(title, str) or _compared(title) != _compared(page.title):
            continue
        try:
            bounty_id = parse_bounty_id(str(item.get("bounty_id")))
        except ValueError as error:
            raise session.api.peer.malformed("'s list has a bounty without an id.") from error
        if _is_open(session.chain, bounty_id, session.account):
            yield bounty_id


def _is_open(chain: ChainClient, bounty_id: BountyId, poster: Address) -> bool:
    """By the contract: what the API invents or has from before is no reason to ask."""
    with chain_errors():
        view = chain.hub.bounty(bounty_id)
    return view is not None and view.poster == poster and view.outcome is None


def _compared(title: str) -> str:
    return " ".join(title.split()).casefold()


def _names(poster: Address, path: str) -> tuple[str, ...]:
    return "file", poster, keccak256(os.fsencode(os.path.realpath(path))).hex()
