"""Sealed work that an endpoint would open early, and keys of other work than the winner's."""

from collections.abc import Callable
from pathlib import Path

import pytest
from bounty_protocol.chain.abi import hub_abi
from bounty_protocol.chain.rpc import mapping

from tests.cli.api_twin import ApiTwin
from tests.cli.ledger import Ledger
from tests.cli.liar import After, view_with
from tests.cli.servers import Params, RpcProxy
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


@pytest.mark.usefixtures("work")
@pytest.mark.parametrize("option", [(), ("--without-api",)])
def test_wrong_reveal_point_seals_nothing(
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


@pytest.mark.usefixtures("work")
def test_solver_is_told_whose_word_the_keys_are(rpc: RpcProxy, second: RpcProxy, solver: Terminal, bounty: str) -> None:
    ran = solver.run("solver:submit", "--check", bounty, "work")
    assert "is the word of the RPC endpoint at 127.0.0.1" in ran.words
    assert "and the API at 127.0.0.1" in ran.words
    more = solver.run("solver:submit", bounty, "work", SERVICE_RPC_URLS=second.url)
    assert more.words.count("the RPC endpoint at 127.0.0.1") == 2
    assert more.words.index("is the word of") < more.words.index("sealing ")


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
def test_bounty_the_api_shows_otherwise_seals_nothing(
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
