"""Submissions that are malformed, on chain, as a Guardian meets them: told in plain words, and nothing is written."""

import io
import tarfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import sha256

import pytest
from local_stack.contract import Wallet
from service_common.crypto import age
from service_common.crypto.beacon_info import BeaconInfo
from service_common.crypto.capsule import seal_capsule
from service_common.crypto.timelock import timelock_encrypt
from service_common.crypto.x25519 import Identity
from service_common.domain.abi_hashes import recipients_commitment
from service_common.domain.envelope import Envelope, build_envelope
from service_common.types import Address, BountyId, Bytes32, ChainId, UnixSeconds

from tests.cli.api_twin import ApiTwin
from tests.cli.ledger import Ledger
from tests.cli.terminal import Terminal

CONTENT, OTHER = Identity.generate(), Identity.generate()


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
LONG_TAR = tar(("main.py", bytes(70_000)))
LONG = age.encrypt_bytes(LONG_TAR, [CONTENT.public_key])
HUGE_FILE = tarfile.TarInfo("zeros")
HUGE_FILE.size = 2**40
HUGE = HUGE_FILE.tobuf(tarfile.GNU_FORMAT) + bytes(1_024)
Capsule = Callable[[list[Bytes32], int, BeaconInfo], bytes]


def good_capsule(keys: list[Bytes32], number: int, info: BeaconInfo) -> bytes:
    return seal_capsule(CONTENT, keys, number, info)


def strangers(keys: list[Bytes32], number: int, info: BeaconInfo) -> bytes:
    return seal_capsule(CONTENT, [Identity.generate().public_key for _ in keys], number, info)


@dataclass(frozen=True, slots=True)
class Case:
    """What is wrong, and what a Guardian is told."""

    code: str
    words: str
    ciphertext: bytes = GOOD
    capsule: Capsule = good_capsule


EVIDENCE = "The Submission is malformed"
CASES = {
    "not an age file": Case("age_malformed", EVIDENCE, b"PK\3\4 a zip, say\n"),
    "a passphrase": Case("age_recipients_refused", EVIDENCE, GOOD.replace(b"-> X25519 ", b"-> scrypt ", 1)),
    "two readers": Case(
        "age_recipients_refused", EVIDENCE, age.encrypt_bytes(GOOD_TAR, [CONTENT.public_key, OTHER.public_key])
    ),
    "another key": Case("age_no_matching_key", EVIDENCE, age.encrypt_bytes(GOOD_TAR, [OTHER.public_key])),
    "cut after a chunk": Case("age_truncated", EVIDENCE, LONG[: -(len(LONG_TAR) - 65_536 + 16)]),
    "cut within a chunk": Case("age_tampered", EVIDENCE, GOOD[:-20]),
    "damaged": Case("age_tampered", EVIDENCE, GOOD[:-1] + bytes([GOOD[-1] ^ 1])),
    "not a tar": Case("archive_malformed", EVIDENCE, age.encrypt_bytes(b"hello" * 400, [CONTENT.public_key])),
    "a link": Case(
        "archive_refused", "link", age.encrypt_bytes(tar(("a", b""), kind=tarfile.SYMTYPE), [CONTENT.public_key])
    ),
    "a way out": Case("archive_refused", EVIDENCE, age.encrypt_bytes(tar(("../x", b"x")), [CONTENT.public_key])),
    "a bomb": Case("archive_refused", EVIDENCE, age.encrypt_bytes(HUGE, [CONTENT.public_key])),
    "fewer Guardians": Case(
        "capsule_wrong_recipients", EVIDENCE, capsule=lambda keys, n, info: seal_capsule(CONTENT, keys[:2], n, info)
    ),
    "more Guardians": Case(
        "capsule_wrong_recipients",
        EVIDENCE,
        capsule=lambda keys, n, info: seal_capsule(CONTENT, [*keys, OTHER.public_key], n, info),
    ),
    "another identity": Case(
        "capsule_wrong_identity", EVIDENCE, capsule=lambda keys, n, info: seal_capsule(OTHER, keys, n, info)
    ),
    "a capsule of words": Case(
        "capsule_malformed",
        EVIDENCE,
        capsule=lambda keys, n, info: timelock_encrypt(age.encrypt_bytes(b"hello\n", keys), n, info),
    ),
    "a capsule without the inner lock": Case(
        "capsule_malformed",
        EVIDENCE,
        capsule=lambda _, n, info: timelock_encrypt(f"{CONTENT.to_text()}\n".encode(), n, info),
    ),
    "other Guardians": Case("capsule_not_for_this_key", "no stanza in it opens", capsule=strangers),
}


def envelope_of(ledger: Ledger, bounty: int, solver: Wallet, case: Case) -> Envelope:
    view = ledger.contract.call("getBounty", bounty)
    ordered = [Bytes32("0x" + bytes(key).hex()) for key in ledger.contract.call("getRoster", 1)[3]]
    policy = ledger.beacon.info.reveal_policy(UnixSeconds(view[4]))
    hub, roster_hash = Address(ledger.contract.address), Bytes32(ledger.hub.roster_hash)
    return build_envelope(
        chain_id=ChainId(ledger.node.chain_id),
        hub_address=hub,
        bounty_id=BountyId(bounty),
        solver_address=Address(solver.address),
        spec_commitment=Bytes32("0x" + bytes(view[2]).hex()),
        guardian_roster_hash=roster_hash,
        recipients_commitment=recipients_commitment(roster_hash, ordered),
        reveal_policy=policy,
        content_public_key=CONTENT.public_key,
        key_capsule=case.capsule(ordered, policy.round, ledger.beacon.info),
        ciphertext_sha256=Bytes32("0x" + sha256(case.ciphertext).hexdigest()),
        ciphertext_byte_length=len(case.ciphertext),
    )


