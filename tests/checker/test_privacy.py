"""Canaries are found in every form and place, and only where they are."""

import base64
import gzip
import json
import os
from pathlib import Path
from urllib.parse import quote

import pytest
from service_checker.privacy import PART, search_paths, searching_answers
from service_checker.report import CheckReport

CANARY = b"AGE-SECRET-KEY-1CANARY/+?WITH SIGNS"


def found_in(content: bytes, folder: Path, canary: bytes = CANARY) -> bool:
    (folder / "below").mkdir(exist_ok=True)
    (folder / "below" / "file.log").write_bytes(content)
    findings = CheckReport()
    assert search_paths([folder], [canary], findings) == 1
    assert {each.requirement for each in findings.found} <= {"privacy.canary"}
    assert CANARY.decode() not in "\n".join(findings.lines()), "the report does not repeat a secret"
    return bool(findings.found)


@pytest.mark.parametrize(
    "content",
    [
        CANARY,
        CANARY.hex().encode(),
        quote(CANARY.decode(), safe="").encode(),
        *(base64.b64encode(b"x" * shift + CANARY + b"more") for shift in range(6)),
        base64.urlsafe_b64encode(CANARY),
        CANARY.decode().encode("utf-16-le"),
        gzip.compress(b"a" + CANARY),
        b"." * (PART - 7) + CANARY,
    ],
    ids=["plain", "hex", "address", *(f"base64 at {shift}" for shift in range(6)), "url", "wide", "gzip", "border"],
)
def test_canary__in_a_form__is_found(content: bytes, tmp_path: Path) -> None:
    assert found_in(b"before " + content + b" after" if content[:2] != b"\x1f\x8b" else content, tmp_path)
    assert not found_in(b"before " + CANARY[:-1] + b" after", tmp_path)


def test_key__written_as_its_bytes__is_found(tmp_path: Path) -> None:
    key = bytes(range(32))
    assert found_in(b"\0" + key, tmp_path, b"0x" + key.hex().encode())


@pytest.mark.parametrize("ascii_only", [True, False])
def test_canary__escaped_as_json__is_found(ascii_only: bool, tmp_path: Path) -> None:
    canary = 'a "quoted" word of Zoë'
    log = json.dumps({"content": f"before {canary} after"}, ensure_ascii=ascii_only)
    assert found_in(log.encode(), tmp_path, canary.encode())


def test_answer__with_a_canary__is_named() -> None:
    findings = CheckReport()
    search = searching_answers([CANARY], findings)
    search("GET /a", b"{}")
    search("GET /b", b'"' + CANARY + b'"')
    assert [each.where for each in findings.found] == ["GET /b"]


def test_file__that_cannot_be_read_whole__is_reported(tmp_path: Path) -> None:
    (tmp_path / "cut.gz").write_bytes(gzip.compress(b"a" * 1000)[:-9])
    findings = CheckReport()
    search_paths([tmp_path], [CANARY], findings)
    assert (findings.exit_code(), [each.requirement for each in findings.found]) == (2, ["checked"])


def searched(*paths: Path) -> list[tuple[str, Path]]:
    findings = CheckReport()
    search_paths(paths, [CANARY], findings)
    return [(each.requirement, Path(each.where)) for each in findings.found]


def test_link__to_a_file_or_named_on_the_command_line__is_followed(tmp_path: Path) -> None:
    pods, containers, named = (tmp_path / name for name in ("pods", "containers", "named"))
    pods.mkdir()
    containers.mkdir()
    (pods / "0.log").write_bytes(CANARY)
    (containers / "api.log").symlink_to(pods / "0.log")
    named.symlink_to(pods)
    assert searched(containers) == [("privacy.canary", containers / "api.log")]
    assert searched(containers / "api.log") == [("privacy.canary", containers / "api.log")]
    assert searched(named) == [("privacy.canary", named / "0.log")]


def test_link__to_a_folder_or_to_nothing__is_reported(tmp_path: Path) -> None:
    (tmp_path / "0.log").write_bytes(b"nothing")
    (tmp_path / "around").symlink_to(tmp_path)
    (tmp_path / "gone").symlink_to(tmp_path / "not there")
    (tmp_path / "itself").symlink_to(tmp_path / "itself")
    assert searched(tmp_path) == [("checked", tmp_path / name) for name in ("around", "gone", "itself")]


def test_folder__that_may_not_be_read__is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "closed").mkdir()
    (tmp_path / "0.log").write_bytes(b"nothing")
    scandir = os.scandir

    def scanned(path: str) -> object:
        if Path(path).name == "closed":
            raise PermissionError(13, "Permission denied", path)  # tests may run as root, who may read everything
        return scandir(path)

    monkeypatch.setattr(os, "scandir", scanned)
    assert searched(tmp_path) == [("checked", tmp_path / "closed")]


def test_path__without_a_file__is_reported(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert searched(tmp_path) == [("checked", tmp_path)]
    assert searched(tmp_path / "pipe") == [("checked", tmp_path / "pipe")]
