"""A page that an endpoint would have paid twice, and authorizations that it would have last for years."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.api_twin import ApiTwin
from tests.cli.conftest import person
from tests.cli.ledger import ESCROW, Ledger
from tests.cli.servers import RpcProxy
from tests.cli.terminal import Ran, Terminal

CREATED = "publish_fund.bounty_created"


@pytest.fixture
def page(poster: Terminal, ledger: Ledger) -> Path:
    path = poster.home / "page.md"
    path.write_bytes(ledger.page(seconds=20_000))
    return path


def fund(poster: Terminal, page: Path, code: int = 0, **more: str) -> Ran:
    return poster.run("poster:publish-fund", str(page), stdin=b"", code=code, **more)


def saying(answer: dict[str, object]) -> Callable[[dict[str, object]], object]:
    return lambda _truth: answer


def paid(ledger: Ledger) -> int:
    return int(ledger.token.call("balanceOf", ledger.contract.address))


def test_creation_endpoints_tell_apart_is_paid_once(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, second: RpcProxy, poster: Terminal, page: Path, tmp_path: Path
) -> None:
    fund(poster, page)
    other = person(ledger, api, rpc, tmp_path / "other", "poster")
    rpc.after = lambda method, _params, result: [] if method == "eth_getLogs" else result
    before = paid(ledger)
    ran = fund(other, page, code=1, SERVICE_RPC_URLS=f"{second.url}, {rpc.url}")
    assert ran.last["code"] == "sources_disagree"
    assert str(ran.last["message"]).count("RPC endpoint at 127.0.0.1") == 2
    rpc.honest()
    assert fund(other, page, code=1, SERVICE_RPC_URLS=second.url).last["code"] == "already_funded"
    assert paid(ledger) == before


def test_invented_bounty_is_not_believed(ledger: Ledger, api: ApiTwin, poster: Terminal, page: Path) -> None:
    row = {"bounty_id": "1", "authorization_nonce": "0x" + "11" * 32, "block_number": 1}
    api.lies["subgraph"] = lambda _answer: {"data": {"bounties": [row]}}
    assert fund(poster, page, code=1).last["code"] == "sources_disagree"
    answers: list[object] = [None, {"bounties": [{}]}, {"bounties": [{**row, "bounty_id": 1}]}]
    for data in answers:
        api.lies["subgraph"] = saying({"data": data})
        assert fund(poster, page, code=1).last["event"] == "publish_fund.failed"
    api.lies.clear()
    before = paid(ledger)
    fund(poster, page)
    assert paid(ledger) - before == ESCROW
