"""``service-indexer check-rpc`` against a provider with each quirk: what it finds, what it costs, and what it hides."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import pytest
from bounty_protocol.chain.blocks import header_at
from bounty_protocol.chain.json_rpc import mapping
from bounty_protocol.types import UnixSeconds
from local_stack import anvil
from service_common.config import ConfigurationError
from service_indexer import patient_rpc, provider
from service_indexer.check_rpc import check_rpc
from service_indexer.comparing import ROUND
from service_indexer.follower import pause_between_looks
from service_indexer.main import main
from service_indexer.trial import DAY_SECONDS

from tests.cli.servers import Params
from tests.providers import (
    NO_METHOD,
    NO_PROOF,
    NO_TAG,
    RANGE_LIMITS,
    SMALL_BATCH,
    ProviderTwin,
    provider_before,
)
from tests.raw_server import raw_server
from tests.servers import DatabaseServer
from tests.world import World, make_world

BLOCK_TIME = 2.0
SPAN, BLOCKS, BATCH = 300, 400, 16
"""In place of ``MAX_SPAN`` blocks and ``BLOCKS_PER_STEP`` calls: a chain as long as that takes half a minute."""
PROVES_NOTHING = {"receipts": "note", "archive": "note"}
SECRETS = ("key-of-a-customer", "another-secret")


class SharedClock:
    """The chain's time for the age of its blocks, and a time that passes only where somebody waits."""

    def __init__(self, world: World) -> None:
        self._world, self._passed = world, 0.0

    def now(self) -> UnixSeconds:
        return self._world.time()

    def monotonic(self) -> float:
        return self._passed

    def sleep(self, seconds: float) -> None:
        self._passed += seconds


@dataclass
class Customer:
    """Somebody who checks a provider of this chain."""

    world: World
    twin: ProviderTwin
    clock: SharedClock

    @property
    def environment(self) -> dict[str, str]:
        return {
            "SERVICE_CHAIN_ID": str(self.world.chain_id),
            "SERVICE_HUB_ADDRESS": self.world.hub_address,
            "SERVICE_DEPLOY_BLOCK": str(self.world.hub.deploy_block),
            "SERVICE_BLOCK_TIME_SECONDS": str(BLOCK_TIME),
        }

    def check(self, url: str | None = None, **settings: str) -> dict[str, dict[str, object]]:
        """The findings by their check; the table of the same has no secret either."""
        ((text, fit),) = check_rpc(self.environment | settings, url or self.twin.url, as_json=True, clock=self.clock)
        assert not [secret for secret in SECRETS if secret in text]
        found = json.loads(text)
        verdicts = {each["check"]: each["verdict"] for each in found["checks"]}
        assert found["fit"] is fit is ("unfit" not in verdicts.values())
        return {each["check"]: each for each in found["checks"]}

    def verdicts(self, url: str | None = None, **settings: str) -> dict[str, object]:
        """What is not ok, by its check."""
        return {name: each["verdict"] for name, each in self.check(url, **settings).items() if each["verdict"] != "ok"}


