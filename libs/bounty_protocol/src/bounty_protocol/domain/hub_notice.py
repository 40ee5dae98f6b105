"""A notice about the Hub: a signed statement that nobody should fund a bounty on it, or that an earlier one is over.

It holds no text of its author's: what people read is the client's own, so that a stolen key that signs one cannot send
them anywhere. Whether the signer may sign one is read from the chain (``chain.hub_notices``).
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Final, NewType

from bounty_protocol.errors import Issue
from bounty_protocol.shapes import Note
from bounty_protocol.types import Address, ChainId, UnixSeconds

NoticeSignature = NewType("NoticeSignature", str)
"""``0x`` and lowercase hex, of at most ``MAX_SIGNATURE_BYTES``: a plain key's, or what a contract wallet takes."""
MAX_LIFETIME_SECONDS: Final = 30 * 86_400
"""From issue to end; what lasts longer is signed again."""
MAX_AHEAD_SECONDS: Final = 600
"""How far ahead of the reader's clock a notice may be issued."""
MAX_SIGNATURE_BYTES: Final = 4_096
MOST_NOTICES: Final = 8
"""Of different signers that one answer shows, the newest."""
_SIGNATURE: Final = re.compile(rf"0x(?:[0-9a-fA-F]{{2}}){{1,{MAX_SIGNATURE_BYTES}}}", re.ASCII)


class NoticeReason(StrEnum):
    """The statement of a notice."""

    HUB_FLAW = "hub_flaw"
    """The Hub's code has a flaw, or may have one."""
    OWNER_KEYS = "owner_keys"
    """Keys of the Hub's owner are stolen: what takes effect next may be a thief's."""
    ESCROW_TOKEN = "escrow_token"  # noqa: S105  # the token of the escrows, no secret
    """The escrow token is paused, or cannot be relied on."""
    OTHER = "other"
    WITHDRAWN = "withdrawn"
    """Ends the same account's earlier notice."""


STATES: Final[Mapping[NoticeReason, str]] = {
    NoticeReason.HUB_FLAW: "the Hub has a flaw, or may have one",
    NoticeReason.OWNER_KEYS: "keys of the Hub's owner are stolen",
    NoticeReason.ESCROW_TOKEN: "the escrow token cannot be relied on",
    NoticeReason.OTHER: "something is wrong with the Hub",
    NoticeReason.WITHDRAWN: "what this account stated before is over",
}
"""The text that clients show for a reason: their own text, none of it the signer's."""


@dataclass(frozen=True, slots=True)
class HubNotice:
    """One notice with its signature, none of it proven yet."""

    chain_id: ChainId
    hub_address: Address
    signer: Address
    reason: NoticeReason
    issued_at: Annotated[UnixSeconds, Note("Of several by one signer, the latest counts.")]
    expires_at: Annotated[UnixSeconds, Note(f"At most {MAX_LIFETIME_SECONDS} seconds after issued_at.")]
    signature: Annotated[NoticeSignature, Note("Over the typed data HubNotice, by the signer's key or its ERC-1271.")]

    @property
    def is_warning(self) -> bool:
        """Whether it asks that nobody fund a bounty; a withdrawal does not."""
        return self.reason is not NoticeReason.WITHDRAWN


def parse_notice_signature(text: str) -> NoticeSignature:
    """Read a signature's hex."""
    if not isinstance(text, str) or _SIGNATURE.fullmatch(text) is None:
        raise ValueError(f"0x and an even number of hexadecimal digits, for at most {MAX_SIGNATURE_BYTES} bytes")
    return NoticeSignature(text.lower())


def notice_issues(notice: HubNotice, chain_id: ChainId, hub: Address, now: UnixSeconds) -> list[Issue]:
    """Why a notice is none of this Hub at this moment, whoever signed it."""
    issues = []
    if notice.chain_id != chain_id:
        issues.append(Issue("chain_id", f"must be {chain_id}, the chain of this deployment"))
    if notice.hub_address != hub:
        issues.append(Issue("hub_address", f"must be {hub}, the Hub of this deployment"))
    if notice.issued_at > now + MAX_AHEAD_SECONDS:
        issues.append(Issue("issued_at", f"must be at most {MAX_AHEAD_SECONDS} seconds ahead of now"))
    if not notice.issued_at < notice.expires_at <= notice.issued_at + MAX_LIFETIME_SECONDS:
        issues.append(Issue("expires_at", f"must be after issued_at by at most {MAX_LIFETIME_SECONDS} seconds"))
    elif notice.expires_at <= now:
        issues.append(Issue("expires_at", "has passed: the notice is over"))
    return issues


def latest_of_each(notices: Iterable[HubNotice]) -> tuple[HubNotice, ...]:
    """The latest notice of each signer, the newest first; of two issued at the same second the one that came first."""
    latest: dict[Address, HubNotice] = {}
    for notice in notices:
        known = latest.get(notice.signer)
        if known is None or notice.issued_at > known.issued_at:
            latest[notice.signer] = notice
    return tuple(sorted(latest.values(), key=lambda notice: (-notice.issued_at, notice.signer)))
