"""Commands beyond the roles' flows: browsing, watching, configuration, doctor, template, completion, signs of life."""

import os
import re
import secrets
import subprocess
from pathlib import Path

import pytest
from service_cli.main import COMMANDS
from service_cli.shell.output import Progress, bar
from service_common.domain.challenge import parse_challenge

from tests.cli.api_twin import ApiTwin
from tests.cli.conftest import person
from tests.cli.kill import CLIENT
from tests.cli.ledger import ESCROW, Ledger
from tests.cli.servers import RpcProxy
from tests.cli.terminal import Terminal

SHARE = ESCROW * 300 // 10_000 // 3


def test_heartbeat__by_a_guardian__is_recorded_and_can_be_given_again(ledger: Ledger, guardian: Terminal) -> None:
    account = ledger.people.guardians[0].address
    before = ledger.nonce(account)
    first, second = guardian.run("guardian:heartbeat").last, guardian.run("guardian:heartbeat").last
    assert first["guardian"] == account
    assert first["tx_hash"] != second["tx_hash"]
    assert ledger.nonce(account) - before == 2


def test_heartbeat__by_a_stranger__is_refused_in_words(ledger: Ledger, guardian: Terminal, rpc: RpcProxy) -> None:
    key = ledger.people.solvers[0].wallet.private_key
    stranger = Terminal(guardian.home, {**guardian.environment, "SERVICE_GUARDIAN_ACCOUNT_PRIVATE_KEY": key})
    assert stranger.run("guardian:heartbeat", code=1).last["event"] == "guardian_heartbeat.refused"
    assert rpc.sent() == 0


def test_claim_fee__of_a_guardian_whose_verdict_counted__pays_once(
    ledger: Ledger, guardian: Terminal, ended: int
) -> None:
    account = ledger.people.guardians[0].address
    before = int(ledger.token.call("balanceOf", account))
    ran = guardian.run("guardian:claim-fee", str(ended))
    assert (ran.last["event"], ran.last["amount"]) == ("guardian_claim_fee.claimed", str(SHARE))
    assert int(ledger.token.call("balanceOf", account)) - before == SHARE
    again = guardian.run("guardian:claim-fee", str(ended), code=1).last
    assert again["code"] == "fee_already_claimed"
    assert str(ran.last["tx_hash"]) in str(again["message"])


def test_claim_fee__of_an_open_bounty_or_without_a_verdict__is_refused(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, guardian: Terminal, ended: int, tmp_path: Path
) -> None:
    bounty, _ = ledger.fund()
    assert guardian.run("guardian:claim-fee", str(bounty), code=1).last["code"] == "bounty_open"
    silent = person(ledger, api, rpc, tmp_path / "silent", "guardian-3")
    assert silent.run("guardian:claim-fee", str(ended), code=1).last["code"] == "nothing_due"
    key = ledger.people.poster.wallet.private_key
    stranger = Terminal(guardian.home, {**guardian.environment, "SERVICE_GUARDIAN_ACCOUNT_PRIVATE_KEY": key})
    assert stranger.run("guardian:claim-fee", str(ended), code=1).last["code"] == "not_guardian"
    assert rpc.sent() == 0


def test_list__over_several_pages__prints_each_bounty_once_up_to_the_limit(api: ApiTwin, poster: Terminal) -> None:
    api.listed = {"items": [{"bounty_id": "1", "facts": {}}, {"bounty_id": "2", "facts": {}}], "next_cursor": "c"}
    ran = poster.run("bounty:list", "--limit", "3", "--status", "open", "--accepting")
    assert [event["bounty_id"] for event in ran.events] == ["1", "2", "1"]
    queries = [request.query for request in api.server.requests if request.path == "/api/bounties"]
    assert queries[0] == "status=open&accepting=true&limit=3"
    assert queries[1] == "status=open&accepting=true&limit=1&cursor=c"


@pytest.mark.parametrize("answer", [{}, {"items": 7}, {"items": [7]}])
def test_list__an_answer_of_another_shape__fails_in_one_line(
    api: ApiTwin, poster: Terminal, answer: dict[str, object]
) -> None:
    api.listed = answer
    assert poster.run("bounty:list", code=1).last["code"] == "answer_malformed"


