"""What an account did, compared with a world in which every ending happens."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.api.conftest import Service, another_chain


@pytest.fixture(scope="module")
def service(service: Service) -> Iterator[Service]:
    """Of its own: every count is of this module's bounties."""
    with another_chain(service) as started:
        lived(started)
        yield started


def lived(service: Service) -> None:
    """One of each ending, and one that is open; the second Guardian stays silent in two."""
    world = service.world
    awarded, refused, silent, empty = (world.fund(seconds=500, judging=1_000) for _ in range(4))
    for bounty_id in (awarded, refused, silent):
        world.submit(bounty_id, world.solver(1))
    won = world.submit(awarded, world.solver(2))
    kept = world.submit(silent, world.solver(1))  # replaces the one before
    world.advance_to(max(map(world.reveal_at, (awarded, refused, silent, empty))) + 100)
    for number in (1, 2):
        world.award(awarded, world.guardian(number), world.solver(2), won)
        world.reject(refused, world.guardian(number))
    world.award(silent, world.guardian(1), world.solver(1), kept)
    world.advance_to(world.judging_deadline(empty) + 1)
    for bounty_id in (silent, empty):
        world.contract.transact(world.people.settler.wallet, "settle", bounty_id)
    world.fund()
    world.finalize()


def record(service: Service, account: str) -> dict[str, Any]:
    response = service.get(f"/api/accounts/{account}")
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.get_json()
    assert found["account_address"] == account
    return found


def test_record__of_a_poster__counts_each_ending(service: Service) -> None:
    found = record(service, service.world.people.poster.address)["poster"]
    assert 100 <= found.pop("median_seconds_to_outcome") <= 120
    assert found == {
        "posted": 5, "open": 1, "awarded": 1, "refused": 1, "without_submissions": 1, "unjudged": 1,
        "awards": "24000000",
    }  # fmt: skip


def test_record_of_a_solver_counts_bounties(service: Service) -> None:
    first, second = (record(service, service.world.solver(number).address)["solver"] for number in (1, 2))
    assert first == {"submitted": 3, "open": 0, "won": 0, "awards": "0"}
    assert second == {"submitted": 1, "open": 0, "won": 1, "awards": "24000000"}


def test_record_of_a_guardian_counts_what_was_due(service: Service) -> None:
    diligent, silent = (record(service, service.world.guardian(number).address)["guardian"] for number in (1, 2))
    for found, recorded in ((diligent, 3), (silent, 2)):
        assert 100 <= found.pop("median_seconds_to_verdict") <= 120
        size = len(service.world.people.guardians)
        assert found == {
            "due": 3, "recorded": recorded, "missed": 3 - recorded, "roster_due": 3 * size, "roster_recorded": 5,
        }  # fmt: skip


def test_record_is_of_the_newest_bounties(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service_api.bounties.show_account.MOST_COUNTED", 2)
    found = record(service, service.world.people.poster.address)["poster"]
    assert (found["posted"], found["open"], found["without_submissions"]) == (2, 1, 1)
