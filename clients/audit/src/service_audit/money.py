"""The token's transfers and the Hub's balance, held against the Hub's log."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from service_audit.chain import Chain, View
from service_audit.events import TRANSFER, HubLog, place_of
from service_audit.node import octets, quantity, readable
from service_audit.report import Report
from service_audit.rules import PAYMENTS, part_of


@dataclass(slots=True)
class TokenBook:
    """The transfers to and from the Hub up to a final block; what was right is not read again."""

    until: int = -1
    received: int = 0
    escrowed: int = 0

    def check(self, chain: Chain, report: Report) -> None:
        """Compare the transfers up to the final block, and the balance after it with what the Hub owes.

        Tokens that came without a bounty stay in the Hub, and are owed to nobody.
        """
        world, end = chain.world_at(chain.finalized.number), chain.finalized.number
        token = world.terms.token
        received, escrowed, breaches = self._read(chain, token, end, report)
        received, escrowed = self.received + received, self.escrowed + escrowed
        (held,) = chain.view(View(token, "balanceOf(address)", (chain.hub,), ("uint256",)), end)
        right = report.same(
            "money.conservation", f"balance after block {end}", world.owed() + received - escrowed, held
        )
        if right and not breaches:
            self.until, self.received, self.escrowed = end, received, escrowed

    def _read(self, chain: Chain, token: str, end: int, report: Report) -> tuple[int, int, bool]:
        """Compare the transfers after the last block that was right; return what came in, the escrows, and breaches.

        A transaction is in one block, so that none is in two of these readings.
        """
        begin = max(self.until + 1, chain.from_block)
        hub = "0x" + chain.hub[2:].rjust(64, "0")
        incoming, outgoing = Counter[str](), Counter[tuple[str, str]]()
        for part in chain.node.logs(begin, end, token, [TRANSFER, None, hub]):
            for tx_hash, _, amount in _transfers(part):
                incoming[tx_hash] += amount
        for part in chain.node.logs(begin, end, token, [TRANSFER, hub]):
            for tx_hash, receiver, amount in _transfers(part):
                outgoing[tx_hash, receiver] += amount
        logs = [log for log in chain.logs if begin <= log.place.block_number <= end]
        before = report.count
        escrowed = _compare(logs, incoming, outgoing, report)
        return sum(incoming.values()), escrowed, report.count > before


def _compare(logs: Iterable[HubLog], incoming: Counter[str], outgoing: Counter[tuple[str, str]], report: Report) -> int:
    """Report where escrows did not come in, or something else than claims went out; return the escrows."""
    escrows, claims = Counter[str](), Counter[tuple[str, str]]()
    for log in logs:
        if log.name == "BountyCreated":
            escrows[log.place.tx_hash] += log.number("escrow_amount")
        elif log.name in PAYMENTS:
            claims[log.place.tx_hash, part_of(log)[1]] += log.number("amount")
    for tx_hash, escrow in escrows.items():
        came = incoming[tx_hash]
        report.holds("money.transfers", f"transaction {tx_hash}", f"{escrow} in", came >= escrow, came)
    for tx_hash, account in claims.keys() | outgoing.keys():
        where = f"transaction {tx_hash} to {account}"
        report.same("money.transfers", where, claims[tx_hash, account], outgoing[tx_hash, account])
    return sum(escrows.values())


def _transfers(part: Iterable[Any]) -> list[tuple[str, str, int]]:
    """Return the transaction, the receiver and the amount of each."""
    with readable("a transfer of the token"):
        return [
            (place_of(log).tx_hash, "0x" + octets(log["topics"][2], 32)[-20:].hex(), quantity(log["data"]))
            for log in part
        ]
