"""``guardian:forget``: the plain files of a bounty that ended, and nothing else."""

import pytest
from bounty_protocol.crypto.output import new_directory

from tests.cli.api_twin import ApiTwin
from tests.cli.ledger import Ledger
from tests.cli.submitted import Submitted, load
from tests.cli.terminal import Terminal


@pytest.fixture
def opened(ledger: Ledger, api: ApiTwin, guardian: Terminal, won: Submitted) -> Terminal:
    """Work that was opened, with its key passed on."""
    load(api, won)
    ran = guardian.run(
        "guardian:open", *won.names, "out/7", "--pass-to", ledger.people.guardians[1].address, "identity.age"
    )
    assert f"service-cli guardian:forget {won.bounty}" in ran.words
    return guardian


def test_forget__of_a_bounty_that_ended__removes_what_was_written_and_names_it(
    opened: Terminal, won: Submitted
) -> None:
    (opened.home / "mine.txt").write_text("mine")
    ran = opened.run("guardian:forget", won.bounty)
    assert {event["path"]: (event["file_count"], event["kept"]) for event in ran.events} == {
        str(opened.home / "out" / "7"): (1, []),
        str(opened.home / "identity.age"): (1, []),
    }
    assert {(event["solver"], event["submission_commitment"]) for event in ran.events} == {won.names[1:]}
    assert not (opened.home / "out" / "7").exists()
    assert not (opened.home / "identity.age").exists()
    assert (opened.home / "mine.txt").exists()
    again = opened.run("guardian:forget", won.bounty)
    assert (again.events, "nothing opened for bounty" in again.words) == ((), True)


def test_forget__of_work_that_was_changed__keeps_what_is_not_as_it_was_written(
    opened: Terminal, won: Submitted
) -> None:
    out = opened.home / "out" / "7"
    (out / "main.py").write_text("print(2)  # tried\n")
    (out / "notes.md").write_text("It prints 1.\n")
    (out / "link").symlink_to(opened.home)
    ran = opened.run("guardian:forget", won.bounty)
    (event,) = (event for event in ran.events if event["path"] == str(out))
    assert event["file_count"] == 0
    assert set(map(str, event["kept"])) == {str(out / "main.py"), str(out / "notes.md")}  # type: ignore[call-overload]
    assert (out / "notes.md").read_text() == "It prints 1.\n"
    assert opened.home.is_dir()


def test_forget__of_a_directory_that_was_moved_and_replaced_by_a_link__removes_nothing_elsewhere(
    opened: Terminal, won: Submitted
) -> None:
    out, elsewhere = opened.home / "out" / "7", opened.home / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "main.py").write_text("print(1)\n")
    out.rename(opened.home / "moved")
    out.symlink_to(elsewhere)
    opened.run("guardian:forget", won.bounty)
    assert (elsewhere / "main.py").exists()
    assert (opened.home / "moved" / "main.py").exists()


def test_forget__of_a_bounty_that_is_open__is_refused_and_removes_nothing(
    api: ApiTwin, guardian: Terminal, judged: Submitted
) -> None:
    load(api, judged)
    guardian.run("guardian:open", *judged.names, "out")
    ran = guardian.run("guardian:forget", judged.bounty, code=1)
    assert ran.last["code"] == "bounty_open"
    assert (guardian.home / "out" / "main.py").exists()


def test_forget__of_another_bounty_whose_number_begins_the_same__removes_nothing(
    ledger: Ledger, opened: Terminal, won: Submitted, ended: int
) -> None:
    assert opened.run("guardian:forget", str(ended)).events == ()
    assert (opened.home / "out" / "7" / "main.py").exists()


def test_open__where_it_cannot_be_remembered__opens_all_the_same(
    api: ApiTwin, guardian: Terminal, judged: Submitted
) -> None:
    load(api, judged)
    state = guardian.home / "closed"
    state.write_text("a file")
    ran = guardian.run("guardian:open", *judged.names, "out", XDG_STATE_HOME=str(state))
    assert ran.last["event"] == "guardian_open.artifact_opened"
    assert "guardian:forget will not know" in ran.words
    assert [path.name for path in (guardian.home / "out").iterdir()] == ["main.py"]


def test_forget__while_a_run_still_writes__is_refused_and_removes_it_once_that_has_ended(
    opened: Terminal, won: Submitted
) -> None:
    with new_directory(opened.home / "out" / "7.new") as directory:  # as another guardian:open does it
        (directory / "main.py").write_text("print(1)\n")
        directory.rename(half := opened.home / "out" / ".7.0123456789ab.partial")
        ran = opened.run("guardian:forget", won.bounty, code=1)
        assert (ran.last["code"], half.name in str(ran.last["issues"])) == ("opened_work_left", True)
        assert (half / "main.py").exists()
        half.rename(directory)
    (opened.home / "out" / "7.new").rename(half)
    ran = opened.run("guardian:forget", won.bounty)
    assert sum(int(str(event["file_count"])) for event in ran.events) == 1
    assert not half.exists()
    assert "nothing opened for bounty" in opened.run("guardian:forget", won.bounty).words


def test_forget__of_work_that_was_kept__names_it_each_time_until_it_is_gone(opened: Terminal, won: Submitted) -> None:
    notes = opened.home / "out" / "7" / "notes.md"
    notes.write_text("It prints 1.\n")
    for _ in range(2):
        assert str(notes) in str(opened.run("guardian:forget", won.bounty).events)
    notes.unlink()
    opened.run("guardian:forget", won.bounty)
    assert "nothing opened for bounty" in opened.run("guardian:forget", won.bounty).words
