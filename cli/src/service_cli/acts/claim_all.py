"""``claim --all``: everything that the Hub owes one account, by as few transactions as the Hub takes.

Bounties are looked for in the Hub's own log where it is short or where no API answers, else in the API's list, which
can only hide money for a while. What is due is read from the Hub alone, and of outcomes that the chain has finalized.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from bounty_protocol.chain.abi import hub_abi
from bounty_protocol.chain.rpc import Call, RpcRefused, hex_bytes
from bounty_protocol.domain.hub_events import BountyFinalized
from bounty_protocol.domain.money import AmountKind
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
from service_cli.queries.listing import listed, require_deployment
from service_cli.queries.next_steps import STATUS
from service_cli.queries.submissions import LONG_LOG
from service_cli.ui.output import emit, say

MOST_LISTED: Final = 10_000
"""Bounties of the API's list that are looked at in each role."""
MOST_CLAIMS: Final = 32
"""The Hub's own bound on one transaction."""
_CALLS_AT_ONCE: Final = 100


@dataclass(frozen=True, slots=True)
class Due:
    """Everything due by a finalized outcome, and the bounties whose outcome is not finalized yet."""

    parts: tuple[ClaimablePart, ...]
    not_final: tuple[BountyId, ...]


def find_due(chain: ChainClient, account: Address) -> Due:
    """List the amounts that ``account`` can claim now, lowest bounty first."""
    finalized, parts, not_final = chain.finalized().number, list[ClaimablePart](), list[BountyId]()
    for bounty_id, total in _claimable(chain, account, sorted(_candidates(chain, account))):
        bounty = chain.bounty(bounty_id)
        with chain_errors():
            final = chain.hub.bounty(bounty_id, finalized)
        if final is None or final.outcome is None or (final.outcome, final.winner) != (bounty.outcome, bounty.winner):
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


def _claimable(chain: ChainClient, account: Address, ids: list[BountyId]) -> Iterator[tuple[BountyId, int]]:
    """Yield each bounty that owes the account something, and the total; skip ids that no bounty has."""
    codec = hub_abi().functions["claimable"]
    for first in range(0, len(ids), _CALLS_AT_ONCE):
        some = ids[first : first + _CALLS_AT_ONCE]
        calls: list[Call] = []
        for bounty_id in some:
            data = "0x" + codec.encode(bounty_id, account).hex()
            calls.append(("eth_call", [{"to": chain.hub.address, "data": data}, "latest"]))
        with chain_errors():
            for bounty_id, answer in zip(some, chain.rpc.batch(calls), strict=True):
                if isinstance(answer, RpcRefused):
                    if not answer.is_revert:
                        raise answer
                    continue
                (due,) = codec.decode(hex_bytes(answer))
                if isinstance(due, int) and due:
                    yield bounty_id, due


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
        require_deployment(chain.settings, api)
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
    session, done = Session.open(settings, signer), list[ClaimablePart]()
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
