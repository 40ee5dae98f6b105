"""What is told of where values come from: ``.env``, mistyped names, and keys that are set twice."""

import secrets

import pytest
from service_cli.config.environment import KNOWN, Environment, tell_sources, without_credentials
from service_cli.config.settings import LOCAL_VARIABLES

from tests.cli.ledger import Ledger
from tests.cli.terminal import Terminal
from tools.reference.settings import settings_by_process

HUB, KEY = "0x" + "ab" * 20, secrets.token_hex(32)
POSTER = "SERVICE_POSTER_PRIVATE_KEY"


def told(capsys: pytest.CaptureFixture[str], exported: dict[str, str], fallback: dict[str, str]) -> str:
    tell_sources(Environment(exported, fallback))
    return capsys.readouterr().err


def test_dotenv__that_decides_where_an_exported_key_signs__is_told_before_the_signature(
    ledger: Ledger, poster: Terminal
) -> None:
    moved = {n: v for n, v in poster.environment.items() if n in {"SERVICE_HUB_ADDRESS", "SERVICE_API_BASE_URL"}}
    rest = {name: value for name, value in poster.environment.items() if name not in moved}
    (poster.home / ".env").write_text("".join(f"{name}={value}\n" for name, value in moved.items()))
    ran = Terminal(poster.home, rest).run("status", "--quiet")
    api, hub = moved["SERVICE_API_BASE_URL"], moved["SERVICE_HUB_ADDRESS"]
    assert ran.words == f"note: taken from .env: SERVICE_API_BASE_URL={api}, SERVICE_HUB_ADDRESS={hub}\n"


def test_dotenv__with_every_kind_of_value__shows_addresses_without_credentials_and_no_key(
    capsys: pytest.CaptureFixture[str],
) -> None:
    values = {
        "SERVICE_RPC_URL": f"https://me:{KEY}@rpc.example:8545/v2/{KEY}?k={KEY}",
        "SERVICE_HUB_ADDRESS": KEY,
        "SERVICE_ESCROW_TOKEN_ADDRESS": HUB,
        "SERVICE_API_BASE_URL": KEY,
        "SERVICE_CHAIN_ID": "84532",
        "SERVICE_BEACON_URLS": "https://b.example",
        POSTER: KEY,
        f"{POSTER}_FILE": KEY,
    }
    assert told(capsys, {}, values) == (
        "note: taken from .env: SERVICE_API_BASE_URL=malformed, SERVICE_BEACON_URLS, SERVICE_CHAIN_ID=84532, "
        f"SERVICE_ESCROW_TOKEN_ADDRESS={HUB}, SERVICE_HUB_ADDRESS=malformed, "
        "SERVICE_RPC_URL=https://rpc.example:8545/…\n"
    )


def test_dotenv__whose_values_are_exported_or_empty__is_not_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, {"SERVICE_HUB_ADDRESS": HUB}, {"SERVICE_HUB_ADDRESS": "x", "SERVICE_RPC_URL": ""}) == ""


@pytest.mark.parametrize("url", ["http://[", "http://a:b", "file:///etc", "x", ""])
def test_address__that_is_none__is_called_malformed(url: str) -> None:
    assert without_credentials(url) == "malformed"


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("SERVICE_CHIAN_ID", "SERVICE_CHAIN_ID"),
        ("SERVICE_HUB_ADRESS", "SERVICE_HUB_ADDRESS"),
        ("SERVICE_API_BASEURL", "SERVICE_API_BASE_URL"),
        ("SERVCE_RPC_URL", "SERVICE_RPC_URL"),
        ("service_chain_id", "SERVICE_CHAIN_ID"),
        ("SERVICE_POSTER_PRIVATEKEY", POSTER),
        ("SERVICE_POSTER_PRIVATE_KEY_FIL", f"{POSTER}_FILE"),
    ],
)
@pytest.mark.parametrize("exported", [True, False])
def test_variable__that_looks_mistyped__is_named_with_the_one_that_was_meant(
    capsys: pytest.CaptureFixture[str], name: str, meant: str, exported: bool
) -> None:
    words = told(capsys, *(({name: KEY}, {}) if exported else ({}, {name: KEY})))
    assert f"warning: {name} is not read by this client; did you mean {meant}?\n" in words
    assert KEY not in words


def test_variables__of_the_client_and_the_services__are_not_taken_for_mistyped(
    capsys: pytest.CaptureFixture[str],
) -> None:
    others = {setting.name for _, settings in settings_by_process() for setting in settings} - set(KNOWN)
    names = {*others, *(f"{name}_FILE" for name in others), *KNOWN}
    assert len(others) > 20
    assert set(LOCAL_VARIABLES) <= set(KNOWN)
    assert told(capsys, dict.fromkeys(names, "x"), {}) == ""
    assert told(capsys, {"SERVICE_CHIAN_ID": "", "PATH": "x", "API_SERVICE_HOST": "x"}, {}) == ""


def test_mistyped_name_is_named_once(shell: Terminal) -> None:
    ran = shell.run("claim", "1", "--quiet", code=1, SERVICE_CHIAN_ID="84532", SERVICE_CHAIN_ID="84532")
    warning = "warning: SERVICE_CHIAN_ID is not read by this client; did you mean SERVICE_CHAIN_ID?\n"
    assert (ran.words.count("warning"), ran.words.startswith(warning)) == (1, True)