def test_show__a_bounty__prints_what_the_api_answers(api: ApiTwin, poster: Terminal, ended: int) -> None:
    ran = poster.run("bounty:show", str(ended))
    assert (ran.last["event"], ran.last["bounty_id"]) == ("bounty_show.bounty", str(ended))
    other = "0x" + "ab" * 20
    mixed = Terminal(poster.home, {**poster.environment, "SERVICE_HUB_ADDRESS": other})
    assert mixed.run("bounty:show", str(ended), code=1).last["code"] == "deployment_mismatch"


@pytest.mark.parametrize("words", [["bounty:list"], ["guardian:judgeable", "--guardian-address", "0x" + "ab" * 20]])
def test_list__values_of_another_deployment__is_refused(api: ApiTwin, poster: Terminal, words: list[str]) -> None:
    api.listed = {"items": [{"bounty_id": "1", "facts": {}}], "next_cursor": None}
    assert poster.run(*words, "--network", "staging", code=1).last["code"] == "deployment_mismatch"
    mixed = Terminal(poster.home, {**poster.environment, "SERVICE_HUB_ADDRESS": "0x" + "ab" * 20})
    assert mixed.run(*words, code=1).last["code"] == "deployment_mismatch"


def test_config__of_any_environment__shows_sources_and_hides_secrets(shell: Terminal) -> None:
    key = "0x" + secrets.token_hex(32)
    (shell.home / ".env").write_text(f"SERVICE_HUB_ADDRESS={'0x' + 'ab' * 20}\nSERVICE_SOLVER_PRIVATE_KEY={key}\n")
    (shell.home / "key").write_text(key)
    values = {
        "SERVICE_RPC_URL": "https://rpc.example:8545/v2/secretkey?apikey=secretkey",
        "SERVICE_POSTER_PRIVATE_KEY": key,
        "SERVICE_CLAIMANT_PRIVATE_KEY_FILE": str(shell.home / "key"),
    }
    ran = Terminal(shell.home, values).run("config", "--api-base-url", "https://api.example", "--network", "staging")
    found = {str(event["name"]): (event["value"], event["source"]) for event in ran.events}
    assert found["SERVICE_CHAIN_ID"] == ("84532", "--network")
    assert found["SERVICE_HUB_ADDRESS"] == ("0x" + "ab" * 20, ".env")
    assert found["SERVICE_RPC_URL"] == ("https://rpc.example:8545/…", "environment")
    assert found["SERVICE_API_BASE_URL"] == ("https://api.example", "--api-base-url")
    assert found["SERVICE_ESCROW_TOKEN_ADDRESS"][1] == "network"
    assert found["SERVICE_POSTER_PRIVATE_KEY"] == ("set, hidden", "environment (SERVICE_POSTER_PRIVATE_KEY)")
    assert found["SERVICE_SOLVER_PRIVATE_KEY"] == ("set, hidden", ".env (SERVICE_SOLVER_PRIVATE_KEY)")
    assert found["SERVICE_CLAIMANT_PRIVATE_KEY"][1] == "environment (SERVICE_CLAIMANT_PRIVATE_KEY_FILE)"
    assert found["SERVICE_GUARDIAN_PRIVATE_KEYS_JSON"] == (None, "unset")
    assert "secretkey" not in ran.stdout + ran.words
    assert key[2:] not in ran.stdout + ran.words


def test_doctor__of_a_deployment__names_what_is_wrong_and_what_mends_it(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, poster: Terminal
) -> None:
    api.subgraph = {"_meta": {"block": {"number": 7}, "hasIndexingErrors": False}}
    account = ledger.people.poster.address
    ran = poster.run("doctor", "--address", account, code=1)
    found = {event.get("name"): (event.get("ok"), event.get("fix")) for event in ran.events}
    assert found.pop("clock")[0] is False  # this chain lives in the past
    assert ran.last["code"] == "unhealthy"
    del found[None]
    assert set(found) == {"chain", "roster", "api", "subgraph", "beacon", "balance"}
    assert all(ok and fix is None for ok, fix in found.values())
    other = Terminal(
        poster.home, {**poster.environment, "SERVICE_HUB_ADDRESS": account, "SERVICE_BEACON_URLS": "http://127.0.0.1:9"}
    )
    broken = {event.get("name"): event.get("ok") for event in other.run("doctor", code=1).events}
    assert not any((broken["chain"], broken["roster"], broken["api"], broken["beacon"]))


def test_new__a_template__parses_and_is_never_written_over(shell: Terminal) -> None:
    ran = shell.run("poster:new")
    assert ran.last == {"event": "poster_new.written", "path": "bounty_challenge.md"}
    page = (shell.home / "bounty_challenge.md").read_bytes()
    assert parse_challenge(page).judging_window_seconds == 3 * 86_400
    assert shell.run("poster:new", code=1).last["code"] == "file_exists"
    assert shell.run("poster:new", "missing/page.md", code=1).last["code"] == "file_unwritable"
    assert (shell.home / "bounty_challenge.md").read_bytes() == page


