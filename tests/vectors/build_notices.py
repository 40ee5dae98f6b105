"""Vectors of notices about the Hub: what is signed, and which notices count for which deployment at which moment."""

from dataclasses import replace
from typing import Final

from bounty_protocol.auth.typed_data import notice_digest, notice_typed_data
from bounty_protocol.domain.hub_notice import (
    MAX_AHEAD_SECONDS,
    MAX_LIFETIME_SECONDS,
    HubNotice,
    NoticeReason,
    NoticeSignature,
    notice_issues,
)
from bounty_protocol.shapes import to_json
from bounty_protocol.types import ChainId, UnixSeconds, bytes32

from tests.vectors.build_auth import KEY, SIGNER, sign
from tests.vectors.samples import CHAIN_ID, HUB, account

NOW: Final = UnixSeconds(1_800_000_000)


def issued(reason: NoticeReason = NoticeReason.HUB_FLAW, at: int = NOW - 3_600, lasts: int = 7 * 86_400) -> HubNotice:
    """A notice of the vectors' signer, signed."""
    ends = UnixSeconds(at + lasts)
    return signed(HubNotice(CHAIN_ID, HUB, SIGNER, reason, UnixSeconds(at), ends, NoticeSignature("0x")))


def signed(notice: HubNotice) -> HubNotice:
    """The same with a signature over it."""
    return replace(notice, signature=NoticeSignature("0x" + sign(notice_digest(notice)).hex()))


def notices() -> dict[str, object]:
    """Every reason, and every bound with its neighbour."""
    good, longest = issued(), MAX_LIFETIME_SECONDS
    accepted = {
        **{f"reason {reason}": issued(reason) for reason in NoticeReason},
        "issued just within the bound ahead": issued(at=NOW + MAX_AHEAD_SECONDS),
        "lasts as long as one may": issued(lasts=longest),
        "ends in a second": issued(at=NOW - longest + 1, lasts=longest),
    }
    refused = {
        "another chain": signed(replace(good, chain_id=ChainId(CHAIN_ID + 1))),
        "another Hub": signed(replace(good, hub_address=account("another hub"))),
        "issued too far ahead": issued(at=NOW + MAX_AHEAD_SECONDS + 1),
        "lasts too long": issued(lasts=longest + 1),
        "ends before it is issued": issued(lasts=0),
        "is over": issued(at=NOW - longest, lasts=longest),
    }
    return {
        "about": (
            "Notices about the Hub as JSON, read at the time now by a client of the deployment chain_id and "
            "hub_address. typed_data is what the signer's wallet shows, digest its EIP-712 digest; whether the signer "
            "may sign one is read from the chain. Of the rejected, issues names the fields that are refused; what is "
            "unreadable is no notice at all. private_key is public: never use it."
        ),
        "chain_id": CHAIN_ID,
        "hub_address": HUB,
        "now": NOW,
        "private_key": "0x" + KEY.hex(),
        "accepted": [
            {
                "about": about,
                "notice": to_json(notice),
                "typed_data": notice_typed_data(notice),
                "digest": bytes32(notice_digest(notice)),
            }
            for about, notice in accepted.items()
        ],
        "rejected": [
            {
                "about": about,
                "notice": to_json(notice),
                "issues": [issue.path for issue in notice_issues(notice, CHAIN_ID, HUB, NOW)],
            }
            for about, notice in refused.items()
        ],
        "unreadable": [
            {"about": about, "notice": {**dict(shown(good)), **change}}
            for about, change in {
                "a reason that nobody knows": {"reason": "send everything to 0x1"},
                "a signature that is not hex": {"signature": "0xzz"},
                "a signature without an end": {"signature": "0x" + "00" * 4_097},
                "a time that is text": {"issued_at": "1800000000"},
                "an account that is none": {"signer": "0x1"},
            }.items()
        ],
    }


def shown(notice: HubNotice) -> dict[str, object]:
    """A notice as JSON."""
    value = to_json(notice)
    if not isinstance(value, dict):
        raise TypeError("a notice is an object")
    return value


FILES: Final = {"hub_notice.json": notices}
