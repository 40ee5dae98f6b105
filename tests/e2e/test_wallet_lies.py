"""Each value that a page reads from the API, from its wallet's node or from its own text, told wrongly alone: whatever
the wallet is then asked to sign or send is what it is asked for when nobody lies, and so are the facts above it.

No other bytes are saved than the work, and nothing is sent to an address outside of the deployment. A few lies about
the acts that move most by default, drawn by SERVICE_CAMPAIGN_SEED; every one about every act in a campaign.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
import urllib3
from bounty_protocol.chain.rpc import mapping
from demo.bounty import Cast
from eth_utils.abi import function_signature_to_4byte_selector

from tests.campaign import FULL, source
from tests.cli.lies import Lie, Tell, forged, leaves, listen
from tests.cli.servers import RpcProxy, Server
from tests.e2e.wallet_acts import ACTS, Act, Bounties, Played, facts_of, forward, meaning_of, play, publish, submit
from tests.pages.driver import Browser, TestWallet, browsing

CHAIN_ID = 31_337
HONEST_SECONDS = 60.0
LYING_SECONDS = 3.0
"""A page that waits longer than that for the truth has refused the lie."""


@dataclass(frozen=True)
class Seen:
    """An act that was played, in words that do not change from one honest time to the next."""

    played: Played
    asked: list[object]
    facts: list[object]


@dataclass(frozen=True)
class Stage:
    """A browser, and the servers through which its pages see everything."""

    cast: Cast
    browser: Browser
    api: Server
    rpc: RpcProxy

    def play(self, act: Act, tell: Tell, patience: float) -> Seen:
        """Do it once; everything that is read passes through ``tell``."""
        listen(self.api, lambda question, answer: tell(f"api {question}", answer))
        listen(self.rpc.server, lambda question, answer: tell(f"rpc {question}", answer))
        person = self.cast.stack.people.by_name()[act.who]
        wallet = TestWallet(person.wallet.private_key, self.rpc.url, CHAIN_ID)
        url = f"{self.cast.stack.pages_url}{act.path}"
        stated = mapping(tell("page", stated_by(url)))
        before = len(self.api.requests)
        api = (self.cast.stack.api_base_url, self.api.url)
        played = play(self.browser, url, wallet, api, act, stated, patience)
        sent = self.api.requests[before:]
        asked = [meaning_of(self.cast, each, sent) for each in played.asked]
        return Seen(played, asked, [facts_of(each) for each in played.shown])


def stated_by(url: str) -> dict[str, object]:
    """What a page states of its bounty; nothing where it is about none."""
    page = urllib3.request("GET", url, retries=False).data.decode()
    found = re.search(r"data-wallet='([^']*)'", page)
    assert found is not None
    stated: dict[str, object] = json.loads(found[1]).get("bounty", {})
    return stated


@pytest.fixture(scope="module")
def bounties(cast: Cast, tmp_path_factory: pytest.TempPathFactory) -> Bounties:
    return Bounties(cast, tmp_path_factory.mktemp("acts"))


@pytest.fixture(scope="module")
def stage(cast: Cast, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    api, rpc = Server(lambda request: forward(cast.stack.api_base_url, request)), RpcProxy(cast.stack.anvil.url)
    with browsing(tmp_path_factory.mktemp("browser")) as browser:
        yield Stage(cast, browser, api, rpc)
    api.close()
    rpc.close()


def telling(lie: Lie) -> Tell:
    """The truth, but for one place of one answer."""
    return lambda question, answer: forged(answer, lie) if question == lie.question else answer


def wrong_after(honest: Seen, told: Seen, own: tuple[str, ...]) -> list[object]:
    """What a page asked for, showed, saved or called that it does not when nobody lies."""
    asked = [each for each in told.asked if each not in honest.asked]
    facts = [each for each in told.facts if each not in honest.facts]
    saved = [] if told.played.saved in (b"", honest.played.saved) else ["other bytes were saved"]
    called = [each for each in told.played.addresses if not each.split(" ", 1)[1].startswith(own)]
    return [*asked, *facts, *saved, *called]


@pytest.mark.nightly
@pytest.mark.parametrize("make", ACTS if FULL else (publish, submit), ids=lambda each: each.__name__)
def test_one_lie_asks_the_wallet_for_the_truth(
    stage: Stage, bounties: Bounties, make: Callable[[Bounties], Act]
) -> None:
    act, seen = make(bounties), dict[Lie, None]()

    def note(question: str, answer: object) -> object:
        seen.update(dict.fromkeys(Lie(question, path, word) for path, word in leaves(answer)))
        return answer

    honest = stage.play(act, note, HONEST_SECONDS)
    assert honest.played.ended.startswith(act.ends or "You declined in the wallet.")
    assert honest.asked
    own = (
        stage.cast.stack.pages_url or "",
        stage.cast.stack.api_base_url,
        stage.cast.stack.gcs.url,
        "blob:",
        "data:",
    )  # Chromium draws a calendar
    wrong = []
    for lie in list(seen) if FULL else source(f"wallet lies of {make.__name__}").sample(list(seen), 4):
        told = stage.play(act, telling(lie), LYING_SECONDS)
        if found := wrong_after(honest, told, own):
            wrong.append((lie, told.played.ended, found))
    assert not wrong, "\n".join(map(str, wrong))


@pytest.mark.parametrize(
    ("function", "word", "text"),
    [
        ("symbol()", 1, "escrow_token.symbol: the service says tUSDC"),
        ("decimals()", None, "escrow_token.decimals: the service says 6"),
        ("revealDelay()", None, "reveal_delay_seconds: the service says"),
        ("version()", 1, "authorization_typed_data.domain.version: the service says"),
    ],
)
def test_node_that_differs_from_the_service_is_named(
    stage: Stage, bounties: Bounties, function: str, word: int | None, text: str
) -> None:
    act = publish(bounties)
    lie = Lie(f"rpc eth_call 0x{function_signature_to_4byte_selector(function).hex()}", (), word)
    played = stage.play(act, telling(lie), HONEST_SECONDS).played
    assert text in played.ended
    assert {each["typedData"]["primaryType"] for each in played.asked} <= {"ApiRequestApproval"}
