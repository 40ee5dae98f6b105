"""Verdicts: published, read back, recorded once, replaced only on request; and reasons written in an editor."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from bounty_protocol.chain.abi import hub_abi
from bounty_protocol.keccak import keccak256
from bounty_protocol.types import bytes32, parse_address, parse_bytes32
from service_cli.acts import verdict
from service_cli.chain import sender
from service_cli.queries import submissions

from tests.cli.api_twin import ApiTwin
from tests.cli.conftest import person
from tests.cli.kill import ran, run_killed
from tests.cli.ledger import Ledger
from tests.cli.screen import at_terminal, text_of
from tests.cli.servers import Lost, Params, Reply, Request, RpcProxy
from tests.cli.submitted import Submitted, load
from tests.cli.terminal import Terminal, events_of


def verdict_body(home: Terminal, text: str = "It prints 1.\n") -> str:
    (home.home / "body.md").write_text(text)
    return "body.md"


@pytest.mark.spec(5, 23, 230, 232, 285)
def test_verdict__published_and_read_back__is_recorded_once_and_replaced_only_on_request(
    ledger: Ledger, api: ApiTwin, guardian: Terminal, judged: Submitted
) -> None:
    account = ledger.people.guardians[0].address
    before = ledger.nonce(account)
    words = ("guardian:verdict", judged.bounty, "awarded", judged.solver, judged.commitment, "--unopened")
    ran = guardian.run(*words, verdict_body(guardian))
    assert ran.names == ["guardian_verdict.published", "guardian_verdict.read_back", "guardian_verdict.recorded"]
    assert set(ran.last) == {
        "event", "bounty_id", "guardian", "kind", "solver", "submission_commitment", "report_commitment", "tx_hash",
        "block_number",
    }  # fmt: skip
    again = guardian.run(*words, verdict_body(guardian))
    assert (again.names, again.last) == (["guardian_verdict.recorded"], ran.last)
    second = guardian.run(*words, verdict_body(guardian, "It still prints 1.\n"), code=1)
    assert second.last["code"] == "verdict_already_recorded"
    assert "awarded" in str(second.last["message"])
    assert ledger.nonce(account) - before == 1
    replaced = guardian.run(*words, "--replace", verdict_body(guardian, "It still prints 1.\n"))
    assert replaced.last["report_commitment"] != ran.last["report_commitment"]
    assert ledger.nonce(account) - before == 2
    back = guardian.run(*words, verdict_body(guardian), code=1)
    assert back.last["code"] == "verdict_replaced"
    assert guardian.run(*words, "--replace", verdict_body(guardian)).last["tx_hash"] != ran.last["tx_hash"]
    assert ledger.nonce(account) - before == 3
    assert guardian.run(*words, verdict_body(guardian)).last["report_commitment"] == ran.last["report_commitment"]
    assert ledger.nonce(account) - before == 3


@pytest.mark.spec(171, 231, 232)
def test_verdict__that_reads_back_differently__is_not_recorded(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, judged: Submitted, tmp_path: Path
) -> None:
    home = person(ledger, api, rpc, tmp_path / "second", "guardian-2")
    api.scripts["verdict_read"] = lambda _request: (200, b"another document", {})
    words = ("guardian:verdict", judged.bounty, "no_valid_submission", "--unopened", verdict_body(home))
    assert home.run(*words, code=1).last["code"] == "verdict_mismatch"
    assert rpc.sent() == 0


@pytest.mark.spec(98)
def test_verdict__by_a_stranger_or_for_another_submission__is_refused_before_a_signature(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, guardian: Terminal, judged: Submitted
) -> None:
    other = bytes32(keccak256(b"other"))
    body = verdict_body(guardian)
    wrong = guardian.run("guardian:verdict", judged.bounty, "awarded", judged.solver, other, body, code=1)
    assert wrong.last["code"] == "submission_not_active"
    key = ledger.people.solvers[1].wallet.private_key
    stranger = Terminal(guardian.home, {**guardian.environment, "SERVICE_GUARDIAN_ACCOUNT_PRIVATE_KEY": key})
    assert (
        stranger.run("guardian:verdict", judged.bounty, "no_valid_submission", body, code=1).last["code"]
        == "not_guardian"
    )
    assert (rpc.sent(), api.approvals()) == (0, [])


def away(_: Request) -> Reply:
    raise Lost


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


def test_award__of_work_never_opened_here__is_recorded_only_with_consent(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, tmp_path: Path, judged: Submitted
) -> None:
    load(api, judged)
    words = ("guardian:verdict", judged.bounty, "awarded", *judged.names[1:], "body.md")
    for number, opens in (("guardian-3", False), ("guardian-2", True)):
        home = person(ledger, api, rpc, tmp_path / number, number)
        (home.home / "body.md").write_text("It prints 1.\n")
        if opens:
            home.run("guardian:open", *judged.names)
        else:
            refused = home.run(*words, code=1)
            assert refused.last["code"] == "work_not_opened"
            assert "guardian:open" in str(refused.last["next_action"])
            assert (rpc.sent(), api.approvals()) == (0, [])
        api.scripts["verdict_write"] = away  # nothing is recorded: other tests judge this one
        ran = home.run(*words, *(() if opens else ("--unopened",)), code=1)
        assert ran.last["code"] == "api_unreachable"
        assert ("was not opened on this machine" in ran.words) is not opens
        del api.scripts["verdict_write"]


@pytest.mark.parametrize("typed", ["yes\n", "no\n"])
@pytest.mark.parametrize(
    ("meant", "question"),
    [
        (("awarded", "--submission", "1"), "Type yes to award it unopened."),
        (("no_valid_submission",), "Type yes to record it unopened."),
    ],
    ids=["an award", "no winner"],
)
def test_verdict__on_work_never_opened_here__is_asked_for_at_a_terminal(
    rpc: RpcProxy, judging: tuple[Terminal, str], meant: tuple[str, ...], question: str, typed: str
) -> None:
    home, bounty = judging
    words = ("guardian:verdict", bounty, *meant, verdict_body(home))
    last = events_of(at_terminal(home, *words, typed=typed, prompt=question).stdout)[-1]
    if typed == "yes\n":
        assert last["event"] == "guardian_verdict.recorded"
    else:
        assert (last["code"], rpc.sent()) == ("work_not_opened", 0)
        assert f"guardian:open {bounty}" in str(last["next_action"])


def test_refusal_of_work_never_opened_here__without_a_terminal__takes_an_option(
    rpc: RpcProxy, judging: tuple[Terminal, str]
) -> None:
    home, bounty = judging
    words = ("guardian:verdict", bounty, "no_valid_submission", verdict_body(home))
    refused = home.run(*words, code=1).last
    assert (refused["code"], rpc.sent()) == ("work_not_opened", 0)
    assert "--unopened" in str(refused["next_action"])
    assert home.run(*words, "--unopened").last["event"] == "guardian_verdict.recorded"


@pytest.mark.parametrize("is_hinted", [True, False], ids=["by the index", "nowhere"])
def test_no_winner__at_a_hub_whose_first_block_no_release_names__is_recorded_once_all_is_opened(
    ledger: Ledger,
    api: ApiTwin,
    rpc: RpcProxy,
    tmp_path: Path,
    judged: Submitted,
    monkeypatch: pytest.MonkeyPatch,
    is_hinted: bool,
) -> None:
    """It was refused, whatever was opened: nothing but the API's index says where the log begins."""
    load(api, judged)
    home = person(ledger, api, rpc, tmp_path / "third", "guardian-3")
    home.run("guardian:open", *judged.names)
    monkeypatch.setattr(submissions, "first_block", lambda _chain: None)
    if is_hinted:
        api.subgraph = {"bounties": [{"block_number": 0}]}
    api.scripts["verdict_write"] = away  # nothing is recorded: other tests judge this one
    words, opened = ("guardian:verdict", judged.bounty, "no_valid_submission", verdict_body(home)), api.approvals()
    ran = home.run(*words, code=1)
    if is_hinted:
        assert ran.last["code"] == "api_unreachable"
        return
    assert (ran.last["code"], rpc.sent(), api.approvals()) == ("work_not_opened", 0, opened)
    assert "is not known" in str(ran.last["message"])
    assert "add --unopened" in str(ran.last["next_action"])
    assert home.run(*words, "--unopened", code=1).last["code"] == "api_unreachable"


