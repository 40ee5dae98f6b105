"""``--forced FILE``: an act as a call of the rollup's portal, which the rollup's sequencer cannot leave out.

Everything is checked, published and simulated as before sending. What is sent on the settlement layer is somebody's own
wallet's to send: the client has no endpoint of that layer, signs nothing for it, and never knows a portal by itself.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from bounty_protocol.chain.abi import hub_abi
from bounty_protocol.chain.gas import GAS_NEEDS
from bounty_protocol.chain.json_rpc import hex_bytes
from bounty_protocol.chain.rollup import deposit_call, keeps_its_address
from bounty_protocol.domain.halts import LONGEST_INCLUSION_SECONDS
from bounty_protocol.shapes import to_json
from bounty_protocol.types import Address, BountyId, ChainId, HexData, UnixSeconds

from service_cli.chain.about import about_chain
from service_cli.chain.events import ForcedCall
from service_cli.chain.prepared import ActCall, PreparedAct
from service_cli.chain.session import ChainClient, chain_errors
from service_cli.config.acceptance import require_accepted
from service_cli.config.settings import Settings
from service_cli.errors import CommandRefused
from service_cli.shell.new_files import require_no_file, write_new
from service_cli.shell.output import emit
from service_cli.shell.text import duration
from service_cli.witnesses.times import latest_moment

_VERSION: Final = 1
_Kind = Literal["bounty-escrow-forced-call"]


@dataclass(frozen=True, slots=True)
class _Inner:
    """The call that the rollup makes as the account."""

    chain_id: ChainId
    to: Address
    data: HexData
    value: str
    gas: int


@dataclass(frozen=True, slots=True)
class _File:
    """The file's object. A wallet on ``chain_id`` sends ``data`` and ``value``, in wei, to ``to``, as ``account``."""

    kind: _Kind
    version: int
    summary: str
    chain_id: ChainId
    account: Address
    to: Address
    value: str
    data: HexData
    counts_by: str
    deadline: str | None
    forces: _Inner


@dataclass(frozen=True, slots=True)
class Forcing:
    """Where a forced call of ``account`` is written, and by when it counts at the latest."""

    chain: ChainClient
    file: Path
    account: Address
    settlement: ChainId
    portal: Address
    bounty_id: BountyId
    deadline: UnixSeconds | None

    @staticmethod
    def open(
        settings: Settings,
        file: Path,
        account: Address,
        bounty_id: BountyId,
        deadline: Callable[[ChainClient], UnixSeconds] | None = None,
    ) -> "Forcing":
        """Refused before anything is sealed, published or signed: without a portal; for a contract, whose forced calls
        are another account's (``forced_from_contract``); where the call could count only after the deadline
        (``forced_too_late``)."""
        require_no_file(file)
        require_accepted(settings)
        portal, settlement = settings.portal(), settings.settlement_chain()
        chain = ChainClient.checked(settings)
        _require_own_address(chain, account)
        until = None if deadline is None else deadline(chain)
        _count_by(chain, until)
        return Forcing(chain, file, account, settlement, portal, bounty_id, until)

    def write(self, act: PreparedAct[object], event: type[ForcedCall]) -> ForcedCall | None:
        """The file of this act, which is one call; None where the act is done already."""
        if not act.calls:
            return None
        (call,) = act.calls
        counts_by = _count_by(self.chain, self.deadline)  # sealing and uploading took their time
        data = bytes.fromhex(call.data.removeprefix("0x"))
        gas = _gas(call)
        inner = _Inner(act.chain_id, call.to, HexData(data), str(call.value), gas)
        written = _File(
            kind="bounty-escrow-forced-call",
            version=_VERSION,
            summary=act.summary,
            chain_id=self.settlement,
            account=self.account,
            to=self.portal,
            value="0",
            data=HexData(deposit_call(call.to, data, gas)),
            counts_by=str(counts_by),
            deadline=None if self.deadline is None else str(self.deadline),
            forces=inner,
        )
        write_new(self.file, json.dumps(to_json(written), indent=2, ensure_ascii=False) + "\n")
        ends = (counts_by, self.deadline)
        found = event(self.bounty_id, self.account, self.settlement, self.portal, *ends, str(self.file))
        return emit(found, about_chain(self.chain))


def _count_by(chain: ChainClient, deadline: UnixSeconds | None) -> UnixSeconds:
    """When a call that is sent soon counts at the latest; refused where that may be after the deadline."""
    counts_by = UnixSeconds(latest_moment(chain) + LONGEST_INCLUSION_SECONDS)
    if deadline is not None and counts_by >= deadline:
        late, longest = duration(counts_by - deadline), duration(LONGEST_INCLUSION_SECONDS)
        message = (
            f"A forced call counts within {longest} at the latest, which may be {late} after the deadline. "
            "No call was written."
        )
        next_action = "Run it without --forced: a sequencer that goes on takes it at once."
        raise CommandRefused("forced_too_late", message, next_action=next_action)
    return counts_by


def _require_own_address(chain: ChainClient, account: Address) -> None:
    """By every endpoint: one that invents code, or hides it, decides nothing alone."""
    for each in chain.everywhere:
        with chain_errors():
            code = hex_bytes(each.rpc.call("eth_getCode", account, "latest"))
        if not keeps_its_address(code):
            message = (
                f"{account} is a contract by {each.named}. What a contract sends to the portal comes from another "
                "address on the rollup, so that it would not be this account's act."
            )
            next_action = "Have it sent on the rollup itself, as its other calls are."
            raise CommandRefused("forced_from_contract", message, next_action=next_action)


def _gas(call: ActCall) -> int:
    """The most that the call may take, as it would be signed on the rollup."""
    selector = bytes.fromhex(call.data[2:10])
    name = next(name for name, function in hub_abi().functions.items() if function.selector == selector)
    return GAS_NEEDS[name].most()
