"""Deploying the Hub and acting as its owner, as an operator types it, against a real node."""

import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from bounty_protocol.chain.deployment import LOCAL_CHAIN_ID, NETWORKS, deployment_of
from bounty_protocol.chain.hub import Hub
from bounty_protocol.chain.rpc import Rpc
from bounty_protocol.clock import iso_utc
from bounty_protocol.crypto.x25519 import Identity, recipient_text
from bounty_protocol.types import Address, BlockNumber
from hub_operations.__main__ import main
from hub_operations.deploy import RECORDS, PlannedHub, block_of_deployment, write_record
from hub_operations.networks import TERMS
from hub_operations.signing import KEY, OperationRefused, read_operator
from local_stack import anvil
from local_stack.anvil import AnvilServer
from local_stack.contract import Wallet
from local_stack.hub import LocalHub, LocalHubTerms, deploy_hub

from tests.cli.servers import Refusal, RpcProxy
from tests.safe.wallet import make_safe

TOP = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def node() -> Iterator[AnvilServer]:
    with anvil.start(mining="automine") as server:
        yield server


@pytest.fixture(scope="module")
def owner(node: AnvilServer) -> Wallet:
    wallet = Wallet()
    node.fund(wallet.address)
    return wallet


@pytest.fixture(scope="module")
def local(node: AnvilServer, owner: Wallet) -> LocalHub:
    recipient = Wallet()
    node.fund(recipient.address)
    return deploy_hub(node, owner=owner, fee_recipient=recipient)


def operate(
    *arguments: str, key: Wallet | None = None, code: int = 0, environment: dict[str, str] | None = None
) -> str:
    """Run the command; what it printed, both streams.

    Run in this process: a new one imports web3 for a second each time, and one test is enough for that.
    """
    secrets = {KEY: key.private_key} if key is not None else {}
    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(printed), redirect_stderr(printed):
        for name, value in {**secrets, **(environment or {})}.items():
            patch.setenv(name, value)
        ended: int | str | None
        try:
            ended = main(arguments)
        except SystemExit as stop:  # argparse
            ended = stop.code
    text = printed.getvalue()
    assert ended == code, text
    assert key is None or key.private_key[2:] not in text
    return text


def deployment_arguments(node: AnvilServer, owner: Wallet, token: str, **changes: str) -> list[str]:
    values = {
        "--network": "local",
        "--rpc-url": node.url,
        "--owner": owner.address,
        "--fee-recipient": "0x" + "11" * 20,
        "--protocol-fee-bps": "100",
        "--guardian-fee-bps": "300",
        "--token": token,
        **changes,
    }
    return ["deploy", *(word for pair in values.items() for word in pair)]


def test_deploy_without_send_tells_the_address(node: AnvilServer, owner: Wallet, local: LocalHub) -> None:
    words = operate(*deployment_arguments(node, owner, local.token.address))
    address = next(line.split()[-1] for line in words.splitlines() if line.startswith("Hub address"))
    assert "dry run" in words
    assert node.rpc.call("eth_getCode", address, "latest") == "0x"


