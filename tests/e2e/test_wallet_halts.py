"""A wallet's node whose newest block is old: the pages show it before anything with a deadline is signed."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from bounty_protocol.chain.rpc import mapping
from bounty_protocol.domain.halts import STANDS_STILL_SECONDS

from tests.cli.lies import listen
from tests.e2e.test_wallet_lies import CHAIN_ID, HONEST_SECONDS, Stage, bounties, stage
from tests.e2e.wallet_acts import THOUGH_STILL, Act, Bounties, judge, submit
from tests.pages.driver import TestWallet

pytestmark = pytest.mark.nightly

__all__ = ["bounties", "stage"]
TITLE = "The chain makes no new block"
DECLINED = "You declined in the wallet."


def played(stage: Stage, act: Act, age: int) -> tuple[str, list[Any]]:
    """How an act ends whose wallet's node shows blocks of which the newest is so old, and what the wallet was asked."""
    cast = stage.cast
    shift = cast.chain_time() - int(time.time()) + age

    def older(question: str, answer: object) -> object:
        if question != "eth_getBlockByNumber":
            return answer
        block = mapping(answer)
        return {**block, "timestamp": hex(int(str(block["timestamp"]), 16) - shift)}

    listen(stage.rpc.server, lambda _, answer: answer)
    wallet = TestWallet(cast.stack.people.by_name()[act.who].wallet.private_key, stage.rpc.url, CHAIN_ID)
    page = stage.browser.open(f"{cast.stack.pages_url}{act.path}", wallet, fresh=True)
    page.do("settings", changes={"has_moved_time": False})
    page.wallet(declines_to_send=True)
    page.connect()
    page.begin(act.buttons[0])
    page.press("Not now")
    page.wait(act.buttons[0])
    listen(stage.rpc.server, older)  # what is offered depends on the time, too
    done = page.do("act", buttons=act.buttons, fields=act.fields, ends=act.ends, patience=round(HONEST_SECONDS * 1_000))
    asked = page.asked()
    page.close()
    return str(done["ended"]), asked


@pytest.mark.parametrize("make", [submit, judge], ids=lambda each: each.__name__)
def test_act__with_a_deadline_while_the_newest_block_is_old__goes_on_by_a_second_button_alone(
    stage: Stage, bounties: Bounties, make: Callable[[Bounties], Act]
) -> None:
    act = make(bounties)
    assert played(stage, replace(act, ends=(TITLE,)), STANDS_STILL_SECONDS + 60) == (TITLE, [])
    despite = replace(act, buttons=(act.buttons[0], THOUGH_STILL, *act.buttons[1:]))
    ended, asked = played(stage, despite, STANDS_STILL_SECONDS + 60)
    assert ended.startswith(DECLINED)
    assert asked
    ended, _ = played(stage, replace(act, ends=(TITLE,)), 10)
    assert ended.startswith(DECLINED)
