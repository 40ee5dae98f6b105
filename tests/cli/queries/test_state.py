"""Sealed work that an endpoint would open early, and keys of other work than the winner's."""

from collections.abc import Callable
from pathlib import Path

import pytest
from bounty_protocol.chain.abi import hub_abi
from bounty_protocol.chain.rpc import mapping
from bounty_protocol.domain.envelope import parse_envelope

from tests.cli.api_twin import ApiTwin
from tests.cli.ledger import Ledger
from tests.cli.liar import After, number_of, view_with
from tests.cli.servers import Params, RpcProxy
from tests.cli.submitted import Submitted, load
from tests.cli.terminal import Ran, Terminal
from tests.deployed import TERMS


@pytest.fixture
def work(solver: Terminal) -> Path:
    folder = solver.home / "work"
    folder.mkdir()
    (folder / "main.py").write_text("print(1)\n")
    return folder


def submit(solver: Terminal, bounty: str, *options: str, code: int = 0) -> Ran:
    return solver.run("solver:submit", *options, bounty, "work", code=code)


def sealed(solver: Terminal) -> list[str]:
    """The names of all files that a run sealed."""
    return [path.name for path in solver.home.rglob("ciphertext.age")]


@pytest.mark.attack
@pytest.mark.usefixtures("work")
@pytest.mark.parametrize("option", [(), ("--without-api",)])
def test_reveal_point_that_is_not_the_deadline_s_or_has_passed_seals_nothing(
    ledger: Ledger, rpc: RpcProxy, solver: Terminal, bounty: str, option: tuple[str, ...]
) -> None:
    now = ledger.time()
    for reveal_at, deadline in ((now - 60, None), (now + 60, None), (now - 60, now - 60 - TERMS.reveal_delay)):
        values = {"revealAt": reveal_at} | ({} if deadline is None else {"submissionDeadline": deadline})
        rpc.after = view_with("getBounty", **values)
        ran = submit(solver, bounty, *option, code=1)
        assert ran.last["code"] in {"reveal_point_wrong", "read_model_mismatch", "bounty_not_accepting"}
        assert sealed(solver) == []
    rpc.honest()
    submit(solver, bounty, *option)


@pytest.mark.attack
@pytest.mark.usefixtures("work")
def test_bytes_that_were_sealed_under_a_lie_are_sealed_again(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, solver: Terminal, bounty: str
) -> None:
    true = ledger.contract.call("getBounty", int(bounty))
    early = {"submissionDeadline": true[3] - 100_000, "revealAt": true[4] - 100_000}
    rpc.after = view_with("getBounty", **early)
    ran = submit(solver, bounty, "--without-api")
    assert "alone: its operator could have put keys of their own" in ran.words
    rpc.honest()
    ran = submit(solver, bounty)
    assert "for other terms" in ran.words
    recorded = ledger.submission(int(bounty), ledger.people.solvers[0].address)
    assert ran.last["submission_commitment"] == recorded
    envelope = parse_envelope(api.envelopes[recorded])
    assert envelope.reveal_policy.reveal_at == true[4]


@pytest.mark.usefixtures("work")
def test_solver_is_told_whose_word_the_keys_are_before_anything_is_sealed(
    rpc: RpcProxy, second: RpcProxy, solver: Terminal, bounty: str
) -> None:
    ran = solver.run("solver:submit", "--check", bounty, "work")
    assert "is the word of the RPC endpoint at 127.0.0.1" in ran.words
    assert "and the API at 127.0.0.1" in ran.words
    more = solver.run("solver:submit", bounty, "work", SERVICE_RPC_URLS=second.url)
    assert more.words.count("the RPC endpoint at 127.0.0.1") == 2
    assert more.words.index("is the word of") < more.words.index("sealing ")


@pytest.mark.attack
@pytest.mark.usefixtures("work")
def test_terms_that_two_endpoints_tell_apart_seal_nothing(
    ledger: Ledger, rpc: RpcProxy, second: RpcProxy, solver: Terminal, bounty: str
) -> None:
    late = ledger.contract.call("getBounty", int(bounty))
    second.after = view_with("getBounty", submissionDeadline=late[3] + 60, revealAt=late[4] + 60)
    for options in ((), ("--without-api",)):
        ran = solver.run("solver:submit", *options, bounty, "work", code=1, SERVICE_RPC_URLS=second.url)
        assert ran.last["code"] == "sources_disagree"
    assert sealed(solver) == []
    second.before = lambda _method, _params: {"error": {"code": -32000, "message": "away"}}
    ran = solver.run("solver:submit", bounty, "work", code=1, SERVICE_RPC_URLS=second.url)
    assert ran.last["event"] == "submit.failed"


