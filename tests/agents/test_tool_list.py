"""The list of tools, which a model reads in every conversation: what is in it, how it is annotated, and its length."""

import json
from pathlib import Path

from service_mcp.server import ACTING, READING

LISTED = json.loads((Path(__file__).parent / "tools.json").read_text(encoding="utf-8"))
BY_NAME = {tool["name"]: tool for tool in LISTED}


def test_tools_are_those_annotated() -> None:
    assert [*BY_NAME] == [*READING, *ACTING]
    assert all(BY_NAME[name]["annotations"]["readOnlyHint"] for name in READING)
    assert {name for name, tool in BY_NAME.items() if tool["annotations"].get("destructiveHint")} == {
        "carry_out", "deliver_key",
    }  # fmt: skip
    assert all(tool["description"] and tool["outputSchema"]["type"] == "object" for tool in LISTED)


def test_no_tool_takes_or_returns_a_secret() -> None:
    names = json.dumps(LISTED).lower()
    assert not any(word in names for word in ("private_key", "passphrase", "mnemonic", "secret_key", "identity"))


def test_list_fits_a_conversation() -> None:
    """About four letters are a token; the benchmark counts tokens."""
    assert len(json.dumps(LISTED[: len(READING)], separators=(",", ":"))) < 12_000
    assert len(json.dumps(LISTED, separators=(",", ":"))) < 24_000
