"""A shell that outlives its local stack: its commands report that, and what to do."""

from pathlib import Path

from tests.cli.terminal import Terminal

NOWHERE = "http://127.0.0.1:9"
"""Where nothing listens."""


def test_failure__in_the_shell_of_a_stack_that_ended__names_that_and_how_to_go_on(
    shell: Terminal, tmp_path: Path
) -> None:
    file = tmp_path / "stack" / "poster.env"
    stack = {"SERVICE_LOCAL_STACK": str(file), "SERVICE_API_BASE_URL": NOWHERE, "SERVICE_RPC_URL": NOWHERE}
    home = Terminal(shell.home, {**shell.environment, **stack})
    file.parent.mkdir()
    file.write_text(f"SERVICE_RPC_URL='{NOWHERE}'\n")
    runs = home.run("bounty:list", code=1).last  # its stack is there, but for the API
    assert (runs["code"], "did not answer" in str(runs["message"])) == ("api_unreachable", True)
    for other, what in (("SERVICE_RPC_URL='http://127.0.0.1:10'\n", "Another one runs"), (None, "./noxw -s stack")):
        if other is None:
            file.unlink()
        else:
            file.write_text(other)
        ended = home.run("bounty:list", code=1).last
        assert (ended["code"], ended["message"]) == ("api_unreachable", "The local stack of this shell has ended.")
        assert what in str(ended["next_action"])
        assert f"{tmp_path}/stack/poster/shell" in str(ended["next_action"])
