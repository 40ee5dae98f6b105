"""A page that is still partly the template: what is left to fill in is named, one by one."""

import re
import time

import pytest
from service_cli import submissions
from service_cli.config.environment import Environment
from service_cli.config.settings import Settings
from service_cli.errors import CommandRefused
from service_common.crypto.beacon import NotYet
from service_common.types import ChainId, UnixSeconds

from tests.cli.api_twin import ApiTwin
from tests.cli.ledger import Ledger
from tests.cli.servers import RpcProxy
from tests.cli.terminal import Terminal


@pytest.mark.parametrize("options", [["--check"], []])
def test_check__of_the_template__names_every_placeholder_and_the_paragraph(
    poster: Terminal, api: ApiTwin, options: list[str]
) -> None:
    written = poster.run("poster:new")
    assert "fill in what stands in angle brackets" in written.words
    assert "--check bounty_challenge.md" in written.words
    ran = poster.run("poster:publish-fund", *options, "bounty_challenge.md", code=1)
    assert ran.last["code"] == "page_unfinished"
    text = (poster.home / "bounty_challenge.md").read_text()
    placeholders = re.findall(r"<[^<>\n]+>", text)
    assert len(placeholders) == 7
    assert all(f"still the template's {one}" in ran.words for one in placeholders)
    assert "paragraph on units" in ran.words
    assert not api.approvals()


def test_check__of_a_page_with_angle_brackets_of_its_own__is_told_and_goes_on(
    ledger: Ledger, poster: Terminal, rpc: RpcProxy
) -> None:
    page = ledger.page() + b"The head has a <title>, reads <https://a.example> and <what you choose>.\n"
    ran = poster.run("poster:publish-fund", "--check", "-", stdin=page)
    assert ran.last["event"] == "publish_fund.checked"
    assert ran.words.count("note:") == 1
    assert "<what you choose>" in ran.words


def test_words__of_funding_and_claiming__are_in_moments_and_whole_tokens(ledger: Ledger, poster: Terminal) -> None:
    symbol = str(ledger.token.call("symbol"))
    words = poster.run("poster:publish-fund", "-", stdin=ledger.page()).words
    assert f"take 25000000 base units (25 {symbol}) until 2" in words
    assert re.search(r"UTC \(in (1 h|59 min \d+ s)\)", words)
    assert not re.search(r"\b1[5-9]\d{8}\b", words), "seconds since 1970"
    late = poster.run("poster:publish-fund", "--check", "-", stdin=ledger.page(seconds=-5), code=1)
    assert "UTC (passed)" in late.words
    dear = poster.run("poster:publish-fund", "-", stdin=ledger.page(escrow=10**30), code=1)
    assert f"the page asks for {10**30} base units ({10**24} {symbol})" in dear.words


def test_words__of_a_reveal_point_ahead__say_when_it_is(
    ledger: Ledger, api: ApiTwin, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(Environment(api.variables(), {}), ChainId(31337), None, None)
    late = NotYet(round=7, due_at=UnixSeconds(int(time.time()) + 3_600), retry_after=3_600)
    monkeypatch.setattr("service_cli.submissions.BeaconClient.round", lambda _self, _number: late)
    with pytest.raises(CommandRefused, match=r"is due at \d{4}-.* UTC \(in (1 h|59 min 59 s)\)\."):
        submissions.round_signature(settings, ledger.beacon.info, 7)
