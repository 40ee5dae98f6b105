"""docs/hub.md tells the truth: it names everything of the ABI, only tests that exist, and the measured gas."""

import json
import re
from pathlib import Path

import pytest

from tests.contracts.evm import ARTIFACTS
from tests.contracts.test_interface import ABI

TOP = Path(__file__).resolve().parents[2]
PAGE = (TOP / "docs/hub.md").read_text(encoding="utf-8")


def test_hub_page__names_every_function_event_and_error() -> None:
    names = [entry.name for entries in (ABI.functions, ABI.events, ABI.errors) for entry in entries.values()]
    assert [name for name in names if not re.search(rf"\b{name}\b", PAGE)] == []


def test_hub_page__names_only_tests_that_exist() -> None:
    code = "".join(path.read_text(encoding="utf-8") for path in (TOP / "contracts/test").glob("*.sol"))
    named = set(re.findall(r"`((?:test|testFuzz|invariant)_\w+)`", PAGE))
    assert len(named) > 20
    assert [name for name in named if f"function {name}(" not in code] == []


def test_hub_page__names_only_files_that_exist() -> None:
    named = re.findall(r"`((?:contracts|tests)/[\w./]+)`", PAGE)
    assert [name for name in named if not (TOP / name).exists()] == []


def test_hub_page__shows_the_right_selectors() -> None:
    selectors = {function.signature: f"0x{function.selector.hex()}" for function in ABI.functions.values()}
    shown = dict(re.findall(r"\| `(\w+\([\w,]*\))` \| `(0x[0-9a-f]{8})`", PAGE))
    assert len(shown) == 9
    assert shown == {signature: selectors[signature] for signature in shown}


def test_hub_page__shows_the_call_data_of_a_claim() -> None:
    words = ABI.functions["claim"].encode(7, b"", b"").hex()[8:]
    assert [int(words[place : place + 64], 16) for place in range(0, len(words), 64)] == [7, 0x60, 0x80, 0, 0]


WORDS = {
    5: "revealAt",
    6: "judgingDeadline",
    8: "guardianRosterHash",
    14: "outcome",
    15: "reason",
    16: "winner",
    18: "awardDue",
    21: "guardianFeesDue",
}


@pytest.mark.parametrize(("place", "field"), WORDS.items())
def test_hub_page__counts_the_words_of_a_bounty_right(place: int, field: str) -> None:
    assert ABI.functions["getBounty"].outputs[0].fields[place - 1].name == field


def test_hub_page__shows_the_measured_gas() -> None:
    figures = json.loads((ARTIFACTS.parent / "snapshots/hub.gas.json").read_text(encoding="utf-8"))
    shown = re.findall(r"^\| .* \| ([\d,]+) \|(?: [\d,]+)? \|$", PAGE, re.MULTILINE)
    assert {int(figure.replace(",", "")) for figure in shown} == {
        int(used) for name, used in figures.items() if "second" not in name
    }
