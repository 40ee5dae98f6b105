"""A play: the chain makes no block for more than two minutes while two bounties run (docs/client.md).

Who notices, what a Solver can do meanwhile, which deadline outlives it, and both bounties to their last claim.
"""

import json
import threading
from typing import Any

import urllib3
from bounty_protocol.domain.lifecycle.halts import STANDS_STILL_SECONDS
from demo.bounty import Cast, Submitted
from demo.examples import artifact
from local_stack.contract import Wallet

from tests.waiting import wait_until

TITLE = "The chain makes no new blocks"
LONG_SECONDS, SHORT_SECONDS, JUDGING_SECONDS = STANDS_STILL_SECONDS + 180, 60, 300


def status_of(cast: Cast) -> dict[str, Any]:
    """What ``GET /api/status`` states."""
    answer: dict[str, Any] = json.loads(
        urllib3.request("GET", f"{cast.stack.api_base_url}/api/status", timeout=10.0).data
    )
    return answer


def stands_still(cast: Cast) -> bool:
    """Whether the service says so of its chain."""
    head = status_of(cast)["chain_head"]
    return head is not None and head["stands_still"] is True


def waiting_transactions(cast: Cast) -> int:
    """How many the node has that no block has yet."""
    pool: Any = cast.stack.anvil.rpc.call("txpool_status")
    return int(pool["pending"], 16)


def test_bounties_survive_a_standing_chain(cast: Cast) -> None:
    long = cast.fund(submission_seconds=LONG_SECONDS, judging_seconds=JUDGING_SECONDS, title="Outlives it")
    short = cast.fund(submission_seconds=SHORT_SECONDS, judging_seconds=JUDGING_SECONDS, title="Does not")
    cast.wait_for(cast.chain_time() + 4)  # their creation is final: work is sent for no other
    assert not stands_still(cast)
    recorded = list[Submitted]()
    with cast.stack.anvil.no_blocks():
        wait_until(lambda: stands_still(cast), STANDS_STILL_SECONDS + 60)
        assert cast.page_shows(long, TITLE)

        # What is sent waits in the node.
        sends = threading.Thread(target=lambda: recorded.append(cast.submit(long, "solver-1")))
        sends.start()
        wait_until(lambda: waiting_transactions(cast) == 1, 60)
        assert int(cast.stack.hub.hub.call("getBounty", int(long.bounty_id))[5]) == long.judging_deadline
    sends.join()
    (submitted,) = recorded
    wait_until(lambda: not stands_still(cast))
    wait_until(lambda: TITLE not in urllib3.request("GET", cast.page_address(long), timeout=10.0).data.decode())

    # The deadline that passed in the gap has passed, and the Poster has the award back.
    assert cast.chain_time() > short.submission_deadline
    late = cast.person("solver-2").run("solver:submit", short.bounty_id, str(artifact(cast.folder / "late")), code=1)
    assert late.event("submit.refused").text("code") == "bounty_not_accepting"
    anyone = Wallet()
    cast.stack.anvil.fund(anyone.address)
    cast.stack.hub.hub.transact(anyone, "settle", int(short.bounty_id))
    held = cast.token_balance(cast.address("poster"))
    cast.person("poster").run("claim", short.bounty_id)
    assert cast.token_balance(cast.address("poster")) > held

    # The other one ends as if nothing had been.
    cast.wait_for(long.reveal_at)
    for guardian in ("guardian-1", "guardian-2"):
        cast.award(long, guardian, submitted, "All criteria hold.\n", opened=False)
    held = cast.token_balance(submitted.solver)
    cast.person("solver-1").run("claim", long.bounty_id)
    assert cast.token_balance(submitted.solver) > held
