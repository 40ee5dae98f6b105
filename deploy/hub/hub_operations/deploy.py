"""``./noxw -s hub -- deploy``: the Hub at an address known beforehand.

A dry run unless ``--send``. The address follows from the bytecode, the constructor's terms and a salt alone (CREATE2
through the deterministic deployer), so it can be published and checked before anything is sent, and running again finds
what is there. After deployment every immutable is read back and compared, then the deployment record of
``service_common.chain`` is written.
"""

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bounty_protocol.chain.abi import hub_abi
from bounty_protocol.chain.hub import Hub
from bounty_protocol.chain.hub_constants import EscrowToken
from bounty_protocol.chain.rpc import Rpc, RpcRefused, quantity
from bounty_protocol.types import Address, BlockNumber, parse_address
from eth_utils.abi import get_abi_input_types
from service_indexer.web3_provider import Web3
from web3.utils.address import get_create2_address

from hub_operations.networks import TERMS, HubTerms
from hub_operations.signing import OperationRefused, Operator, read_operator
from hub_operations.token import usable_token

TOP: Final = Path(__file__).parents[3]
ARTIFACT: Final = TOP / "contracts" / "artifacts" / "Hub.json"
RECORDS: Final = TOP / "libs" / "bounty_protocol" / "src" / "bounty_protocol" / "chain" / "deployments"
DEPLOYER: Final = Address("0x4e59b44847b379578588920ca78fbf26c0b4956c")
"""The deterministic CREATE2 deployer that is at this address on every chain."""


@dataclass(frozen=True, slots=True)
class PlannedHub:
    """One Hub to be: its creation code and its address."""

    terms: HubTerms
    token: Address
    owner: Address
    protocol_fee_bps: int
    guardian_fee_bps: int
    fee_recipient: Address
    salt: bytes

    @property
    def creation_code(self) -> bytes:
        """Bytecode and encoded constructor argument."""
        artifact = json.loads(ARTIFACT.read_text(encoding="utf-8"))
        t = self.terms
        config = (
            *(self.token, self.owner, t.reveal_delay, t.min_submission_window, t.max_submission_window),
            *(t.min_judging_window, t.max_judging_window, t.min_escrow, t.publication_delay),
            *(self.protocol_fee_bps, self.guardian_fee_bps, self.fee_recipient),
        )
        constructor = next(entry for entry in artifact["abi"] if entry["type"] == "constructor")
        arguments = Web3().codec.encode(get_abi_input_types(constructor), [config])
        return bytes.fromhex(artifact["bytecode"].removeprefix("0x")) + arguments

    @property
    def address(self) -> Address:
        """Where CREATE2 puts it."""
        return created_address(self.salt, self.creation_code)

    def words(self) -> str:
        """Return the plan in words for a person."""
        t = self.terms
        return "\n".join(
            (
                f"network             {t.name} (chain {t.chain_id})",
                f"Hub address         {self.address}",
                f"escrow token        {self.token}",
                f"owner               {self.owner}",
                f"protocol fee        {self.protocol_fee_bps} bps to {self.fee_recipient}",
                f"guardian fee        {self.guardian_fee_bps} bps",
                f"reveal delay        {t.reveal_delay} s",
                f"submission window   {t.min_submission_window} to {t.max_submission_window} s",
                f"judging window      {t.min_judging_window} to {t.max_judging_window} s",
                f"minimum escrow      {t.min_escrow}",
                f"publication delay   {t.publication_delay} s",
            )
        )


def deploy(deployment: PlannedHub, operator: Operator, records: Path = RECORDS) -> int:
    """Send the deployment unless it is there already, check it, write its record; the block it is in.

    Anyone can send it first, and a run can die after it sent it, so the block is looked for on the chain.
    """
    if not has_code(operator.rpc, deployment.address):
        require_token(deployment, operator.rpc)
    create_at(operator, deployment.salt, deployment.creation_code, deployment.address)
    check(deployment, operator.rpc)
    block = block_of_deployment(operator.rpc, deployment.address)
    write_record(deployment, block, records)
    return block


def require_token(deployment: PlannedHub, rpc: Rpc) -> EscrowToken:
    """Return the token as it describes itself, if this Hub could take it and pay it out."""
    chain_id, recipient = deployment.terms.chain_id, deployment.fee_recipient
    return usable_token(rpc, chain_id, deployment.token, deployment.address, recipient)


def has_code(rpc: Rpc, address: Address, block: str = "latest") -> bool:
    return rpc.call("eth_getCode", address, block) != "0x"


