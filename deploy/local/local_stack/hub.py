"""The Hub and USDC on a local chain, ready for bounties.

One script of transactions deploys both, publishes the roster and the delivery key and gives every account ether and
tokens; the contracts' answers are then compared with what was wanted. Works on a chain that is mined by the clock as on
one that mines each transaction.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from local_stack.anvil import ETHER, AnvilServer
from local_stack.contract import Contract, Wallet, read_artifact, send_deployment, wait_for
from local_stack.process import StackError
from local_stack.token import TOKEN, Issuer
from local_stack.toolbox import LOCAL

ARTIFACTS: Final = LOCAL.parent.parent / "contracts" / "artifacts"


@dataclass(frozen=True, slots=True)
class LocalHubTerms:
    """The Hub's immutables and its first fee policy; local values, seconds instead of days."""

    reveal_delay: int = 5
    min_submission_window: int = 1
    max_submission_window: int = 30 * 86_400
    min_judging_window: int = 5
    max_judging_window: int = 30 * 86_400
    min_escrow: int = TOKEN
    publication_delay: int = 1
    protocol_fee_bps: int = 100
    guardian_fee_bps: int = 300


@dataclass(frozen=True, slots=True)
class RosterEntry:
    """A roster member: its wallet and the public half of its encryption key (0x-hex)."""

    wallet: Wallet
    encryption_public_key: str


@dataclass(frozen=True, slots=True)
class LocalHub:
    """The contracts. ``hub`` and ``token`` can be called and sent to; the Hub's owner issues the token, too."""

    hub: Contract
    token: Contract
    owner: Wallet
    fee_recipient: Wallet
    deploy_block: int
    terms: LocalHubTerms
    roster_hash: str = field(default="")


def deploy_hub(
    anvil: AnvilServer,
    *,
    owner: Wallet,
    fee_recipient: Wallet,
    guardians: Sequence[RosterEntry] = (),
    quorum: int | None = None,
    delivery_public_key: str | None = None,
    holders: Sequence[Wallet] = (),
    terms: LocalHubTerms | None = None,
    checkpoint: Callable[[], None] = lambda: None,
) -> LocalHub:
    """Deploy and prepare; ``holders`` get ether and a million tokens each. Without Guardians no roster is published.

    ``quorum`` is more than half of the Guardians unless given.
    """
    terms, token_admin, tokens = terms or LocalHubTerms(), Wallet(), 1_000_000 * TOKEN
    w3 = anvil.w3
    wallets = {wallet.address: wallet for wallet in (owner, fee_recipient, *holders, *(g.wallet for g in guardians))}
    for address in (*wallets, token_admin.address):
        anvil.fund(address)
    hub_artifact = read_artifact(ARTIFACTS / "Hub.json")

    # 1. Everything at once, in order: the addresses follow from the owner's nonces, so one block can hold it all.
    token, sent = Issuer(owner, token_admin).deploy(w3)
    config = (
        *(token.address, owner.address, terms.reveal_delay, terms.min_submission_window, terms.max_submission_window),
        *(terms.min_judging_window, terms.max_judging_window, terms.min_escrow, terms.publication_delay),
        *(terms.protocol_fee_bps, terms.guardian_fee_bps, fee_recipient.address),
    )
    hub = Contract(w3, owner.next_contract(w3), hub_artifact.abi)
    sent.append(hub_hash := send_deployment(w3, owner, hub_artifact, config))
    members = sorted(guardians, key=lambda guardian: int(guardian.wallet.address, 16))
    if members:
        accounts = [guardian.wallet.address for guardian in members]
        keys = [bytes.fromhex(guardian.encryption_public_key[2:]) for guardian in members]
        sent.append(hub.send(owner, "publishRoster", accounts, keys, quorum or len(members) // 2 + 1))
    if delivery_public_key is not None:
        sent.append(hub.send(owner, "publishDeliveryKey", bytes.fromhex(delivery_public_key[2:])))
    sent += [token.send(owner, "mint", holder.address, tokens) for holder in holders]

    # 2. Every one of them succeeded.
    receipts = {tx_hash: wait_for(w3, tx_hash, abi=hub.abi, checkpoint=checkpoint) for tx_hash in sent}

    # 3. What the contracts answer now.
    roster_hash = "0x" + hub.call("getRoster", hub.call("currentRosterVersion"))[0].hex() if members else ""
    if hub.call("token") != token.address or any(token.call("balanceOf", h.address) != tokens for h in holders):
        raise StackError("the deployed contracts do not hold what was sent to them")
    return LocalHub(hub, token, owner, fee_recipient, receipts[hub_hash]["blockNumber"], terms, roster_hash)


__all__ = ["ETHER", "TOKEN", "LocalHub", "LocalHubTerms", "RosterEntry", "deploy_hub"]
