"""Deployment selection: which value wins, where it came from, and what is refused."""

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from bounty_protocol.chain.deployment import DeploymentRecord, deployment_of
from bounty_protocol.types import Address, ChainId
from service_cli.config.env_file import read_env_file
from service_cli.config.environment import Environment
from service_cli.config.settings import BEACON, OVERRIDES, Settings, load_settings
from service_cli.errors import CommandRefused

from tests.cli.terminal import Terminal

HUB = "0x" + "ab" * 20
OTHER = "0x" + "cd" * 20
NOTICE = "no network selected: using mainnet"


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith("SERVICE_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


def settings(monkeypatch: pytest.MonkeyPatch, network: str | None = None, **values: str) -> Settings:
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    return load_settings(network, None, ())


@pytest.mark.spec(27, 28, 190, 191, 193, 194, 195, 196, 392)
@pytest.mark.parametrize(
    ("network", "variable", "chain_id"),
    [
        (None, None, 8453),
        ("mainnet", None, 8453),
        ("staging", None, 84532),
        (None, "84532", 84532),
        (None, "staging", 84532),
        ("staging", "8453", 84532),
    ],
)
def test_network_is_option_variable_or_mainnet(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    network: str | None,
    variable: str | None,
    chain_id: int,
) -> None:
    found = settings(monkeypatch, network, **({"SERVICE_CHAIN_ID": variable} if variable else {}))
    assert found.chain_id == chain_id
    told = capsys.readouterr()
    assert (told.out, told.err.count(NOTICE), told.err.count("\n")) == (
        "",
        *([1, 1] if not (network or variable) else [0, 0]),
    )


@pytest.mark.spec(194)
@pytest.mark.parametrize("wrong", ["main", "1", "MAINNET", "8453 ", "31338"])
def test_unknown_network_is_refused_with_the_names(monkeypatch: pytest.MonkeyPatch, wrong: str) -> None:
    with pytest.raises(CommandRefused, match=r"mainnet \(8453\), staging \(84532\) and local \(31337\)"):
        settings(monkeypatch, wrong)
    with pytest.raises(CommandRefused, match="SERVICE_CHAIN_ID"):
        settings(monkeypatch, None, SERVICE_CHAIN_ID=wrong)


def recorded() -> DeploymentRecord:
    """The record of mainnet, with a Hub and an API."""
    known = deployment_of(ChainId(8453))
    assert known is not None
    api = "https://api.example"
    return replace(known, hub_address=Address(HUB), api_base_url=api, subgraph_endpoint=f"{api}/subgraph")


@pytest.mark.spec(26, 29, 30, 31, 32, 33, 212, 217)
def test_record_decides_what_is_not_set() -> None:
    known, found = recorded(), Settings(Environment({}, {}), ChainId(8453), recorded(), None)
    assert (found.hub_address(), found.escrow_token()) == (HUB, known.escrow_token_address)
    assert (found.rpc_url(), found.reveal_delay()) == (known.rpc_url, known.reveal_delay_seconds)
    assert (found.api_base_url(), found.subgraph_endpoint()) == (known.api_base_url, known.subgraph_endpoint)


GOES_BEFORE: dict[str, tuple[str, Callable[[Settings], str | None]]] = {
    "SERVICE_HUB_ADDRESS": (OTHER, Settings.hub_address),
    "SERVICE_RPC_URL": ("https://other.example/rpc", Settings.rpc_url),
    "SERVICE_SUBGRAPH_ENDPOINT": ("https://other.example/subgraph", Settings.subgraph_endpoint),
    "SERVICE_ESCROW_TOKEN_ADDRESS": (OTHER, Settings.escrow_token),
    "SERVICE_API_BASE_URL": ("https://other.example", Settings.api_base_url),
    "SERVICE_TIMELOCK_REVEAL_DELAY_SECONDS": ("7", lambda found: str(found.reveal_delay())),
}


@pytest.mark.spec(199, 200, 201, 202, 203, 204)
@pytest.mark.parametrize("variable", GOES_BEFORE)
def test_override_leaves_the_other_values(variable: str) -> None:
    value, _ = GOES_BEFORE[variable]
    plain, found = (
        Settings(Environment(given, {}), ChainId(8453), recorded(), None)
        for given in (dict[str, str](), {variable: value})
    )
    for each, (other, read) in GOES_BEFORE.items():
        assert read(found) == (other if each == variable else read(plain)), each
        assert read(plain) != other


@pytest.mark.spec(198)
def test_api_option_wins_over_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVICE_API_BASE_URL", "https://variable.example")
    assert load_settings("staging", "https://option.example", ()).api_base_url() == "https://option.example"


@pytest.mark.spec(34)
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SERVICE_HUB_ADDRESS", "0x12"),
        ("SERVICE_HUB_ADDRESS", "0x" + "aB" * 20),
        ("SERVICE_ESCROW_TOKEN_ADDRESS", "USDC"),
        ("SERVICE_RPC_URL", "rpc.example"),
        ("SERVICE_RPC_URL", "http://a:b"),
        ("SERVICE_API_BASE_URL", "https://user:pass@api.example"),
        ("SERVICE_API_BASE_URL", "https://api.example?x"),
        ("SERVICE_TIMELOCK_REVEAL_DELAY_SECONDS", "-1"),
        ("SERVICE_RPC_URLS", "https://a.example,b"),
        ("SERVICE_RPC_URL", "https://a.example https://b.example"),
        ("SERVICE_SUBGRAPH_ENDPOINT", "subgraph"),
        ("SERVICE_FINALITY_DEPTH", "-5"),
        ("SERVICE_BEACON_URLS", "relay"),
    ],
)
def test_malformed_value_names_its_variable(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    found = settings(monkeypatch, "mainnet", **{name: value})
    refused = found.problem(name)
    assert refused is not None
    assert refused.code == "configuration_malformed"
    assert refused.message.startswith(name)
    assert value not in refused.message
    assert refused.next_action.startswith(f"Set {name} to ")


SEALING = ("solver:submit", "1", ".")
NEEDED = (*OVERRIDES, *BEACON)


@pytest.mark.spec(205)
@pytest.mark.parametrize(("words", "wanted"), [(("claim", "1"), OVERRIDES), (SEALING, NEEDED)])
def test_local_without_values_names_them_together(
    shell: Terminal, words: tuple[str, ...], wanted: tuple[str, ...]
) -> None:
    ran = shell.run(*words, "--network", "local", code=1)
    assert ran.last["code"] == "configuration_incomplete"
    assert {name for name in NEEDED if name in str(ran.last["message"])} == set(wanted)
    assert len(ran.events) == 1


def dotenv(shell: Terminal, text: str) -> None:
    (shell.home / ".env").write_text(text)


def variables_of(path: Path) -> Mapping[str, str]:
    found = read_env_file(path)
    assert found is not None
    return found.values


def environment(exported: Mapping[str, str], fallback: Mapping[str, str]) -> Environment:
    return Environment(exported, fallback)


@pytest.mark.spec(207, 208)
def test_dotenv_never_overrides_exported_values(shell: Terminal) -> None:
    dotenv(shell, f"SERVICE_CHAIN_ID=84532\nexport SERVICE_HUB_ADDRESS='{HUB}' # mine\nPATH=/nowhere\n")
    ran = shell.run("verification-record", "1", code=1)
    assert "SERVICE_API_BASE_URL" in str(ran.last["message"])
    assert NOTICE not in ran.words
    assert "SERVICE_HUB_ADDRESS" not in str(ran.last["message"])
    local = shell.run("verification-record", "1", code=1, SERVICE_CHAIN_ID="31337")
    assert "The local network needs" in str(local.last["message"])


@pytest.mark.parametrize(
    "text",
    [
        "SERVICE_CHAIN_ID 1",
        "SERVICE_RPC_URL='b",
        "SERVICE_RPC_URL=\xff",
    ],
)
def test_malformed_dotenv_is_not_quoted(shell: Terminal, text: str) -> None:
    (shell.home / ".env").write_bytes(b"# secret things\n\n" + f"{text}secret\n".encode("latin-1"))
    ran = shell.run("claim", "1", code=1)
    assert ran.last["code"] == "environment_file_malformed"
    assert "Line 3" in str(ran.last["message"])
    assert "secret" not in ran.stdout + ran.words


def test_dotenv_naming_a_variable_gets_no_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVICE_POSTER_PRIVATE_KEY", "a key")
    (tmp_path / ".env").write_text("SERVICE_API_BASE_URL=https://a.example/${SERVICE_POSTER_PRIVATE_KEY}\n")
    assert "a key" not in variables_of(tmp_path / ".env")["SERVICE_API_BASE_URL"]


KEY = "SERVICE_POSTER_PRIVATE_KEY"


def secret_file(tmp_path: Path, text: str = "fromfile\n", mode: int = 0o600) -> str:
    path = tmp_path / "key"
    path.write_text(text)
    path.chmod(mode)
    return str(path)


@pytest.mark.parametrize("level", [0, 1])
def test_value_and_file_at_one_level_are_refused(tmp_path: Path, level: int) -> None:
    both = {KEY: "x", f"{KEY}_FILE": secret_file(tmp_path)}
    with pytest.raises(CommandRefused) as refused:
        environment(both if level == 0 else {}, both if level == 1 else {}).secret(KEY)
    assert refused.value.code == "configuration_contradictory"


@pytest.mark.spec(208)
def test_exported_secret_wins_over_dotenv(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = secret_file(tmp_path)
    assert environment({KEY: "exported"}, {KEY: "x"}).secret(KEY) == "exported"
    assert environment({KEY: "exported"}, {f"{KEY}_FILE": file}).secret(KEY) == "exported"
    assert environment({f"{KEY}_FILE": file}, {KEY: "x"}).secret(KEY) == "fromfile"
    assert capsys.readouterr().err == ""
    fallback = environment({}, {KEY: "x"})
    assert (fallback.secret(KEY), fallback.secret(KEY)) == ("x", "x")
    assert capsys.readouterr().err == f"note: {KEY} was taken from .env\n"


@pytest.mark.spec(211, 278, 280)
@pytest.mark.parametrize("key", ["", "0x12", "zz" * 32, "0x" + "00" * 32, "ab" * 33])
def test_bad_key_is_never_echoed(shell: Terminal, key: str) -> None:
    page = shell.home / "page.md"
    page.write_text(
        "---\nversion: 1\ntitle: t\nsummary: s\nescrow_amount: 1\nsubmission_deadline: 1\n"
        "judging_window_seconds: 1\nacceptance_criteria: [a]\ndeliverables: [d]\n---\nb\n"
    )
    values = dict.fromkeys(("SERVICE_RPC_URL", "SERVICE_API_BASE_URL"), "https://a.example")
    person = Terminal(shell.home, {**values, "SERVICE_HUB_ADDRESS": HUB, "SERVICE_POSTER_PRIVATE_KEY": key})
    ran = person.run("poster:publish-fund", str(page), "--network", "mainnet", code=1)
    assert ran.last["code"] == ("key_missing" if not key else "key_malformed")
    assert not key or key not in ran.stdout + ran.words
    assert str(ran.last["next_action"]).startswith("Set SERVICE_POSTER_PRIVATE_KEY")


WITHOUT_A_KEY = {
    "SERVICE_POSTER_PRIVATE_KEY": ("poster:open-winning-submission", "1"),
    "SERVICE_SOLVER_PRIVATE_KEY": ("solver:submit", "1", "."),
    "SERVICE_CLAIMANT_PRIVATE_KEY": ("claim", "1"),
    "SERVICE_GUARDIAN_ACCOUNT_PRIVATE_KEY": ("guardian:heartbeat",),
    "SERVICE_GUARDIAN_PRIVATE_KEYS_JSON": ("guardian:keys",),
}


@pytest.mark.spec(214, 216, 219, 281, 282, 283, 284)
@pytest.mark.parametrize("variable", WITHOUT_A_KEY)
def test_missing_key_names_its_variable(shell: Terminal, variable: str) -> None:
    values = dict.fromkeys(("SERVICE_RPC_URL", "SERVICE_API_BASE_URL"), "http://127.0.0.1:9")
    person = Terminal(shell.home, {**values, "SERVICE_HUB_ADDRESS": HUB})
    ran = person.run(*WITHOUT_A_KEY[variable], "--network", "mainnet", code=1)
    assert ran.last["code"] == "key_missing"
    assert variable in str(ran.last["message"]) + str(ran.last["next_action"])
