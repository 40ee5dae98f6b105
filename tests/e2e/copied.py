"""Copies of a Submission, made through the real service as far as it lets a copier."""

import json
import time

import urllib3
from bounty_protocol.domain.envelope.document import parse_envelope
from demo.bounty import Cast, Funded, Submitted
from local_stack.contract import Wallet
from service_cli.library import sign_request

from tests.copier import in_own_envelope


def copy_commitment(cast: Cast, bounty: Funded, commitment: str) -> str:
    """A fresh account records the same commitment; its address."""
    copier = Wallet()
    cast.stack.anvil.fund(copier.address)
    _record(cast, bounty, copier, commitment)
    return copier.address


def copy_bytes(cast: Cast, bounty: Funded, work: Submitted) -> Submitted:
    """What a reader before the deadline can do: the same capsule and ciphertext in an envelope of a fresh account."""
    copier, poster = Wallet(), cast.stack.people.poster.wallet
    cast.stack.anvil.fund(copier.address)
    submissions = f"/api/bounties/{bounty.bounty_id}/submissions"
    content = _ask(cast, poster, "GET", f"{submissions}/{work.commitment}/content")
    ciphertext = urllib3.request("GET", str(content["download_url"])).data
    mine = in_own_envelope(parse_envelope(str(content["envelope"]).encode()), copier.address)
    wanted = {"ciphertext_sha256": mine.ciphertext.sha256, "ciphertext_byte_length": mine.ciphertext.byte_length}
    path = f"{submissions}/{copier.address}"
    target = _ask(cast, copier, "POST", f"{path}/artifact-upload-url", json.dumps(wanted).encode())
    headers = target["upload_headers"]
    assert isinstance(headers, dict)
    url = str(target["upload_url"])
    assert urllib3.request(str(target["upload_method"]), url, body=ciphertext, headers=headers).status == 200
    prepared = _ask(cast, copier, "POST", f"{path}/prepare", mine.canonical_bytes())
    assert prepared["submission_commitment"] == mine.commitment() != work.commitment
    _record(cast, bounty, copier, mine.commitment())
    return Submitted(copier.address, mine.commitment(), work.directory)


def _record(cast: Cast, bounty: Funded, copier: Wallet, commitment: str) -> None:
    words = (bytes.fromhex(commitment[2:]), bytes.fromhex(cast.stack.hub.roster_hash[2:]))
    cast.stack.hub.hub.transact(copier, "submit", int(bounty.bounty_id), *words)


def _ask(cast: Cast, wallet: Wallet, method: str, path: str, body: bytes = b"") -> dict[str, object]:
    """A signed request, again while the index is behind the chain."""
    url, ends = cast.stack.api_base_url + path, time.monotonic() + 20
    while True:
        headers = sign_request(
            method, url, body, rpc_url=cast.stack.anvil.url, hub_address=cast.stack.hub.hub.address,
            private_key=bytes.fromhex(wallet.private_key.removeprefix("0x")),
        )  # fmt: skip
        kind = {"Content-Type": "application/json"} if body else {}
        answer = urllib3.request(method, url, body=body or None, headers={**headers, **kind}, retries=False)
        if answer.status < 300:
            found: dict[str, object] = answer.json()
            return found
        assert answer.status in {404, 503}, answer.data
        assert time.monotonic() < ends, answer.data
        time.sleep(0.2)
