"""After the last fault: all is settled, paid and indexed within a bound, and then the audit looks."""

import base64
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import urllib3
from bounty_protocol.chain.hub import BountyView
from bounty_protocol.chain.rpc import ChainUnavailable
from eth_utils.address import to_checksum_address
from local_stack.stack import Stack
from service_audit.look import AuditOptions, Auditor
from service_audit.report import Report
from service_common.jobs import QueueName, connect, open_queue

from tools.market.lives import NOTE
from tools.market.people import NotMined, Town

BOUND_SECONDS: Final = 150.0
"""From the last fault's end, or the last deadline, until nothing may be left to do."""
LAG_SECONDS: Final = 8
_TRANSFER: Final = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
_MOST_CLAIMS: Final = 30


class MarketEnd:
    """What has to be true of a stack in the end."""

    def __init__(self, town: Town) -> None:
        self._town = town
        self._left: dict[str, Callable[[], object]] = {
            "bounties that are not settled": self._unsettled,
            "units that nobody was paid": self._unpaid,
            "seconds that the index is behind": self._lag,
            "jobs that fail": lambda: failed_jobs(town.stack),
            "processes that are not ready": self._unready,
        }

    def wait(self) -> None:
        """Until nothing is left, or the bound is over; what is left then is a difference."""
        ends = time.monotonic() + BOUND_SECONDS
        while True:
            left = {what: found for what, look in self._left.items() if (found := self._looked(look))}
            self._town.log.write("ending", left=left)
            if not left:
                return
            if time.monotonic() > ends:
                for what, found in left.items():
                    self._town.log.differs(what, left=found)
                return
            self.sweep()
            time.sleep(2.0)

    def sweep(self) -> None:
        """Everybody claims whatever is still due."""
        hub = self._town.hub
        due: dict[str, list[tuple[int, int]]] = {}
        for number, view in self._bounties():
            if view.outcome is None:
                continue
            for name, actor in self._town.actors.items():
                if int(self._town.ask("claimable", number, actor.address)):
                    due.setdefault(name, []).extend((kind, number) for kind in self._kinds(name, view))
        for name, claims in due.items():
            actor = self._town.actors[name]
            for first in range(0, len(claims), _MOST_CLAIMS):
                try:
                    self._town.transact(actor, hub, "claimMany", claims[first : first + _MOST_CLAIMS], gas=4_000_000)
                    self._town.log.write("act", "ok", act="claim many", by=name, claims=len(claims))
                except NotMined as error:
                    self._town.log.write("act", "failed", act="claim many", by=name, why=str(error))

    def _kinds(self, name: str, view: BountyView) -> list[int]:
        address = self._town.actors[name].address
        if name.startswith("guardian"):
            return [3]
        due = {
            4: view.protocol_fee_recipient == address and not view.protocol_fee_claimed and view.protocol_fee_due,
            2: view.poster == address and not view.refund_claimed and view.refund_due,
            1: view.winner == address and not view.award_claimed and view.award_due,
        }
        return [kind for kind, is_due in due.items() if is_due]

    def _bounties(self) -> list[tuple[int, BountyView]]:
        found: list[tuple[int, BountyView]] = []
        while (view := self._town.find(len(found) + 1)) is not None:
            found.append((len(found) + 1, view))
        return found

    def _looked(self, look: Callable[[], object]) -> object:
        try:
            return look()
        except (urllib3.exceptions.HTTPError, ChainUnavailable, OSError, ValueError, LookupError) as error:
            return f"{type(error).__name__}: {error}"[:300]

    def _unsettled(self) -> list[int]:
        return [number for number, view in self._bounties() if view.outcome is None]

    def _unpaid(self) -> int:
        """Return what the Hub holds beside the tokens that strangers gave it."""
        stack, hub = self._town.stack, self._town.hub.address
        strangers = [actor.address for name, actor in self._town.actors.items() if name.startswith("stranger")]
        topics: Any = [_TRANSFER, ["0x" + "0" * 24 + each[2:] for each in strangers], "0x" + "0" * 24 + hub[2:]]
        token = to_checksum_address(stack.hub.token.address)
        given = stack.anvil.w3.eth.get_logs({"address": token, "fromBlock": 0, "topics": topics})
        held = int(stack.hub.token.call("balanceOf", hub))
        return held - sum(int.from_bytes(log["data"], "big") for log in given)

    def _lag(self) -> int:
        answer = self._town.request("GET", "/api/status")
        if answer.status != 200:
            raise ValueError(f"/api/status: {answer.status}")
        newest = self._town.stack.anvil.w3.eth.get_block("latest")["timestamp"]
        behind = newest - int(answer.json()["position"]["block_time"])
        return behind if behind > LAG_SECONDS else 0

    def _unready(self) -> list[str]:
        return [name for name, service in self._town.stack.services.items() if not service.is_ready()]


def failed_jobs(stack: Stack) -> dict[str, list[str]]:
    """Jobs that failed within the last minute, by queue: none once whatever they need is there again."""
    queues = [open_queue(name, connect(stack.valkey.url())) for name in QueueName]
    return {queue.name: jobs for queue in queues if (jobs := queue.failed_job_registry.get_job_ids())}


def checked(town: Town) -> Report:
    """Audit chain, answers and pages, and search everything that the stack wrote for secrets."""
    stack = town.stack
    below = stack.runtime.logs.parent
    places = [below / name for name in ("logs", "postgres", "valkey", "gcs-twin", "anvil", "services")]
    identities = [guardian.identity.to_text() for guardian in stack.people.guardians if guardian.identity]
    keys = [actor.wallet.private_key for actor in town.actors.values()]
    for where in find_secrets(places, [each.encode() for each in (NOTE, *keys, *identities)]):
        town.log.differs("a secret was written", where=where)
    options = AuditOptions(
        stack.anvil.url, stack.hub.hub.address, stack.api_base_url, stack.pages_url,
        max_lag_seconds=LAG_SECONDS, max_unsettled_seconds=int(BOUND_SECONDS),
    )  # fmt: skip
    found = Auditor(options).look_at_everything()
    for each in found.found:
        town.log.differs(each.requirement, where=each.where, expected=each.expected, seen=each.seen)
    return found


def find_secrets(places: Sequence[Path], canaries: Sequence[bytes]) -> list[str]:
    """Return where any of these stands below folders, as it is, in hex or in base64."""
    forms = [
        form for each in canaries for form in (each, each.hex().encode(), base64.b64encode(each).rstrip(b"=")[:-1])
    ]
    found = list[str]()
    for path in (file for place in places for file in sorted(place.rglob("*"))):
        with suppress(FileNotFoundError):  # a database removes its files meanwhile
            if path.is_file() and any(form in path.read_bytes() for form in forms):
                found.append(str(path))
    return found
