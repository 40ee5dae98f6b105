"""A chain whose newest block is old is named before something with a deadline is signed."""

import time
from collections.abc import Mapping

import pytest
from bounty_protocol.domain.halts import STANDS_STILL_SECONDS
from bounty_protocol.types import UnixSeconds
from service_cli.chain.session import ChainClient
from service_cli.chain.times import warn_of_late_chain
from service_cli.config.environment import Environment
from service_cli.config.settings import load_settings

from tests.cli.ledger import Ledger
from tests.cli.servers import RpcProxy

NOW = 1_795_000_000


def chain_at(ledger: Ledger, rpc: RpcProxy, ages: Mapping[str, int], monkeypatch: pytest.MonkeyPatch) -> ChainClient:
    """The ledger's chain as that of a network: the endpoints' newest blocks are so many seconds old."""
    variables = {
        **ledger.variables(),
        "SERVICE_API_BASE_URL": "http://127.0.0.1:1",
        "SERVICE_SUBGRAPH_ENDPOINT": rpc.url,
    }
    settings = load_settings(None, None, (), Environment({**variables, "SERVICE_RPC_URLS": rpc.url}, {}))
    chain = ChainClient(settings)
    monkeypatch.setattr(time, "time", lambda: float(NOW))
    monkeypatch.setattr(ChainClient, "is_local", False)
    found = {each.url: each for each in (chain, *chain.further)}
    times = dict(zip(found, ages.values(), strict=True))
    real = ChainClient.latest

    def latest(self: ChainClient) -> object:
        from dataclasses import replace

        return replace(real(self), time=UnixSeconds(NOW - times[self.url]))

    monkeypatch.setattr(ChainClient, "latest", latest)
    return chain


@pytest.mark.parametrize(
    ("first", "second", "warned"),
    [
        (STANDS_STILL_SECONDS + 1, STANDS_STILL_SECONDS + 1, True),
        (STANDS_STILL_SECONDS, STANDS_STILL_SECONDS + 1, False),
        (3_000, 0, False),  # one endpoint that does not keep up says nothing of the chain
    ],
)
def test_newest_block__that_is_old_at_every_endpoint__is_named_with_the_deadline(
    ledger: Ledger,
    rpc: RpcProxy,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    first: int,
    second: int,
    warned: bool,
) -> None:
    chain = chain_at(ledger, rpc, {"first": first, "second": second}, monkeypatch)
    capsys.readouterr()
    warn_of_late_chain(chain, UnixSeconds(NOW + 3_600), "Your Submission")
    shown = capsys.readouterr().err
    assert ("Your Submission counts only in a block before" in shown) is warned
    assert ("settlement layer" in shown) is warned
