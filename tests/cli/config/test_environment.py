"""What is told of where values come from: ``.env``, mistyped names, and keys that are set twice."""

import secrets

import pytest
from service_cli.config.environment import Environment, tell_sources

HUB, KEY = "0x" + "ab" * 20, secrets.token_hex(32)
POSTER = "SERVICE_POSTER_PRIVATE_KEY"


def told(capsys: pytest.CaptureFixture[str], exported: dict[str, str], fallback: dict[str, str]) -> str:
    tell_sources(Environment(exported, fallback))
    return capsys.readouterr().err


def test_what_a_file_decides_is_named_without_values(
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
    named = "SERVICE_API_BASE_URL, SERVICE_BEACON_URLS, SERVICE_CHAIN_ID, SERVICE_ESCROW_TOKEN_ADDRESS"
    assert told(capsys, {}, values) == (f"note: taken from .env: {named}, SERVICE_HUB_ADDRESS, SERVICE_RPC_URL\n")
