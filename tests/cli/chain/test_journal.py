"""The journal: whole or not at all, private, one run at a time."""

import os
from pathlib import Path

import pytest
from bounty_protocol.types import Address, ChainId
from service_cli.chain.journal import HubRecords, JournalEntry
from service_cli.errors import CommandFailed, CommandRefused

RECORDS = HubRecords(ChainId(31337), Address("0x" + "ab" * 20))


@pytest.fixture(autouse=True)
def state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path


NUMBER: JournalEntry[int] = JournalEntry("number", int)


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Path, set[str]]]:
    """Each file and folder that was put on disk, a folder with the names that were in it."""
    found: list[tuple[Path, set[str]]] = []
    real = os.fsync

    def fsync(handle: int) -> None:
        path = Path(f"/proc/self/fd/{handle}").readlink()
        found.append((path, {each.name for each in path.iterdir()} if path.is_dir() else set()))
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    return found


def test_note_is_on_disk_with_its_folders(state: Path, synced: list[tuple[Path, set[str]]]) -> None:
    with RECORDS.open("claim", "1") as journal:
        made = [journal.folder, *journal.folder.parents]
        made = made[: made.index(state)]
        assert [(path, path.name) for path in reversed(made)] == [
            (folder / name, name) for folder, names in synced for name in names if (folder / name) in made
        ]
        for value in (1, 2):
            synced.clear()
            journal.note(NUMBER, value)
            assert [path for path, _ in synced] == [journal.folder / "journal.json.new", journal.folder]
            assert synced[-1][1] == {"lock", "journal.json"}
    synced.clear()
    with RECORDS.open("claim", "1"):
        assert not synced


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff"])
def test_unreadable_journal_is_refused_and_left(content: bytes) -> None:
    with RECORDS.open("claim", "1") as journal:
        file = journal.folder / "journal.json"
    file.write_bytes(content)
    with pytest.raises(CommandRefused) as refused, RECORDS.open("claim", "1"):
        pass
    assert refused.value.code == "journal_unreadable"
    assert file.read_bytes() == content


def test_journal_of_another_run_is_refused() -> None:
    with RECORDS.open("claim", "1"):
        with pytest.raises(CommandRefused) as refused, RECORDS.open("claim", "1"):
            pass
        assert refused.value.code == "already_running"
        with RECORDS.open("claim", "2"):
            pass
    with RECORDS.open("claim", "1"):
        pass


@pytest.mark.parametrize("place", ["lock", "journal.json", "journal.json.new"])
@pytest.mark.parametrize("read", [False, True], ids=["nobody reads it", "somebody reads it"])
def test_pipe_in_place_of_a_journal_is_refused(place: str, read: bool) -> None:
    with RECORDS.open("claim", "1") as journal:
        folder = journal.folder
    (folder / place).unlink(missing_ok=True)
    os.mkfifo(folder / place)
    reader = os.open(folder / place, os.O_RDONLY | os.O_NONBLOCK) if read else None
    try:
        with pytest.raises((CommandFailed, CommandRefused)) as ended, RECORDS.open("claim", "1") as journal:
            journal.note(NUMBER, 1)
    finally:
        if reader is not None:
            os.close(reader)
    assert ended.value.code == ("journal_unreadable" if place == "journal.json" else "journal_not_written")


@pytest.mark.parametrize(("name", "place"), [("HOME", ""), ("HOME", "home"), ("XDG_STATE_HOME", "./state")])
def test_relative_state_directory_is_refused(
    monkeypatch: pytest.MonkeyPatch, state: Path, name: str, place: str
) -> None:
    """Each directory would have journals of its own, and money be sent once from each."""
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv(name, place)
    monkeypatch.chdir(state)
    with pytest.raises(CommandRefused) as refused, RECORDS.open("claim", "1"):
        pass
    assert (refused.value.code, list(state.iterdir())) == ("configuration_malformed", [])
    assert refused.value.message.startswith(f"{name} is {'malformed' if place else 'not set'}")
