"""The facts of a bounty: what the API shows, compared with the chain, and the Submissions that the Hub's own log holds.

A wallet is requested to sign only after the fact that a request depends on is finalized in the index, so that no
signature is wasted on a 503. A field that is missing, of another type or of another value is a difference, and nothing
is signed over one. The API's own judgement of a page (``challenge_terms``) is never used: the page is hashed and read
here.

In a long log, the API's index is only a hint where to begin: a log without the bounty's creation is noticed, and then
the whole log is read, so that an API cannot hide a Submission.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from bounty_protocol.chain.hub import BountyView
from bounty_protocol.domain.bounty import term_differences
from bounty_protocol.domain.commitments import spec_commitment
from bounty_protocol.domain.hub_events import BountyCreated, SubmissionRecorded
from bounty_protocol.domain.hub_events import bounty_of as bounty_of_event
from bounty_protocol.errors import Issue, ServiceError
from bounty_protocol.types import Address, BlockNumber, BountyId, Bytes32

from service_cli.api import ApiClient, bounty_detail
from service_cli.chain.finality import PATIENCE_SECONDS
from service_cli.chain.receipts import bounty_topic, first_block, hub_events
from service_cli.chain.session import ChainClient
from service_cli.errors import CommandFailed, CommandRefused
from service_cli.ui.output import Waiting, say
from service_cli.ui.text import printable

_POLL_SECONDS: Final = 1.0


def wait_until(
    api: ApiClient, bounty_id: BountyId, ready: Callable[[dict[str, object]], bool], what: str
) -> dict[str, object]:
    """The detail as soon as ``ready`` holds; an unknown bounty may only not be indexed yet."""
    ends, shown = time.monotonic() + PATIENCE_SECONDS, False
    with Waiting("waiting") as waiting:
        while time.monotonic() < ends:
            try:
                detail = bounty_detail(api, bounty_id).json()
            except CommandRefused as refusal:
                if refusal.code != "bounty_not_found":
                    raise
                detail = {}
            if detail and ready(detail):
                return detail
            if not shown:
                say(f"waiting until {what}")
                shown = True
            waiting.tick()
            time.sleep(_POLL_SECONDS)
    raise CommandFailed("not_finalized", f"Still waiting until {what}.", next_action="Run the command again later.")


LAST_CHANGE: Final = "the chain has finalized the bounty's last change"


def wait_finalized(api: ApiClient, bounty_id: BountyId, what: str = LAST_CHANGE) -> dict[str, object]:
    """The detail once the bounty's last change is finalized."""
    return wait_until(api, bounty_id, lambda detail: detail.get("finality") == "finalized", what)


Expected = Mapping[str, object] | Mapping[int, object] | Mapping[str | int, object]


def differences(answer: object, expected: Expected, path: str = "") -> Iterator[tuple[str, object, object]]:
    """``(name, theirs, ours)`` where an answer lacks or contradicts what is expected; integer keys are list places."""
    for key, ours in expected.items():
        name = f"{path}[{key}]" if isinstance(key, int) else f"{path}.{key}".lstrip(".")
        if isinstance(key, int):
            theirs = answer[key] if isinstance(answer, list) and key < len(answer) else None
        else:
            theirs = answer.get(key) if isinstance(answer, dict) else None
        if isinstance(ours, Mapping):
            yield from differences(theirs, ours, name)
        elif theirs != ours or type(theirs) is not type(ours):
            yield name, theirs, ours


def require_agreement(answer: object, expected: Expected, code: str, next_action: str) -> None:
    """Refuse an answer that differs, with the first differences named."""
    found = [
        Issue(name[:120], f"the API says {_shown(theirs)}; this client derives {_shown(ours)}")
        for name, theirs, ours in differences(answer, expected)
    ]
    if found:
        message = f"The API's answer differs in {found[0].path} from what this client derives."
        raise CommandRefused(code, message, issues=found[:5], next_action=next_action)


def check_detail(chain: ChainClient, bounty_id: BountyId, bounty: BountyView, detail: Mapping[str, object]) -> None:
    """Refuse when API and chain show different bounties: one of the two endpoints is wrong, maybe on purpose."""
    expected = {
        "bounty_id": str(bounty_id),
        "chain_id": chain.chain_id,
        "hub_address": chain.hub.address,
        "facts": {
            "poster_address": bounty.poster,
            "escrow_amount": str(bounty.escrow_amount),
            "spec_commitment": bounty.spec_commitment,
            "submission_deadline": bounty.submission_deadline,
            "reveal_at": bounty.reveal_at,
            "judging_deadline": bounty.judging_deadline,
            "guardian_roster_hash": bounty.guardian_roster_hash,
        },
    }
    next_action = "Do not sign; find out which of SERVICE_API_BASE_URL and SERVICE_RPC_URL is wrong."
    require_agreement(detail, expected, "read_model_mismatch", next_action)


