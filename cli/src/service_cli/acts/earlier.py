"""Open bounties that a page may be a corrected copy of.

An escrow stays in the Hub until its bounty ends. A page whose text changed is another bounty with another escrow, so an
open one of the same file, which this machine remembers, or of the same title, which the API lists, is named before
anything is signed, and the person decides. So is what was signed for an earlier text of the file while a bounty may
still come of it: this machine notes each text before anything is signed.
"""

import os
from collections.abc import Iterator
from typing import Final

from bounty_protocol.domain.challenge import ChallengePage
from bounty_protocol.errors import ServiceError
from bounty_protocol.keccak import keccak256
from bounty_protocol.types import Address, BountyId, Bytes32, parse_bounty_id

from service_cli.acts.fund import FUNDED, NONCES, creation_of, what_may_create
from service_cli.acts.fund_events import FundedBounty
from service_cli.chain.journal import Journal, journals_below, note_done
from service_cli.chain.session import ChainClient, Session, chain_errors
from service_cli.chain.signer import Signer
from service_cli.chain.token import is_unused
from service_cli.errors import CommandRefused
from service_cli.queries.listing import listed
from service_cli.ui.consent import typed_yes
from service_cli.ui.text import printable

MOST_LISTED: Final = 1_000
"""Open bounties of the account whose titles are compared."""


def note_text(session: Session[Signer], path: str | None, commitment: Bytes32) -> None:
    """Remember which text of a file this machine was asked to fund."""
    if path is not None:
        chain = session.chain
        note_done(chain.chain_id, chain.hub.address, *_names("text", session.account, path), commitment)


def require_no_open_one(session: Session[Signer], page: ChallengePage, commitment: Bytes32, path: str | None) -> None:
    """Go on only with consent while a bounty of this account from the same file, or with the same title, is open.

    So, too, while what was signed for another text of the file may still create one.
    """
    for bounty_id in _of_file(session, commitment, path):
        _require_consent(bounty_id, "was funded from this file")
    try:
        same = list(_of_title(session, page))
    except ServiceError as error:
        message = f"Whether this account has an open bounty with this page's title is not known: {error.message}"
        if not typed_yes(message, "fund the page without knowing"):
            next_action = "Run the command again once the API answers."
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
        next_action = f"See service-cli bounty:show {bounty_id}; to fund this page as well, run it at a terminal."
        raise CommandRefused("earlier_bounty_open", message, next_action=next_action)


def _of_file(session: Session[Signer], commitment: Bytes32, path: str | None) -> list[BountyId]:
    """The open bounties of its other texts; what may still create another one is asked for on the way."""
    if path is None:
        return []
    chain = session.chain
    found = set[BountyId]()
    for *_, text in journals_below(chain.chain_id, chain.hub.address, *_names("text", session.account, path)):
        if text != commitment:
            found |= set(_of_text(session, Bytes32(text)))
    return [one for one in sorted(found) if _is_open(chain, one, session.account)]


def _of_text(session: Session[Signer], commitment: Bytes32) -> Iterator[BountyId]:
    """What this machine's fundings of one text led to."""
    chain, first = session.chain, ("publish", session.account, commitment)
    for names in [first, *journals_below(chain.chain_id, chain.hub.address, *first)]:
        with session.journal(*names) as journal:
            signed = what_may_create(chain, journal)  # before the look: what is over creates nothing after it
            done = journal.get(FUNDED) or _created(session, commitment, journal, is_over=signed is None)
        if done is not None:
            yield done.bounty_id
        elif signed is not None:
            _require_second(commitment, signed)


def _created(session: Session[Signer], commitment: Bytes32, journal: Journal, *, is_over: bool) -> FundedBounty | None:
    """The bounty of a run that did not see it created; noted where the Hub has it, too.

    Of what is over, the log is read only where the token took an authorization of it.
    """
    chain, account = session.chain, session.account
    expected, nonces = creation_of(account, commitment, journal), journal.get(NONCES) or {}
    if expected.since is None or (is_over and all(is_unused(chain, account, nonce) for nonce in nonces)):
        return None
    for log, created in expected.found(chain, expected.since):
        done = FundedBounty(log.tx_hash, log.block_number, created.bounty_id, commitment)
        with chain_errors():
            view = chain.hub.bounty(done.bounty_id)
        if view is not None and (view.poster, view.spec_commitment) == (account, commitment):
            journal.note(FUNDED, done)
            return done
    return None


def _require_second(commitment: Bytes32, signed: str) -> None:
    message = (
        f"For an earlier text of this file, {commitment}, this account signed {signed}: a bounty with an escrow of its "
        "own may still come of it. This page would be another one."
    )
    if not typed_yes(message, "fund this page as well"):
        next_action = (
            "Put the earlier text back and run the command again: it goes on with that one. Else wait until it is over "
            "in a final block."
        )
        raise CommandRefused("earlier_bounty_pending", message, next_action=next_action)


def _of_title(session: Session[Signer], page: ChallengePage) -> Iterator[BountyId]:
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
    """By the contract as any endpoint has it: what the API invents or has from before is no reason to ask."""
    for each in chain.everywhere:
        with chain_errors():
            view = each.hub.bounty(bounty_id)
        if view is not None and view.poster == poster and view.outcome is None:
            return True
    return False


def _compared(title: str) -> str:
    return " ".join(title.split()).casefold()


def _names(kind: str, poster: Address, path: str) -> tuple[str, ...]:
    return kind, poster, keccak256(os.fsencode(os.path.realpath(path))).hex()
