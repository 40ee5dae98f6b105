"""``--bundle`` and ``--from``: the evidence in a file, checked again without a network, whoever made the file."""

import hashlib
import io
import json
import os
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from bounty_protocol.domain.frontmatter import MAX_DOCUMENT_BYTES
from service_cli.audit import bundle as bundles
from service_cli.audit import collect

from tests.cli.api_twin import ApiTwin
from tests.cli.audited import Audited, results
from tests.cli.ledger import Ledger
from tests.cli.servers import Reply, Request, RpcProxy
from tests.cli.terminal import Terminal

Entries = dict[str, bytes]


@pytest.fixture
def bundle(ledger: Ledger, auditor: Terminal, audited: Audited) -> Path:
    """The awarded bounty's evidence with its envelope."""
    key = ledger.people.guardians[0].wallet.private_key
    words = (audited.awarded, "--bundle", "a.zip", "--sign-as", "guardian")
    ran = auditor.audit(*words, SERVICE_GUARDIAN_ACCOUNT_PRIVATE_KEY=key)
    assert ran.event("service_audit.bundle_written")["path"] == "a.zip"
    return auditor.home / "a.zip"


@pytest.fixture
def offline(auditor: Terminal) -> Terminal:
    """Somebody without any configuration, who would be told of mainnet where one is used."""
    return Terminal(auditor.home)


def entries_of(path: Path) -> Entries:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def pack(path: Path, entries: Mapping[str, bytes], *, honest: bool = False) -> str:
    """Write a bundle of these entries; ``honest`` makes the manifest agree with them."""
    content = dict(entries)
    if honest:
        manifest = json.loads(content["manifest.json"])
        files = {name: each for name, each in content.items() if name != "manifest.json"}
        manifest["files"] = {name: "0x" + hashlib.sha256(each).hexdigest() for name, each in files.items()}
        content["manifest.json"] = json.dumps(manifest).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, each in content.items():
            archive.writestr(name, each)
    return path.name


def test_bundle__checked_again_without_a_network__holds(
    bundle: Path, offline: Terminal, audited: Audited, api: ApiTwin, rpc: RpcProxy
) -> None:
    asked, called = len(api.server.requests), len(rpc.calls)
    ran = offline.audit("--from", "a.zip")
    assert (ran.last["event"], ran.last["differs"]) == ("service_audit.finished", 0)
    assert results(ran, "not_checked") == {
        "bundle.deployment",
        "bundle.token",
        "chain.logs",
        "envelope",
        "envelope.round",
        "ciphertext",
    }
    assert {"bundle", "rules.outcome", "record.log_digest", "verdict", "envelope"} <= results(ran, "holds")
    assert (len(api.server.requests), len(rpc.calls)) == (asked, called)
    assert "mainnet" not in ran.words
    assert "25 tUSDC (25000000 base units)" in " ".join(ran.words.split())
    assert [path.name for path in offline.home.iterdir() if path.name != "state"] == ["a.zip"]
    assert offline.audit("--from", "a.zip", "--strict", code=1).last["code"] == "audit_incomplete"
    wrong = offline.audit(audited.refunded, "--from", "a.zip", code=1)
    assert results(wrong, "differs") == {"bundle"}


@pytest.mark.parametrize(
    ("token", "code"),
    [
        (None, None),
        ({"symbol": "\x1b[2JUSDC", "decimals": 6}, None),
        ({"symbol": "USDC", "decimals": 37}, "bundle_refused"),
        ({"symbol": "USDC", "decimals": True}, "bundle_refused"),
        ({"symbol": 5, "decimals": 6}, "bundle_refused"),
        ("USDC", "bundle_refused"),
    ],
)
def test_bundle__with_another_token_or_none__shows_amounts_safely_or_is_refused(
    bundle: Path, offline: Terminal, token: object, code: str | None
) -> None:
    entries = entries_of(bundle)
    manifest = json.loads(entries["manifest.json"])
    entries["manifest.json"] = json.dumps({**manifest, "token": token}).encode()
    name = pack(bundle.parent / "b.zip", entries)
    ran = offline.audit_any("--from", name)
    assert ran.last.get("code") == code
    assert "\x1b" not in ran.words
    assert ("base units" in ran.words) == (code is None)
    assert ("(25000000 base units)" in ran.words) == (code is None and token is not None)