@dataclass(frozen=True, slots=True)
class Planted:
    """Each case's Submission, one Solver each."""

    bounty: str
    solvers: dict[str, str]
    envelopes: dict[str, Envelope]


@pytest.fixture(scope="session")
def planted(ledger: Ledger) -> Planted:
    bounty, _ = ledger.fund(seconds=3_000, judging=20 * 86_400)
    solvers, envelopes = {}, {}
    for name, case in CASES.items():
        solver = Wallet()
        ledger.node.fund(solver.address)
        envelopes[name] = envelope_of(ledger, bounty, solver, case)
        ledger.submit(bounty, solver, envelopes[name].commitment())
        solvers[name] = solver.address
    ledger.reveal(bounty)
    return Planted(str(bounty), solvers, envelopes)


@pytest.mark.parametrize("name", CASES)
def test_open__a_malformed_submission__is_explained_and_leaves_nothing(
    api: ApiTwin, guardian: Terminal, planted: Planted, name: str
) -> None:
    case, envelope = CASES[name], planted.envelopes[name]
    api.envelopes[envelope.commitment()] = envelope.canonical_bytes()
    api.objects[envelope.ciphertext.storage_locator] = case.ciphertext
    before = set(guardian.home.rglob("*"))
    ran = guardian.run("guardian:open", planted.bounty, planted.solvers[name], envelope.commitment(), "out", code=1)
    assert (ran.last["event"], ran.last["code"]) == ("guardian_open.refused", case.code)
    assert case.words in str(ran.last["message"])
    advice = str(ran.last["next_action"])
    assert ("Verdict" in advice and "evidence" in advice) if case.words == EVIDENCE else True
    assert not {path for path in set(guardian.home.rglob("*")) - before if "state" not in path.parts}
    assert "SECRET-KEY-1" not in (ran.stdout + ran.words).upper()


def test_open__a_key_that_does_not_fit__is_no_evidence(api: ApiTwin, guardian: Terminal, planted: Planted) -> None:
    envelope = planted.envelopes["other Guardians"]
    api.envelopes[envelope.commitment()] = envelope.canonical_bytes()
    ran = guardian.run(
        "guardian:open", planted.bounty, planted.solvers["other Guardians"], envelope.commitment(), "out", code=1
    )
    assert "not by itself a reason" in str(ran.last["next_action"])
    assert "malformed" not in str(ran.last["message"])


def test_open__an_envelope_of_another_solver_or_round__is_evidence(
    ledger: Ledger, api: ApiTwin, guardian: Terminal
) -> None:
    bounty, _ = ledger.fund(seconds=3_000, judging=20 * 86_400)
    good = envelope_of(ledger, bounty, ledger.people.solvers[0].wallet, Case("", ""))
    late = replace(good.reveal_policy, round=good.reveal_policy.round + 1)
    replayed, wallets = [good, replace(good, reveal_policy=late)], [Wallet(), Wallet()]
    for envelope, wallet in zip(replayed, wallets, strict=True):
        ledger.node.fund(wallet.address)
        ledger.submit(bounty, wallet, envelope.commitment())
        api.envelopes[envelope.commitment()] = envelope.canonical_bytes()
    ledger.reveal(bounty)
    for envelope, wallet in zip(replayed, wallets, strict=True):
        ran = guardian.run("guardian:open", str(bounty), wallet.address, envelope.commitment(), "out", code=1)
        assert ran.last["code"] == "envelope_refused"
        assert "Verdict" in str(ran.last["next_action"])


def test_open_from__only_some_of_the_files__asks_the_api_for_the_others(
    ledger: Ledger, api: ApiTwin, guardian: Terminal
) -> None:
    bounty, _ = ledger.fund(seconds=3_000, judging=20 * 86_400)
    solver = ledger.people.solvers[1].wallet
    envelope = envelope_of(ledger, bounty, solver, Case("", ""))
    ledger.submit(bounty, solver, envelope.commitment())
    ledger.reveal(bounty)
    api.envelopes[envelope.commitment()] = envelope.canonical_bytes()
    api.objects[envelope.ciphertext.storage_locator] = GOOD
    files = {
        "envelope.json": envelope.canonical_bytes(),
        "ciphertext.age": GOOD,
        "identity.txt": f"# created by hand\n{CONTENT.to_text()}\n".encode(),
    }
    names = (str(bounty), solver.address, envelope.commitment())
    for number, here in enumerate(({"envelope.json"}, {"ciphertext.age"}, {"identity.txt"}, set(files))):
        folder, before = guardian.home / f"got-{number}", len(api.approvals())
        folder.mkdir()
        for name in here:
            (folder / name).write_bytes(files[name])
        guardian.run("guardian:open", "--from", str(folder), *names, f"out-{number}")
        assert (guardian.home / f"out-{number}" / "main.py").read_bytes() == b"print(1)\n"
        assert len(api.approvals()) - before == (0 if here == set(files) else 1)
    (guardian.home / "none").mkdir()
    assert guardian.run("guardian:open", "--from", "none", *names, "out", code=1).last["code"] == "file_unreadable"
    (guardian.home / "odd" / "ciphertext.age").mkdir(parents=True)
    assert guardian.run("guardian:open", "--from", "odd", *names, "out", code=1).last["code"] == "file_unreadable"
