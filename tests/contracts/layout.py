"""Where the Hub stores what the model knows, to compare its storage before and after."""

from collections.abc import Iterator

from eth_utils import crypto

from tests.contracts.machine import EVERYONE
from tests.contracts.model import HubModel

PLAIN = range(6)
ROSTERS, SEATS, FEE_POLICIES, ACTIVITIES, BOUNTIES, SUBMISSIONS, CANDIDATES = range(6, 13)


def slots(model: HubModel, policies: int) -> Iterator[int]:
    """Every slot that a Hub with these rosters, bounties and people, and so many fee policies, can have written."""
    yield from PLAIN
    for version, roster in enumerate(model.rosters, 1):
        base = mapped(version, ROSTERS)
        yield from (base + place for place in range(4))
        for array in (base + 2, base + 3):
            yield from (hashed(array) + place for place in range(len(roster.accounts)))
        yield from (mapped(int(account, 16), mapped(version, SEATS)) for account in EVERYONE)
    yield from (mapped(number, FEE_POLICIES) for number in range(1, policies + 1))
    yield from (mapped(int(account, 16), ACTIVITIES) for account in EVERYONE)
    for bounty in range(1, len(model.bounties) + 1):
        yield from (mapped(bounty, BOUNTIES) + place for place in range(3))
        yield from (mapped(int(account, 16), mapped(bounty, SUBMISSIONS)) for account in EVERYONE)
        yield from (mapped(choice, mapped(bounty, CANDIDATES)) for choice in range(2, 8))


def mapped(key: int, of: int) -> int:
    return int.from_bytes(crypto.keccak(key.to_bytes(32, "big") + of.to_bytes(32, "big")), "big")


def hashed(slot: int) -> int:
    return int.from_bytes(crypto.keccak(slot.to_bytes(32, "big")), "big")
