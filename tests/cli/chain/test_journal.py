"""The journal: whole or not at all, private, one run at a time."""

import errno
import json
import os
import stat
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

import pytest
from bounty_protocol.types import Address, BlockNumber, ChainId
from bounty_protocol.wire.reading import read
from service_cli.chain import journal as journal_module
from service_cli.chain.journal import JournalEntry, account_lock, open_journal
from service_cli.disk import state_directory
from service_cli.errors import CommandFailed, CommandRefused

CHAIN, HUB = ChainId(31337), Address("0x" + "ab" * 20)


@pytest.fixture(autouse=True)
def state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path


TEXT = JournalEntry.of("text", str)
NUMBER: JournalEntry[int] = JournalEntry("number", int, partial(read, BlockNumber))
ANYTHING: JournalEntry[object] = JournalEntry("number", lambda kept: kept, lambda kept: kept)


def test_journal__noted_and_opened_again__holds_the_entries() -> None:
    with open_journal(CHAIN, HUB, "claim", "1") as journal:
        journal.note(TEXT, "x")
        journal.note(NUMBER, 7)
    with open_journal(CHAIN, HUB, "claim", "1") as journal:
        assert (journal.get(TEXT), journal.get(NUMBER)) == ("x", 7)
        journal.forget(TEXT, JournalEntry.of("never noted", str))
        assert journal.get(TEXT) is None
    with open_journal(CHAIN, HUB, "claim", "2") as journal:
        assert journal.get(NUMBER) is None


@pytest.mark.parametrize("value", ["", "-1", "1.0", "٣", -1, 1.5, True, None, [], {}])
def test_journal__an_entry_of_another_form__is_refused_and_left_where_it_is(value: object) -> None:
    with open_journal(CHAIN, HUB, "claim", "1") as journal:
        journal.note(ANYTHING, value)
    with open_journal(CHAIN, HUB, "claim", "1") as journal:
        with pytest.raises(CommandRefused) as refused:
            journal.get(NUMBER)
        assert refused.value.code == "journal_unreadable"
        assert json.loads((journal.folder / "journal.json").read_text()) == {"number": value}


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


def test_journal__noted__is_on_disk_under_its_name_with_every_folder_that_was_made_for_it(
    state: Path, synced: list[tuple[Path, set[str]]]
) -> None:
    with open_journal(CHAIN, HUB, "claim", "1") as journal:
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
    with open_journal(CHAIN, HUB, "claim", "1"):
        assert not synced


@pytest.mark.parametrize(("cause", "kept"), [(errno.EINVAL, True), (errno.EIO, False)])
def test_journal__of_a_file_system_that_cannot_sync_folders__is_kept_and_a_broken_one_is_reported(
    monkeypatch: pytest.MonkeyPatch, cause: int, kept: bool
) -> None:
    with open_journal(CHAIN, HUB, "claim", "1") as journal:
        real = os.fsync

        def fsync(handle: int) -> None:
            if stat.S_ISDIR(os.fstat(handle).st_mode):
                raise OSError(cause, os.strerror(cause))
            real(handle)

        monkeypatch.setattr(os, "fsync", fsync)
        if kept:
            journal.note(NUMBER, 1)
        else:
            with pytest.raises(CommandFailed) as failed:
                journal.note(NUMBER, 1)
            assert failed.value.code == "journal_not_written"


def test_journal__on_disk__is_readable_by_its_owner_only(state: Path) -> None:
    before = os.umask(0)
    try:
        with open_journal(CHAIN, HUB, "claim", "1") as journal:
            journal.note(NUMBER, 1)
    finally:
        os.umask(before)
    for path in (state / "service-cli").rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_journal__a_write_that_fails_half_way__leaves_the_old_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with open_journal(CHAIN, HUB, "claim", "1") as journal:
        journal.note(NUMBER, 1)
        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(CommandFailed) as failed:
            journal.note(NUMBER, 2)
        assert failed.value.code == "journal_not_written"
    monkeypatch.undo()
    monkeypatch.setenv("XDG_STATE_HOME", str(journal.folder.parents[2]))
    with open_journal(CHAIN, HUB, "claim", "1") as journal:
        assert journal.get(NUMBER) == 1


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b"null"])
def test_journal__unreadable__is_refused_and_left_where_it_is(content: bytes) -> None:
    with open_journal(CHAIN, HUB, "claim", "1") as journal:
        file = journal.folder / "journal.json"
    file.write_bytes(content)
    with pytest.raises(CommandRefused) as refused, open_journal(CHAIN, HUB, "claim", "1"):
        pass
    assert refused.value.code == "journal_unreadable"
    assert file.read_bytes() == content