def check_page(bounty: BountyView, detail: Mapping[str, object]) -> None:
    """Refuse a page that does not hash to the commitment, or states other terms than the chain."""
    from bounty_protocol.domain.challenge import parse_challenge  # with the reader of YAML

    page = detail.get("challenge")
    next_action = "Read both; to go on anyway add --accept-term-differences."
    error = detail.get("error")
    if page is None and isinstance(error, dict) and error.get("code") == "bounty_challenge_withheld":
        message = printable(error.get("message"), 1_000)
        next_action = "Ask the Poster for the page and hash it (spec-commitment); then add --accept-term-differences."
        raise CommandRefused("challenge_withheld", message, next_action=next_action)
    if not isinstance(page, str) or spec_commitment(page.encode()) != bounty.spec_commitment:
        message = "The API has no page that hashes to the spec commitment on chain."
        raise CommandRefused("challenge_terms_mismatch", message, next_action=next_action)
    try:
        parsed = parse_challenge(page.encode())
    except ServiceError as error:
        message = "The page behind the commitment states no terms that can be read."
        raise CommandRefused(
            "challenge_terms_mismatch", message, issues=error.issues, next_action=next_action
        ) from error
    if found := term_differences(parsed, bounty):
        issues = [Issue(one.field, f"the page says {one.page}, the chain {one.chain}") for one in found]
        message = "The challenge page states other terms than the chain."
        raise CommandRefused("challenge_terms_mismatch", message, issues=issues, next_action=next_action)


def _shown(value: object) -> str:
    return "nothing" if value is None else printable(value, 80)


LONG_LOG: Final = 100_000
"""Blocks that are read without a hint where to begin."""
_QUERY: Final = "query Created($id: String!) { bounties(where: {bounty_id: $id}, first: 1) { block_number } }"


@dataclass(frozen=True, slots=True)
class RecordedSubmission:
    """A Solver's active Submission; ``number`` counts a bounty's from 1, the one recorded first on chain first."""

    number: int
    solver: Address
    commitment: Bytes32
    block_number: BlockNumber


def recorded_submissions(chain: ChainClient, api: ApiClient | None, bounty_id: BountyId) -> list[RecordedSubmission]:
    """Each Solver's last Submission, in the order of the chain; ``log_incomplete`` where no log has the creation."""
    for start in first_blocks(chain, api, bounty_id):
        events = hub_events(chain, start, [None, bounty_topic(bounty_id)])
        own = [(log, event) for log, event in events if bounty_of_event(event) == bounty_id]
        own.sort(key=lambda found: (found[0].block_number, found[0].log_index))
        if any(isinstance(event, BountyCreated) for _, event in own):
            break
    else:
        message = f"The endpoint's log does not show the creation of bounty {bounty_id}."
        raise CommandRefused("log_incomplete", message, next_action="Use another RPC endpoint.")
    latest = {event.solver: (log, event) for log, event in own if isinstance(event, SubmissionRecorded)}
    ordered = sorted(latest.values(), key=lambda found: (found[0].block_number, found[0].log_index))
    return [
        RecordedSubmission(number, event.solver, event.submission_commitment, log.block_number)
        for number, (log, event) in enumerate(ordered, 1)
    ]


def first_blocks(chain: ChainClient, api: ApiClient | None, bounty_id: BountyId) -> list[BlockNumber]:
    """The blocks to try, the last of them one from which the whole log is read where that is known."""
    whole = first_block(chain)
    finalized = chain.finalized().number
    if whole is not None and finalized - whole <= LONG_LOG:
        return [whole]
    hint = None if api is None else _hint(api, bounty_id)
    starts = [start for start in (hint, whole) if start is not None]
    if not starts:
        message = "Neither this release nor the API says from which block the Hub's log is to be read."
        next_action = "Name one Submission by Solver and commitment."
        raise CommandRefused("configuration_incomplete", message, next_action=next_action)
    return starts


def _hint(api: ApiClient, bounty_id: BountyId) -> BlockNumber | None:
    """The block of the creation by the index."""
    try:
        answer = api.post_json("/subgraph", {"query": _QUERY, "variables": {"id": str(bounty_id)}}).json()
    except (CommandFailed, CommandRefused):
        return None
    data = answer.get("data")
    rows = data.get("bounties") if isinstance(data, dict) else None
    row = rows[0] if isinstance(rows, list) and rows else None
    number = row.get("block_number") if isinstance(row, dict) else None
    return BlockNumber(number) if isinstance(number, int) and 0 <= number < 2**63 else None
