"""What a newcomer is told: what happened already, what cannot work, and who it was that did not answer."""

import os
import subprocess
from pathlib import Path

import pytest
from service_cli.chain.session import ChainClient
from service_cli.config.environment import Environment
from service_cli.config.settings import Settings
from service_common.chain.deployment import LOCAL_CHAIN_ID
from service_common.errors import ServiceError
from service_common.types import BountyId

from tests.cli.api_twin import ApiTwin
from tests.cli.conftest import person
from tests.cli.kill import CLIENT
from tests.cli.ledger import Ledger
from tests.cli.screen import at_terminal
from tests.cli.servers import Lost, Reply, Request, RpcProxy
from tests.cli.submitted import Submitted, load
from tests.cli.terminal import Terminal


def away(_: Request) -> Reply:
    raise Lost


def read_one_line(terminal: Terminal, *words: str) -> tuple[int, str]:
    """A command whose reader leaves after the first line: exit code and what is on stderr."""
    with subprocess.Popen(
        [CLIENT, *words], env=terminal.variables(), cwd=terminal.home, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        os.read(process.stdout.fileno(), 65_536)
        process.stdout.close()
        told = process.stderr.read().decode()
        return process.wait(timeout=60), told


@pytest.mark.parametrize("quiet", [(), ("--quiet",)])
def test_stdout__whose_reader_leaves_after_money_moved__names_what_nobody_read(
    ledger: Ledger, poster: Terminal, quiet: tuple[str, ...]
) -> None:
    (poster.home / "page.md").write_bytes(ledger.page())
    before = ledger.bounty_count()
    code, told = read_one_line(poster, "poster:publish-fund", *quiet, "page.md")
    assert (code, ledger.bounty_count()) == (1, before + 1)
    last = told.splitlines()[-1]
    assert last.startswith("standard output is closed: ")
    assert f"publish_fund.bounty_created (bounty_id {before + 1}, tx_hash 0x" in last
    assert len(told.splitlines()) == 1 or not quiet


def silent(ledger: Ledger) -> int:
    """A bounty that ended without a winner."""
    bounty, _ = ledger.fund(seconds=100)
    ledger.advance_to(int(ledger.contract.call("getBounty", bounty)[5]))
    anyone = ledger.people.owner.wallet
    anyone.forget_nonce()
    ledger.contract.transact(anyone, "settle", bounty)
    ledger.node.mine(3)
    return bounty


def test_claim__of_what_was_claimed__names_the_transaction(
    ledger: Ledger, poster: Terminal, guardian: Terminal, ended: int
) -> None:
    bounty = str(silent(ledger))
    claimed = poster.run("claim", bounty).last
    for words in ((), ("--claimant-address", ledger.people.poster.address)):
        again = poster.run("claim", *words, bounty, code=1)
        assert again.last["code"] == "refund_already_claimed"
        assert str(claimed["tx_hash"]) in str(again.last["message"])
        assert f"block {claimed['block_number']}" in str(again.last["message"])


def test_verdict__before_the_reveal_point__gives_the_moment(ledger: Ledger, api: ApiTwin, guardian: Terminal) -> None:
    bounty, page = ledger.fund(seconds=20_000)
    api.keep_page(page)
    ledger.submit(bounty, ledger.people.solvers[0].wallet)
    (guardian.home / "body.md").write_text("None.\n")
    ran = guardian.run("guardian:verdict", str(bounty), "no_valid_submission", "body.md", code=1)
    assert ran.last["code"] == "judging_not_started"
    assert " UTC (in " in str(ran.last["message"])


def test_verdict__on_a_final_bounty__says_so_before_it_asks_to_replace(
    ledger: Ledger, guardian: Terminal, ended: int
) -> None:
    (guardian.home / "body.md").write_text("None.\n")
    ran = guardian.run("guardian:verdict", str(ended), "no_valid_submission", "body.md", code=1)
    assert ran.last["code"] == "bounty_final"
    assert "--replace" not in ran.words


def test_verdict__for_work_never_opened_here__warns_before_it_signs(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, tmp_path: Path, judged: Submitted
) -> None:
    load(api, judged)
    for number, opens in (("guardian-3", False), ("guardian-2", True)):
        home = person(ledger, api, rpc, tmp_path / number, number)
        (home.home / "body.md").write_text("It prints 1.\n")
        if opens:
            home.run("guardian:open", *judged.names)
        api.scripts["verdict_write"] = away  # nothing is recorded: other tests judge this one
        told = home.run("guardian:verdict", judged.bounty, "awarded", *judged.names[1:], "body.md", code=1)
        warned = "was not opened on this machine" in told.words
        assert warned is not opens
        if warned:
            assert told.words.index("was not opened") < told.words.index("signing:")


def test_open_winning__of_a_bounty_without_winner__says_to_claim_and_not_to_wait(
    ledger: Ledger, poster: Terminal
) -> None:
    final = poster.run("poster:open-winning-submission", str(silent(ledger)), code=1).last
    assert final["code"] == "not_awarded"
    assert "without a winner" in str(final["message"])
    assert "Wait" not in str(final["next_action"])
    bounty, _ = ledger.fund(seconds=500)
    still = poster.run("poster:open-winning-submission", str(bounty), code=1).last
    assert "Wait" in str(still["next_action"])


def test_new_key__rotating_a_file_that_is_not_there__is_refused(shell: Terminal) -> None:
    ran = shell.run("guardian:new-key", "--rotate", "nowhere.json", code=1)
    assert ran.last["code"] == "nothing_to_rotate"
    assert not (shell.home / "nowhere.json").exists()


def test_judgeable__with_the_subgraph_down__names_the_subgraph(api: ApiTwin, guardian: Terminal) -> None:
    api.scripts["subgraph"] = away
    ran = guardian.run("guardian:judgeable", "--guardian-address", "0x" + "ab" * 20, code=1)
    assert ran.last["code"] == "subgraph_unreachable"
    assert "SERVICE_SUBGRAPH_ENDPOINT" in str(ran.last["next_action"])
    assert "API" not in str(ran.last["message"]) + str(ran.last["next_action"])


def test_api__chosen_by_the_option_and_down__names_the_option(api: ApiTwin, guardian: Terminal) -> None:
    api.scripts["list"] = api.scripts["deployment"] = away
    with_variable = guardian.run("bounty:list", code=1)
    assert "SERVICE_API_BASE_URL" in str(with_variable.last["next_action"])
    with_option = guardian.run("bounty:list", "--api-base-url", api.url, code=1)
    assert "--api-base-url" in str(with_option.last["next_action"])
    assert "SERVICE_API_BASE_URL" not in str(with_option.last["next_action"])


def test_watch__of_an_end_without_winner_that_is_final__has_null_winner_whole_tokens_and_no_step(
    ledger: Ledger, poster: Terminal
) -> None:
    ran = poster.run("bounty:watch", str(silent(ledger)))
    (end,) = [event for event in ran.events if event.get("name") == "BountyFinalized"]
    assert (end["winner"], end["submission_commitment"]) == (None, None)
    assert "bounty_watch.next" not in ran.names
    assert "25000000 base units (25 " in ran.words


def test_show__at_a_terminal__tells_the_page_s_title(ledger: Ledger, api: ApiTwin, poster: Terminal) -> None:
    bounty, page = ledger.fund()
    api.keep_page(page)
    title = page.split(b"title: ")[1].split(b"\n")[0].decode()
    assert f"  title:     {title}" in at_terminal(poster, "bounty:show", str(bounty)).screen


@pytest.mark.parametrize("wrong", ["1", 1.0, None, True, 0])
def test_program__that_passes_no_bounty_id__gets_a_refusal_and_no_traceback_of_a_library(
    ledger: Ledger, wrong: object
) -> None:
    values = {**ledger.variables(), "SERVICE_API_BASE_URL": "x"}
    chain = ChainClient(Settings(Environment(values, {}), LOCAL_CHAIN_ID, None, None))
    with pytest.raises(ServiceError) as refused:
        chain.bounty(wrong)  # type: ignore[arg-type]
    assert refused.value.code == "bounty_id_malformed"
    assert chain.bounty(BountyId(1)).poster


def test_usage__a_bounty_id_of_any_wrong_kind__names_the_same_range(shell: Terminal) -> None:
    told = {shell.run("claim", wrong, code=2).words for wrong in ("abc", "0", "99999999999999999999")}
    assert len(told) == 1
    assert "1 to 9223372036854775807" in told.pop()


def test_usage__a_command_far_from_any__suggests_nothing(shell: Terminal) -> None:
    for typed in ("status", "nonsense", "list", "balance"):
        assert "Did you mean" not in shell.run(typed, code=2).words


def test_help__of_the_whole__names_the_audit_and_what_local_needs(shell: Terminal) -> None:
    out = shell.run("--help").stdout
    assert "service-audit" in out
    assert "all nine" in out
