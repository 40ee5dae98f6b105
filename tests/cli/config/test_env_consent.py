"""A ``.env`` of somebody else: what only looks reads it; before a key works for what it chose, the Hub is named."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.cli.ledger import Ledger
from tests.cli.screen import at_terminal
from tests.cli.servers import RpcProxy
from tests.cli.submitted import Submitted
from tests.cli.terminal import Terminal

CHOICES = (
    "SERVICE_CHAIN_ID", "SERVICE_RPC_URL", "SERVICE_HUB_ADDRESS", "SERVICE_ESCROW_TOKEN_ADDRESS",
    "SERVICE_API_BASE_URL",
)  # fmt: skip
ASKED = "digits of the Hub"


def moved(shell: Terminal, *names: str) -> Terminal:
    """The same with these variables in the directory's ``.env`` instead of the environment."""
    write(shell.home, {name: shell.environment[name] for name in names})
    return Terminal(shell.home, {name: value for name, value in shell.environment.items() if name not in names})


def write(folder: Path, values: Mapping[str, str]) -> None:
    file = folder / ".env"
    file.write_text("".join(f"{name}='{value}'\n" for name, value in values.items()))
    file.chmod(0o600)


@pytest.mark.parametrize("name", CHOICES)
def test_file_that_chose_one_value_signs_nothing(guardian: Terminal, rpc: RpcProxy, name: str) -> None:
    refused = moved(guardian, name).run("guardian:heartbeat", code=1).last
    assert (refused["code"], name in str(refused["message"])) == ("environment_file_not_confirmed", True)
    assert rpc.sent() == 0


def test_wallet_gets_nothing_for_what_a_file_chose(poster: Terminal, won: Submitted) -> None:
    refused = moved(poster, *CHOICES).run("claim", won.bounty, "--claimant-address", won.solver, code=1)
    assert (refused.names, refused.last["code"]) == (["claim.refused"], "environment_file_not_confirmed")


@pytest.mark.parametrize(("change", "sent"), [(0, 1), (1, 0)], ids=["right", "wrong"])
def test_person_confirms_by_the_hubs_last_digits(
    ledger: Ledger, guardian: Terminal, rpc: RpcProxy, change: int, sent: int
) -> None:
    digits = int(ledger.hub.hub.address[-6:], 16) ^ change
    seen = at_terminal(moved(guardian, *CHOICES), "guardian:heartbeat", typed=f"{digits:06x}\n", prompt=ASKED)
    assert (seen.code, rpc.sent()) == (1 - sent, sent)
    assert seen.screen.count(ASKED) == 1


def test_file_with_the_key_is_its_owners(guardian: Terminal, rpc: RpcProxy) -> None:
    moved(guardian, *CHOICES, "SERVICE_GUARDIAN_ACCOUNT_PRIVATE_KEY").run("guardian:heartbeat")
    assert rpc.sent() == 1


def test_key_of_another_role_changes_nothing(guardian: Terminal, poster: Terminal) -> None:
    both = Terminal(guardian.home, {**poster.environment, **guardian.environment})
    refused = moved(both, *CHOICES, "SERVICE_POSTER_PRIVATE_KEY").run("guardian:heartbeat", code=1)
    assert refused.last["code"] == "environment_file_not_confirmed"


def test_exported_values_ask_nothing(guardian: Terminal, rpc: RpcProxy) -> None:
    write(guardian.home, dict.fromkeys(CHOICES, "http://127.0.0.1:9"))
    guardian.run("guardian:heartbeat")
    assert rpc.sent() == 1


def test_what_signs_nothing_asks_nothing(poster: Terminal) -> None:
    assert moved(poster, *CHOICES).run("bounty:list", "--quiet").code == 0


def test_new_key_is_not_written_where_a_file_says(shell: Terminal, tmp_path: Path) -> None:
    write(shell.home, {"SERVICE_GUARDIAN_PRIVATE_KEYS_JSON_FILE": str(tmp_path / "theirs.json")})
    assert shell.run("guardian:new-key", code=1).last["code"] == "file_not_named"
    assert not (tmp_path / "theirs.json").exists()
