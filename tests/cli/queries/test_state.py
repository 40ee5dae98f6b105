"""Sealed work that an endpoint would open early, and keys of other work than the winner's."""

from collections.abc import Callable
from pathlib import Path

import pytest
from bounty_protocol.chain.abi import hub_abi
from bounty_protocol.chain.rpc import mapping

from tests.cli.liar import After
from tests.cli.servers import Params, RpcProxy
from tests.cli.terminal import Ran, Terminal


@pytest.fixture
def work(solver: Terminal) -> Path:
    folder = solver.home / "work"
    folder.mkdir()
    (folder / "main.py").write_text("print(1)\n")
    return folder


def submit(solver: Terminal, bounty: str, *options: str, code: int = 0) -> Ran:
    return solver.run("solver:submit", *options, bounty, "work", code=code)


@pytest.mark.usefixtures("work")
def test_solver_is_told_whose_word_the_keys_are(rpc: RpcProxy, second: RpcProxy, solver: Terminal, bounty: str) -> None:
    ran = solver.run("solver:submit", "--check", bounty, "work")
    assert "this run trusts the RPC endpoint at 127.0.0.1" in ran.words
    assert "and the API at 127.0.0.1" in ran.words
    more = solver.run("solver:submit", bounty, "work", SERVICE_RPC_URLS=second.url)
    assert more.words.count("the RPC endpoint at 127.0.0.1") == 2
    assert more.words.index("this run trusts") < more.words.index("sealing ")


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
