"""The data that a page passes to its script, so that a wallet can act on it.

Chain, Hub and beacon are this process's own configuration. What the index has of a bounty is passed on as such: the
script compares it with the chain, through the wallet's own node, before anything is signed.
"""

from dataclasses import dataclass
from enum import StrEnum

from bounty_protocol.wire.bounties import BountyDetail
from bounty_protocol.wire.deployment import CurrentFees, TokenDescription
from service_common.web.dependencies import provided

from service_api.config import ApiConfig
from service_api.pages.rounds import Rounds


class Actions(StrEnum):
    """Which actions a page offers."""

    BOUNTY = "bounty"
    GUARDIANS = "guardians"
    PUBLISH = "publish"


@dataclass(frozen=True, slots=True)
class StatedTerms:
    """What the form of a page reckons with before a wallet is there; nothing of it is signed."""

    token: TokenDescription
    fees: CurrentFees
    reveal_delay: int

    def to_json(self) -> dict[str, object]:
        """Return the terms as the script reads them."""
        return {
            "token": {"symbol": self.token.symbol, "decimals": self.token.decimals},
            "protocol_fee_bps": self.fees.protocol_fee_bps,
            "guardian_fee_bps": self.fees.guardian_fee_bps,
            "reveal_delay_seconds": self.reveal_delay,
        }


def wallet_data(
    config: ApiConfig, actions: Actions, *, detail: BountyDetail | None = None, terms: StatedTerms | None = None
) -> dict[str, object]:
    """Return the value of the page's ``data-wallet``, as ``clients/typescript/actions/settings.ts`` reads it."""
    facts, beacon = detail.facts if detail else None, provided(Rounds).info()
    data = {
        "actions": actions.value,
        "deployment": {"chainId": config.chain.chain_id, "hubAddress": config.chain.hub_address},
        "hasMovedTime": config.has_moved_time,
        "apiUrl": config.public_url,
        "bucketUrl": config.bucket_url,
        "explorerUrl": config.pages.explorer_url,
        "beacon": None
        if beacon is None
        else {
            "chainHash": beacon.chain_hash,
            "publicKey": beacon.public_key,
            "genesisTime": beacon.genesis_time,
            "periodSeconds": beacon.period_seconds,
        },
        "bounty": None
        if detail is None or facts is None
        else {
            "bounty_id": str(detail.bounty_id),
            "poster_address": facts.poster_address,
            "escrow_amount": str(facts.escrow_amount),
            "spec_commitment": facts.spec_commitment,
            "guardian_roster_hash": facts.guardian_roster_hash,
            "submission_deadline": facts.submission_deadline,
            "reveal_at": facts.reveal_at,
            "judging_deadline": facts.judging_deadline,
            "protocol_fee": str(facts.protocol_fee),
            "guardian_fee": str(facts.guardian_fee),
            "roster_version": detail.guardian_roster.version,
        },
        "terms": None if terms is None else terms.to_json(),
    }
    return {name: value for name, value in data.items() if value is not None}