@pytest.mark.parametrize("shell_name", ["bash", "zsh", "fish"])
def test_completion__for_a_shell__prints_its_script(shell: Terminal, shell_name: str) -> None:
    assert "_SERVICE_CLI_COMPLETE" in shell.run("completion", shell_name).stdout


def test_completion__in_bash__completes_commands_with_colons(shell: Terminal) -> None:
    script = shell.home / "complete.bash"
    script.write_text(shell.run("completion", "bash").stdout)
    program = (
        f'before=$COMP_WORDBREAKS; source {script}; complete_it() {{ COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
        '_service_cli_completion service-cli; printf "%s\\n" "${COMPREPLY[@]}"; }; '
        "complete_it service-cli guardian : d; complete_it service-cli guardian :; complete_it service-cli poster:n; "
        '[[ $before == "$COMP_WORDBREAKS" ]] && echo kept; COMP_WORDBREAKS=${COMP_WORDBREAKS//:/}; '
        "complete_it service-cli guardian:d"
    )
    path = f"{Path(CLIENT).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**shell.variables(), "PATH": path}
    done = subprocess.run(["/bin/bash", "-c", program], env=environment, capture_output=True, text=True, check=False)
    told = done.stdout.split()
    after_colon = [name.removeprefix("guardian:") for name in COMMANDS if name.startswith("guardian:")]
    assert told == ["deliver-key", *after_colon, "new", "kept", "guardian:deliver-key"], done.stderr


@pytest.mark.parametrize("line", ["nonsense ", "nonsense --", "--network local ", f"claim {'ab' * 32} --", "help no "])
def test_completion__after_what_is_no_command__offers_nothing_and_prints_no_error(shell: Terminal, line: str) -> None:
    words = f"service-cli {line}"
    asked = {"_SERVICE_CLI_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    done = subprocess.run([CLIENT], env={**shell.variables(), **asked}, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stdout + done.stderr
    assert done.stderr == ""


def test_completion__of_the_audit__offers_its_options(shell: Terminal) -> None:
    script = shell.home / "audit.bash"
    script.write_text(shell.run("completion", "bash", "--program", "service-audit").stdout)
    program = (
        f"source {script}; COMP_WORDS=(service-audit --bu); COMP_CWORD=1; _service_audit_completion service-audit; "
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    environment = {**shell.variables(), "PATH": f"{Path(CLIENT).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(["/bin/bash", "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["--bundle"], done.stderr


def test_completion__asked_for_everything__offers_every_command(shell: Terminal) -> None:
    environment = {
        **shell.variables(),
        "_SERVICE_CLI_COMPLETE": "zsh_complete",
        "COMP_WORDS": "service-cli ",
        "COMP_CWORD": "1",
    }
    done = subprocess.run([CLIENT], env=environment, capture_output=True, text=True, check=False)
    assert set(COMMANDS) <= set(done.stdout.replace("\\:", ":").split("\n"))


def test_quiet__of_a_command__leaves_refusals_and_drops_the_rest(poster: Terminal, ledger: Ledger) -> None:
    page = poster.home / "page.md"
    page.write_bytes(ledger.page())
    assert poster.run("poster:publish-fund", "--quiet", str(page)).words == ""
    assert "refused:" in poster.run("claim", "--quiet", "424242", code=1).words


def test_progress__on_no_terminal__draws_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress("sealing") as progress:
        progress(1, 2)
    assert capsys.readouterr().err == ""


def test_progress_bar__at_any_point__is_one_line_of_known_width() -> None:
    assert bar("sealing", 0, 100, 0.0) == "sealing [........................]   0% 0 B/s"
    assert bar("sealing", 50, 100, 1.0) == "sealing [############............]  50% 50 B/s 1 s left"
    assert bar("sealing", 100, 100, 1.0).endswith("100% 100 B/s done")
    assert bar("sealing", 0, 0, 1.0).endswith("100% 0 B/s done")
    for done in range(0, 10**10, 10**9):
        assert re.fullmatch(
            r"x \[[#.]{24}\] +\d+% \d+(\.\d)? ([KM]iB|GiB|B)/s( \d+ s left)?", bar("x", done, 10**10, 7.0)
        )