def test_journal__held_by_another_run__is_refused_at_once() -> None:
    with open_journal(CHAIN, HUB, "claim", "1"):
        with pytest.raises(CommandRefused) as refused, open_journal(CHAIN, HUB, "claim", "1"):
            pass
        assert refused.value.code == "already_running"
        with open_journal(CHAIN, HUB, "claim", "2"):
            pass
    with open_journal(CHAIN, HUB, "claim", "1"):
        pass


def test_journal__of_a_run_that_was_killed__can_be_opened_again() -> None:
    program = (
        "import os, signal\nfrom service_cli.chain.journal import JournalEntry, open_journal\n"
        f"with open_journal({CHAIN}, '{HUB}', 'claim', '1') as journal:\n"
        "    journal.note(JournalEntry.of('number', int), 1)\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=False, timeout=30)
    with open_journal(CHAIN, HUB, "claim", "1") as journal:
        assert journal.get(NUMBER) == 1


def test_state_directory__without_xdg__is_below_the_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert state_directory() == tmp_path / ".local/state/service-cli"


def test_journal__where_a_file_stands_in_the_way__fails_with_a_sentence(state: Path) -> None:
    (state / "service-cli").write_text("")
    with pytest.raises(CommandFailed) as failed, open_journal(CHAIN, HUB, "claim", "1"):
        pass
    assert failed.value.code == "journal_not_written"
    assert json.dumps(failed.value.next_action)


@pytest.mark.attack
@pytest.mark.parametrize("depth", [1_000, 100_000])
def test_journal_that_is_nested_deep_is_refused(depth: int) -> None:
    with open_journal(CHAIN, HUB, "claim", "1") as journal:
        file = journal.folder / "journal.json"
    file.write_bytes(b'{"number":' + b"[" * depth + b"]" * depth + b"}")
    with pytest.raises(CommandRefused) as refused, open_journal(CHAIN, HUB, "claim", "1") as journal:
        journal.get(NUMBER)
    assert refused.value.code == "journal_unreadable"


@pytest.mark.attack
@pytest.mark.parametrize("place", ["lock", "journal.json", "journal.json.new"])
@pytest.mark.parametrize("read", [False, True], ids=["nobody reads it", "somebody reads it"])
def test_pipe_in_place_of_a_file_is_refused_and_not_waited_for(place: str, read: bool) -> None:
    with open_journal(CHAIN, HUB, "claim", "1") as journal:
        folder = journal.folder
    (folder / place).unlink(missing_ok=True)
    os.mkfifo(folder / place)
    reader = os.open(folder / place, os.O_RDONLY | os.O_NONBLOCK) if read else None
    try:
        with pytest.raises((CommandFailed, CommandRefused)) as ended, open_journal(CHAIN, HUB, "claim", "1") as journal:
            journal.note(NUMBER, 1)
    finally:
        if reader is not None:
            os.close(reader)
    assert ended.value.code == ("journal_unreadable" if place == "journal.json" else "journal_not_written")


@pytest.mark.attack
@pytest.mark.parametrize("home", ["", "home", "./home", "~"])
def test_home_that_is_no_path_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, home: str) -> None:
    """As a relative state directory: what was signed would be remembered in another place each time."""
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setenv("HOME", home)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CommandRefused) as refused, open_journal(CHAIN, HUB, "claim", "1"):
        pass
    assert (refused.value.code, list(tmp_path.iterdir())) == ("configuration_malformed", [])


@pytest.mark.attack
@pytest.mark.parametrize("base", ["state", "./state", "../state", "~/state", "$HOME/state"])
def test_relative_state_directory_is_refused(monkeypatch: pytest.MonkeyPatch, state: Path, base: str) -> None:
    """Each directory would have journals of its own, and money be sent once from each."""
    monkeypatch.setenv("XDG_STATE_HOME", base)
    monkeypatch.chdir(state)
    with pytest.raises(CommandRefused) as refused, open_journal(CHAIN, HUB, "claim", "1"):
        pass
    assert (refused.value.code, list(state.iterdir())) == ("configuration_malformed", [])


def test_account__that_another_command_has_for_long__is_waited_for_and_then_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    account = Address("0x" + "cd" * 20)
    holding = f"""
import sys
from service_cli.chain.journal import account_lock
with account_lock({CHAIN}, "{account}"):
    print("held", flush=True)
    sys.stdin.read()
"""
    with subprocess.Popen([sys.executable, "-c", holding], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        with monkeypatch.context() as patch:
            patch.setattr(journal_module, "ACCOUNT_SECONDS", 0.3)
            with pytest.raises(CommandRefused) as refused, account_lock(CHAIN, account):
                pass
        assert refused.value.code == "already_running"
        ending = threading.Timer(0.3, other.stdin.close)
        ending.start()
        with account_lock(CHAIN, account):
            assert other.wait(5) == 0
        ending.join()
