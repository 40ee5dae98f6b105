"""Who is sent to at the same time, and in which order those that wait get a place."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from bounty_protocol.types import Address
from bounty_protocol.wire.values import ChangeNumber, Finality, WebhookId, WebhookState
from service_api.webhooks.deliveries import DueWebhook
from service_api.webhooks.lanes import NEW, OTHERS, PROVEN, REPEATED, Lane, Lanes
from service_api.webhooks.subjects import FactsPosition, Subject

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def due(number: int, account: int = 0, host: str = "receiver.example", **more: Any) -> DueWebhook:
    """A registration that was not challenged yet."""
    made = DueWebhook(
        webhook_id=WebhookId(f"wh_{number:032x}"),
        subscriber=Address(f"0x{account:040x}"),
        url=f"https://{host}/hook",
        subject=Subject(),
        finality=Finality.FINALIZED,
        sealed_secrets=(),
        state=WebhookState.PENDING,
        cursor=FactsPosition(ChangeNumber(0), (0, 0)),
        until=None,
        missed=None,
        failure_count=0,
        failing_since=None,
        last_attempt_at=None,
        last_success_at=None,
        slow_until=None,
        after_notice=0,
        test_requested_at=None,
        tested_at=None,
    )
    return replace(made, **more)


@pytest.fixture
def lanes() -> Iterator[Lanes]:
    made = Lanes()
    yield made
    made.close()


ACTIVE: dict[str, Any] = {"state": WebhookState.ACTIVE}
FAILED: dict[str, Any] = {"failure_count": 1}


@pytest.mark.parametrize(
    ("wanted", "lane"),
    [
        (due(1, **ACTIVE), PROVEN),
        (due(1, **ACTIVE, test_requested_at=NOW), PROVEN),
        (due(1, **ACTIVE, failure_count=1), OTHERS),
        (due(1, **ACTIVE, slow_until=NOW), OTHERS),
        (due(1, **ACTIVE, slow_until=NOW, test_requested_at=NOW), NEW),
        (due(1), NEW),
        (due(1, failure_count=1), REPEATED),
        (due(1, state=WebhookState.OFF, failure_count=5, test_requested_at=NOW), NEW),
    ],
)
def test_receiver__by_what_it_has_proven__has_its_lane(lanes: Lanes, wanted: DueWebhook, lane: Lane) -> None:
    assert lanes.of(wanted) is lane


def started(lanes: Lanes, waiting: list[DueWebhook]) -> list[DueWebhook]:
    """Those that got a place."""
    got = []
    for each in lanes.in_turn(waiting):
        if lanes.has_place(each):
            lanes.start(each, lambda _seconds: None)
            got.append(each)
    return got


@pytest.mark.attack
@pytest.mark.parametrize(
    ("waiting", "most"),
    [
        ([due(number, host=f"r.site{number}.example") for number in range(100)], NEW.of_account),
        ([due(number, account=number, host=f"r{number}.one.example") for number in range(100)], NEW.of_site),
        ([due(number, account=number, host=f"r.site{number}.example") for number in range(100)], NEW.places),
    ],
    ids=["one account", "one site", "everybody"],
)
def test_registrations__of_one_account_or_site__take_their_share_of_the_lane(
    lanes: Lanes, waiting: list[DueWebhook], most: int
) -> None:
    assert len(started(lanes, waiting)) == most
    assert not lanes.idle(NEW)
    for each in waiting[:most]:
        lanes.ended(each.webhook_id)
    assert lanes.idle()


@pytest.mark.attack
def test_newcomer__behind_thousands_of_a_few_accounts_and_sites__is_next(lanes: Lanes) -> None:
    many = [due(n, account=n // 20, host=f"r{n}.slow{n % 25}.example") for n in range(2_300)]
    newcomer = due(9_999, account=9_999, host="newcomer.test")
    order = lanes.in_turn([*many, newcomer])
    assert order.index(newcomer) <= 25
    assert newcomer in started(lanes, [*many, newcomer])


@pytest.mark.attack
def test_lane__that_is_full__takes_nothing_from_the_others(lanes: Lanes) -> None:
    for lane, more in ((REPEATED, FAILED), (OTHERS, ACTIVE | FAILED), (NEW, {}), (PROVEN, ACTIVE)):
        waiting = [
            due(1_000 * lane.places + n, account=n, host=f"r.s{n}.example", **more) for n in range(2 * lane.places)
        ]
        assert len(started(lanes, waiting)) == lane.places
