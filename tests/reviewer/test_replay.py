"""Reviews that can be looked at again: what the record holds, and what repeating says."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from bounty_protocol.keccak import keccak256
from bounty_protocol.rubric import current_rubric
from service_common import log
from service_common.db.review import reviews
from service_reviewer.jobs import review
from service_reviewer.main import main
from sqlalchemy import select, update

from tests.fakes.model import ModelTwin, not_ready, says
from tests.reviewer.labelled import labelled_pages
from tests.reviewer.test_jobs import PAGE, configured, job
from tests.servers import Database

__all__ = ["configured"]

CIRCUMSTANCES = {"now": 1_795_000_000, "reveal_delay": 3_600, "token_symbol": "USDC", "token_decimals": 6}


def reviewed(page: bytes = PAGE) -> str:
    message = job(page) | CIRCUMSTANCES
    assert review(message)["code"] == "done"
    return str(message["review_id"])


Replayed = Callable[..., tuple[int, dict[str, object], str]]


@pytest.fixture
def replayed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Replayed:
    """Type the command: its exit code, line and words."""
    monkeypatch.setattr(log, "configure", lambda *_: None)

    def run(identifier: str, *arguments: str) -> tuple[int, dict[str, object], str]:
        code: object = 0
        try:
            main(["replay", identifier, *arguments])
        except SystemExit as ended:
            code = ended.code
        shown = capsys.readouterr().out.splitlines()
        line = json.loads(shown[-1]) if shown and shown[-1].startswith("{") else {}
        return (code, line, "") if isinstance(code, int) else (1, line, str(code))

    return run


def test_record__of_a_review__holds_what_repeating_needs(configured: Database) -> None:
    reviewed()
    with configured.engine("service_reviewer").connect() as connection:
        row = connection.execute(select(reviews)).one()
    assert (row.page, row.circumstances, row.provider, row.model) == (PAGE, CIRCUMSTANCES, "rules", "rules-4")
    assert row.input_hash == "0x" + keccak256(PAGE).hex()
    assert (row.rubric_version, row.rubric_hash) == (current_rubric().version, current_rubric().hash)
    assert row.prompt_hash == row.rubric_hash
    assert row.output_hash == "0x" + keccak256(b"[]").hex()
    assert row.duration_ms >= 0


def test_replay__of_a_review_by_rules__is_the_same_in_everything(configured: Database, replayed: Replayed) -> None:
    code, line, _ = replayed(reviewed(PAGE.replace(b"title: Fastest", b"title: TBD Fastest")))
    assert code == 0
    assert (line["recorded"], line["repeated"]) == ("not_ready", "not_ready")
    assert set(line["same"].values()) == {True}  # type: ignore[attr-defined]  # a JSON tree


def test_replay__where_the_verdict_differs__exits_1_and_says_what_changed(
    configured: Database, replayed: Replayed
) -> None:
    identifier = reviewed()
    with configured.engine("service_reviewer").begin() as connection:
        connection.execute(update(reviews).values(result="not_ready", output_hash="0x" + "00" * 32))
    code, line, _ = replayed(identifier)
    assert (code, line["recorded"], line["repeated"]) == (1, "not_ready", "ready")
    same = line["same"]
    assert isinstance(same, dict)
    assert [name for name, value in same.items() if not value] == ["output", "result"]


def test_replay__of_a_page_with_a_secret__needs_its_file_since_the_bytes_were_not_kept(
    configured: Database, tmp_path: Path, replayed: Replayed
) -> None:
    page = next(page for page in labelled_pages() if page.name == "leaked-aws").material.content
    identifier = reviewed(page)
    with configured.engine("service_reviewer").connect() as connection:
        assert connection.execute(select(reviews.c.page)).scalar_one() is None
    code, _, words = replayed(identifier)
    assert (code, "--page" in words) == (1, True)
    file = tmp_path / "page.md"
    file.write_bytes(page)
    assert replayed(identifier, "--page", str(file))[0] == 0
    file.write_bytes(PAGE)
    same = replayed(identifier, "--page", str(file))[1]["same"]
    assert isinstance(same, dict)
    assert same["input"] is False


def test_replay__of_a_model_s_review__asks_it_again_and_writes_nothing(
    configured: Database, monkeypatch: pytest.MonkeyPatch, replayed: Replayed
) -> None:
    twin = ModelTwin()
    for name, value in twin.variables().items():
        monkeypatch.setitem(os.environ, name, value)
    identifier = reviewed()
    twin.script = [says(not_ready())]
    code, line, _ = replayed(identifier)
    twin.close()
    assert (code, line["recorded"], line["repeated"]) == (1, "ready", "not_ready")
    assert (line["same"]["prompt"], line["same"]["model"]) == (True, True)  # type: ignore[index]
    assert len(twin.requests) == 2
    with configured.engine("service_reviewer").connect() as connection:
        assert connection.execute(select(reviews.c.result)).scalars().all() == ["ready"]


@pytest.mark.parametrize("identifier", ["0x" + "12" * 32, "12", "not hex"])
def test_replay__of_what_is_no_review__says_so(configured: Database, replayed: Replayed, identifier: str) -> None:
    code, line, words = replayed(identifier)
    assert (code, line) == (1, {})
    assert words.startswith("service-reviewer replay: ")
    assert "Traceback" not in words


def test_rubric__of_each_version__never_changes() -> None:
    known = {"1": "0xec41d1ab09e60fc4ad8b8cc1aa24e059668b7d386d36d36b3881f45c391c7f07"}
    rubric = current_rubric()
    assert known[rubric.version] == rubric.hash, "a changed rubric is a new version"
