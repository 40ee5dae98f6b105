"""The newest block's time beside this machine's clock: a chain that stands still is named as one."""

import time

import pytest
from bounty_protocol.chain.blocks import Header
from bounty_protocol.types import BlockNumber, ChainId, UnixSeconds, bytes32
from service_cli.chain import session
from service_cli.chain.session import ChainClient
from service_cli.config.environment import Environment
from service_cli.config.settings import Settings


@pytest.mark.parametrize(
    ("ahead", "words"),
    [
        (0, ""),
        (-300, ""),
        (-1_200, "the chain stands still, or this RPC endpoint"),
        (1_200, "the newest block; set it"),
    ],
)
def test_newest_block__far_from_this_clock__is_reported_once_with_what_it_may_mean(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], ahead: int, words: str
) -> None:
    newest = UnixSeconds(int(time.time()) + ahead)
    header = Header(BlockNumber(7), bytes32(b"\1" * 32), bytes32(b"\2" * 32), newest)
    monkeypatch.setattr(session, "header_at", lambda _rpc, _block: header)
    values = {"SERVICE_RPC_URL": "http://127.0.0.1:9", "SERVICE_HUB_ADDRESS": "0x" + "11" * 20}
    environment = Environment(values, {})
    chain = ChainClient(Settings(environment, ChainId(8453), None, None))
    for _ in range(2):
        assert chain.latest() == header
    said = capsys.readouterr().err
    assert said.count("warning:") == bool(words)
    assert words in " ".join(said.split())