@pytest.fixture(scope="module")
def chain(database_server: DatabaseServer) -> Iterator[World]:
    database = database_server.new()
    with anvil.start(mining="automine") as node, make_world(node, database) as world:
        world.submit(world.create(), world.solver(1))
        for _ in range(BLOCKS // 100):
            node.mine(100)  # of many at once it takes longer than an answer may
        yield world
    database.close()


@pytest.fixture
def customer(chain: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[Customer]:
    for name, less in {"MAX_SPAN": SPAN, "BLOCKS_PER_STEP": BATCH, "PACE_SECONDS": 2.0, "HEADS": 6}.items():
        monkeypatch.setattr(provider, name, less)
    clock = SharedClock(chain)
    with provider_before(chain.node.url, clock.monotonic) as twin:
        yield Customer(chain, twin, clock)


def test_check__of_a_node_without_limits__finds_it_fit(customer: Customer) -> None:
    found = customer.check()
    assert {name: each["verdict"] for name, each in found.items() if each["verdict"] != "ok"} == {}
    assert found["ranges"]["figures"] == {"blocks": SPAN}
    assert found["batches"]["figures"] == {"calls": BATCH}


def test_check__of_calls_a_day__follows_from_the_settings(customer: Customer) -> None:
    def calls(**settings: str) -> int:
        return int(str(mapping(customer.check(**settings)["calls"]["figures"])["calls_a_day"]))

    looking = DAY_SECONDS / pause_between_looks(BLOCK_TIME) * 2
    least = looking + DAY_SECONDS / BLOCK_TIME * 3  # a block's header, its parent's, and a proof
    usual = calls()
    assert least < usual < 2 * least
    assert usual - calls(SERVICE_INDEX_COMPARE_CALLS="0") == 4_000
    assert calls(SERVICE_BLOCK_TIME_SECONDS="8") < usual / 3


Install = Callable[[ProviderTwin], object]
PROFILES: dict[str, tuple[Install, dict[str, str]]] = {
    "alchemy": (lambda twin: twin.shuffle(), {}),
    "quicknode": (lambda twin: twin.prune(128, "eth_call", "eth_getBalance"), {}),
    "infura": (lambda twin: twin.prune(100, "eth_getProof", error=NO_PROOF), {"archive": "note"}),
    "publicnode": (lambda twin: twin.prune(100, "eth_getBlockReceipts"), {"receipts": "note"}),
    "drpc": (lambda twin: twin.limit_batches(3), {"batches": "note"}),
    "cloudflare": (lambda twin: twin.lack(NO_METHOD, "eth_getBlockReceipts", "eth_getProof", "safe"), PROVES_NOTHING),
    "by results": (
        lambda twin: twin.prune(100, "eth_getBlockReceipts", "eth_getTransactionReceipt", error=None),
        {"receipts": "note"},
    ),
}
"""By the name of the text of its limit of ranges: what the provider does beside it, and what of that is not ok."""


@pytest.mark.parametrize("name", RANGE_LIMITS)
def test_check__of_a_provider_with_limits__names_each_and_shows_its_text(customer: Customer, name: str) -> None:
    most, error = RANGE_LIMITS[name]
    install, expected = PROFILES[name]
    install(customer.twin)
    customer.twin.limit_ranges(most, error)
    found = customer.check()
    assert {check: each["verdict"] for check, each in found.items() if each["verdict"] != "ok"} == {
        "ranges": "note",
        **expected,
    }
    assert mapping(found["ranges"]["figures"])["blocks"] == most
    assert error[1] in str(found["ranges"]["found"])


def test_check__of_a_range_too_short_to_compare_by__names_the_setting_that_suffices(customer: Customer) -> None:
    customer.twin.limit_ranges(5, RANGE_LIMITS["drpc"][1])
    found = customer.check()["ranges"]
    wanted = int(str(mapping(found["figures"])["compare_calls"]))
    assert found["setting"] == "SERVICE_INDEX_COMPARE_CALLS"
    assert wanted >= DAY_SECONDS / BLOCK_TIME / 5 + BLOCKS / 5 / ROUND.days
    assert customer.check(SERVICE_INDEX_COMPARE_CALLS=str(wanted))["ranges"]["setting"] is None


def _other_tip(method: str, params: Params, found: object) -> object:
    is_tip = method == "eth_getBlockByNumber" and params[0] == "finalized"
    return mapping(found) | {"number": hex(10**6)} if is_tip else found


def _other_fields(method: str, _params: Params, found: object) -> object:
    return mapping(found) | {"gasUsed": "0x1"} if method == "eth_getBlockByNumber" else found


def _no_old_logs(method: str, params: Params, found: object) -> object:
    return [] if method == "eth_getLogs" and "fromBlock" in mapping(params[0]) else found


def _altered_receipts(method: str, _params: Params, found: object) -> object:
    if method != "eth_getBlockReceipts" or not isinstance(found, list):
        return found
    return [{**receipt, "logs": []} for receipt in found]


QUIRKS: dict[str, tuple[Install, dict[str, str]]] = {
    "no finalized": (lambda twin: twin.lack(NO_TAG, "finalized", "safe"), {"finality": "unfit"}),
    "final before it exists": (lambda twin: twin.change(_other_tip), {"finality": "unfit"}),
    "headers of its own": (lambda twin: twin.change(_other_fields), {"head": "unfit"}),
    "another chain": (
        lambda twin: twin.change(lambda method, _, found: "0x1" if method == "eth_chainId" else found),
        {"chain": "unfit"},
    ),
    "no Hub": (
        lambda twin: twin.change(lambda method, _, found: "0x" if method == "eth_getCode" else found),
        {"chain": "unfit"},
    ),
    "no logs": (
        lambda twin: twin.lack(NO_METHOD, "eth_getLogs"),
        dict.fromkeys(("ranges", "block logs", "old logs", "calls"), "unfit"),
    ),
    "pruned logs": (lambda twin: twin.prune(SPAN + 50, "eth_getLogs"), {"old logs": "unfit"}),
    "hidden logs": (lambda twin: twin.change(_no_old_logs), {"old logs": "unfit"}),
    "altered receipts": (lambda twin: twin.change(_altered_receipts), {"receipts": "unfit"}),
    "single calls": (lambda twin: twin.limit_batches(1), {"pace": "note", "batches": "unfit", "calls": "unfit"}),
    "two nodes, near": (lambda twin: twin.answer_by_two_nodes(1), {"nodes": "note"}),
    "limited, with Retry-After": (lambda twin: twin.limit_rate(9, 10, retry_after="10"), {"pace": "unfit"}),
    "limited, without": (lambda twin: twin.limit_rate(9, 3, retry_after=None), {"pace": "unfit"}),
    "limited, by an error": (
        lambda twin: twin.limit_rate(9, 3, retry_after=None, by_status=False),
        {"pace": "unfit"},
    ),
    "a page in place of an answer": (lambda twin: twin.answer(200, b"<html>key-of-a-customer"), {"chain": "unfit"}),
    "a wrong key": (lambda twin: twin.answer(403, b"no: another-secret"), {"chain": "unfit"}),
}
"""What each provider does, and what of it is not ok."""


@pytest.mark.parametrize("quirk", QUIRKS)
def test_check__of_a_provider_with_a_quirk__finds_it_and_nothing_else(customer: Customer, quirk: str) -> None:
    install, expected = QUIRKS[quirk]
    install(customer.twin)
    assert customer.verdicts() == expected


def test_check__of_nodes_far_apart__finds_it_unfit(customer: Customer) -> None:
    customer.twin.answer_by_two_nodes(40)
    assert customer.verdicts()["nodes"] == "unfit"


@pytest.mark.parametrize("setting", ["SERVICE_FINALITY_DEPTH", "SERVICE_RPC_PROOFS"])
def test_check__with_the_setting_that_it_names__finds_it_fit(customer: Customer, setting: str) -> None:
    is_depth = setting == "SERVICE_FINALITY_DEPTH"
    QUIRKS["no finalized" if is_depth else "headers of its own"][0](customer.twin)
    (unfit,) = [each for each in customer.check().values() if each["verdict"] == "unfit"]
    assert unfit["setting"] == setting
    assert "unfit" not in customer.verdicts(**{setting: "2" if is_depth else "off"}).values()


@pytest.mark.attack
def test_check__of_a_provider_that_wants_to_be_queried_later__waits_or_ends(customer: Customer) -> None:
    customer.twin.limit_rate(9, 10, retry_after="10")
    customer.check()
    customer.twin.limit_rate(0, 10**9, retry_after=str(10**6))
    found = customer.check()
    assert list(found) == ["chain"], "it goes on to check, or waits as long as a provider wants it to"
    assert "in 1,000,000 s" in str(found["chain"]["found"])
    assert customer.twin.early == 0


@pytest.mark.attack
@pytest.mark.parametrize("method", ["eth_chainId", "eth_getLogs", "eth_getProof", "eth_getBlockReceipts"])
def test_check__of_a_provider_that_hangs__ends_with_a_line(
    customer: Customer, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patient_rpc, "ANSWER_SECONDS", 0.3)
    customer.twin.hang(method)
    assert "nothing came in time" in json.dumps(list(customer.check().values()))


@pytest.mark.attack
def test_check__of_a_provider_whose_time_is_over__requests_nothing_more(
    customer: Customer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patient_rpc, "ALL_SECONDS", 0.0)
    assert customer.verdicts() == {"chain": "unfit"}
    assert customer.twin.proxy.calls == []


@pytest.mark.attack
@pytest.mark.parametrize("piece", [b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 65_536, b"\x00"])
def test_check__of_a_provider_that_answers_without_end__ends(
    customer: Customer, piece: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patient_rpc, "ANSWER_SECONDS", 0.3)

    def pieces() -> Iterator[bytes]:
        yield b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"
        while True:
            yield piece

    with raw_server(pieces) as server:
        assert customer.verdicts(server.url) == {"chain": "unfit"}


@pytest.mark.attack
def test_check__of_a_text_of_the_providers__shows_a_line_without_secrets(customer: Customer) -> None:
    text = "key-of-a-customer\n\x1b[2J\u202eKEY-OF-A-CUSTOMER " + "long " * 1_000
    customer.twin.limit_ranges(10, (-32000, text))
    found = str(customer.check()["ranges"]["found"])
    assert found.isprintable()
    assert "customer" not in found.lower()
    assert len(found) < 300


@contextmanager
def _set(monkeypatch: pytest.MonkeyPatch, environment: dict[str, str]) -> Iterator[None]:
    with monkeypatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        yield


def test_command__of_a_fit_and_an_unfit_provider__exits_with_0_and_1(
    customer: Customer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    key = tmp_path / "urls"
    key.write_text(customer.twin.url)
    monkeypatch.setattr("service_indexer.check_rpc.SystemClock", lambda: customer.clock)
    with _set(monkeypatch, {**customer.environment, "SERVICE_RPC_URLS_FILE": str(key)}):
        assert main(["check-rpc"]) == 0
        shown = capsys.readouterr()
        assert shown.out.splitlines()[-1] == "  fit"
        assert not [secret for secret in SECRETS if secret in shown.out + shown.err]
        customer.twin.limit_batches(1, SMALL_BATCH)
        monkeypatch.setattr("sys.stdin", StringIO(customer.twin.url + "\n"))
        with pytest.raises(SystemExit) as ended:
            main(["check-rpc", "-", "--json"])
        assert ended.value.code == 1
        shown = capsys.readouterr()
        assert json.loads(shown.out)["fit"] is False
        assert not [secret for secret in SECRETS if secret in shown.out + shown.err]
        assert main(["check-rpc", "http://[key-of-a-customer"]) == 2
        shown = capsys.readouterr()
        assert "SERVICE_RPC_URLS is malformed" in shown.err
        assert SECRETS[0] not in shown.out + shown.err


def test_check__without_the_chains_settings__names_them() -> None:
    with pytest.raises(ConfigurationError) as refused:
        list(check_rpc({}, "http://127.0.0.1:1/", as_json=False))
    assert "SERVICE_CHAIN_ID" in str(refused.value)
    assert "SERVICE_DATABASE_URL" not in str(refused.value)


def test_world__is_long_enough_for_the_longest_range(chain: World) -> None:
    assert header_at(chain.rpc, "finalized").number > SPAN
