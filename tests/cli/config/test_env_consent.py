"""A ``.env`` of somebody else: what only looks reads it; before a key works for what it chose, the Hub is named."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from eth_account import Account

from tests.cli.api_twin import ApiTwin
from tests.cli.kill import spawn
from tests.cli.ledger import Ledger
from tests.cli.screen import at_terminal
from tests.cli.servers import RpcProxy
from tests.cli.submitted import Submitted
from tests.cli.terminal import Terminal, events_of

CHOICES = (
    "SERVICE_CHAIN_ID", "SERVICE_RPC_URL", "SERVICE_HUB_ADDRESS", "SERVICE_ESCROW_TOKEN_ADDRESS",
    "SERVICE_API_BASE_URL",
)  # fmt: skip
ASKED = "digits of the Hub"
POSTER_KEY = "SERVICE_POSTER_PRIVATE_KEY"


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


@pytest.mark.parametrize("what", ["claim", "all"])
def test_wallet_that_only_sends_is_told_file_and_hub(
    ledger: Ledger, poster: Terminal, won: Submitted, what: str
) -> None:
    """Nothing is signed for this run, so nothing is asked; what the call is for is on the screen."""
    keyless = moved(poster.without_keys(), *CHOICES)
    words = ("claim", "--all" if what == "all" else won.bounty, "--claimant-address", won.solver)
    process = spawn(keyless, *words)
    stdout, screen = process.communicate(timeout=60)
    assert process.returncode == 0, screen.decode()
    call = next(one for one in events_of(stdout.decode()) if str(one["event"]).endswith(".transaction_prepared"))
    assert call["to"] == ledger.contract.address
    (line,) = [line for line in screen.decode().splitlines() if ledger.contract.address in line]
    assert str(keyless.home / ".env") in line


def test_wallet_signs_nothing_for_what_a_file_chose(
    ledger: Ledger, api: ApiTwin, solver: Terminal, bounty: str
) -> None:
    (solver.home / "work").mkdir()
    (solver.home / "work" / "main.py").write_text("print(1)\n")
    words = ("solver:submit", "--solver-address", ledger.people.solvers[0].address, bounty, "work")
    refused = moved(solver.without_keys(), *CHOICES).run(*words, code=1)
    assert (refused.names, refused.last["code"]) == (["submit.refused"], "environment_file_not_confirmed")
    assert api.approvals() == []


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


PLACES = {
    "file": {f"{POSTER_KEY}_FILE": "../keys/poster.key"},
    "keystore": {
        "SERVICE_POSTER_KEYSTORE": "../keys/poster.json",
        "SERVICE_POSTER_KEYSTORE_PASSPHRASE_FILE": "../keys/passphrase",
    },
}
"""Where people keep a key, as a stranger can guess it."""


@pytest.mark.parametrize("form", PLACES)
def test_file_with_a_keys_place_is_anybodys(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, poster: Terminal, form: str
) -> None:
    """A stranger's repository names chain, Hub, token and API, and where the person's key may be."""
    key, before = poster.environment[POSTER_KEY], ledger.bounty_count()
    keep_key(poster.home.parent / "keys", key)
    (poster.home / "page.md").write_bytes(ledger.page())
    theirs = moved(poster.without_keys(), *CHOICES)
    with (theirs.home / ".env").open("a") as file:
        file.writelines(f"{name}={value}\n" for name, value in PLACES[form].items())
    process = spawn(theirs, "poster:publish-fund", "page.md")
    stdout, screen = process.communicate(timeout=60)
    ended = [(one["event"], one.get("code")) for one in events_of(stdout.decode())]
    assert ended == [("publish_fund.refused", "environment_file_not_confirmed")], screen.decode()
    assert (api.approvals(), rpc.sent(), ledger.bounty_count()) == ([], 0, before)


def keep_key(folder: Path, key: str) -> None:
    """A key as people keep it: in a file, and in a keystore with its passphrase beside it."""
    sealed = json.dumps(Account.encrypt(bytes.fromhex(key[2:]), "words", kdf="scrypt", iterations=2))
    folder.mkdir()
    for name, text in (("poster.key", key), ("poster.json", sealed), ("passphrase", "words")):
        (folder / name).write_text(text)
        (folder / name).chmod(0o600)


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
