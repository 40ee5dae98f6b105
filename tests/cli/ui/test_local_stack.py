"""A shell that outlives its local stack: its commands report that at once, and what to do."""

from pathlib import Path

import pytest
from service_cli import api as api_module

from tests.cli.terminal import Terminal

NOWHERE = "http://127.0.0.1:9"
"""Where nothing listens."""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The environment file of a person of the stack."""
    path = tmp_path / "stack" / "poster.env"
    path.parent.mkdir()
    path.write_text(f"SERVICE_RPC_URL='{NOWHERE}'\n")
    return path


@pytest.fixture
def home(shell: Terminal, file: Path) -> Terminal:
    """A shell of that person."""
    stack = {"SERVICE_LOCAL_STACK": str(file), "SERVICE_API_BASE_URL": NOWHERE, "SERVICE_RPC_URL": NOWHERE}
    return Terminal(shell.home, {**shell.environment, **stack})


def test_failure__in_the_shell_of_a_stack_that_runs__is_the_api_s(home: Terminal) -> None:
    ran = home.run("bounty:list", code=1)
    assert ran.last["code"] == "api_unreachable"
    assert "The API at 127.0.0.1:9 did not answer" in str(ran.last["message"])


def test_failure__in_the_shell_of_a_stack_that_ended__names_that_at_once_and_how_to_go_on(
    home: Terminal, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []
    monkeypatch.setattr(api_module, "pause", waited.append)
    monkeypatch.setattr(api_module, "RESTART_SECONDS", 5.0)
    file.unlink()
    ended = home.run("bounty:list", code=1).last
    assert (ended["code"], ended["message"]) == ("api_unreachable", "The local stack of this shell has ended.")
    assert "Start it again with ./noxw -s stack." in str(ended["next_action"])
    assert f"{file.with_suffix('')}/shell" in str(ended["next_action"])
    assert waited == []
