"""One bounty's life, followed on the chain itself.

Promises: what is printed comes from the Hub's own log and view; the API only names the block to start at. Ends once the
outcome stands in a finalized block.
"""

import time
from dataclasses import asdict, dataclass, field
from typing import Final

from service_common.chain.blocks import header_at
from service_common.chain.events import HubEvent, decode_log, parse_log
from service_common.chain.hub import BountyView
from service_common.chain.json_rpc import ChainUnavailable
from service_common.types import BlockNumber, BountyId

from service_cli.client.api import ApiClient
from service_cli.client.chain import ChainClient, chain_errors
from service_cli.client.facts import LOG_RANGE, bounty_topic
from service_cli.client.read_model import bounty_detail
from service_cli.outcome import Failed
from service_cli.output import event, say
from service_cli.settings import Settings
from service_cli.words import moment

_POLL_SECONDS: Final = 2.0
_OUTCOMES: Final = {1: "awarded", 2: "no_valid_submission"}
_REASONS: Final = {1: "judged", 2: "no_submissions", 3: "guardians_silent", 4: "quorum_not_reached"}
_AMOUNTS: Final = {"escrow_amount", "protocol_fee", "guardian_fee", "award", "refund", "guardian_fee_each", "amount"}


@dataclass(frozen=True, slots=True)
class Next:
    """What a bounty waits for. ``at`` is chain time, None where only its people decide."""

    step: str
    at: int | None
    words: str = field(compare=False)


def watch_bounty(settings: Settings, bounty_id: BountyId) -> None:
    """The command ``bounty:watch``: every event of the Hub from now on (and those so far), until the end is final."""
    chain = ChainClient(settings)
    chain.check_deployment()
    bounty = chain.bounty(bounty_id)
    position = _first_block(settings, bounty_id)
    told: Next | None = None
    while True:
        head = chain.latest()
        position = _print_events(chain, bounty_id, position, head.number)
        bounty = chain.bounty(bounty_id)
        upcoming = what_next(bounty, head.time)
        if upcoming != told:
            told = upcoming
            event("bounty_watch.next", {"bounty_id": str(bounty_id), "step": upcoming.step, "at": upcoming.at})
            say(upcoming.words)
        if bounty.outcome and _finalized(chain, bounty_id):
            _print_end(bounty_id, bounty)
            return
        time.sleep(_POLL_SECONDS)


def what_next(bounty: BountyView, now: int) -> Next:
    """The step a bounty is in, and until when."""
    if bounty.outcome:
        return Next("finality", None, "final; waiting until the block is finalized")
    if now < bounty.submission_deadline:
        return Next(
            "submissions", bounty.submission_deadline, f"Submissions until {moment(bounty.submission_deadline, now)}"
        )
    if bounty.has_submissions and now < bounty.reveal_at:
        return Next("reveal", bounty.reveal_at, f"sealed until the reveal point at {moment(bounty.reveal_at, now)}")
    if bounty.has_submissions and now < bounty.judging_deadline:
        return Next("judging", bounty.judging_deadline, f"Guardians judge until {moment(bounty.judging_deadline, now)}")
    return Next("settlement", None, "time is up; anyone can settle it now")


def _first_block(settings: Settings, bounty_id: BountyId) -> BlockNumber:
    """The block the API names for the bounty: where its log is read from."""
    block = bounty_detail(ApiClient(settings.api_base_url(), None), bounty_id).get("block")
    number = block.get("number") if isinstance(block, dict) else None
    if not isinstance(number, int):
        raise Failed("answer_malformed", "The API names no block.", next_action="Check SERVICE_API_BASE_URL.")
    return BlockNumber(number)


def _print_events(chain: ChainClient, bounty_id: BountyId, position: BlockNumber, head: BlockNumber) -> BlockNumber:
    with chain_errors():
        for first in range(position, head + 1, LOG_RANGE):
            wanted = {
                "address": chain.hub.address,
                "fromBlock": hex(first),
                "toBlock": hex(min(head, first + LOG_RANGE - 1)),
                "topics": [None, bounty_topic(bounty_id)],
            }
            answer = chain.rpc.call("eth_getLogs", wanted)
            if not isinstance(answer, list):
                raise ChainUnavailable("an RPC endpoint answered no list of logs")
            for log in map(parse_log, answer):
                found = decode_log(log)
                if getattr(found, "bounty_id", None) != bounty_id:
                    continue  # an event whose first topic is something else
                place = {"tx_hash": log.tx_hash, "block_number": log.block_number}
                event("bounty_watch.event", {"name": type(found).__name__, **_fields(found), **place})
    return BlockNumber(max(position, head + 1))


def _fields(found: HubEvent) -> dict[str, object]:
    values = asdict(found) | {"bounty_id": str(getattr(found, "bounty_id", ""))}
    return {name: str(value) if name in _AMOUNTS else value for name, value in values.items()}


def _finalized(chain: ChainClient, bounty_id: BountyId) -> bool:
    with chain_errors():
        number = header_at(chain.rpc, "finalized").number
        view = chain.hub.bounty(bounty_id, number)
    return view is not None and view.outcome != 0


def _print_end(bounty_id: BountyId, bounty: BountyView) -> None:
    awarded = bounty.outcome == 1
    event(
        "bounty_watch.final",
        {
            "bounty_id": str(bounty_id),
            "outcome": _OUTCOMES[bounty.outcome],
            "settlement_reason": _REASONS[bounty.reason],
            "winner": bounty.winner if awarded else None,
            "submission_commitment": bounty.winning_submission if awarded else None,
        },
    )
