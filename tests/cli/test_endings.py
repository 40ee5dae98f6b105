"""Commands that cannot print, or are told to stop: one line for people, an exit code, never a traceback."""

import os
import signal
import subprocess

import pytest

from tests.cli.api_twin import ApiTwin
from tests.cli.kill import CLIENT, spawn
from tests.cli.servers import Server
from tests.cli.terminal import Terminal

ADDRESS = "0x" + "ab" * 20


@pytest.mark.parametrize("where", ["> /dev/full", ">&-"])
@pytest.mark.parametrize("words", ["bounty:list", "spec-commitment page.md", "spec-commitment missing.md"])
def test_stdout__that_takes_nothing__is_one_line_and_exit_code_1(
    api: ApiTwin, poster: Terminal, words: str, where: str
) -> None:
    (poster.home / "page.md").write_bytes(b"x")
    api.listed = {"items": [{"bounty_id": "1", "facts": {}}], "next_cursor": None}
    done = shelled(poster, f"{CLIENT} {words} {where}")
    assert (done.returncode, b"Traceback" in done.stderr) == (1, False)
    assert done.stderr.splitlines()[-1].startswith(b"failed: standard output cannot be written: ")
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize("words", ["--help", "help claim", "completion bash"])
def test_stdout__full_where_text_is_printed__is_one_line_and_exit_code_1(shell: Terminal, words: str) -> None:
    done = shelled(shell, f"{CLIENT} {words} > /dev/full")
    assert (done.returncode, done.stderr.count(b"\n"), b"Traceback" in done.stderr) == (1, 1, False)


def test_stderr__that_takes_nothing__still_prints_the_event(shell: Terminal) -> None:
    done = shelled(shell, f"{CLIENT} spec-commitment missing.md 2> /dev/full")
    assert (done.returncode > 0, b"file_unreadable" in done.stdout) == (True, True)
    assert shelled(shell, f"{CLIENT} spec-commitment missing.md 2>&-").returncode == 1


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_stopped__while_waiting_for_an_answer__says_that_it_can_be_run_again(
    shell: Terminal, sent: signal.Signals, code: int
) -> None:
    process: list[subprocess.Popen[bytes]] = []

    def stop(_request: object) -> tuple[int, bytes, dict[str, str]]:
        os.kill(process[0].pid, sent)
        process[0].wait(timeout=20)
        return 200, b"{}", {}

    server = Server(stop)
    try:
        values = {"SERVICE_HUB_ADDRESS": ADDRESS, "SERVICE_API_BASE_URL": server.url}
        process.append(spawn(shell, "verification-record", "1", "--network", "mainnet", **values))
        out, words = process[0].communicate(timeout=30)
    finally:
        server.close()
    assert (process[0].returncode, out) == (code, b"")
    assert words.decode() == "interrupted; run the command again to continue\n"


def shelled(terminal: Terminal, line: str) -> subprocess.CompletedProcess[bytes]:
    """A line of a shell, in a terminal's environment."""
    return subprocess.run(
        ["/bin/bash", "-c", line],
        cwd=terminal.home,
        env=terminal.variables(),
        capture_output=True,
        timeout=30,
        check=False,
    )
