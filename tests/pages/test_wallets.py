"""What pages pass to wallets, the policy under which that script runs, and the beacon that it asks."""

import json
import re
from html import unescape
from threading import Event, Semaphore, Thread
from typing import NoReturn

import pytest
from service_api.pages.assets import CONNECT_PATH, SEALER_PATH
from service_api.pages.policy import POLICY
from service_common.config import ConfigurationError

from tests.pages.conftest import ORIGIN, VARIABLES, FakeRelay, Pages, configured
from tests.pages.ledger import CHAIN, HUB, NOW, POSTER, Ledger
from tests.vectors.samples import BEACON

HASH = BEACON.info.chain_hash[2:]
OUT = BEACON.info.round_at(NOW - 10)
LATER = BEACON.info.round_at(NOW + 10)


def wallet_data(pages: Pages, path: str) -> dict[str, object]:
    """What the page's script reads."""
    found = re.search(r"data-wallet='([^']*)'", pages.get(path).get_data(as_text=True))
    assert found is not None
    data: dict[str, object] = json.loads(unescape(found.group(1)))
    return data


@pytest.mark.parametrize(
    ("path", "actions"), [("/bounties/1", "bounty"), ("/guardians", "guardians"), ("/publish", "publish")]
)
def test_acting_page_names_chain_and_hub(pages: Pages, path: str, actions: str) -> None:
    pages.ledger.add()
    data = wallet_data(pages, path)
    assert (data["actions"], data["deployment"]) == (actions, {"chainId": CHAIN, "hubAddress": HUB})
    assert (data["apiUrl"], data["bucketUrl"]) == (ORIGIN, "https://storage.googleapis.com/sealed-work/")
    assert data["hasMovedTime"] is True
    assert data["beacon"] == {
        "chainHash": BEACON.info.chain_hash,
        "publicKey": BEACON.info.public_key,
        "genesisTime": BEACON.info.genesis_time,
        "periodSeconds": BEACON.info.period_seconds,
    }


@pytest.mark.parametrize(("chain_id", "is_moved"), [("31337", True), ("84532", False), ("8453", False)])
def test_moved_time_is_the_local_chains_alone(chain_id: str, is_moved: bool) -> None:
    endpoints = "https://one.example/rpc,https://two.example/rpc"
    named = {**VARIABLES, "SERVICE_CHAIN_ID": chain_id, "SERVICE_RPC_URLS": endpoints}
    assert configured(named).has_moved_time is is_moved


def test_stated_bounty_is_passed_on(pages: Pages) -> None:
    pages.ledger.add()
    bounty = wallet_data(pages, "/bounties/1")["bounty"]
    assert isinstance(bounty, dict)
    assert (bounty["bounty_id"], bounty["poster_address"], bounty["escrow_amount"]) == ("1", POSTER, "25000000")


def test_unknown_beacon_keeps_no_page_waiting() -> None:
    pages = Pages()
    pages.relay.silent, pages.clock.step = True, 0.0
    assert "beacon" not in wallet_data(pages, "/publish")
    assert pages.get(f"/beacon/{HASH}/public/{OUT}").status_code == 503
    pages.relay.silent = False
    pages.clock.ticks += 5
    assert "beacon" not in wallet_data(pages, "/publish")
    pages.clock.ticks += 6
    assert "beacon" in wallet_data(pages, "/publish")


def test_policy_adds_exactly_api_and_bucket(pages: Pages) -> None:
    pages.ledger.add()
    policy = pages.get("/bounties/1").headers["Content-Security-Policy"]
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["connect-src"] == "'self' http://bounties.example https://storage.googleapis.com/sealed-work/"
    assert rules["script-src"] == "'self'"
    assert (rules["require-trusted-types-for"], rules["trusted-types"]) == ("'script'", "sealer")


@pytest.mark.parametrize("path", ["/bounties/1/challenge.md", "/bounties/x", "/guardians/", "/publishing"])
def test_policy_elsewhere_allows_no_script(pages: Pages, path: str) -> None:
    pages.ledger.add()
    assert "script-src" not in pages.get(path).headers["Content-Security-Policy"]


def test_policy_of_the_sealer_allows_no_request(pages: Pages) -> None:
    assert pages.get(SEALER_PATH).headers["Content-Security-Policy"] == (
        "default-src 'none'; script-src 'wasm-unsafe-eval'"
    )
    assert pages.get(CONNECT_PATH).headers["Content-Security-Policy"] == POLICY
    assert pages.get(f"{SEALER_PATH}x").headers["Content-Security-Policy"] == POLICY


