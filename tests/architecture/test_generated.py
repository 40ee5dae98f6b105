"""What is derived is as it follows from the code, and a difference anywhere is found."""

from pathlib import Path

import pytest
from service_common.config import Setting

from tools.generate import derived
from tools.generate.derived import Derived, with_part, write
from tools.generate.everything import DERIVED
from tools.reference.errors import CLIENT, RaisedError, raised, rows_of
from tools.reference.settings import settings_by_process, settings_table


@pytest.mark.parametrize("one", DERIVED, ids=lambda one: one.name)
def test_derived__files__are_those_that_the_code_makes(one: Derived) -> None:
    differing = [str(path.relative_to(derived.TOP)) for path, _ in one.differences()]
    assert differing == [], f"./noxw -s generate -- {one.name} writes them again"


def test_difference__of_each_kind__is_found_and_put_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(derived, "TOP", tmp_path)
    one = Derived("one", "made", lambda: {"made/a": b"a", "made/b": b"b"}, "made")
    (tmp_path / "made").mkdir()
    (tmp_path / "made/a").write_bytes(b"altered")
    (tmp_path / "made/c").write_bytes(b"made by nobody")
    assert [path.name for path, _ in one.differences()] == ["a", "b", "c"]
    assert [path.name for path in write(one)] == ["a", "b", "c"]
    assert list(one.differences()) == []
    assert {path.name: path.read_bytes() for path in (tmp_path / "made").iterdir()} == {"a": b"a", "b": b"b"}


PARTS = [one for one in DERIVED if one.where.startswith("docs/") and one.where.endswith(".md")]


@pytest.mark.parametrize("one", PARTS, ids=lambda one: one.name)
def test_planted_difference__in_a_part_of_a_page__is_found_and_prose_around_it_is_none(
    one: Derived, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, mark = tmp_path / one.where, f"<!-- generated: {one.name} -->"
    page = (derived.TOP / one.where).read_text(encoding="utf-8")
    monkeypatch.setattr(derived, "TOP", tmp_path)
    path.parent.mkdir(parents=True)
    for planted, found in ((f"{mark}\n\nplanted", [path]), (f"planted\n\n{mark}", [])):
        path.write_text(page.replace(mark, planted), encoding="utf-8")
        assert [each for each, _ in one.differences()] == found


def test_part_of_a_page__leaves_what_is_around_it() -> None:
    page = "above\n<!-- generated: x -->\nold\n<!-- end -->\nbelow"
    assert with_part(page, "x", ["new"]) == "above\n<!-- generated: x -->\n\nnew\n\n<!-- end -->\nbelow"
    for without in ("nothing", "<!-- generated: x -->", "<!-- generated: y --><!-- end -->"):
        with pytest.raises(ValueError, match="x"):
            with_part(without, "x", [])


def test_settings__of_every_process__are_described_once() -> None:
    processes = list(settings_by_process())
    assert {letter for letter, _ in processes} == set("AIRD")
    (rows,) = settings_table(processes)
    assert all(setting.about and f"| `{setting.name}` |" in rows for _, settings in processes for setting in settings)
    assert rows.count("| `SERVICE_LOG_LEVEL` | A I R D | `INFO` |") == 1


def test_setting__that_two_places_describe_differently__is_refused() -> None:
    one = Setting("SERVICE_X", "the one", "1")
    assert "| `SERVICE_X` | A D | 1 | the one |" in next(settings_table([("A", [one]), ("D", [one])]))
    for other in (Setting("SERVICE_X", "the other", "1"), Setting("SERVICE_X", "the one", "2")):
        with pytest.raises(ValueError, match="SERVICE_X is described twice"):
            list(settings_table([("A", [one]), ("D", [other])]))


def test_errors__are_read_from_where_they_are_raised() -> None:
    found = raised(CLIENT)
    known = RaisedError(
        "bounty_not_found", "The Hub has no bounty *bounty id*.", "Check the bounty id and the network."
    )
    assert known in found
    assert {each.code for each in found if each.code.startswith("gas_")} == {
        "gas_cost_too_high", "gas_excessive", "gas_insufficient", "gas_price_too_high",
    }  # fmt: skip


def test_error__with_different_things_to_do__has_a_row_for_each() -> None:
    places = [RaisedError("a", "One.", "Do this."), RaisedError("a", "Two.", None), RaisedError("a", "3.", "Do this.")]
    assert list(rows_of("a", places)) == [
        "| `a` | One.<br>3. | Do this. |",
        "|  | Two. | its message says it |",
    ]