@pytest.mark.attack
@pytest.mark.usefixtures("work")
@pytest.mark.parametrize(
    ("part", "name", "value"),
    [
        ("facts", "outcome", "no_valid_submission"),
        ("facts", "judging_deadline", 1),
        ("guardian_roster", "quorum", 1),
        ("guardian_roster", "members", []),
    ],
)
def test_bounty_that_the_api_shows_otherwise_seals_nothing(
    api: ApiTwin, solver: Terminal, bounty: str, part: str, name: str, value: object
) -> None:
    def lie(answer: dict[str, object]) -> object:
        of_bounty = answer[part]
        assert isinstance(of_bounty, dict)
        return {**answer, part: {**of_bounty, name: value}}

    api.lies["detail"] = lie
    assert submit(solver, bounty, code=1).last["code"] == "read_model_mismatch"
    assert sealed(solver) == []


def newest_is(later: Callable[[], int]) -> After:
    """The newest block is so many blocks later than it is."""

    def after(method: str, params: Params, result: object) -> object:
        if method == "eth_getBlockByNumber" and params[0] == "latest" and isinstance(result, dict):
            return {**result, "number": hex(int(str(result["number"]), 16) + later())}
        return result

    return after


def noting_blocks(blocks: list[object]) -> Callable[[str, Params], None]:
    """Note at which blocks a bounty is read."""
    selector = "0x" + hub_abi().functions["getBounty"].selector.hex()

    def before(method: str, params: Params) -> None:
        if method == "eth_call" and str(mapping(params[0])["data"]).startswith(selector):
            blocks.append(params[1])

    return before


@pytest.mark.usefixtures("work")
def test_terms_are_compared_at_the_newest_block_of_all(
    rpc: RpcProxy, second: RpcProxy, solver: Terminal, bounty: str
) -> None:
    first_asked, second_asked = list[object](), list[object]()
    rpc.before, second.before = noting_blocks(first_asked), noting_blocks(second_asked)
    behind = iter([-2, -1])
    second.after = newest_is(lambda: next(behind, 0))
    ran = solver.run("solver:submit", bounty, "work", SERVICE_RPC_URLS=second.url)
    assert ran.last["event"] == "submit.submission_recorded"
    assert second_asked
    assert set(second_asked) <= set(first_asked) - {"latest"}


@pytest.mark.attack
@pytest.mark.usefixtures("work")
@pytest.mark.parametrize("later", [-5, 5])
def test_endpoint_that_stays_behind_another_ends_the_act(
    second: RpcProxy, solver: Terminal, bounty: str, later: int
) -> None:
    second.after = newest_is(lambda: later)
    ran = solver.run("solver:submit", bounty, "work", code=1, SERVICE_RPC_URLS=second.url)
    assert (ran.last["event"], ran.last["code"]) == ("submit.failed", "chain_unavailable")
    assert sealed(solver) == []


@pytest.mark.attack
def test_key_of_work_that_only_the_node_calls_the_winner_is_not_delivered(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, guardian: Terminal, judged: Submitted, won: Submitted
) -> None:
    load(api, judged, won)
    named = {"winner": number_of(judged.solver), "winningSubmission": number_of(judged.commitment)}
    rpc.after = view_with("getBounty", outcome=1, reason=1, **named)
    for names in (judged.names, (judged.bounty,)):
        assert guardian.run("guardian:deliver-key", *names, code=1).last["code"] == "read_model_mismatch"
    loser = number_of(ledger.people.solvers[1].address)
    rpc.after = view_with("getBounty", winner=loser)
    assert guardian.run("guardian:deliver-key", won.bounty, code=1).last["code"] == "read_model_mismatch"
    assert api.wraps == {}
    rpc.honest()
    assert guardian.run("guardian:deliver-key", won.bounty).last["event"] == "guardian_deliver_key.stored"


@pytest.mark.attack
def test_key_is_not_delivered_where_the_api_names_another_winner(
    ledger: Ledger, api: ApiTwin, guardian: Terminal, won: Submitted
) -> None:
    load(api, won)
    other = {"solver_address": ledger.people.solvers[1].address, "submission_commitment": won.commitment}

    def lie(answer: dict[str, object]) -> object:
        facts = answer["facts"]
        assert isinstance(facts, dict)
        return {**answer, "facts": {**facts, "winner": other}}

    api.lies["detail"] = lie
    assert guardian.run("guardian:deliver-key", won.bounty, code=1).last["code"] == "read_model_mismatch"
    assert api.wraps == {}


@pytest.mark.attack
def test_key_is_not_delivered_where_the_final_block_names_another_winner(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, guardian: Terminal, won: Submitted
) -> None:
    load(api, won)
    other = view_with("getBounty", winner=number_of(ledger.people.solvers[1].address))

    def lie(method: str, params: Params, result: object) -> object:
        return result if "latest" in params else other(method, params, result)

    rpc.after = lie
    assert guardian.run("guardian:deliver-key", won.bounty, code=1).last["code"] == "not_the_winner"
    assert api.wraps == {}