@pytest.mark.attack
@pytest.mark.parametrize(
    "instead", [{"error": {"code": -32005, "message": "limit exceeded"}}, {"result": []}], ids=["none", "an empty one"]
)
def test_no_winner__where_the_endpoint_answers_no_log__is_recorded_only_with_consent(
    rpc: RpcProxy, judging: tuple[Terminal, str], instead: dict[str, object]
) -> None:
    """It was recorded without the question."""
    home, bounty = judging
    rpc.before = lambda method, _params: instead if method == "eth_getLogs" else None
    ran = home.run("guardian:verdict", bounty, "no_valid_submission", verdict_body(home), code=1)
    assert (ran.last["code"], rpc.sent()) == ("work_not_opened", 0)
    assert "is not known" in str(ran.last["message"])


def test_doubtful_reasons_are_refused(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, judging: tuple[Terminal, str]
) -> None:
    home, bounty = judging
    words = ("guardian:verdict", bounty, "no_valid_submission", "--unopened", verdict_body(home, "<p>None.</p>\n"))
    refused = home.run(*words, code=1).last
    assert (refused["code"], rpc.sent(), api.approvals()) == ("reasons_doubtful", 0, [])


def test_verdict__by_an_account_without_ether__is_refused_before_anything_is_published(
    api: ApiTwin, rpc: RpcProxy, guardian: Terminal, judged: Submitted
) -> None:
    load(api, judged)
    (guardian.home / "body.md").write_text("Every criterion holds.\n")
    rpc.after = lambda method, _params, result: "0x0" if method == "eth_getBalance" else result
    words = ("guardian:verdict", judged.bounty, "no_valid_submission", "body.md", "--replace")
    ran = guardian.run(*words, code=1)
    assert (ran.names, ran.last["code"]) == (["guardian_verdict.refused"], "gas_insufficient")
    assert (rpc.sent(), api.approvals()) == (0, [])