def test_program_answers_and_keeps_the_key(node: AnvilServer, owner: Wallet) -> None:
    arguments = [*deployment_arguments(node, owner, "0x" + "99" * 20), "--send"]
    done = subprocess.run(
        [sys.executable, "-m", "hub_operations", *arguments],
        env={
            **os.environ,
            "PYTHONPATH": f"{TOP / 'deploy/hub'}{os.pathsep}{TOP / 'deploy/local'}",
            KEY: owner.private_key,
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 1
    assert done.stderr.startswith(("refused: ", "failed: "))
    assert owner.private_key[2:] not in done.stdout + done.stderr


def test_deploy_sent_twice_stands_once(node: AnvilServer, owner: Wallet, local: LocalHub) -> None:
    arguments = deployment_arguments(node, owner, local.token.address, **{"--salt": "7"})
    told = operate(*arguments)
    address = next(line.split()[-1] for line in told.splitlines() if line.startswith("Hub address"))
    assert f"the Hub stands at {address}" in operate(*arguments, "--send", key=owner)
    before = node.w3.eth.block_number
    assert f"the Hub stands at {address}" in operate(*arguments, "--send", key=owner)
    assert node.w3.eth.block_number == before
    assert Hub(Rpc([node.url]), Address(address)).token() == local.token.address


def test_deploy_sent_by_another_finds_its_block(node: AnvilServer, owner: Wallet, local: LocalHub) -> None:
    arguments = deployment_arguments(node, owner, local.token.address, **{"--salt": "9"})
    operate(*arguments, "--send", key=owner)
    block = BlockNumber(int(node.w3.eth.block_number))
    node.mine(5)
    told = operate(*arguments, "--send", key=owner)
    assert f"since block {block};" in told
    address = Address(next(line.split()[-1] for line in told.splitlines() if line.startswith("Hub address")))
    assert block_of_deployment(Rpc([node.url]), address) == block


@pytest.mark.parametrize(("method", "said"), [("eth_getCode", "keeps old state"), ("eth_getLogs", "not consistent")])
def test_endpoint_without_history_is_refused(node: AnvilServer, local: LocalHub, method: str, said: str) -> None:
    node.mine(5)
    with RpcProxy(node.url) as endpoint:
        endpoint.after = lambda asked, params, result: _without_history(method, asked, params, result)
        with pytest.raises(OperationRefused, match=said):
            block_of_deployment(Rpc([endpoint.url]), Address(local.hub.address))


def _without_history(method: str, asked: str, params: list[object], result: object) -> object:
    if asked != method or params[-1] == "latest":
        return result
    return [] if method == "eth_getLogs" else Refusal(-32000, "missing trie node")


def test_bad_key_or_wrong_chain_is_refused(node: AnvilServer, owner: Wallet, local: LocalHub) -> None:
    arguments = deployment_arguments(node, owner, local.token.address, **{"--salt": "8"})
    assert "HUB_OWNER_PRIVATE_KEY_FILE" in operate(*arguments, "--send", code=1)
    assert "not a private key" in operate(*arguments, "--send", code=1, environment={"HUB_OWNER_PRIVATE_KEY": "0x12"})
    other = [word if word != "local" else "staging" for word in arguments]
    other = other[: other.index("--token")] + other[other.index("--token") + 2 :]
    assert "serves chain 31337, not 84532" in operate(*other, "--send", key=owner, code=1)


def test_changing_chain_id_signs_for_the_meant_chain(node: AnvilServer, owner: Wallet, local: LocalHub) -> None:
    with RpcProxy(node.url) as endpoint:
        said = iter([hex(LOCAL_CHAIN_ID)])
        endpoint.after = lambda method, _params, result: next(said, "0x1") if method == "eth_chainId" else result
        operator = read_operator(Rpc([endpoint.url]), LOCAL_CHAIN_ID, {KEY: owner.private_key})
        sent = operator.send(Address(local.token.address), local.token.encode("mint", owner.address, 1))
    assert node.w3.eth.get_transaction(sent["transactionHash"])["chainId"] == LOCAL_CHAIN_ID


def test_record_is_what_the_client_then_knows(tmp_path: Path, owner: Wallet) -> None:
    records = tmp_path / "deployments"
    shutil.copytree(RECORDS, records)
    terms = TERMS["staging"]
    assert terms.token is not None
    deployment = PlannedHub(
        terms, terms.token, Address(owner.address), 100, 300, Address("0x" + "11" * 20), (0).to_bytes(32, "big")
    )
    write_record(deployment, BlockNumber(1234), records)
    record = json.loads((records / "staging.json").read_text())
    assert (record["hub_address"], record["deploy_block"]) == (deployment.address, 1234)
    assert json.loads((records / "mainnet.json").read_text())["hub_address"] is None


@pytest.mark.spec(27, 28, 30)
def test_known_terms_agree_with_the_records() -> None:
    for name, terms in TERMS.items():
        assert NETWORKS[name] == terms.chain_id
        record = deployment_of(terms.chain_id)
        if record is not None:
            assert record.escrow_token_address == terms.token
            assert record.reveal_delay_seconds == terms.reveal_delay


def test_each_power_of_the_owner_is_explained(
    node: AnvilServer, owner: Wallet, local: LocalHub, tmp_path: Path
) -> None:
    hub = Hub(Rpc([node.url]), Address(local.hub.address))
    base = ["admin", "--rpc-url", node.url, "--hub", hub.address]
    accounts = [Wallet().address for _ in range(3)]
    members = [{"guardian_address": a, "encryption_public_key": Identity.generate().public_key} for a in accounts]
    roster = tmp_path / "roster.json"
    roster.write_text(json.dumps({"quorum": 2, "members": members}))
    assert "quorum 2 of 3" in operate(*base, "publish-roster", str(roster))
    operate(*base, "--send", "publish-roster", str(roster), key=owner)
    assert set(hub.roster(1).accounts) == set(accounts)
    key = Identity.generate().public_key
    operate(*base, "--send", "publish-delivery-key", key, key=owner)
    assert hub.delivery_key() == key
    operate(*base, "--send", "set-fees", "50", "200", "0x" + "22" * 20, key=owner)
    assert hub.fee_policy() == (50, 200, "0x" + "22" * 20)
    heir = Wallet()
    node.fund(heir.address)
    operate(*base, "--send", "transfer-ownership", heir.address, key=owner)
    assert hub.read("owner") == (owner.address,)
    operate(*base, "--send", "accept-ownership", key=heir)
    assert hub.read("owner") == (heir.address,)
    assert "is not the Hub's owner" in operate(
        *base, "--send", "set-fees", "1", "1", "0x" + "22" * 20, key=owner, code=1
    )
    assert "above the cap" in operate(*base, "--send", "set-fees", "9999", "1", "0x" + "22" * 20, key=heir, code=1)


def test_delivery_keys_are_announced_and_withdrawn(node: AnvilServer) -> None:
    owner = Wallet()
    deployed = deploy_hub(node, owner=owner, fee_recipient=Wallet(), terms=LocalHubTerms(publication_delay=1_000))
    hub = Hub(Rpc([node.url]), Address(deployed.hub.address))
    base = ["admin", "--rpc-url", node.url, "--hub", hub.address]
    first, second = Identity.generate().public_key, Identity.generate().public_key
    assert "at once where it is the first" in operate(*base, "publish-delivery-key", first)
    operate(*base, "--send", "publish-delivery-key", first, key=owner)
    assert hub.delivery_key() == first
    words = operate(*base, "--send", "publish-delivery-key", recipient_text(second), key=owner)
    announced = hub.announced_delivery_key()
    assert announced is not None
    assert announced[0] == second
    assert f"it takes effect at {iso_utc(announced[1])}" in words
    assert "pause until" in operate(*base, "withdraw-delivery-key", recipient_text(first))
    operate(*base, "--send", "withdraw-delivery-key", recipient_text(first), key=owner)
    assert hub.delivery_key() == "0x" + "00" * 32
    assert hub.announced_delivery_key() == announced
    operate(*base, "--send", "withdraw-delivery-key", second, key=owner)
    assert hub.announced_delivery_key() is None
    assert "neither the current nor the announced" in operate(
        *base, "--send", "withdraw-delivery-key", second, key=owner, code=1
    )
    for malformed in ("age1", recipient_text(first)[:-1], recipient_text(first).upper(), "0x12", "0x" + "ff" * 32, ""):
        assert "as age1… or as 0x" in operate(*base, "publish-delivery-key", malformed, code=2)


def test_safe_file_has_the_call_and_signs_nothing(node: AnvilServer, tmp_path: Path) -> None:
    owner = Wallet()
    deployed = deploy_hub(node, owner=owner, fee_recipient=Wallet())
    hub = Hub(Rpc([node.url]), Address(deployed.hub.address))
    base = ["admin", "--rpc-url", node.url, "--hub", hub.address]
    file, key = tmp_path / "call.json", Identity.generate().public_key
    assert owner.address in operate(*base, "--safe", str(file), "publish-delivery-key", key)
    assert hub.delivery_key() != key
    batch = json.loads(file.read_text())
    (call,) = batch["transactions"]
    assert (batch["version"], batch["chainId"], call["value"]) == ("1.0", str(node.chain_id), "0")
    assert call["to"].lower() == hub.address
    owner.send(node.w3, bytes.fromhex(call["data"][2:]), to=call["to"])
    node.mine(1)
    assert hub.delivery_key() == key
    written = file.read_text()
    assert "cannot be written" in operate(*base, "--safe", str(file), "publish-delivery-key", key, code=1)
    assert file.read_text() == written
    other = tmp_path / "other.json"
    stranger = Identity.generate().public_key
    refused = operate(*base, "--safe", str(other), "withdraw-delivery-key", stranger, code=1)
    assert "neither the current nor the announced" in refused
    assert not other.exists()


def test_safe_publishes_by_its_files(node: AnvilServer, tmp_path: Path) -> None:
    owner, payer = Wallet(), Wallet()
    node.fund(payer.address)
    safe = make_safe(node.w3, payer)
    deployed = deploy_hub(node, owner=owner, fee_recipient=payer)
    hub = Hub(Rpc([node.url]), Address(deployed.hub.address))
    base = ["admin", "--rpc-url", node.url, "--hub", hub.address]
    files = iter(tmp_path / f"{number}.json" for number in range(9))

    def by_the_safe(*action: str) -> None:
        """What the builder does with the file: the owners sign the call, somebody sends it."""
        file = next(files)
        operate(*base, "--safe", str(file), *action)
        batch = json.loads(file.read_text())
        assert batch["meta"]["createdFromSafeAddress"].lower() == safe.address
        (call,) = batch["transactions"]
        safe.execute(payer, call["to"], bytes.fromhex(call["data"][2:]))

    operate(*base, "--send", "transfer-ownership", safe.address, key=owner)
    by_the_safe("accept-ownership")
    assert hub.read("owner") == (safe.address,)
    refused = operate(*base, "--send", "set-fees", "50", "200", payer.address, key=owner, code=1)
    assert "is not the Hub's owner" in refused

    members = [Identity.generate().public_key for _ in range(3)]
    roster = tmp_path / "roster.json"
    roster.write_text(
        json.dumps(
            {
                "quorum": 2,
                "members": [
                    {"guardian_address": Wallet().address, "encryption_public_key": recipient_text(key)}
                    for key in members
                ],
            }
        )
    )
    key = Identity.generate().public_key
    by_the_safe("publish-roster", str(roster))
    by_the_safe("publish-delivery-key", recipient_text(key))
    assert hub.current_roster_version() == 1
    assert sorted(hub.roster(1).encryption_keys) == sorted(members)
    assert hub.delivery_key() == key
    by_the_safe("withdraw-delivery-key", key)
    assert hub.delivery_key() == "0x" + "00" * 32


def test_plain_key_on_a_public_chain_is_refused(node: AnvilServer, owner: Wallet, local: LocalHub) -> None:
    with RpcProxy(node.url) as endpoint:
        endpoint.after = lambda method, _params, result: "0x2105" if method == "eth_chainId" else result
        arguments = ["admin", "--rpc-url", endpoint.url, "--hub", local.hub.address, "--send"]
        before = node.w3.eth.block_number
        assert "use --safe FILE" in operate(*arguments, "transfer-ownership", owner.address, key=owner, code=1)
        assert node.w3.eth.block_number == before
