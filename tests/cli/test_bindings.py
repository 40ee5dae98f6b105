"""Whose work it is: copies of another Solver's bytes open for nobody, and the older format is told as what it is."""

import json
from dataclasses import dataclass, replace

import pytest
from local_stack.contract import Wallet
from service_common.crypto import sealed_box
from service_common.domain.envelope import Envelope, parse_envelope
from service_common.types import Bytes32

from tests.cli.api_twin import ApiTwin, refusal
from tests.cli.conftest import person
from tests.cli.ledger import Ledger
from tests.cli.servers import RpcProxy
from tests.cli.submitted import Submitted, files_below
from tests.cli.terminal import Terminal
from tests.cli.test_judging_and_delivery import content_identity
from tests.cli.test_malformed import Case, archived, holding, sealed_of
from tests.cli.test_submit_twice import by_wallet, send
from tests.copier import in_own_envelope


@dataclass(frozen=True, slots=True)
class Copied:
    """An author's Submission, and who else recorded it or its bytes, as (Solver, commitment)."""

    author: Submitted
    before: tuple[str, str]
    after: tuple[str, str]
    in_own_envelopes: tuple[tuple[str, str], ...]


@pytest.fixture(scope="module")
def copied(ledger: Ledger, tmp_path_factory: pytest.TempPathFactory) -> Copied:
    """The author's wallet is slow; a copier that reads the API is quick, another comes later, two seal nothing anew."""
    api, rpc, folder = ApiTwin(ledger), RpcProxy(ledger.node.url), tmp_path_factory.mktemp("copied")
    copiers = [Wallet() for _ in range(4)]
    for copier in copiers:
        ledger.node.fund(copier.address)
    try:
        number, page = ledger.fund(seconds=3_000, judging=20 * 86_400)
        api.keep_page(page)
        solver = person(ledger, api, rpc, folder, "solver-1")
        (folder / "work").mkdir()
        (folder / "work" / "main.py").write_bytes(b"print(1)\n")
        prepared = by_wallet(ledger, solver, str(number), str(folder / "work"))
        commitment = str(prepared.event("submit.submission_prepared")["submission_commitment"])
        ledger.submit(number, copiers[0], Bytes32(commitment))
        send(ledger, prepared)
        ledger.submit(number, copiers[1], Bytes32(commitment))
        envelope, own = parse_envelope(api.envelopes[commitment]), []
        for copier, version in zip(copiers[2:], (2, 1), strict=True):
            mine = in_own_envelope(envelope, copier.address, version)
            ledger.submit(number, copier, mine.commitment())
            api.envelopes[mine.commitment()] = mine.canonical_bytes()
            api.objects[mine.ciphertext.storage_locator] = api.objects[envelope.ciphertext.storage_locator]
            own.append((copier.address, str(mine.commitment())))
        ledger.reveal(number)
        author = Submitted(
            str(number), ledger.people.solvers[0].address, commitment, {"main.py": b"print(1)\n"}, api.objects,
            api.envelopes,
        )  # fmt: skip
        return Copied(author, (copiers[0].address, commitment), (copiers[1].address, commitment), tuple(own))
    finally:
        api.close()
        rpc.close()


@pytest.fixture(autouse=True)
def _served(api: ApiTwin, copied: Copied) -> None:
    api.objects |= copied.author.objects
    api.envelopes |= copied.author.envelopes


def test_copies__of_whatever_kind__do_not_keep_the_author_s_work_from_a_guardian(
    guardian: Terminal, copied: Copied
) -> None:
    ran = guardian.run("guardian:open", *copied.author.names, "out")
    assert (ran.last["event"], ran.last["bound"]) == ("guardian_open.artifact_opened", True)
    assert "older format" not in ran.words
    assert files_below(guardian.home / "out") == copied.author.files


@pytest.mark.parametrize("when", ["before", "after"])
def test_copied_commitment__before_and_after_the_author_s__opens_for_nobody(
    guardian: Terminal, copied: Copied, when: str
) -> None:
    ran = guardian.run("guardian:open", copied.author.bounty, *getattr(copied, when), "out", code=1)
    assert (ran.last["code"], ran.last["event"]) == ("envelope_refused", "guardian_open.refused")
    assert not (guardian.home / "out").exists()


def test_copied_commitment__while_the_author_s_is_not_recorded__blames_no_lost_bytes(
    ledger: Ledger, api: ApiTwin, guardian: Terminal
) -> None:
    bounty, copier = ledger.fund(seconds=3_000, judging=20 * 86_400)[0], ledger.people.solvers[1].wallet
    envelope, _ = sealed_of(ledger, bounty, ledger.people.solvers[0].wallet, Case("", ""))
    ledger.submit(bounty, copier, envelope.commitment())
    ledger.reveal(bounty)
    api.scripts["content"] = lambda _: refusal(404, "submission_not_found", "There is no such Submission.")
    ran = guardian.run("guardian:open", str(bounty), copier.address, envelope.commitment(), "out", code=1)
    assert ran.last["code"] == "submission_not_found"
    assert "copy of another Solver's" in str(ran.last["message"])
    (guardian.home / "got").mkdir()
    (guardian.home / "got" / "envelope.json").write_bytes(envelope.canonical_bytes())
    (guardian.home / "got" / "ciphertext.age").write_bytes(b"whatever")
    copied = ("guardian:open", "--from", "got", str(bounty), copier.address, envelope.commitment(), "out")
    assert guardian.run(*copied, code=1).last["code"] == "envelope_refused"


