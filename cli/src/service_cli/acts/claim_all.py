"""``claim --all``: everything that the Hub owes one account, by as few transactions as the Hub takes.

Bounties are looked for in the Hub's own log where it is short or where no API answers, else in the API's list, which
can only hide money for a while. What is due is read from the Hub alone, and of outcomes that the chain has finalized.
"""

from dataclasses import dataclass
from typing import Final

from bounty_protocol.chain.rpc import RpcRefused
from bounty_protocol.domain.lifecycle.hub_events import BountyFinalized
from bounty_protocol.domain.money.amounts import AmountKind
from bounty_protocol.types import Address, BlockNumber, BountyId, TokenAmount, parse_bounty_id

from service_cli.acts.claim_events import ClaimedAmount, ClaimTotal, DueAmount
from service_cli.acts.claims import ClaimablePart, Parts, begun, call_of, pull
from service_cli.api import api_of
from service_cli.chain.outside import ExternalSigner
from service_cli.chain.receipts import ExpectedEvent, Receipt, first_block
from service_cli.chain.session import ChainClient, Session, chain_errors
from service_cli.chain.signer import LocalSigner, Signer
from service_cli.chain.transactions import Prospect, advise_wallet
from service_cli.config.settings import Settings
from service_cli.errors import CommandFailed, CommandRefused
from service_cli.queries.listing import deployment, listed
from service_cli.queries.next_steps import STATUS
from service_cli.queries.submissions import LONG_LOG
from service_cli.ui.output import emit, say

MOST_LISTED: Final = 10_000
"""Bounties of the API's list that are looked at in each role."""
MOST_CLAIMS: Final = 32
"""The Hub's own bound on one transaction."""


@dataclass(frozen=True, slots=True)
class Due:
    """Everything due by a finalized outcome, and the bounties whose outcome is not finalized yet."""

    parts: tuple[ClaimablePart, ...]
    not_final: tuple[BountyId, ...]


def find_due(chain: ChainClient, account: Address) -> Due:
    """List the amounts that ``account`` can claim now, lowest bounty first."""
    final, parts, not_final = chain.final_block(), list[ClaimablePart](), list[BountyId]()
    dues = _claimable(chain, account, sorted(_candidates(chain, account)))
    asked = chain.ask(*(chain.hub.call("getBounty", each, block=at) for each in dues for at in (None, final)))
    for bounty_id, total in dues.items():
        bounty = asked.bounty(bounty_id)
        ended = asked.hub.bounty(bounty_id, final)
        if ended is None or ended.outcome is None or (ended.outcome, ended.winner) != (bounty.outcome, bounty.winner):
            not_final.append(bounty_id)
            continue
        owed = {
            AmountKind.WINNER_AWARD: bounty.award_due if account == bounty.winner else 0,
            AmountKind.POSTER_REFUND: bounty.refund_due if account == bounty.poster else 0,
            AmountKind.PROTOCOL_FEE: bounty.protocol_fee_due if account == bounty.protocol_fee_recipient else 0,
        }
        owed[AmountKind.GUARDIAN_FEE] = max(0, total - sum(owed.values()))  # what remains is a Guardian's share
        parts += [ClaimablePart(bounty_id, kind, TokenAmount(owed[kind])) for kind in AmountKind if owed[kind]]
    return Due(tuple(parts), tuple(not_final))


def _claimable(chain: ChainClient, account: Address, ids: list[BountyId]) -> dict[BountyId, int]:
    """Return what each bounty owes the account in all, where it owes something; pass over ids that no bounty has."""
    asked, found = chain.ask(*(chain.hub.call("claimable", each, account) for each in ids)), dict[BountyId, int]()
    with chain_errors():
        for bounty_id in ids:
            try:
                (due,) = asked.hub.read("claimable", bounty_id, account)
            except RpcRefused as refused:
                if not refused.is_revert:
                    raise
                continue
            if isinstance(due, int) and due:
                found[bounty_id] = due
    return found


def _candidates(chain: ChainClient, account: Address) -> set[BountyId]:
    """Return the bounties to check: every one that ended, from the Hub's log or, if that is long, from the API's
    list.
    """
    start = first_block(chain)
    if start is not None and chain.tip() - start <= LONG_LOG:
        return _of_log(chain, start)
    if not chain.settings.knows("SERVICE_API_BASE_URL"):
        if start is None:
            message = "It is not known which bounties to check: no API is configured."
            raise CommandRefused("configuration_incomplete", message, next_action="Set SERVICE_API_BASE_URL.")
        return _of_log(chain, start)
    try:
        api, found = api_of(chain.settings), set[BountyId]()
        deployment(chain.settings, api)
        for name in ("poster_address", "solver_address", "guardian_address"):
            for item in listed(api, {name: account, "status": "final"}, MOST_LISTED):
                try:
                    found.add(parse_bounty_id(str(item.get("bounty_id"))))
                except ValueError:
                    continue
    except CommandFailed as failed:
        if start is None:
            raise
        say(f"{failed.message} Reading the Hub's own log instead.")
        return _of_log(chain, start)
    say(f"the list of ended bounties is from {api.peer.named}: a bounty missing from it is not claimed")
    return found


def _of_log(chain: ChainClient, start: BlockNumber) -> set[BountyId]:
    return {event.bounty_id for _, event in ExpectedEvent(BountyFinalized).found(chain, start)}


def claim_all(settings: Settings, signer: Signer) -> ClaimTotal:
    """Run the command ``claim --all``; for a wallet the total is what the calls would pay."""
    session, done = Session(ChainClient(settings), signer), list[ClaimablePart]()
    chain, account = session.chain, session.account

    def report(receipt: Receipt, paid: Parts) -> Parts:
        for part in paid:
            place = (receipt.tx_hash, receipt.block_number)
            emit(ClaimedAmount(part.bounty_id, account, part.kind, part.amount, *place))
        return paid

    with session.journal("claimall", account) as journal:
        if isinstance(signer, LocalSigner) and (parts := begun(session, journal)) is not None:
            try:
                done += pull(session, call_of(parts), parts, journal, report) or ()
            except CommandRefused as refused:  # once a part was paid otherwise, the Hub reverts the whole of it
                say(f"the claim signed by an earlier run failed: {refused.message} Checking what is due now.")
        due, before = find_due(chain, account), {(part.kind, part.bounty_id) for part in done}
        for part in due.parts:
            emit(DueAmount(part.bounty_id, account, part.kind, part.amount))
        left = [part for part in due.parts if (part.kind, part.bounty_id) not in before]
        for start in range(0, len(left), MOST_CLAIMS):
            parts = tuple(left[start : start + MOST_CLAIMS])
            if isinstance(signer, ExternalSigner):
                advise_wallet(Prospect.read(chain, account, call_of(parts)))
            done += pull(session, call_of(parts), parts, journal, report) or ()
    counted = due.parts if isinstance(signer, ExternalSigner) else done
    amount = TokenAmount(sum(part.amount for part in counted))
    return emit(ClaimTotal(account, len(counted), amount, due.not_final), STATUS)
