"""A Solver who has nothing of this project: sealed by the page's recipe, accepted by ``prepare``, opened by ours."""

import base64
import hashlib
import json
from pathlib import Path

import urllib3
from bounty_protocol.crypto import age
from bounty_protocol.crypto.artifact import open_artifact
from bounty_protocol.crypto.capsule import IdentityFile, parse_identity_file
from bounty_protocol.crypto.x25519 import recipient_text
from bounty_protocol.domain.envelope import parse_envelope
from bounty_protocol.types import Bytes32
from eth_utils.crypto import keccak
from local_stack.contract import Wallet
from service_api.deployment.constants import Constants

from tests.api.conftest import Service, used_by
from tests.api.test_submissions import open_bounty
from tests.public_tools import make_public_tools


def digest_of(path: Path) -> str:
    return "0x" + hashlib.sha256(path.read_bytes()).hexdigest()


def write_envelope(service: Service, bounty_id: str, solver: Wallet, desk: Path, public_key: bytes) -> bytes:
    """The envelope as docs/formats.md describes it, from the public detail and three files."""
    detail = json.loads(service.get(f"/api/bounties/{bounty_id}").data)
    facts, roster = detail["facts"], detail["guardian_roster"]
    keys = [member["encryption_public_key"][2:] for member in roster["members"]]
    head = roster["guardian_roster_hash"][2:] + f"{64:064x}{len(keys):064x}"
    hub, length = detail["hub_address"], (desk / "artifact.age").stat().st_size
    folder = f"submissions/{detail['chain_id']}/{hub}/{bounty_id}/{solver.address}"
    envelope = {
        "version": 2,
        "mode": "drand_tlock",
        "chain_id": detail["chain_id"],
        "hub_address": hub,
        "bounty_id": bounty_id,
        "solver_address": solver.address,
        "spec_commitment": facts["spec_commitment"],
        "guardian_roster_hash": roster["guardian_roster_hash"],
        "recipients_commitment": "0x" + keccak(bytes.fromhex(head + "".join(keys))).hex(),
        "reveal_policy": {
            "beacon_chain_hash": "0x" + service.beacon.chain_hash.removeprefix("0x"),
            "round": round_at(service, facts["reveal_at"]),
            "reveal_at": facts["reveal_at"],
        },
        "content_public_key": "0x" + public_key.hex(),
        "key_capsule": base64.b64encode((desk / "capsule.tlock").read_bytes()).decode(),
        "key_capsule_sha256": digest_of(desk / "capsule.tlock"),
        "ciphertext": {
            "sha256": digest_of(desk / "artifact.age"),
            "byte_length": length,
            "storage_locator": f"{folder}/{digest_of(desk / 'artifact.age')[2:]}.age",
        },
    }
    return json.dumps(envelope, sort_keys=True, separators=(",", ":")).encode()


def round_at(service: Service, moment: int) -> int:
    info = json.loads(service.get("/api/deployment").data)["beacon"]
    return int(-(-(moment - info["genesis_time"]) // info["period_seconds"]) + 1)


def test_artifact__made_with_public_tools_alone__is_accepted_by_prepare_and_opens(
    service: Service, tmp_path: Path
) -> None:
    bounty_id, solver, info = (
        str(open_bounty(service)),
        service.world.solver(2),
        used_by(service.client, Constants).beacon,
    )
    desk, programs = tmp_path / "desk", tmp_path / "tools"
    (desk / "work" / "src").mkdir(parents=True)
    programs.mkdir()
    (desk / "work" / "src" / "main.py").write_text("print(1)\n")
    tools = make_public_tools(programs, service.beacon.url, info)
    roster = json.loads(service.get(f"/api/bounties/{bounty_id}").data)["guardian_roster"]["members"]
    recipients = [recipient_text(Bytes32(member["encryption_public_key"])) for member in roster]
    reveal_at = json.loads(service.get(f"/api/bounties/{bounty_id}").data)["facts"]["reveal_at"]
    placeholders = dict(zip(("age1a...", "age1b...", "age1c..."), recipients, strict=True))

    for name, value in (
        ("round", round_at(service, reveal_at)),
        ("chain_id", service.world.chain_id),
        ("hub", service.world.hub_address),
        ("bounty", bounty_id),
        ("solver", solver.address),
    ):
        placeholders[f"<{name}>"] = str(value)
    tools.follow("Seal a Submission", desk, **placeholders)
    identity = parse_identity_file((desk / "identity.txt").read_bytes()).identity
    body = write_envelope(service, bounty_id, solver, desk, bytes.fromhex(identity.public_key[2:]))
    path = f"/api/bounties/{bounty_id}/submissions/{solver.address}"
    wanted = json.loads(body)["ciphertext"]
    request = {"ciphertext_sha256": wanted["sha256"], "ciphertext_byte_length": wanted["byte_length"]}
    target = service.signed(
        solver.private_key, "POST", f"{path}/artifact-upload-url",
        body=json.dumps(request).encode(), media_type="application/json",
    ).json  # fmt: skip
    assert target is not None
    assert target["storage_locator"] == wanted["storage_locator"]
    put(target, (desk / "artifact.age").read_bytes())

    prepared = service.signed(solver.private_key, "POST", f"{path}/prepare", body=body, media_type="application/json")

    assert prepared.status_code == 201, prepared.data
    envelope = parse_envelope(body)
    assert prepared.json is not None
    assert prepared.json["submission_commitment"] == envelope.commitment()
    opened = open_artifact(
        desk / "artifact.age", identity, tmp_path / "out", sha256=envelope.ciphertext.sha256,
        byte_length=envelope.ciphertext.byte_length, expected=envelope.binding,
    )  # fmt: skip
    assert (opened.file_count, (tmp_path / "out/src/main.py").read_text()) == (1, "print(1)\n")
    guardian = service.world.people.guardians[1].identity
    assert guardian is not None
    inner = age.decrypt_bytes((desk / "identity.age").read_bytes(), [guardian], recipients=3)
    assert parse_identity_file(inner) == IdentityFile(identity, envelope.binding)


def put(target: dict[str, object], data: bytes) -> None:
    """What the answer says to do."""
    headers = target["upload_headers"]
    assert isinstance(headers, dict)
    done = urllib3.request(str(target["upload_method"]), str(target["upload_url"]), body=data, headers=headers)
    assert done.status == 200
