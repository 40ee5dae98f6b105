"""A notice about the Hub as an operator makes one: signed by the owners of a Safe, checked, and brought to an API.

Real Safes, the real timelock, the real Hub, and the commands that an operator types.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bounty_protocol.chain.hub_notices import why_void
from bounty_protocol.domain.hub_notice import HubNotice
from bounty_protocol.types import ChainId, UnixSeconds
from bounty_protocol.wire.reading import read
from eth_account.messages import encode_typed_data
from eth_account.signers.local import LocalAccount
from local_stack.contract import Wallet

from tests.cli.servers import Reply, Request, Server, as_json
from tests.deploy.test_hub_operations import operate
from tests.deploy.test_hub_owner import World, handed_over, world
from tests.safe.wallet import SafeWallet, make_safe

__all__ = ["handed_over", "world"]


@pytest.fixture
def api() -> Iterator[Server]:
    """An API that takes what is posted, as one answers that had nothing before."""

    def answer(request: Request) -> Reply:
        assert (request.method, request.path) == ("POST", "/api/hub-notices")
        return as_json(json.loads(request.body), 201)

    server = Server(answer)
    yield server
    server.close()


def write(world: World, by: str, *options: str, code: int = 0, key: Wallet | None = None) -> tuple[str, Path]:
    file = world.file()
    where = ("--rpc-url", world.node.url, "--hub", world.hub.address, "--by", by, "--file", str(file))
    return operate("notice", "write", *where, *options, code=code, key=key), file


def signatures(file: Path, owners: tuple[LocalAccount, ...]) -> list[str]:
    """What each owner's wallet makes of the file."""
    signable = encode_typed_data(full_message=json.loads(file.read_text())["to_sign"])
    return ["0x" + bytes(owner.sign_message(signable).signature).hex() for owner in owners]


def finish(world: World, draft: Path, signed: list[str], code: int = 0) -> tuple[str, Path]:
    file = world.file()
    where = ("--rpc-url", world.node.url, "--file", str(file))
    return operate("notice", "finish", *where, str(draft), *signed, code=code), file


def made(world: World, safe: SafeWallet, *options: str) -> HubNotice:
    """A notice of a Safe, by the commands."""
    _, draft = write(world, safe.address, *options)
    _, file = finish(world, draft, signatures(draft, safe.owners[:2]))
    return read(HubNotice, json.loads(file.read_text()))


def void(world: World, notice: HubNotice, after: int = 0) -> list[str]:
    now = UnixSeconds(notice.issued_at + after)
    return [issue.path for issue in why_void(world.hub, ChainId(world.node.chain_id), notice, now)]


def test_notice__signed_by_two_owners_of_the_canceller__counts_and_is_published(world: World, api: Server) -> None:
    said, draft = write(world, world.canceller.address, "hub_flaw")
    assert "clients and pages fund no bounty until" in said
    signed = signatures(draft, world.canceller.owners[1:])
    said, file = finish(world, draft, list(reversed(signed)))  # in any order
    notice = read(HubNotice, json.loads(file.read_text()))
    assert void(world, notice) == []
    assert notice.expires_at - notice.issued_at == 7 * 86_400
    assert f"{api.url}: published" in operate("notice", "publish", str(file), api.url)
    assert [json.loads(request.body) for request in api.requests] == [json.loads(file.read_text())]
    unreachable = operate("notice", "publish", str(file), "http://127.0.0.1:9", api.url, code=1)
    assert "not published at http://127.0.0.1:9" in unreachable
    assert len(api.requests) == 2  # the others have it all the same


