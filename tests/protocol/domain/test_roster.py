"""The pinned roster: shape, hash and lookup."""

from dataclasses import replace

import pytest
from bounty_protocol.domain.roster import Roster
from bounty_protocol.errors import ServiceError
from bounty_protocol.shapes import to_json
from bounty_protocol.types import UnixSeconds

from tests.vectors.samples import CHAIN_ID, GUARDIANS, HUB, POSTER, ROSTER, word

LOW_ORDER = "0x" + "00" * 32


def _json() -> dict[str, object]:
    return to_json(ROSTER)


def test_roster_reads_back_with_its_liveness() -> None:
    first = replace(ROSTER.members[0], last_active_at=UnixSeconds(5))
    roster = replace(ROSTER, members=(first, *ROSTER.members[1:]))
    assert Roster.from_json(to_json(roster)) == roster
    assert list(_json()) == ["version", "guardian_roster_hash", "quorum", "members"]


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


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("version", "1"),
        ("version", 0),
        ("quorum", True),
        ("guardian_roster_hash", "0x12"),
        ("members", {}),
        ("members", []),
        ("members", [_json()["members"][0]] * 16),  # type: ignore[index]
        ("members", ["member"]),
        ("extra", 1),
    ],
)
def test_roster_of_another_shape_names_its_field(path: str, value: object) -> None:
    with pytest.raises(ServiceError) as refusal:
        Roster.from_json(_json() | {path: value})
    assert refusal.value.code == "guardian_roster_invalid"
    assert all(issue.path.startswith(path) for issue in refusal.value.issues)


def test_member_with_a_low_order_key_is_refused() -> None:
    value = _json()
    value["members"][0]["encryption_public_key"] = LOW_ORDER  # type: ignore[index]
    with pytest.raises(ServiceError) as refusal:
        Roster.from_json(value)
    assert [issue.path for issue in refusal.value.issues] == ["members[0].encryption_public_key"]


def test_member__on_the_roster_or_not__found_or_none() -> None:
    assert ROSTER.member(GUARDIANS[1]) is ROSTER.members[1]
    assert ROSTER.member(POSTER) is None