def test_bundle__against_a_configured_deployment__says_whether_it_is_that_one(bundle: Path, auditor: Terminal) -> None:
    same = auditor.audit("--from", "a.zip")
    assert "bundle.deployment" in results(same, "holds")
    assert "envelope.round" not in results(same, "not_checked")
    other = auditor.audit("--from", "a.zip", code=1, SERVICE_HUB_ADDRESS="0x" + "ab" * 20)
    assert results(other, "differs") == {"bundle.deployment"}


def test_bundle__made_twice__has_the_same_service_bytes_and_is_never_written_over(
    bundle: Path, auditor: Terminal, audited: Audited
) -> None:
    before = bundle.read_bytes()
    assert auditor.audit(audited.awarded, "--bundle", "a.zip", code=1).last["code"] == "bundle_exists"
    assert auditor.audit(audited.awarded, "--bundle", "no/such/a.zip", code=1).last["code"] == "bundle_not_written"
    assert bundle.read_bytes() == before
    assert entries_of(bundle)["service/bounty.json"] == audited.details[audited.awarded]


def test_bundle__that_a_full_disk_does_not_take__leaves_no_half_a_file(
    auditor: Terminal, audited: Audited, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(zipfile.ZipFile, "writestr", full)
    ran = auditor.audit(audited.awarded, "--bundle", "b.zip", code=1)
    assert (ran.last["event"], ran.last["code"]) == ("service_audit.failed", "bundle_not_written")
    assert "No space left" in str(ran.last["message"])
    assert not (auditor.home / "b.zip").exists()


@pytest.mark.parametrize(
    ("route", "content"),
    [
        ("content", b'{"envelope": "\\ud800"}'),
        ("content", json.dumps({"envelope": "x" * (MAX_DOCUMENT_BYTES + 1)}).encode()),
        ("verdict_read", b"x" * (MAX_DOCUMENT_BYTES + 1)),
        ("verdict_read", b"x" * MAX_DOCUMENT_BYTES),
    ],
    ids=["half a character", "a large envelope", "a large Verdict", "a Verdict that just fits"],
)
def test_bundle__of_a_service_that_answers_what_no_document_is__can_be_read_again(
    ledger: Ledger, auditor: Terminal, api: ApiTwin, audited: Audited, route: str, content: bytes
) -> None:
    api.scripts[route] = lambda _: (200, content, {"Content-Type": "application/json"})
    key = ledger.people.guardians[0].wallet.private_key
    words = (audited.awarded, "--bundle", "a.zip", "--sign-as", "guardian")
    code = 1 if len(content) == MAX_DOCUMENT_BYTES else 0
    live = auditor.audit(*words, code=code, SERVICE_GUARDIAN_ACCOUNT_PRIVATE_KEY=key)
    again = auditor.audit("--from", "a.zip", code=code)
    for result in ("holds", "differs", "not_checked"):
        offline_alone = {"chain.logs", "bundle.token"} if result == "not_checked" else set[str]()
        found = results(again, result) - {"bundle", "bundle.deployment"}
        assert found == results(live, result) - {"chain.logs"} | offline_alone


def test_audit__of_a_service_that_answers_once_what_no_envelope_is__asks_for_the_others(
    ledger: Ledger, auditor: Terminal, api: ApiTwin, audited: Audited
) -> None:
    asked = list[str]()

    def once(request: Request) -> Reply | None:
        asked.append(request.path)
        return (200, b"[]", {"Content-Type": "application/json"}) if len(asked) == 1 else None

    api.scripts["content"] = once
    key = ledger.people.guardians[0].wallet.private_key
    ran = auditor.audit(audited.awarded, "--sign-as", "guardian", SERVICE_GUARDIAN_ACCOUNT_PRIVATE_KEY=key)
    assert len(set(asked)) > 1
    assert "envelope" in results(ran, "not_checked")


def test_bundle__of_more_documents_than_it_holds__leaves_out_the_last_and_says_why(
    auditor: Terminal, audited: Audited, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collect, "MOST_DOCUMENT_BYTES", max(map(len, audited.verdicts.values())))
    ran = auditor.audit(audited.awarded, "--bundle", "a.zip")
    assert "more than an audit takes" in ran.words
    assert "verdict" in results(ran, "holds")
    assert "verdict" in results(ran, "not_checked")


@pytest.mark.parametrize("name", [bundles.MANIFEST, bundles.CHAIN, bundles.DETAIL])
def test_bundle__of_evidence_that_could_not_be_read_again__is_not_written(
    auditor: Terminal, audited: Audited, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setitem(bundles.LIMITS, name, 100)
    ran = auditor.audit(audited.awarded, "--bundle", "a.zip", code=1)
    assert (ran.last["code"], name in str(ran.last["message"])) == ("bundle_too_large", True)
    assert not (auditor.home / "a.zip").exists()


def test_bundle__with_any_entry_altered_or_missing__names_it(bundle: Path, offline: Terminal) -> None:
    truth = entries_of(bundle)
    for name in set(truth) - {"manifest.json"}:
        altered = truth | {name: truth[name].replace(b"3", b"4", 1)}
        ran = offline.audit("--from", pack(offline.home / "altered.zip", altered), code=1)
        said = [row for event in ran.events for row in event.get("differences", [])]  # type: ignore[attr-defined]
        assert name in {row["path"] for row in said} or ran.last["code"] in {"bundle_refused", "log_incomplete"}
    for name in sorted(truth):
        less = {each: content for each, content in truth.items() if each != name}
        ran = offline.audit("--from", pack(offline.home / "less.zip", less), code=1)
        assert ran.last["code"] in {"audit_differs", "bundle_refused"}


@pytest.mark.parametrize("kind", ["service/bounty.json", "service/written-verdicts", "service/envelopes"])
def test_bundle__altered_with_a_manifest_that_agrees__is_contradicted_by_the_log(
    bundle: Path, offline: Terminal, kind: str
) -> None:
    truth = entries_of(bundle)
    for name in (name for name in truth if name.startswith(kind)):
        altered = truth | {name: truth[name].replace(b"0x", b"0X", 1)}
        ran = offline.audit("--from", pack(offline.home / "altered.zip", altered, honest=True), code=1)
        assert ran.last["code"] == "audit_differs"
        assert "bundle" not in results(ran, "differs")


def test_bundle__without_the_guardians_signs_of_life__does_not_say_that_they_hold(
    bundle: Path, offline: Terminal
) -> None:
    truth = entries_of(bundle)
    manifest = json.loads(truth["manifest.json"])
    altered = truth | {"manifest.json": json.dumps({**manifest, "active_until": []}).encode()}
    ran = offline.audit("--from", pack(offline.home / "altered.zip", altered, honest=True), code=0)
    assert "bounty.last_active_at" in results(ran, "not_checked")
    assert "bounty.last_active_at" not in results(ran, "holds")


def test_bundle__a_log_left_out_or_altered__is_contradicted_by_the_rest(bundle: Path, offline: Terminal) -> None:
    truth = entries_of(bundle)
    chain = json.loads(truth["chain.json"])
    for index in range(len(chain["logs"])):
        logs = [log for place, log in enumerate(chain["logs"]) if place != index]
        altered = truth | {"chain.json": json.dumps(chain | {"logs": logs}).encode()}
        ran = offline.audit("--from", pack(offline.home / "altered.zip", altered, honest=True), code=1)
        assert ran.last["code"] in {"audit_differs", "log_incomplete"}, index


@pytest.mark.parametrize(
    "value",
    [
        {}, {"logs": 7}, {"logs": [7]}, {"times": []}, {"chain_id": "1"}, {"chain_id": True}, {"hub_address": "x"},
        {"finalized": None}, {"reads": [{"function": "owner", "arguments": [], "answer": "0x"}]}, {"beacon": 7},
        {"bounty_id": "0"}, {"logs": [{"topics": []}]}, {"times": {"x": 1}}, {"beacon": {"period_seconds": 0}},
    ],
    ids=str,
)  # fmt: skip
def test_bundle__chain_evidence_of_another_form__is_refused(
    bundle: Path, offline: Terminal, value: dict[str, object]
) -> None:
    truth = entries_of(bundle)
    chain = json.loads(truth["chain.json"]) | value if value else value
    altered = truth | {"chain.json": json.dumps(chain).encode()}
    ran = offline.audit("--from", pack(offline.home / "altered.zip", altered, honest=True), code=1)
    assert ran.last["code"] == "bundle_refused"


def archive(*entries: tuple[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as made:
        for name, content in entries:
            made.writestr(name, content)
    return buffer.getvalue()


def encrypted() -> bytes:
    content = bytearray(archive(("manifest.json", b"{}")))
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(signature) + offset] |= 1
    return bytes(content)


def liar() -> bytes:
    """An entry whose headers say that it is small."""
    content = bytearray(archive(("manifest.json", b"0" * (4 * 2**20)), method=zipfile.ZIP_DEFLATED))
    for signature, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        at = content.index(signature) + offset
        content[at : at + 4] = (10).to_bytes(4, "little")
    return bytes(content)


HOSTILE: dict[str, Callable[[], bytes]] = {
    "empty": lambda: b"",
    "no zip": lambda: b"PK" + os.urandom(500),
    "cut": lambda: archive(("manifest.json", b"{}" * 100))[:-30],
    "above": lambda: archive(("../manifest.json", b"{}")),
    "absolute": lambda: archive(("/etc/passwd", b"{}")),
    "odd name": lambda: archive(("service/written-verdicts/0x00.md\x00.json", b"{}")),
    "bomb": lambda: archive(("manifest.json", bytes(40 * 2**20)), method=zipfile.ZIP_DEFLATED),
    "lying size": liar,
    "many": lambda: archive(*((f"service/envelopes/0x{n:064x}.json", b"") for n in range(bundles.MAX_ENTRIES + 1))),
    "encrypted": encrypted,
    "bzip2": lambda: archive(("manifest.json", b"{}"), method=zipfile.ZIP_BZIP2),
    "no manifest": lambda: archive(("chain.json", b"{}")),
    "deep": lambda: archive(("manifest.json", b"[" * 100_000), ("chain.json", b"{}")),
    "no object": lambda: archive(("manifest.json", b"7"), ("chain.json", b"{}")),
    "another version": lambda: archive(("manifest.json", b'{"version": 2}'), ("chain.json", b"{}")),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_bundle__of_anybody_s_making__is_refused_and_nothing_is_written(shell: Terminal, name: str) -> None:
    (shell.home / "hostile.zip").write_bytes(HOSTILE[name]())
    ran = shell.audit("--from", "hostile.zip", code=1)
    assert (ran.last["event"], ran.last["code"]) == ("service_audit.refused", "bundle_refused")
    assert [path.name for path in shell.home.iterdir()] == ["hostile.zip"]


@pytest.mark.attack
def test_bundle__of_a_million_entries__is_refused_before_anything_is_made_of_them(
    shell: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    (shell.home / "large.zip").write_bytes((b"PK\x01\x02" + bytes(24) + b"\1\0" + bytes(16) + b"a") * 1_000_000)
    monkeypatch.setattr(zipfile, "ZipFile", None)
    assert shell.audit("--from", "large.zip", code=1).last["code"] == "bundle_refused"


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_bundle__with_an_entry_twice_or_no_file__is_refused(shell: Terminal) -> None:
    (shell.home / "twice.zip").write_bytes(archive(("manifest.json", b"{}"), ("manifest.json", b"{}")))
    assert shell.audit("--from", "twice.zip", code=1).last["code"] == "bundle_refused"
    assert shell.audit("--from", "none.zip", code=1).last["code"] == "file_unreadable"
    assert shell.audit("--from", ".", code=1).last["code"] == "file_unreadable"


def test_bundle__that_is_no_plain_file_or_too_large__is_refused_before_it_is_read(shell: Terminal) -> None:
    os.mkfifo(shell.home / "pipe")
    for name in ("/dev/zero", "pipe"):
        assert shell.audit("--from", name, code=1).last["code"] == "bundle_refused"
    with (shell.home / "large.zip").open("wb") as file:
        file.truncate(bundles.MAX_FILE_BYTES + 1)
    assert shell.audit("--from", "large.zip", code=1).last["code"] == "bundle_refused"
