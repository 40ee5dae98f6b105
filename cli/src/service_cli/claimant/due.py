"""What the Hub owes one account in every role: awards, refunds, Guardian fees and the protocol fee.

Which bounties to look at comes from the Hub's own log where it is short, or where that is asked for, and otherwise from
the API's list. What is due is read from the Hub alone, so that an API that shows less than there is can only hide money
for a while; it never invents or moves any.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from service_common.chain.abi import hub_abi
from service_common.chain.hub import BountyView
from service_common.chain.json_rpc import Call, RpcRefused, hex_bytes
from service_common.domain.hub_events import BountyFinalized
from service_common.domain.money import AmountKind
from service_common.types import Address, BlockNumber, BountyId, TokenAmount, parse_bounty_id

from service_cli.api import api_of
from service_cli.bounty.facts import LONG_LOG
from service_cli.bounty.listing import listed, require_deployment
from service_cli.chain.receipts import ExpectedEvent, first_block
from service_cli.chain.session import ChainClient, chain_errors
from service_cli.errors import CommandFailed, CommandRefused
from service_cli.shell.output import say

MOST_LISTED: Final = 10_000
"""Bounties of the API's list that are looked at in each role."""
_BATCH: Final = 100
_FILTERS: Final = ("poster_address", "solver_address", "guardian_address")


@dataclass(frozen=True, slots=True)
class DuePart:
    """One amount that the account can pull, and from which bounty."""

    bounty_id: BountyId
    kind: AmountKind
    amount: TokenAmount

    @property
    def number(self) -> int:
        """The kind as ``claimMany`` takes it."""
        return list(AmountKind).index(self.kind) + 1

    def names(self, account: Address) -> dict[str, object]:
        """How events name it."""
        return {"bounty_id": str(self.bounty_id), "claimant": account, "part": self.kind.value}


@dataclass(frozen=True, slots=True)
class Due:
    """Everything due by a finalized outcome, and the bounties whose outcome is not finalized yet."""

    parts: tuple[DuePart, ...]
    not_final: tuple[BountyId, ...]


def find_due(chain: ChainClient, account: Address, *, by_log: bool) -> Due:
    """What ``account`` can pull now, lowest bounty first."""
    finalized, parts, not_final = chain.finalized().number, list[DuePart](), list[BountyId]()
    for bounty_id, total in _claimable(chain, account, sorted(_candidates(chain, account, by_log=by_log))):
        bounty = chain.bounty(bounty_id)
        with chain_errors():
            final = chain.hub.bounty(bounty_id, finalized)
        if final is None or final.outcome is None or (final.outcome, final.winner) != (bounty.outcome, bounty.winner):
            not_final.append(bounty_id)
        else:
            parts += _parts(bounty, bounty_id, account, total)
    return Due(tuple(parts), tuple(not_final))


def _parts(bounty: BountyView, bounty_id: BountyId, account: Address, total: int) -> Iterator[DuePart]:
    """The parts of ``claimable``; the share of a Guardian is what remains of it."""
    owed = {
        AmountKind.WINNER_AWARD: bounty.award_due if account == bounty.winner else 0,
        AmountKind.POSTER_REFUND: bounty.refund_due if account == bounty.poster else 0,
        AmountKind.PROTOCOL_FEE: bounty.protocol_fee_due if account == bounty.protocol_fee_recipient else 0,
    }
    owed[AmountKind.GUARDIAN_FEE] = max(0, total - sum(owed.values()))
    return (DuePart(bounty_id, kind, TokenAmount(owed[kind])) for kind in AmountKind if owed[kind])


def _claimable(chain: ChainClient, account: Address, ids: list[BountyId]) -> Iterator[tuple[BountyId, int]]:
    """Each bounty that owes the account something, and how much in all; ids that no bounty has are passed over."""
    codec = hub_abi().functions["claimable"]
    for first in range(0, len(ids), _BATCH):
        some = ids[first : first + _BATCH]
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


def _candidates(chain: ChainClient, account: Address, *, by_log: bool) -> set[BountyId]:
    """The bounties to look at."""
    start = first_block(chain)
    if start is not None and (by_log or chain.latest().number - start <= LONG_LOG):
        return _of_log(chain, start)
    if by_log:
        message = "This release does not know in which block the Hub's log begins."
        raise CommandRefused("configuration_incomplete", message, next_action="Leave --by-log away.")
    if not chain.settings.knows("SERVICE_API_BASE_URL"):
        message = "Which bounties to look at is not known: no API is configured."
        next_action = "Set SERVICE_API_BASE_URL, or add --by-log."
        raise CommandRefused("configuration_incomplete", message, next_action=next_action)
    try:
        return _of_api(chain, account)
    except CommandFailed as failed:
        if start is None:
            raise
        say(f"{failed.message} Reading the Hub's own log instead.")
        return _of_log(chain, start)


def _of_log(chain: ChainClient, start: BlockNumber) -> set[BountyId]:
    """Every bounty that ended."""
    return {event.bounty_id for _, event in ExpectedEvent(BountyFinalized).found(chain, start)}


def _of_api(chain: ChainClient, account: Address) -> set[BountyId]:
    """The account's bounties in the API's list, in any role that the list knows."""
    api, found = api_of(chain.settings), set[BountyId]()
    require_deployment(chain.settings, api)
    for name in _FILTERS:
        for item in listed(api, {name: account, "status": "final"}, MOST_LISTED):
            try:
                found.add(parse_bounty_id(str(item.get("bounty_id"))))
            except ValueError:
                continue
    return found
