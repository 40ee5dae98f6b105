"""The client inside another program: what the page shows works, and nothing of the process is touched."""

import json
import os
import re
from pathlib import Path

import pytest

from tests.cli.api_twin import ApiTwin
from tests.cli.ledger import ESCROW, Ledger
from tests.cli.scenes import claim, make_stage
from tests.cli.servers import RpcProxy
from tests.cli.test_client_page import PAGE


def test_page__its_python_example__claims_once_and_is_told_why_not_again(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
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
