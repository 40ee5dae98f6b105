"""A Guardian's written reasons, shown only where they hash to what the chain has."""

from pathlib import Path

from bounty_protocol.domain.challenge.commitments import report_commitment
from bounty_protocol.types import ZERO_ADDRESS, Bytes32

from tests.cli.api_twin import ApiTwin
from tests.cli.conftest import person
from tests.cli.ledger import Ledger
from tests.cli.screen import text_of
from tests.cli.servers import RpcProxy
from tests.cli.terminal import Terminal

REASONS = "# Why\n\nThe test fails on the second file.\n"
HOSTILE = b"no frontmatter, and \x1b[31mred\x1b[0m\n"


def judged(ledger: Ledger, api: ApiTwin, rpc: RpcProxy, home: Path) -> tuple[str, Bytes32]:
    """A bounty on which the Guardians recorded reasons, a document in no form, and a commitment to nothing."""
    number, page = ledger.fund(seconds=100, judging=20 * 86_400)
    api.keep_page(page)
    solver = ledger.people.solvers[0].wallet
    submission = ledger.submit(number, solver)
    ledger.reveal(number)
    first = person(ledger, api, rpc, home, "guardian-1")
    (home / "why.md").write_text(REASONS)
    ran = first.run("guardian:verdict", str(number), "no_valid_submission", "--unopened", "why.md")
    hostile = report_commitment(HOSTILE)
    api.verdicts[hostile] = HOSTILE
    for guardian, kind, named, report in (
        (2, 1, (solver.address, bytes.fromhex(submission[2:])), b"x" * 32),
        (1, 2, (ZERO_ADDRESS, bytes(32)), bytes.fromhex(hostile[2:])),
    ):
        wallet = ledger.people.guardians[guardian].wallet
        wallet.forget_nonce()
        ledger.contract.transact(wallet, "recordVerdict", number, kind, *named, report)
    return str(number), Bytes32(str(ran.last["report_commitment"]))


def test_shown_reasons_hash_to_the_record(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, poster: Terminal, tmp_path: Path
) -> None:
    bounty, commitment = judged(ledger, api, rpc, tmp_path / "first")
    guardians = [one.address for one in ledger.people.guardians]
    shown = {str(each["guardian_address"]): each for each in poster.run("bounty:show", "--verdicts", bounty).events[1:]}
    written, hostile, missing = (shown[each] for each in guardians)
    assert (written["guardian_address"], written["kind"], written["code"]) == (
        guardians[0],
        "no_valid_submission",
        None,
    )
    assert (written["report_commitment"], written["solver_address"]) == (commitment, None)
    assert str(written["document"]).encode() == api.verdicts[commitment]
    assert (missing["guardian_address"], missing["kind"]) == (guardians[2], "awarded")
    assert (missing["solver_address"], missing["document"]) == (ledger.people.solvers[0].address, None)
    assert missing["code"]
    assert (hostile["document"], hostile["code"]) == (HOSTILE.decode(), None)

    text = text_of(poster, "bounty:show", "--verdicts", bounty)
    assert f"Verdict of {guardians[0]}" in text
    assert "| The test fails on the second file." in text
    assert "| no frontmatter, and [31mred[0m" in text
    assert "\x1b" not in text
    api.verdicts[commitment] = api.verdicts[commitment].replace(b"fails", b"holds")
    events = poster.run("bounty:show", "--verdicts", bounty).events[1:]
    (forged,) = (each for each in events if each["report_commitment"] == commitment)
    assert (forged["document"], forged["code"]) == (None, "verdict_mismatch")