def test_acting_page_names_one_script(pages: Pages) -> None:
    pages.ledger.add()
    html = pages.get("/bounties/1").get_data(as_text=True)
    scripts = re.findall(r"<script[^>]*>", html)
    assert len(scripts) == 1
    path = re.search(r'src="(/assets/connect-[A-Z0-9]+\.js)"', scripts[0])
    assert path is not None
    answer = pages.get(path.group(1))
    assert answer.headers["Content-Type"] == "text/javascript; charset=utf-8"
    assert "immutable" in answer.headers["Cache-Control"]
    for name in re.findall(r'import\("\./([^"]+)"\)', answer.get_data(as_text=True)):
        assert pages.get(f"/assets/{name}").status_code == 200


def test_round_that_is_out_is_asked_for_once(pages: Pages) -> None:
    for _ in range(2):
        answer = pages.get(f"/beacon/{HASH}/public/{OUT}")
        assert answer.get_json() == {"round": OUT, "signature": BEACON.signature(OUT).hex()}
        assert "immutable" in answer.headers["Cache-Control"]
    assert pages.relay.asked == [str(OUT)]


def test_round_not_out_comes_with_the_wait(pages: Pages) -> None:
    answer = pages.get(f"/beacon/{HASH}/public/{LATER}")
    assert answer.status_code == 425
    assert 1 <= int(answer.headers["Retry-After"]) <= 13
    assert answer.headers["Cache-Control"] == "no-store"
    assert pages.relay.asked == []


def test_round__that_a_relay_forges__is_not_passed_on(pages: Pages) -> None:
    pages.relay.forged = True
    assert pages.get(f"/beacon/{HASH}/public/{OUT}").status_code == 503
    pages.relay.forged = False
    assert pages.get(f"/beacon/{HASH}/public/{OUT}").status_code == 200


def test_round_of_silent_relays_is_tried_later(pages: Pages) -> None:
    assert "beacon" in wallet_data(pages, "/publish")
    pages.relay.silent, pages.clock.step = True, 0.0
    assert pages.get(f"/beacon/{HASH}/public/{OUT}").status_code == 503
    pages.relay.silent = False
    assert pages.get(f"/beacon/{HASH}/public/{OUT - 1}").status_code == 503
    assert pages.relay.asked == []
    assert "beacon" in wallet_data(pages, "/publish")
    pages.clock.ticks += 11
    assert pages.get(f"/beacon/{HASH}/public/{OUT - 1}").status_code == 200


def test_waiting_rounds_take_no_turn_from_pages(pages: Pages, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "beacon" in wallet_data(pages, "/publish")
    asked, goes_on = Semaphore(0), Event()

    def silent(_relay: FakeRelay, _url: str, _timeout: float) -> NoReturn:
        asked.release()
        goes_on.wait(10)
        raise OSError("no answer")

    monkeypatch.setattr(FakeRelay, "get", silent)
    statuses = list[int]()

    def ask(number: int) -> None:
        statuses.append(pages.app.test_client().get(f"/beacon/{HASH}/public/{number}").status_code)

    waiting = [Thread(target=ask, args=(OUT - number,)) for number in range(8)]
    for each in waiting:
        each.start()
    for _ in waiting:
        assert asked.acquire(timeout=10)
    assert pages.get("/publish").status_code == 200
    goes_on.set()
    for each in waiting:
        each.join()
    assert statuses == [503] * len(waiting)


@pytest.mark.parametrize(
    "path", [f"{'0' * 64}/public/1", f"{HASH}/public/0", f"{HASH}/public/latest", f"{HASH}/public/1e3"]
)
def test_round_of_another_beacon_is_no_page(pages: Pages, path: str) -> None:
    assert pages.get(f"/beacon/{path}").status_code == 404
    assert pages.relay.asked == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SERVICE_HUB_ADDRESS", "0x12"),
        ("SERVICE_STORAGE_BUCKET", "a/b"),
        ("SERVICE_STORAGE_ENDPOINT", "ftp://x"),
        ("SERVICE_BEACON_PUBLIC_KEY", "00"),
    ],
)
def test_setting__that_is_wrong__is_named(name: str, value: str) -> None:
    with pytest.raises(ConfigurationError, match=name):
        configured({**VARIABLES, name: value})


def test_other_storage_is_what_the_policy_allows() -> None:
    pages = Pages(Ledger(), variables={**VARIABLES, "SERVICE_STORAGE_ENDPOINT": "http://127.0.0.1:9"})
    assert "http://127.0.0.1:9/sealed-work/" in pages.get("/publish").headers["Content-Security-Policy"]