NAMED = (parse_address("0x" + "ab" * 20), parse_bytes32("0x" + "cd" * 32))
FILLING = """
import os, re, sys
text = open(sys.argv[-1]).read()
open("seen.md", "w").write(text)
open("environment", "w").write(" ".join(name for name in os.environ if name.startswith("SERVICE_")))
open(sys.argv[-1], "w").write(re.sub("<[^!][^>]*>", "I ran it; it holds.", text))
"""
LEAVING = "import sys; open('seen.md', 'w').write(open(sys.argv[-1]).read())"
FAILING = "import sys; sys.exit(3)"


@pytest.mark.attack
@pytest.mark.parametrize("number", [1, 2], ids=["the number that it had", "the number that it has"])
def test_verdict__by_number_for_work_that_was_opened_under_another__is_refused_until_it_is_named_in_full(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, guardian: Terminal, tmp_path: Path, number: int
) -> None:
    """A node hid the first Submission when the second was opened, and hides nothing when it is judged."""
    bounty, page = ledger.fund(seconds=3_000, judging=20 * 86_400)
    api.keep_page(page)
    for name in ("solver-1", "solver-2"):
        home = person(ledger, api, rpc, tmp_path / name, name)
        (home.home / "work").mkdir()
        (home.home / "work" / "main.py").write_text(f"print('{name}')\n")
        recorded = home.run("solver:submit", str(bounty), "work").last
    ledger.reveal(bounty)
    first = "0x" + ledger.people.solvers[0].address[2:].rjust(64, "0")

    def hide(method: str, _params: Params, result: object) -> object:
        if method == "eth_getLogs" and isinstance(result, list):
            return [log for log in result if first not in log["topics"]]
        return result

    rpc.after = hide
    listed = guardian.run("guardian:open", str(bounty)).event("guardian_open.submission_listed")
    assert (listed["number"], listed["submission_commitment"]) == (1, recorded["submission_commitment"])
    rpc.honest()
    words, body = ("guardian:verdict", str(bounty), "awarded", "--unopened"), verdict_body(guardian)
    ran = guardian.run(*words, "--submission", str(number), body, code=1)
    assert ran.last["code"] == "submission_moved"
    assert "its whole commitment" in str(ran.last["next_action"])
    ran = guardian.run(*words, str(recorded["solver"]), str(recorded["submission_commitment"]), body)
    assert ran.last["submission_commitment"] == recorded["submission_commitment"]


