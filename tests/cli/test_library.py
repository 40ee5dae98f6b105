"""The client inside another program: requests signed, commands called, and nothing of the process touched."""

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import service_cli
from bounty_protocol.auth.typed_data import SigningDomain
from bounty_protocol.auth.verify import Authority, ReceivedRequest, VerifiedRequest, verify_request
from bounty_protocol.chain.rpc import Rpc
from bounty_protocol.clock import SystemClock
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import Address, ChainId
from eth_account import Account
from service_common.chain.recent_blocks import RecentBlocks

from tests.cli.api_twin import ApiTwin
from tests.cli.ledger import ESCROW, Ledger
from tests.cli.scenes import claim, make_stage
from tests.cli.servers import RpcProxy
from tests.protocol.auth.signing import PLAIN_KEYS

DOCS = Path(__file__).parents[2] / "docs"
AUTHENTICATION = (DOCS / "authentication.md").read_text(encoding="utf-8")
PAGE = (DOCS / "python.md").read_text(encoding="utf-8")
URL = "https://Bounties.example:8443/api/bounties/7/delivery/wrap?b=2&a"


def verified(ledger: Ledger, headers: Mapping[str, str], method: str, body: bytes = b"") -> VerifiedRequest:
    domain = SigningDomain(ChainId(ledger.node.chain_id), Address(ledger.contract.address))
    request = ReceivedRequest(method, "/api/bounties/7/delivery/wrap", "b=2&a", body, (headers["Authorization"],))
    chain = RecentBlocks(Rpc([ledger.node.url]), SystemClock())
    return verify_request(request, Authority(domain, "bounties.example:8443"), chain, PLAIN_KEYS)


def arguments(ledger: Ledger) -> dict[str, Any]:
    return {"rpc_url": ledger.node.url, "hub_address": ledger.contract.address}


def test_python_example_signs_what_verifies(ledger: Ledger) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", AUTHENTICATION, re.DOTALL)
    wallet = ledger.people.solvers[0].wallet
    names = {"url": URL, "private_key": bytes.fromhex(wallet.private_key.removeprefix("0x")), **arguments(ledger)}
    exec(code, names)  # noqa: S102  # the page's own words
    headers = names["headers"]
    assert isinstance(headers, dict)
    assert verified(ledger, headers, "GET").signer == wallet.address
    with pytest.raises(ServiceError):
        verified(ledger, headers, "POST")


def test_wallets_request_binds_the_body(ledger: Ledger) -> None:
    wallet = ledger.people.poster.wallet

    def sign(data: Mapping[str, object]) -> bytes:
        return bytes(Account.sign_typed_data(wallet.private_key, full_message=dict(data)).signature)

    headers = service_cli.sign_request("POST", URL, b"{}", wallet=(wallet.address, sign), **arguments(ledger))
    assert verified(ledger, headers, "POST", b"{}").signer == wallet.address
    with pytest.raises(ServiceError):
        verified(ledger, headers, "POST", b"{ }")


KEY = b"\x01" * 32


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"private_key": KEY, "wallet": ("0x" + "11" * 20, lambda _: b"")},
        *({"private_key": key} for key in (b"\x00" * 32, KEY[1:], KEY + b"1", "0x12", "x" * 64)),
        *({"wallet": wallet} for wallet in (("0x", lambda _: b""), ("0x" + "11" * 20,), ("0x" + "11" * 20, None), 7)),
        *(
            {"private_key": KEY, "url": url}
            for url in ("", "bounties.example/x", "ftp://a/b", "http://a:b/", "http://é/")
        ),
        *({"private_key": KEY, "rpc_url": url} for url in ("", "127.0.0.1:8545", "file:///x")),
        {"private_key": KEY, "hub_address": "0x12"},
        {"private_key": KEY, "body": "text"},
    ],
    ids=lambda wrong: "-".join(wrong) or "nobody",
)
def test_malformed_arguments_show_no_key(ledger: Ledger, wrong: dict[str, Any]) -> None:
    given = {"url": URL, **arguments(ledger), **wrong}
    with pytest.raises(ValueError) as refused:
        service_cli.sign_request("GET", **given)
    assert KEY.hex()[2:60] not in str(refused.value)


def test_python_example_claims_once(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    code, *_ = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    case = claim(make_stage(ledger, api, rpc, tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(case.home.home / "state"))
    monkeypatch.setenv("SERVICE_CHAIN_ID", "8453")
    before = dict(os.environ)
    (case.home.home / "deployment.json").write_text(json.dumps(dict(case.home.environment)))
    monkeypatch.chdir(case.home.home)
    assert "BountyId(7)" in code
    code = code.replace("BountyId(7)", f"BountyId({case.words[1]})")
    names: dict[str, object] = {}
    exec(code, names)  # noqa: S102  # the page's own words
    assert names["outcome"] == str(ESCROW * 96 // 100)
    assert "signing:" in str(names["log"])
    exec(code, names)  # noqa: S102
    assert names["outcome"] == "award_already_claimed"
    assert (capsys.readouterr(), dict(os.environ)) == (("", ""), before)
