"""Commands typed twice, and by the wrong people."""

from dataclasses import replace

from demo.bounty import Cast
from demo.examples import artifact

from tests.cli.liar import hide
from tests.cli.servers import RpcProxy

ESCROW = 25_000_000


def test_publish_fund__run_again__funds_once(cast: Cast) -> None:
    bounty = cast.fund(submission_seconds=600, judging_seconds=60, title="Funded once")
    poster = cast.person("poster")
    before = cast.token_balance(poster_address := cast.address("poster"))
    again = poster.run("poster:publish-fund", str(poster.home / "bounty_challenge.md"))
    assert again.event("publish_fund.bounty_created").text("bounty_id") == bounty.bounty_id
    assert cast.token_balance(poster_address) == before


def test_submit_again_keeps_the_commitment(cast: Cast) -> None:
    bounty = cast.fund(submission_seconds=600, judging_seconds=60, title="Submitted twice")
    solver = cast.person("solver-2")
    work = artifact(solver.home / "twice")
    runs = [solver.run("solver:submit", bounty.bounty_id, str(work)) for _ in range(2)]
    first, second = (ran.event("submit.submission_recorded").text("submission_commitment") for ran in runs)
    assert first == second
    (work / "NOTES.md").write_text("Changed.\n")
    changed = solver.run("solver:submit", "--replace", bounty.bounty_id, str(work)).event("submit.submission_recorded")
    assert changed.text("submission_commitment") != first
    on_chain = "0x" + cast.stack.hub.hub.call("getSubmission", int(bounty.bounty_id), changed.text("solver")).hex()
    assert on_chain == changed.text("submission_commitment")


def test_endpoint_alone_moves_no_submission(cast: Cast) -> None:
    """It shows a failure, and then another block and nothing; the service alone lists it."""
    bounty = cast.fund(submission_seconds=600, judging_seconds=60, title="Recorded once")
    solver = cast.person("solver-2")
    words = ("solver:submit", bounty.bounty_id, str(artifact(solver.home / "hidden")))
    with RpcProxy(solver.environment["SERVICE_RPC_URL"]) as rpc:
        liar = replace(solver, environment={**solver.environment, "SERVICE_RPC_URL": rpc.url})
        first = liar.run(*words).event("submit.submission_recorded").fields
        hide(rpc, first, block=False, reverted=True)
        reverted = liar.run(*words, code=1).events[-1].text("code")
        hide(rpc, first)
        asked = liar.run(*words, code=1).events[-1].text("code")
    assert (reverted, asked) == ("transaction_reverted", "submission_exists")
    assert solver.run(*words).event("submit.submission_recorded").fields == first


def test_poster_or_guardian_seals_nothing(cast: Cast) -> None:
    bounty = cast.fund(submission_seconds=600, judging_seconds=60, title="Roles kept apart")
    for name, key, code in (
        ("poster", "SERVICE_POSTER_PRIVATE_KEY", "solver_is_poster"),
        ("guardian-1", "SERVICE_GUARDIAN_ACCOUNT_PRIVATE_KEY", "solver_on_roster"),
    ):
        person = cast.person(name)
        environment = {**person.environment, "SERVICE_SOLVER_PRIVATE_KEY": person.environment[key]}
        disguised = type(person)(name, environment, person.home, person.family)
        work = artifact(person.home / "as-solver")
        ran = disguised.run("solver:submit", bounty.bounty_id, str(work), code=1)
        assert ran.event("submit.refused").text("code") == code
        assert len(ran.events) == 1
