"""Configuration: whatever is wrong is said at once, by the names of the variables, and never quoted."""

import os
import secrets
import subprocess
import sys
from pathlib import Path

import pytest
from service_common.common_settings import database_url_of
from service_common.config import (
    ConfigurationError,
    EnvironmentReader,
    parse_count,
    parse_database_url,
)
from service_common.web.settings import parse_public_host
from service_indexer.config import read_config

from tests.protocol.auth.signing import Key

INDEXER = {
    "SERVICE_CHAIN_ID": "31337",
    "SERVICE_HUB_ADDRESS": "0x" + "ab" * 20,
    "SERVICE_RPC_URLS": "http://127.0.0.1:8545",
    "SERVICE_DATABASE_URL": "postgresql://service_indexer:secret@127.0.0.1:5432/service",
    "SERVICE_REDIS_URL": "rediss://:secret@127.0.0.1:6379/0",
}


@pytest.mark.parametrize(
    "wrong",
    [
        "postgres://a@b/c",
        "mysql://a@b/c",
        "postgresql://a@b:port/c",
        "secret",
        "postgresql+psycopg://a@b/c",
    ],
)
def test_bad_database_url_is_not_quoted(wrong: str) -> None:
    with pytest.raises(ValueError, match="an address such as postgresql://") as refused:
        parse_database_url(wrong)
    assert wrong not in str(refused.value)


@pytest.mark.parametrize(
    "wrong", ["http://[secret", "http://a:secret/", "http://a:0/secret", "ftp://a/secret", "secret", " , "]
)
def test_bad_rpc_url_is_not_quoted(wrong: str) -> None:
    with pytest.raises(ConfigurationError, match="SERVICE_RPC_URLS is malformed") as refused:
        read_config(INDEXER | {"SERVICE_RPC_URLS": wrong})
    assert wrong not in str(refused.value)


@pytest.mark.parametrize("wrong", ["abc", "0", "-1", "1.5", "", "7" * 5_000])
def test_count__that_is_none__is_refused(wrong: str) -> None:
    assert parse_count("7") == 7
    with pytest.raises(ValueError, match="a whole number of at least 1"):
        parse_count(wrong)


@pytest.mark.parametrize("wrong", ["0", "65536", "70000", "-1"])
def test_port__that_is_none__is_refused(wrong: str) -> None:
    assert read_config(INDEXER | {"SERVICE_INTERNAL_PORT": "65535"}).internal_port == 65_535
    with pytest.raises(ConfigurationError, match="SERVICE_INTERNAL_PORT is malformed: a whole number from 1 to 65535"):
        read_config(INDEXER | {"SERVICE_INTERNAL_PORT": wrong})


def test_space_around_a_setting_is_no_part_of_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_text(" 7\n")
    spaced = {name: f" {value}\n" for name, value in INDEXER.items()} | {"SERVICE_FINALITY_DEPTH": "  "}
    assert read_config(spaced) == read_config(INDEXER)
    assert EnvironmentReader({"A_FILE": f" {tmp_path / 'file'} "}).required("A", parse_count, "text") == 7


@pytest.mark.parametrize("wrong", ["a.example:443", "a.example:80", "[::1]:443", "A.example", "https://a.example"])
def test_public_host_is_as_a_url_has_it(wrong: str) -> None:
    for good in ("a.example", "a.example:8443", "127.0.0.1:8080", "[::1]:8080", "a.example:4430"):
        assert parse_public_host(good) == good
    with pytest.raises(ValueError, match="with a port where it is not the default"):
        parse_public_host(wrong)


def test_one_endpoint_decides_nothing_on_mainnet() -> None:
    mainnet = INDEXER | {"SERVICE_CHAIN_ID": "8453", "SERVICE_RPC_QUORUM": "2"}
    two = mainnet | {"SERVICE_RPC_URLS": "https://one.example,https://two.example"}
    assert len(read_config(two).chain.rpc_urls) == 2
    with pytest.raises(ConfigurationError, match="SERVICE_RPC_QUORUM of 1"):
        read_config(two | {"SERVICE_RPC_QUORUM": "1"})
    with pytest.raises(ConfigurationError, match="SERVICE_RPC_URLS names one endpoint"):
        read_config(mainnet)


def test_required__set_in_both_ways__is_one_mistake(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    reader = EnvironmentReader({"A": "x", "A_FILE": str(tmp_path / "file"), "B_FILE": str(tmp_path / "none")})
    reader.required("A", str, "text")
    reader.required("B", str, "text")
    with pytest.raises(ConfigurationError) as refused:
        reader.check()
    assert refused.value.problems == (
        "A and A_FILE are both set; keep one",
        "the file named by B_FILE cannot be read",
    )


@pytest.mark.parametrize("wrong", ["0x1234deadbeef", "no hex", "0x" + "00" * 32, "0x" + "ff" * 32])
def test_bad_settler_key_is_refused_at_start(wrong: str) -> None:
    assert read_config(INDEXER).settler_key is None
    good = Key(secrets.token_bytes(32)).secret.hex()
    assert read_config(INDEXER | {"SERVICE_SETTLER_PRIVATE_KEY": good}).settler_key == bytes.fromhex(good)
    with pytest.raises(ConfigurationError, match="SERVICE_SETTLER_PRIVATE_KEY is malformed: a private key") as refused:
        read_config(INDEXER | {"SERVICE_SETTLER_PRIVATE_KEY": wrong})
    assert wrong not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("SERVICE_RPC_QORUM", "SERVICE_RPC_QUORUM"),
        ("SERVICE_QUORUM", "SERVICE_RPC_QUORUM"),
        ("SERVICE_SETTLER_PRIVAT_KEY_FILE", "SERVICE_SETTLER_PRIVATE_KEY"),
        ("SERVICE_LOGLEVEL", "SERVICE_LOG_LEVEL"),
    ],
)
def test_misspelt_setting_is_named(name: str, meant: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        read_config(INDEXER | {name: "secret"})
    (problem,) = refused.value.problems
    assert (name in problem, meant in problem, "secret" in problem) == (True, True, False)


def test_settings_of_others_are_no_mistakes() -> None:
    others = (
        "SERVICE_INTERNAL_HOST",
        "SERVICE_REVISION",
        "SERVICE_STORAGE_BUCKET",
        "SERVICE_OPENAI_MODEL",
        "OTHER_URL",
    )
    assert read_config(INDEXER | dict.fromkeys(others, "x")).rpc_quorum == 1
    assert database_url_of(INDEXER | dict.fromkeys((*others, "SERVICE_INTERNAL_PORT"), "x"))


def test_all_mistakes_are_said_at_once() -> None:
    wrong = {"SERVICE_DATABASE_URL": "postgres://a:secret@b/c", "SERVICE_REDIS_URL": "http://secret"}
    done = subprocess.run(
        [Path(sys.executable).parent / "service-indexer", "worker"],
        env={"PATH": os.environ["PATH"], **INDEXER, **wrong}, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert (done.returncode, "secret" in done.stderr, "Traceback" in done.stderr) == (2, False, False)
    assert "SERVICE_DATABASE_URL is malformed" in done.stderr
    assert "SERVICE_REDIS_URL is malformed" in done.stderr
