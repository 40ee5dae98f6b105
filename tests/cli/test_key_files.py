"""Files that keys come from: read within bounds, and told where others can read them."""

import os
from collections.abc import Callable
from pathlib import Path
from threading import Thread

import pytest
from service_cli.config.environment import Environment, read_dotenv
from service_cli.config.keys import loaded_keys
from service_cli.errors import CommandRefused

from tests.cli.terminal import Terminal

KEY = "SERVICE_POSTER_PRIVATE_KEY"
WARNING = f"warning: .env holds {KEY} and can be read by other users; chmod 600 it\n"


def pipe(path: Path) -> Path:
    os.mkfifo(path)
    return path


def large(path: Path) -> Path:
    path.write_text("a" * (64 * 1024 + 1))
    return path


def binary(path: Path) -> Path:
    path.write_bytes(b"\xff" * 32)
    return path


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda _: Path("/dev/zero"), "is no regular file"),
        (lambda path: path.parent, "cannot be read"),
        (large, "is larger than 64 KiB"),
        (binary, "is not text"),
    ],
    ids=["device", "folder", "large", "binary"],
)
def test_key_file__that_is_no_small_text__is_refused_with_the_reason(
    tmp_path: Path, make: Callable[[Path], Path], reason: str
) -> None:
    path = make(tmp_path / "key")
    with pytest.raises(CommandRefused) as refused:
        Environment({f"{KEY}_FILE": str(path)}, {}).secret(KEY)
    assert refused.value.message == f"The file named by {KEY}_FILE {reason}."


def test_key_file__that_is_a_pipe__is_read_once_and_known_from_then_on(tmp_path: Path) -> None:
    path, key = pipe(tmp_path / "key"), "0x" + "11" * 32
    environment = Environment({f"{KEY}_FILE": str(path)}, {})
    writer = Thread(target=lambda: path.write_text(key + "\n"))
    writer.start()
    assert [environment.secret(KEY) for _ in range(2)] == [key, key]
    writer.join()
    assert loaded_keys(environment).inside(b"key = " + key.encode())


def test_dotenv__that_is_a_pipe__is_refused_and_not_waited_for(shell: Terminal) -> None:
    pipe(shell.home / ".env")
    assert shell.run("claim", "1", code=1).last["code"] == "environment_file_unreadable"


def test_key_file__of_64_kib__is_read(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_text("a" * (64 * 1024))
    path.chmod(0o600)
    assert Environment({f"{KEY}_FILE": str(path)}, {}).secret(KEY) == "a" * (64 * 1024)


@pytest.mark.parametrize("command", ["guardian:keys", "guardian:new-key"])
def test_keyring__that_never_ends__is_refused(shell: Terminal, command: str) -> None:
    (shell.home / "ring").symlink_to("/dev/zero")
    more = ("--rotate",) if command == "guardian:new-key" else ()
    ran = shell.run(command, "ring", *more, code=1)
    assert ran.last["code"] in {"file_unreadable", "file_not_written"}


def test_dotenv__that_never_ends__is_refused(shell: Terminal) -> None:
    (shell.home / ".env").symlink_to("/dev/zero")
    assert shell.run("claim", "1", code=1).last["code"] == "environment_file_unreadable"


@pytest.mark.parametrize(
    ("text", "mode", "told"),
    [
        (f"{KEY}=x\n", 0o644, WARNING),
        (f"{KEY}=x\n", 0o640, WARNING),
        (f"{KEY}=x\n", 0o600, ""),
        (f"{KEY}=\n", 0o644, ""),
        (f"{KEY}_FILE=/x\nSERVICE_CHAIN_ID=1\n", 0o644, ""),
    ],
)
def test_dotenv__with_a_key_that_others_can_read__is_warned_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: str, mode: int, told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(".env").write_text(text)
    Path(".env").chmod(mode)
    assert read_dotenv(Path(".env"))
    assert capsys.readouterr().err == told