def test_notice__beside_a_later_one_of_its_account__is_not_said_to_be_published(
    world: World, api: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clock that was ahead had a withdrawal reported as published that never took effect."""
    _, draft = write(world, world.canceller.address, "hub_flaw")
    _, file = finish(world, draft, signatures(draft, world.canceller.owners[:2]))
    body = json.loads(file.read_text())
    monkeypatch.setattr(api, "alter", lambda _request, _reply: as_json(body, 200))
    assert "there already" in operate("notice", "publish", str(file), api.url)
    _, other = finish(world, draft, signatures(draft, world.canceller.owners[1:3]))
    by_others = json.loads(other.read_text())
    assert by_others != body
    monkeypatch.setattr(api, "alter", lambda _request, _reply: as_json(by_others, 200))
    assert "there already" in operate("notice", "publish", str(file), api.url), "the same, by other owners"
    later = {**body, "issued_at": body["issued_at"] + 300}
    monkeypatch.setattr(api, "alter", lambda _request, _reply: as_json(later, 200))
    assert "a later one of this account is there" in operate("notice", "publish", str(file), api.url, code=1)


@pytest.mark.attack
def test_notice__of_one_owner_or_of_others__is_not_made(world: World) -> None:
    _, draft = write(world, world.canceller.address, "hub_flaw")
    owners = world.canceller.owners
    assert "not enough" in finish(world, draft, signatures(draft, owners[:1]), code=1)[0]
    assert "not enough" in finish(world, draft, signatures(draft, owners[:1]) * 2, code=1)[0]
    assert "not enough" in finish(world, draft, signatures(draft, world.proposer.owners), code=1)[0]
    changed = json.loads(draft.read_text())
    signed = signatures(draft, owners[:2])
    changed["notice"]["reason"] = "other"
    draft.write_text(json.dumps(changed))
    assert "not enough" in finish(world, draft, signed, code=1)[0]


@pytest.mark.attack
def test_notice__of_whom_the_timelock_does_not_name__is_refused_before_anybody_signs(world: World) -> None:
    for account in (world.proposer.address, world.vault.address, world.recovery.address, Wallet().address):
        assert "neither the Hub's owner nor a canceller" in write(world, account, "hub_flaw", code=1)[0]
    assert "--days" in write(world, world.canceller.address, "--days", "31", "hub_flaw", code=1)[0]


def test_withdrawal__of_the_same_canceller__lasts_as_long_as_any_notice(world: World) -> None:
    first = made(world, world.canceller, "--days", "30", "owner_keys")
    said, draft = write(world, world.canceller.address, "withdrawn")
    assert "fund again" in said
    _, file = finish(world, draft, signatures(draft, world.canceller.owners[:2]))
    later = read(HubNotice, json.loads(file.read_text()))
    assert later.expires_at - later.issued_at == first.expires_at - first.issued_at == 30 * 86_400


@pytest.mark.attack
def test_false_notice__of_a_stolen_canceller__is_void_once_the_other_two_replaced_it(world: World) -> None:
    thief, new = world.canceller, make_safe(world.node.w3, world.payer)
    false = made(world, thief, "hub_flaw")
    assert void(world, false) == []
    world.replace("canceller", thief, new, [world.proposer, world.vault])
    assert void(world, false) == ["signer"]
    assert void(world, made(world, new, "hub_flaw")) == []
    world.replace("canceller", new, thief, [world.proposer, world.vault])


@pytest.mark.attack
def test_true_notice__that_a_thief_withdraws__is_signed_again_by_who_takes_its_place(world: World) -> None:
    """A thief of the canceller ends what that account signed; nobody else's."""
    thief, second = world.canceller, make_safe(world.node.w3, world.payer)
    made(world, thief, "hub_flaw")
    withdrawn = made(world, thief, "withdrawn")
    assert void(world, withdrawn) == []
    world.replace("canceller", thief, second, [world.proposer, world.vault])
    assert void(world, withdrawn) == ["signer"]
    assert void(world, replace(withdrawn, signer=made(world, second, "hub_flaw").signer)) == ["signature"]
    world.replace("canceller", second, thief, [world.proposer, world.vault])


def test_notice__of_a_plain_key__is_signed_from_its_file_and_never_shown(world: World, tmp_path: Path) -> None:
    """Of a Hub that an account owns: the owner itself signs, with the key that the variable names."""
    from local_stack.hub import LocalHubTerms, deploy_hub

    owner = Wallet()
    local = deploy_hub(world.node, owner=owner, fee_recipient=world.payer, terms=LocalHubTerms())
    draft, file = tmp_path / "draft.json", tmp_path / "notice.json"
    where: list[Any] = ["--rpc-url", world.node.url, "--hub", local.hub.address, "--by", owner.address]
    said = operate("notice", "write", *where, "--file", str(draft), "--sign", "other", key=owner)
    assert owner.private_key[2:] not in said
    signature = said.split("signature of ")[1].split()[1]
    operate("notice", "finish", "--rpc-url", world.node.url, "--file", str(file), str(draft), signature)
    assert json.loads(file.read_text())["signer"] == owner.address
