"""Submissions that do not open or were copied: what is wrong, whom it is evidence against, and what still opens."""

import io
import tarfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

import pytest
from bounty_protocol.crypto import age, sealed_box
from bounty_protocol.crypto.archive_write import comment_header
from bounty_protocol.crypto.beacon_info import BeaconInfo
from bounty_protocol.crypto.capsule import seal_capsule
from bounty_protocol.crypto.timelock import timelock_encrypt
from bounty_protocol.crypto.x25519 import Identity
from bounty_protocol.domain.envelope.binding import Binding
from bounty_protocol.domain.envelope.document import Envelope, build_envelope, parse_envelope
from bounty_protocol.domain.money.abi_hashes import recipients_commitment
from bounty_protocol.types import Address, BountyId, Bytes32, ChainId, UnixSeconds
from local_stack.contract import Wallet

from tests.cli.api_twin import ApiTwin
from tests.cli.conftest import person
from tests.cli.ledger import Ledger
from tests.cli.servers import RpcProxy
from tests.cli.submitted import Submitted
from tests.cli.terminal import Terminal
from tests.cli.work.test_opening import content_identity
from tests.copier import in_own_envelope

CONTENT, OTHER = Identity.generate(), Identity.generate()
ELSE = Address("0x" + "e1" * 20)


def tar(*entries: tuple[str, bytes], kind: bytes = tarfile.REGTYPE) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, data in entries:
            info = tarfile.TarInfo(name)
            info.size, info.type, info.linkname = len(data), kind, "/etc/passwd" if kind == tarfile.SYMTYPE else ""
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


GOOD_TAR = tar(("main.py", b"print(1)\n"))
GOOD = age.encrypt_bytes(GOOD_TAR, [CONTENT.public_key])
HUGE_FILE = tarfile.TarInfo("zeros")
HUGE_FILE.size = 2**40
HUGE = HUGE_FILE.tobuf(tarfile.GNU_FORMAT) + bytes(1_024)
Capsule = Callable[[Binding, list[Bytes32], int, BeaconInfo], bytes]
Ciphertext = Callable[[Binding], bytes]


def good_capsule(binding: Binding, keys: list[Bytes32], number: int, info: BeaconInfo) -> bytes:
    return seal_capsule(CONTENT, binding, keys, number, info)


def strangers(binding: Binding, keys: list[Bytes32], number: int, info: BeaconInfo) -> bytes:
    return seal_capsule(CONTENT, binding, [Identity.generate().public_key for _ in keys], number, info)


def holding(*comments: str) -> Capsule:
    """A capsule whose identity file has these comments; ``{}`` is the binding."""

    def capsule(binding: Binding, keys: list[Bytes32], number: int, info: BeaconInfo) -> bytes:
        lines = [f"# {comment}".replace("{}", binding.text()) for comment in comments]
        text = "\n".join([*lines, CONTENT.to_text(), ""])
        return timelock_encrypt(age.encrypt_bytes(text.encode(), keys), number, info)

    return capsule


def good(binding: Binding) -> bytes:
    return age.encrypt_bytes(comment_header(binding.text()) + GOOD_TAR, [CONTENT.public_key])


def changed(binding: Binding, **fields: object) -> Binding:
    """A binding of something else."""
    return replace(binding, **fields)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Case:
    """What is wrong, and what a Guardian is told."""

    code: str
    words: str
    ciphertext: bytes | Ciphertext = good
    capsule: Capsule = good_capsule

    def sealed(self, binding: Binding) -> bytes:
        return self.ciphertext if isinstance(self.ciphertext, bytes) else self.ciphertext(binding)


EVIDENCE = "The Submission is malformed"
CASES = {
    "damaged": Case("age_tampered", EVIDENCE, GOOD[:-1] + bytes([GOOD[-1] ^ 1])),
    "a link": Case(
        "archive_refused", "link", age.encrypt_bytes(tar(("a", b""), kind=tarfile.SYMTYPE), [CONTENT.public_key])
    ),
    "a bomb": Case("archive_refused", EVIDENCE, age.encrypt_bytes(HUGE, [CONTENT.public_key])),
    "fewer Guardians": Case(
        "capsule_wrong_recipients",
        EVIDENCE,
        capsule=lambda b, keys, n, info: seal_capsule(CONTENT, b, keys[:2], n, info),
    ),
    "a capsule that names nobody": Case("binding_missing", EVIDENCE, capsule=holding()),
    "another Solver in the archive": Case(
        "sealed_for_another", EVIDENCE, lambda b: good(changed(b, solver_address=ELSE))
    ),
    "other Guardians": Case("capsule_not_for_this_key", "no key in this keyring opens", capsule=strangers),
}


def sealed_of(ledger: Ledger, bounty: int, solver: Wallet, case: Case) -> tuple[Envelope, bytes]:
    """A Solver's envelope and ciphertext."""
    view = ledger.contract.call("getBounty", bounty)
    ordered = [Bytes32("0x" + bytes(key).hex()) for key in ledger.contract.call("getRoster", 1)[3]]
    policy = ledger.beacon.info.reveal_policy(UnixSeconds(view[4]))
    hub, roster_hash = Address(ledger.contract.address), Bytes32(ledger.hub.roster_hash)
    binding = Binding(ChainId(ledger.node.chain_id), hub, BountyId(bounty), Address(solver.address))
    ciphertext = case.sealed(binding)
    envelope = build_envelope(
        binding=binding,
        spec_commitment=Bytes32("0x" + bytes(view[2]).hex()),
        guardian_roster_hash=roster_hash,
        recipients_commitment=recipients_commitment(roster_hash, ordered),
        reveal_policy=policy,
        content_public_key=CONTENT.public_key,
        key_capsule=case.capsule(binding, ordered, policy.round, ledger.beacon.info),
        ciphertext_sha256=Bytes32("0x" + sha256(ciphertext).hexdigest()),
        ciphertext_byte_length=len(ciphertext),
    )
    return envelope, ciphertext


