"""New files get their name whole, and nobody's place."""

import errno
import os
from pathlib import Path

import pytest
from service_cli.errors import CommandRefused
from service_cli.ui.new_files import new_file, write_new


def without_links(*_: object) -> None:
    raise OSError(errno.EPERM, os.strerror(errno.EPERM))


@pytest.fixture(params=["links", "no links"])
def path(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    if request.param == "no links":
        monkeypatch.setattr(os, "link", without_links)
    return tmp_path / ("n" * 250 + ".json")


def test_file__whole__has_its_name_and_nothing_is_beside_it(path: Path) -> None:
    write_new(path, "text")
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("text", 0o644)
    assert list(path.parent.iterdir()) == [path]


def test_file__that_ends_early__is_in_nobodys_way(path: Path) -> None:
    def interrupted() -> None:
        with new_file(path) as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert list(path.parent.iterdir()) == []


def test_file__of_a_name_that_is_taken__is_refused_and_leaves_it(path: Path) -> None:
    path.write_text("mine")
    with pytest.raises(CommandRefused) as refused:
        write_new(path, "text")
    assert (refused.value.code, path.read_text()) == ("file_exists", "mine")
    path.unlink()
    path.symlink_to("nowhere")
    with pytest.raises(FileExistsError), new_file(path):
        pass


def test_file__whose_name_somebody_takes_meanwhile__takes_nobodys_place(tmp_path: Path) -> None:
    path = tmp_path / "one.json"

    def late() -> None:
        with new_file(path) as file:
            file.write(b"text")
            path.write_text("theirs")

    with pytest.raises(FileExistsError):
        late()
    assert path.read_text() == "theirs"
    assert list(tmp_path.iterdir()) == [path]
