"""What the content route keeps for a moment: answers of one Submission, and download URLs."""

from dataclasses import dataclass
from typing import Final

from service_common.recent import Recent
from service_common.storage.port import DownloadTarget
from service_common.types import Address, BountyId, Bytes32

CONTENT_SECONDS: Final = 1.0
DOWNLOAD_LIFETIME_SECONDS: Final = 5 * 60
MAX_KEPT: Final = 512


@dataclass(frozen=True, slots=True)
class SharedContent:
    """One Submission's content, as the JSON that each reader gets, and who may read it."""

    readers: frozenset[Address]
    answer: bytes


def recent_contents() -> Recent[tuple[BountyId, Bytes32], SharedContent]:
    """Submissions read lately: what the index says may be twice so many seconds older."""
    return Recent(CONTENT_SECONDS, MAX_KEPT)


def recent_downloads() -> Recent[str, DownloadTarget]:
    """Download URLs by storage locator: none is handed out that has less than half its life left."""
    return Recent(DOWNLOAD_LIFETIME_SECONDS / 4, MAX_KEPT)
