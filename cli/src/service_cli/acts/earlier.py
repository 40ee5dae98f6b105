"""Open bounties that a page may be a corrected copy of.

An escrow stays in the Hub until its bounty ends. A page whose text changed is another bounty with another escrow, so an
open one of the same file, which this machine remembers, or of the same title, which the API lists, is named before
anything is signed, and the person decides. So is what was signed for an earlier text of the file while a bounty may
still come of it: this machine notes each text before anything is signed.
"""

import os
from collections.abc import Iterator
from typing import Final

from bounty_protocol.domain.challenge.page import ChallengePage
from bounty_protocol.errors import ServiceError
from bounty_protocol.keccak import keccak256
from bounty_protocol.types import BountyId, Bytes32, parse_bounty_id

from service_cli.acts.fund import FUNDED, what_may_create
from service_cli.chain.session import Session
from service_cli.chain.signer import Signer
from service_cli.errors import CommandRefused
from service_cli.queries.listing import listed
from service_cli.ui.consent import require_consent
from service_cli.ui.text import printable

MOST_LISTED: Final = 1_000
"""Open bounties of the account whose titles are compared."""


def note_text(session: Session[Signer], path: str | None, commitment: Bytes32) -> None:
    """Remember which text of a file this machine was asked to fund."""
    if path is not None:
        session.chain.records.note_done(*_names(session, path), commitment)


def require_no_open_one(session: Session[Signer], page: ChallengePage, commitment: Bytes32, path: str | None) -> None:
    """Refuse without consent while a bounty of this account from the same file, or with the same title, is open.

    Also refuse while something signed for another text of the file may still create one.
    """
    chain = session.chain
    noted = [] if path is None else chain.records.below(*_names(session, path))
    for text in {Bytes32(text) for *_, text in noted} - {commitment}:
        first = ("publish", session.account, text)
        for names in [first, *chain.records.below(*first)]:
            with session.journal(*names) as journal:
                done, signed = journal.get(FUNDED), what_may_create(chain, journal)
            if done is not None:
                _ask_if_open(session, done.bounty_id, "was funded from this file")
            elif signed is not None:
                message = (
                    f"For an earlier text of this file, {text}, this account signed {signed}. That may still create "
                    "a bounty; this page would create another, with its own escrow."
                )
                next_action = (
                    "To continue with the earlier text, restore it and run the command again. Otherwise wait until a "
                    "final block shows that it can create no bounty."
                )
                _ask(message, "fund this page as well", "earlier_bounty_pending", next_action)
    try:
        same = list(_of_title(session, page))
    except ServiceError as error:
        message = f"It is not known whether this account has an open bounty with this page's title: {error.message}"
        next_action = "Run the command again once the API answers."
        _ask(message, "fund the page without knowing", "earlier_bounties_unknown", next_action)
        return
    for bounty_id in same:
        _ask_if_open(session, bounty_id, f"has this page's title, “{printable(page.title, 60)}”,")


def _ask_if_open(session: Session[Signer], bounty_id: BountyId, why: str) -> None:
    """Ask if any endpoint's contract has it open: what the API invents, or remembers, is no reason to ask."""
    for each in session.chain.everywhere:
        view = each.hub.bounty(bounty_id)
        if view is not None and view.poster == session.account and view.outcome is None:
            message = (
                f"Bounty {bounty_id} of this account {why} and is still open: nobody can take "
                "its escrow back before it ends. This page would be another bounty with an escrow of its own."
            )
            next_action = f"See service-cli bounty:show {bounty_id}; to fund this page as well, run it at a terminal."
            _ask(message, "fund this page as well", "earlier_bounty_open", next_action)
            return


def _ask(message: str, what: str, code: str, next_action: str) -> None:
    require_consent(message, what, CommandRefused(code, message, next_action=next_action))


def _of_title(session: Session[Signer], page: ChallengePage) -> Iterator[BountyId]:
    """Yield this account's bounties with the page's title from the API's list; an invented one is not open by the
    contract.
    """
    wanted = {"poster_address": session.account, "status": "open"}
    for item in listed(session.api, wanted, MOST_LISTED):
        title = item.get("title")
        if isinstance(title, str) and _compared(title) == _compared(page.title):
            try:
                yield parse_bounty_id(str(item.get("bounty_id")))
            except ValueError as error:
                raise session.api.peer.malformed("'s list has a bounty without an id.") from error


def _compared(title: str) -> str:
    return " ".join(title.split()).casefold()


def _names(session: Session[Signer], path: str) -> tuple[str, ...]:
    return "text", session.account, keccak256(os.fsencode(os.path.realpath(path))).hex()