@pytest.mark.attack
def test_verdict__while_another_waits_with_a_later_nonce__is_signed_only_after_it(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, guardian: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mined after this one, the other would take its place."""
    bounty, page = ledger.fund(seconds=400, judging=5_000)
    api.keep_page(page)
    ledger.submit(bounty, ledger.people.solvers[0].wallet)
    ledger.reveal(bounty)
    words = ("guardian:verdict", str(bounty), "no_valid_submission", "--unopened")
    rpc.count_ahead()
    with monkeypatch.context() as patch:
        patch.setattr(sender, "RECEIPT_SECONDS", 0.3)
        ahead = guardian.run(*words, "--replace", verdict_body(guardian), code=1).last
        assert ahead["code"] == "transaction_pending"
    rpc.honest()
    sent = rpc.sent()
    other = verdict_body(guardian, "On second thoughts.\n")
    refused = guardian.run(*words, other, code=1).last
    assert (refused["code"], rpc.sent()) == ("verdict_already_recorded", sent)
    refused = guardian.run(*words, "--replace", other, code=1).last
    assert (refused["code"], rpc.sent()) == ("nonce_ahead", sent)
    assert guardian.run(*words, verdict_body(guardian)).last["event"] == "guardian_verdict.recorded"


OTHER = "On second thoughts.\n"


def test_verdict__beside_another_that_waits_for_its_block__is_signed_only_with_replace(
    rpc: RpcProxy, judging: tuple[Terminal, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both were signed, and the Hub took them in turn."""
    home, bounty = judging
    words = ("guardian:verdict", bounty, "no_valid_submission", "--unopened")
    rpc.lose_first_transaction()
    with monkeypatch.context() as patch:
        patch.setattr(sender, "RECEIPT_SECONDS", 0.3)
        assert home.run(*words, verdict_body(home), code=1).last["code"] == "transaction_pending"
    refused = home.run(*words, verdict_body(home, OTHER), code=1).last
    assert (refused["code"], rpc.sent()) == ("verdict_already_recorded", 1)
    assert "--replace" in str(refused["next_action"])
    other = home.run(*words, "--replace", verdict_body(home, OTHER)).last
    assert other["event"] == "guardian_verdict.recorded"
    again = home.run(*words, verdict_body(home), code=1).last
    assert (again["code"], rpc.sent()) == ("verdict_already_recorded", 2)


def test_verdict__while_another_machine_s_waits_for_its_block__is_signed_only_after_it_or_with_replace(
    ledger: Ledger,
    api: ApiTwin,
    rpc: RpcProxy,
    judging: tuple[Terminal, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Both were told that theirs was recorded, and the later one counted."""
    home, bounty = judging
    elsewhere = person(ledger, api, rpc, tmp_path / "elsewhere", "guardian-3")
    solver = ledger.people.solvers[0].address
    award = (
        "guardian:verdict",
        bounty,
        "awarded",
        "--unopened",
        "--submission",
        ledger.submission(int(bounty), solver),
    )
    none = ("guardian:verdict", bounty, "no_valid_submission", "--unopened")
    ledger.node.rpc.call("evm_setAutomine", False)
    try:
        with monkeypatch.context() as patch:
            patch.setattr(sender, "RECEIPT_SECONDS", 0.3)
            assert home.run(*none, verdict_body(home), code=1).last["code"] == "transaction_pending"
            refused = elsewhere.run(*award, verdict_body(elsewhere, OTHER), code=1).last
            assert (refused["code"], rpc.sent()) == ("nonce_contended", 1)
            assert "--replace" in str(refused["next_action"])
            again = elsewhere.run(*award, "--replace", verdict_body(elsewhere, OTHER), code=1).last
            assert (again["code"], rpc.sent()) == ("transaction_pending", 2)
    finally:
        ledger.node.rpc.call("evm_setAutomine", True)
        ledger.node.mine(3)
    first = home.run(*none, verdict_body(home))
    assert first.last["event"] == "guardian_verdict.recorded"
    assert "the Hub holds another Verdict of yours by now, and" in first.words
    assert "the Hub holds another" not in elsewhere.run(*award, verdict_body(elsewhere, OTHER)).words


def test_verdict__in_the_place_of_one_that_was_given_out__says_that_this_may_still_come(
    ledger: Ledger, judging: tuple[Terminal, str]
) -> None:
    home, bounty = judging
    account, given = ledger.people.guardians[2].address, "0x" + "34" * 32
    below = home.home / "state/service-cli" / f"{ledger.node.chain_id}-{ledger.hub.hub.address}"
    (below / f"verdict-{bounty}-{account}-{given}").mkdir(parents=True)
    entries = json.dumps({"given_to_wallet": {"data": "0x", "from_block": 1}})
    (below / f"verdict-{bounty}-{account}-{given}/journal.json").write_text(entries)
    words = ("guardian:verdict", bounty, "no_valid_submission", "--unopened", verdict_body(home))
    assert home.run(*words, code=1).last["code"] == "verdict_already_recorded"
    ran = home.run(*words, "--replace")
    assert ran.last["event"] == "guardian_verdict.recorded"
    warned = " ".join(ran.words.split())
    assert f"with the reasons {given}, was given to a wallet before" in warned
    assert f"service-cli bounty:watch {bounty}" in warned


def test_verdict__that_was_lost_while_another_was_recorded__is_signed_anew_only_with_replace(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, judging: tuple[Terminal, str], tmp_path: Path
) -> None:
    """The command that was run again put it in the place of the later one."""
    home, bounty = judging
    words = ("guardian:verdict", bounty, "no_valid_submission", "--unopened")
    run_killed(home, rpc, *words, verdict_body(home), method="eth_sendRawTransaction", forward=False)
    elsewhere = person(ledger, api, rpc, tmp_path / "elsewhere", "guardian-3")
    other = elsewhere.run(*words, verdict_body(elsewhere, OTHER)).last
    sent = rpc.sent()
    refused = home.run(*words, verdict_body(home), code=1).last
    assert (refused["code"], rpc.sent()) == ("verdict_already_recorded", sent)
    assert elsewhere.run(*words, verdict_body(elsewhere, OTHER)).last == other
    assert home.run(*words, "--replace", verdict_body(home)).last["event"] == "guardian_verdict.recorded"


@pytest.mark.parametrize(
    ("meanwhile", "text", "ends"),
    [
        ("confirm_reasons", OTHER, "verdict_already_recorded"),
        ("confirm_reasons", "It prints 1.\n", "recorded"),
        ("await_pending", OTHER, "verdict_already_recorded"),
        ("await_pending", "It prints 1.\n", "recorded"),
    ],
)
def test_verdict__recorded_from_elsewhere_meanwhile__is_replaced_by_no_other_and_done_where_it_is_this_one(
    meanwhile: str,
    text: str,
    ends: str,
    ledger: Ledger,
    api: ApiTwin,
    rpc: RpcProxy,
    judging: tuple[Terminal, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The looks came before the questions, so that an answer of an hour later signed in the place of the other one; and
    the same one, given to a wallet before, was refused as another."""
    home, bounty = judging
    elsewhere = person(ledger, api, rpc, tmp_path / "elsewhere", "guardian-3")
    words = ("guardian:verdict", bounty, "no_valid_submission", "--unopened")
    written = verdict_body(home), verdict_body(elsewhere, text)

    def record_elsewhere(*_: object) -> bool:
        monkeypatch.undo()
        return elsewhere.run(*words, written[1]).last["event"] == "guardian_verdict.recorded"

    monkeypatch.setattr(verdict, meanwhile, record_elsewhere)
    sent = rpc.sent()
    ran = home.run(*words, written[0], code=int(ends != "recorded"))
    assert (ran.last.get("code", str(ran.last["event"]).removeprefix("guardian_verdict.")), rpc.sent()) == (
        ends,
        sent + 1,
    )


@pytest.fixture
def judging(ledger: Ledger, api: ApiTwin, rpc: RpcProxy, tmp_path: Path) -> tuple[Terminal, str]:
    """A Guardian at a machine of its own, and a bounty that waits for Verdicts; its page is the twin's."""
    bounty, page = ledger.fund(seconds=100, judging=20 * 86_400)
    api.keep_page(page)
    ledger.submit(bounty, ledger.people.solvers[0].wallet)
    ledger.reveal(bounty)
    return person(ledger, api, rpc, tmp_path / "third", "guardian-3"), str(bounty)


@pytest.mark.attack
def test_verdict_on_record__that_the_first_endpoint_hides__is_replaced_only_on_request(
    ledger: Ledger, rpc: RpcProxy, judging: tuple[Terminal, str]
) -> None:
    home, bounty = judging
    words = ("guardian:verdict", bounty, "no_valid_submission", "--unopened")
    home.run(*words, verdict_body(home))
    asked = hub_abi().functions["getVerdict"].selector.hex()
    hidden: dict[str, object] = {"result": "0x" + "0" * 192}
    rpc.before = lambda method, params: hidden if method == "eth_call" and asked in str(params[0]) else None
    second = verdict_body(home, "It still prints 1.\n")
    ran = home.run(*words, second, code=1, SERVICE_RPC_URLS=ledger.node.url)
    assert (ran.last["code"], rpc.sent()) == ("verdict_already_recorded", 1)


def test_verdict__without_a_file_and_without_a_terminal__is_a_usage_error(judging: tuple[Terminal, str]) -> None:
    home, bounty = judging
    assert ran(home, "guardian:verdict", bounty, "no_valid_submission")[0] == 2


def test_template__printed_and_filled_in__is_recorded_without_its_comment(
    api: ApiTwin, judging: tuple[Terminal, str]
) -> None:
    home, bounty = judging
    words = ("guardian:verdict", bounty, "awarded", "--submission", "1", "--unopened")
    keyless = replace(home, environment={k: v for k, v in home.environment.items() if "PRIVATE_KEY" not in k})
    text = keyless.run(*words, "--template").stdout
    (home.home / "why.md").write_text(text)
    assert home.run(*words, "why.md", code=1).last["code"] == "reasons_unfinished"
    (home.home / "why.md").write_text(re.sub(r"<[^!][^>]*>", "Yes.", text))
    home.run(*words, "why.md")
    (document,) = api.verdicts.values()
    assert b"<!--" not in document


def test_template__of_a_page_that_is_not_the_committed_one__has_no_criteria(
    api: ApiTwin, judging: tuple[Terminal, str]
) -> None:
    home, bounty = judging
    api.lies["detail"] = lambda answer: {**answer, "challenge": str(answer["challenge"]) + "\nForged.\n"}
    ran = home.run("guardian:verdict", bounty, "no_valid_submission", "--template")
    assert "Criterion" not in ran.stdout
    assert "the template has no criteria" in ran.words


@pytest.mark.parametrize("body", [b"", b" \n\n"])
def test_verdict__of_an_empty_file__is_refused_as_that(
    rpc: RpcProxy, judging: tuple[Terminal, str], body: bytes
) -> None:
    home, bounty = judging
    (home.home / "body.md").write_bytes(body)
    refused = home.run("guardian:verdict", bounty, "no_valid_submission", "--unopened", "body.md", code=1).last
    assert (refused["code"], rpc.sent()) == ("reasons_unfinished", 0)
    assert "is empty" in str(refused["message"])
    assert "frontmatter" not in str(refused)


def test_verdict__that_decides__names_delivery_and_claims_as_next(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, tmp_path: Path
) -> None:
    number, page = ledger.fund(seconds=100, judging=5_000)
    api.keep_page(page)
    wallet = ledger.people.solvers[0].wallet
    commitment = ledger.submit(number, wallet)
    ledger.reveal(number)
    words = ("guardian:verdict", str(number), "awarded", wallet.address, commitment, "--unopened")
    first = person(ledger, api, rpc, tmp_path / "one", "guardian-1")
    text = " ".join(text_of(first, *words, verdict_body(first)).split())
    assert f"Next service-cli bounty:watch {number}" in text
    second = person(ledger, api, rpc, tmp_path / "two", "guardian-2")
    text = " ".join(text_of(second, *words, verdict_body(second)).split())
    assert f"Next service-cli guardian:deliver-key {number}" in text
    assert "bounty:watch" not in text


@pytest.mark.attack
@pytest.mark.parametrize(("part", "name"), [("facts", "spec_commitment"), ("guardian_roster", "quorum")])
def test_verdict_on_a_bounty_that_the_api_shows_otherwise(
    api: ApiTwin, rpc: RpcProxy, judging: tuple[Terminal, str], part: str, name: str
) -> None:
    home, bounty = judging

    def lie(answer: dict[str, object]) -> object:
        of_bounty = answer[part]
        assert isinstance(of_bounty, dict)
        return {**answer, part: {**of_bounty, name: 1}}

    api.lies["detail"] = lie
    words = ("guardian:verdict", bounty, "no_valid_submission", "--unopened", verdict_body(home))
    assert (home.run(*words, code=1).last["code"], rpc.sent()) == ("read_model_mismatch", 0)
    assert api.verdicts == {}
