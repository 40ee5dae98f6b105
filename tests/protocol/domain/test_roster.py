"""The pinned roster: shape, hash and lookup."""

from dataclasses import replace

import pytest
from bounty_protocol.domain.lifecycle.roster import Roster
from bounty_protocol.errors import ServiceError
from bounty_protocol.shapes import to_json
from bounty_protocol.types import UnixSeconds
from bounty_protocol.wire.reading import read

from tests.vectors.samples import CHAIN_ID, HUB, ROSTER, word


def test_roster_reads_back_with_its_liveness() -> None:
    first = replace(ROSTER.members[0], last_active_at=UnixSeconds(5))
    roster = replace(ROSTER, members=(first, *ROSTER.members[1:]))
    assert read(Roster, to_json(roster)) == roster
    assert list(to_json(ROSTER)) == ["version", "guardian_roster_hash", "quorum", "members"]


def test_members_of_the_pinned_hash_are_verified() -> None:
    ROSTER.verify(CHAIN_ID, HUB, ROSTER.guardian_roster_hash)


@pytest.mark.parametrize("lie", ["member", "quorum", "version", "order"])
def test_roster__a_lying_source__refused(lie: str) -> None:
    changed = {
        "member": replace(ROSTER, members=ROSTER.members[:2]),
        "quorum": replace(ROSTER, quorum=1),
        "version": replace(ROSTER, version=2),
        "order": replace(ROSTER, members=ROSTER.members[::-1]),
    }[lie]
    with pytest.raises(ServiceError) as refusal:
        changed.verify(CHAIN_ID, HUB)
    assert refusal.value.code == "guardian_roster_mismatch"


def test_roster_that_is_not_pinned_is_refused() -> None:
    with pytest.raises(ServiceError) as refusal:
        ROSTER.verify(CHAIN_ID, HUB, word("pinned"))
    assert refusal.value.code == "guardian_roster_mismatch"