@pytest.mark.parametrize("number", [0, 1], ids=["version 2", "version 1"])
def test_copied_bytes__in_an_envelope_of_the_copier_s_own__are_evidence_against_the_copier(
    guardian: Terminal, copied: Copied, number: int
) -> None:
    copy = (copied.author.bounty, *copied.in_own_envelopes[number])
    ran = guardian.run("guardian:open", *copy, "out", code=1)
    assert ran.last["code"] == "sealed_for_another"
    assert copied.author.solver in str(ran.last["message"])
    assert "Verdict" in str(ran.last["next_action"])
    # With the author's content key at hand, which a Guardian has once it opened the author's work.
    (guardian.home / "got").mkdir()
    guardian.run("guardian:open", *copied.author.names, "mine", "--keep-identity", "got/identity.txt")
    handed = guardian.home / "got" / "identity.txt"
    assert handed.read_text().startswith("# bounty-escrow: ")
    assert guardian.run("guardian:open", "--from", "got", *copy, "out", code=1).last["code"] == "identity_mismatch"
    handed.write_text(handed.read_text().splitlines()[1])
    assert guardian.run("guardian:open", "--from", "got", *copy, "out", code=1).last["code"] == "sealed_for_another"
    assert not (guardian.home / "out").exists()


def test_copied_bytes__that_won_all_the_same__are_neither_delivered_nor_opened_by_the_poster(
    ledger: Ledger, api: ApiTwin, guardian: Terminal, poster: Terminal, copied: Copied
) -> None:
    copier, commitment = copied.in_own_envelopes[0]
    snapshot = ledger.node.rpc.call("evm_snapshot")
    ledger.award(int(copied.author.bounty), copier, commitment)
    ledger.node.mine(200)
    refused = guardian.run("guardian:deliver-key", copied.author.bounty, copier, commitment, code=1)
    assert refused.last["code"] == "sealed_for_another"
    identity = content_identity(ledger, copied.author)
    api.wraps[commitment] = sealed_box.wrap(identity, ledger.delivery.public_key)  # by a Guardian who does not care
    ran = poster.run("poster:open-winning-submission", copied.author.bounty, "won", code=1)
    assert (ran.last["event"], ran.last["code"]) == ("open_winning_submission.refused", "sealed_for_another")
    assert not (poster.home / "won").exists()
    ledger.node.rpc.call("evm_revert", snapshot)


@pytest.mark.parametrize(
    ("archive", "capsule", "bound"),
    [((), (), False), ((), ("{}",), False), (("{}",), (), True), (("{}",), ("{}",), True)],
)
def test_open__of_version_1__tells_whether_the_bytes_are_bound(
    ledger: Ledger,
    api: ApiTwin,
    guardian: Terminal,
    poster: Terminal,
    archive: tuple[str, ...],
    capsule: tuple[str, ...],
    bound: bool,
) -> None:
    number, page = ledger.fund(seconds=3_000, judging=20 * 86_400)
    api.keep_page(page)
    solver = ledger.people.solvers[1].wallet
    envelope, ciphertext = sealed_of(ledger, number, solver, Case("", "", archived(*archive), holding(*capsule), 1))
    ledger.submit(number, solver, envelope.commitment())
    ledger.reveal(number)
    api.envelopes[envelope.commitment()] = envelope.canonical_bytes()
    api.objects[envelope.ciphertext.storage_locator] = ciphertext
    names = (str(number), solver.address, envelope.commitment())
    ledger.award(number, solver.address, envelope.commitment())
    ledger.node.mine(200)
    opened = [guardian.run("guardian:open", "--quiet", *names, "out")]
    guardian.run("guardian:deliver-key", *names)
    opened.append(poster.run("poster:open-winning-submission", "--quiet", str(number), "out"))
    for ran in opened:
        assert ran.last["bound"] is bound
        assert ("older format" in ran.words) is not bound
    assert (guardian.home / "out" / "main.py").read_bytes() == (poster.home / "out" / "main.py").read_bytes()


def sealed_by_an_earlier_release(ledger: Ledger, solver: Terminal, bounty: str) -> Envelope:
    """The journal as an earlier release left it after sealing, before a wallet saw anything."""
    (solver.home / "work").mkdir()
    (solver.home / "work" / "main.py").write_text("print(1)\n")
    by_wallet(ledger, solver, "--without-api", bounty, "work")
    (file,) = solver.home.rglob("journal.json")
    journal = json.loads(file.read_text())
    former = replace(parse_envelope(journal["envelope"].encode()), version=1)
    journal["envelope"] = former.canonical_bytes().decode()
    del journal["shown"]
    file.write_text(json.dumps(journal))
    return former


def test_submit__with_bytes_that_an_earlier_release_sealed__seals_anew(
    ledger: Ledger, api: ApiTwin, solver: Terminal, bounty: str
) -> None:
    former = sealed_by_an_earlier_release(ledger, solver, bounty)
    recorded = str(solver.run("solver:submit", bounty, "work").last["submission_commitment"])
    assert recorded != former.commitment()
    assert parse_envelope(api.envelopes[recorded]).version == 2
    again = solver.run("solver:submit", bounty, "work")
    assert again.event("submit.submission_recorded")["submission_commitment"] == recorded


def test_submit__with_what_an_earlier_release_recorded__keeps_it(ledger: Ledger, solver: Terminal, bounty: str) -> None:
    former = sealed_by_an_earlier_release(ledger, solver, bounty)
    ledger.submit(int(bounty), ledger.people.solvers[0].wallet, former.commitment())
    ran = solver.run("solver:submit", bounty, "work")
    assert ran.event("submit.submission_recorded")["submission_commitment"] == former.commitment()