def block_of_deployment(rpc: Rpc, hub: Address) -> BlockNumber:
    """Return the block in which a Hub that stands was deployed, which the log of that block confirms."""
    at = first_block_of(rpc, hub)
    deployed = next(topic for topic, event in hub_abi().events.items() if event.name == "Deployed")
    if not rpc.call("eth_getLogs", {"address": hub, "topics": [deployed], "fromBlock": hex(at), "toBlock": hex(at)}):
        problem = f"the endpoint shows the first code of {hub} in block {at}, and no deployment in that block's log"
        raise OperationRefused(f"{problem}: it is not consistent, run the same command with another one")
    return at


def first_block_of(rpc: Rpc, contract: Address) -> BlockNumber:
    """Return the first block that has a contract which stands.

    Code never leaves an address, so it is searched by halves: some thirty questions on any chain.
    """
    before, at = -1, quantity(rpc.call("eth_blockNumber"))
    try:
        while at - before > 1:
            middle = (before + at) // 2
            before, at = (before, middle) if has_code(rpc, contract, hex(middle)) else (middle, at)
    except RpcRefused as refusal:
        problem = f"{contract} stands, but this endpoint does not know the state of block {middle}"
        raise OperationRefused(f"{problem}: run the same command with an endpoint that keeps old state") from refusal
    return BlockNumber(at)


def create_at(operator: Operator, salt: bytes, creation_code: bytes, address: Address) -> None:
    """Have the deterministic deployer create a contract, unless it stands already."""
    if not has_code(operator.rpc, DEPLOYER):
        raise OperationRefused(f"this chain has no deterministic deployer at {DEPLOYER}")
    if not has_code(operator.rpc, address):
        operator.send(DEPLOYER, salt + creation_code)


def created_address(salt: bytes, creation_code: bytes) -> Address:
    """Return where the deterministic deployer creates a contract."""
    sender = Web3.to_checksum_address(DEPLOYER)
    return Address(get_create2_address(sender, Web3.to_hex(salt), Web3.to_hex(creation_code)).lower())


def check(deployment: PlannedHub, rpc: Rpc) -> None:
    """Read every immutable back from the chain; a difference is refused by name."""
    hub, t = Hub(rpc, deployment.address), deployment.terms
    expected = {
        "token": deployment.token,
        "owner": deployment.owner,
        "revealDelay": t.reveal_delay,
        "minSubmissionWindow": t.min_submission_window,
        "maxSubmissionWindow": t.max_submission_window,
        "minJudgingWindow": t.min_judging_window,
        "maxJudgingWindow": t.max_judging_window,
        "minEscrow": t.min_escrow,
        "publicationDelay": t.publication_delay,
    }
    for name, wanted in expected.items():
        (found,) = hub.read(name)
        if found != wanted:
            raise OperationRefused(f"the deployed Hub's {name} is {found}, not {wanted}")


def write_record(deployment: PlannedHub, block: BlockNumber, records: Path) -> None:
    """Fill the network's deployment record; ``local`` has none."""
    path = records / f"{deployment.terms.name}.json"
    if not path.exists():
        return
    record = json.loads(path.read_text(encoding="utf-8"))
    record["hub_address"] = deployment.address
    record["deploy_block"] = block
    record["escrow_token_address"] = deployment.token
    record["reveal_delay_seconds"] = deployment.terms.reveal_delay
    path.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line of ``deploy``."""
    parser.add_argument("--network", choices=sorted(TERMS), required=True)
    parser.add_argument("--rpc-url", required=True)
    parser.add_argument("--owner", type=parse_address, required=True, help="the Hub's owner, best a multisig")
    parser.add_argument("--fee-recipient", type=parse_address, required=True)
    parser.add_argument("--protocol-fee-bps", type=int, required=True)
    parser.add_argument("--guardian-fee-bps", type=int, required=True)
    parser.add_argument("--token", type=parse_address, help="the escrow token; only for local")
    parser.add_argument("--salt", default="0", help="a whole number; another salt is another address")
    parser.add_argument("--send", action="store_true", help="send the transaction; without it nothing is sent")


def run(options: argparse.Namespace) -> None:
    """The command ``deploy``."""
    terms = TERMS[options.network]
    token: Address | None = options.token or terms.token
    if token is None or (terms.token is not None and options.token is not None):
        raise OperationRefused("--token is for the local network, and needed there")
    deployment = PlannedHub(
        terms=terms,
        token=token,
        owner=options.owner,
        protocol_fee_bps=options.protocol_fee_bps,
        guardian_fee_bps=options.guardian_fee_bps,
        fee_recipient=options.fee_recipient,
        salt=int(options.salt).to_bytes(32, "big"),
    )
    print(deployment.words())
    if not options.send:
        print("\ndry run: nothing was sent; add --send to deploy")
        return
    operator = read_operator(Rpc([options.rpc_url]), terms.chain_id)
    block = deploy(deployment, operator)
    print(f"\nthe Hub stands at {deployment.address} since block {block}; every immutable was read back")