@dataclass(frozen=True, slots=True)
class Planted:
    """Each case's Submission, one Solver each."""

    bounty: str
    solvers: dict[str, str]
    sealed: dict[str, tuple[Envelope, bytes]]


@pytest.fixture(scope="session")
def planted(ledger: Ledger) -> Planted:
    bounty, _ = ledger.fund(seconds=3_000, judging=20 * 86_400)
    solvers, sealed = {}, {}
    for name, case in CASES.items():
        solver = Wallet()
        ledger.node.fund(solver.address)
        sealed[name] = sealed_of(ledger, bounty, solver, case)
        ledger.submit(bounty, solver, sealed[name][0].commitment())
        solvers[name] = solver.address
    ledger.reveal(bounty)
    return Planted(str(bounty), solvers, sealed)


@pytest.mark.parametrize("name", CASES)
def test_malformed_submission_leaves_nothing(api: ApiTwin, guardian: Terminal, planted: Planted, name: str) -> None:
    case, (envelope, ciphertext) = CASES[name], planted.sealed[name]
    api.envelopes[envelope.commitment()] = envelope.canonical_bytes()
    api.objects[envelope.ciphertext.storage_locator] = ciphertext
    before = set(guardian.home.rglob("*"))
    ran = guardian.run("guardian:open", planted.bounty, planted.solvers[name], envelope.commitment(), "out", code=1)
    assert (ran.last["event"], ran.last["code"]) == ("guardian_open.refused", case.code)
    assert case.words in str(ran.last["message"])
    advice = str(ran.last["next_action"])
    if case.words == EVIDENCE:
        assert "Verdict" in advice
        assert "evidence" in advice
    if name == "other Guardians":
        assert "no reason to reject" in advice
    assert not {path for path in set(guardian.home.rglob("*")) - before if "state" not in path.parts}
    assert "SECRET-KEY-1" not in (ran.stdout + ran.words).upper()


def test_envelope_of_another_solver_is_evidence(ledger: Ledger, api: ApiTwin, guardian: Terminal) -> None:
    bounty, _ = ledger.fund(seconds=3_000, judging=20 * 86_400)
    theirs, _ = sealed_of(ledger, bounty, ledger.people.solvers[0].wallet, Case("", ""))
    late = replace(theirs.reveal_policy, round=theirs.reveal_policy.round + 1)
    replayed, wallets = [theirs, replace(theirs, reveal_policy=late)], [Wallet(), Wallet()]
    for envelope, wallet in zip(replayed, wallets, strict=True):
        ledger.node.fund(wallet.address)
        ledger.submit(bounty, wallet, envelope.commitment())
        api.envelopes[envelope.commitment()] = envelope.canonical_bytes()
    ledger.reveal(bounty)
    for envelope, wallet in zip(replayed, wallets, strict=True):
        ran = guardian.run("guardian:open", str(bounty), wallet.address, envelope.commitment(), "out", code=1)
        assert ran.last["code"] == "envelope_refused"
        assert "Verdict" in str(ran.last["next_action"])


@pytest.fixture
def copied(ledger: Ledger, api: ApiTwin, rpc: RpcProxy, tmp_path: Path) -> tuple[Submitted, tuple[str, str]]:
    """An author's Submission, and who recorded its bytes in an envelope of their own, as (Solver, commitment)."""
    number, page = ledger.fund(seconds=3_000, judging=20 * 86_400)
    api.keep_page(page)
    home, copier = person(ledger, api, rpc, tmp_path / "author", "solver-1"), Wallet()
    (home.home / "work").mkdir()
    (home.home / "work" / "main.py").write_bytes(b"print(1)\n")
    sent = home.run("solver:submit", str(number), "work").event("submit.submission_recorded")
    names = (str(number), str(sent["solver"]), str(sent["submission_commitment"]))
    author = Submitted(*names, {"main.py": b"print(1)\n"}, api.objects, api.envelopes)
    ledger.node.fund(copier.address)
    envelope = parse_envelope(api.envelopes[author.commitment])
    mine = in_own_envelope(envelope, copier.address)
    ledger.submit(int(author.bounty), copier, mine.commitment())
    api.envelopes[mine.commitment()] = mine.canonical_bytes()
    api.objects[mine.ciphertext.storage_locator] = api.objects[envelope.ciphertext.storage_locator]
    ledger.reveal(number)
    return author, (copier.address, str(mine.commitment()))


def test_copied_bytes_that_won_are_not_delivered(
    ledger: Ledger, api: ApiTwin, guardian: Terminal, poster: Terminal, copied: tuple[Submitted, tuple[str, str]]
) -> None:
    author, (copier, commitment) = copied
    snapshot = ledger.node.rpc.call("evm_snapshot")
    ledger.award(int(author.bounty), copier, commitment)
    ledger.node.mine(200)
    refused = guardian.run("guardian:deliver-key", author.bounty, copier, commitment, code=1)
    assert refused.last["code"] == "sealed_for_another"
    identity = content_identity(ledger, author)
    api.wraps[commitment] = sealed_box.wrap(identity, ledger.delivery.public_key)  # by a Guardian who does not care
    ran = poster.run("poster:open-winning-submission", author.bounty, "won", code=1)
    assert (ran.last["event"], ran.last["code"]) == ("open_winning_submission.refused", "sealed_for_another")
    assert not (poster.home / "won").exists()
    ledger.node.rpc.call("evm_revert", snapshot)
