"""Notices about the Hub on the pages: what the wallet's node bears out stops funding, and is shown to who submits."""

from dataclasses import replace
from typing import Any

import pytest
from bounty_protocol.auth.typed_data import notice_digest
from bounty_protocol.domain.hub_notice import HubNotice, NoticeReason, NoticeSignature
from bounty_protocol.shapes import to_json
from bounty_protocol.types import Address, ChainId, UnixSeconds
from demo.bounty import Cast

from tests import keys
from tests.cli.lies import Tell
from tests.e2e.test_wallet_lies import CHAIN_ID, HONEST_SECONDS, Stage, bounties, stage
from tests.e2e.wallet_acts import Bounties, publish, submit
from tests.web.driver import TestWallet

__all__ = ["bounties", "stage"]
DESPITE = "Submit despite the notice"
STOPPED = "nobody should fund a bounty until"
DECLINED = "You declined in the wallet."
THIEF = bytes(31) + b"\x07"


def signed(cast: Cast, secret: bytes, *, after: int = 0, reason: str = "hub_flaw", signer: str = "") -> HubNotice:
    issued_at = UnixSeconds(cast.chain_time() - 600 + after)
    hub = Address(cast.stack.hub.hub.address)
    notice = HubNotice(
        chain_id=ChainId(CHAIN_ID),
        hub_address=hub,
        signer=Address(signer) if signer else keys.account_of(secret),
        reason=NoticeReason(reason),
        issued_at=issued_at,
        expires_at=UnixSeconds(issued_at + 86_400),
        signature=NoticeSignature("0x00"),
    )
    return replace(notice, signature=NoticeSignature("0x" + keys.sign(secret, notice_digest(notice)).hex()))


def owner(cast: Cast) -> bytes:
    return bytes.fromhex(cast.stack.people.owner.wallet.private_key[2:])


def showing(*notices: HubNotice) -> Tell:
    """An API that shows these, whatever it has."""

    def tell(question: str, answer: Any) -> object:
        if question != "api GET /api/deployment":
            return answer
        return {**answer, "hub_notices": [to_json(notice) for notice in notices]}

    return tell


def test_publish__while_a_notice_is_in_effect__asks_the_wallet_for_nothing(stage: Stage, bounties: Bounties) -> None:
    seen = stage.play(publish(bounties), showing(signed(stage.cast, owner(stage.cast))), HONEST_SECONDS)
    assert seen.asked == []
    assert STOPPED in seen.played.ended


@pytest.mark.attack
def test_publish__with_notices_that_an_api_makes_up__goes_on(stage: Stage, bounties: Bounties) -> None:
    cast = stage.cast
    good = signed(cast, owner(cast))
    false = (
        signed(cast, THIEF),
        signed(cast, THIEF, signer=good.signer),
        replace(good, reason=NoticeReason.OTHER),
        replace(good, issued_at=UnixSeconds(good.issued_at - 90_000), expires_at=UnixSeconds(good.issued_at - 3_600)),
        replace(good, chain_id=ChainId(8453)),
    )
    seen = stage.play(publish(bounties), showing(*false), HONEST_SECONDS)
    assert seen.played.ended.startswith(DECLINED)
    assert seen.asked != []


def test_submit__while_a_notice_is_in_effect__goes_on_by_a_second_button_alone(
    stage: Stage, bounties: Bounties
) -> None:
    told, act = showing(signed(stage.cast, owner(stage.cast), reason="owner_keys")), submit(bounties)
    states = "keys of the Hub's owner are stolen, and nobody should fund a bounty on it"
    stopped = stage.play(replace(act, ends=(states,)), told, HONEST_SECONDS)
    assert (stopped.played.ended, stopped.asked) == (states, [])
    despite = replace(act, buttons=(act.buttons[0], DESPITE, *act.buttons[1:]))
    seen = stage.play(despite, told, HONEST_SECONDS)
    assert seen.played.ended.startswith(DECLINED)
    assert seen.asked != []


@pytest.mark.attack
def test_notice__that_was_shown_once__is_kept_by_the_browser_until_its_signer_withdraws_it(
    stage: Stage, bounties: Bounties
) -> None:
    from tests.cli.lies import listen

    cast, act = stage.cast, publish(bounties)
    first = signed(cast, owner(cast))
    wallet = TestWallet(cast.stack.people.by_name()[act.who].wallet.private_key, stage.rpc.url, CHAIN_ID)

    def visit(tell: Tell, *, fresh: bool = False, owned_by: str = "") -> str:
        def owner_or_lie(question: str, answer: Any) -> object:
            lies = owned_by and question == "eth_call 0x8da5cb5b"  # owner()
            return "0x" + owned_by[2:].rjust(64, "0") if lies else answer

        listen(stage.api, lambda question, answer: tell(f"api {question}", answer))
        listen(stage.rpc.server, owner_or_lie)
        api = (cast.stack.api_base_url, stage.api.url)
        page = stage.browser.open(f"{cast.stack.pages_url}{act.path}", wallet, fresh=fresh, api=api)
        page.wallet(declines_to_send=True)
        page.connect()
        done = page.do(
            "act", buttons=act.buttons, fields=act.fields, ends=act.ends, patience=round(HONEST_SECONDS * 1_000)
        )
        page.close()
        return str(done["ended"])

    assert STOPPED in visit(showing(first), fresh=True)
    assert STOPPED in visit(showing())
    assert visit(showing(), owned_by=cast.stack.hub.hub.address).startswith(DECLINED)  # a node that lies once
    assert STOPPED in visit(showing())
    thief = keys.account_of(THIEF)  # and about what a thief signed later, in this visit alone
    assert visit(showing(signed(cast, THIEF, after=9, reason="withdrawn")), owned_by=thief).startswith(DECLINED)
    assert STOPPED in visit(showing())
    forged = replace(signed(cast, owner(cast), after=9, reason="withdrawn"), signature=first.signature)
    assert STOPPED in visit(showing(forged, signed(cast, THIEF, after=9, reason="withdrawn")))
    assert visit(showing(signed(cast, owner(cast), after=9, reason="withdrawn"))).startswith(DECLINED)
    assert visit(showing(first)).startswith(DECLINED)  # replayed, by an API that would stop somebody
