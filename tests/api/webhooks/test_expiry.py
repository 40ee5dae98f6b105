"""Which webhooks the hourly sweep removes: those that get nothing, and no others."""

from collections.abc import Iterator

import pytest
from service_api.usecases.lifetimes import OFF_DAYS, UNPROVEN_DAYS, delete_expired
from sqlalchemy import text

from tests.api.conftest import Service, running_service
from tests.api.webhooks.receiving import echo, receiving
from tests.api.webhooks.test_deliverer import Worker
from tests.api.webhooks.test_registration import Subscriber


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with running_service() as started:
        yield started


def grow_older(service: Service, days: int) -> None:
    """As if so many days had passed since everything that is known of the webhooks."""
    moments = {"subscriptions": ("created_at",), "deliveries": ("last_attempt_at", "last_success_at")}
    with service.world.database.engine().begin() as connection:
        for table, names in moments.items():
            changes = ", ".join(f"{name} = {name} - make_interval(days => {days})" for name in names)
            connection.execute(text(f"UPDATE webhooks.{table} SET {changes}"))


@pytest.mark.parametrize(
    ("status", "state", "days", "kept"),
    [
        (200, "active", 365, True),
        (404, "pending", UNPROVEN_DAYS - 1, True),
        (404, "pending", UNPROVEN_DAYS + 1, False),
        (410, "off", OFF_DAYS - 1, True),
        (410, "off", OFF_DAYS + 1, False),
    ],
)
def test_webhook__by_how_its_receiver_does__is_kept_or_removed(
    service: Service, status: int, state: str, days: int, kept: bool
) -> None:
    subscriber, worker = Subscriber(service), Worker(service)
    with receiving() as receiver:
        receiver.answer = echo if status != 404 else lambda _: (404, b"")
        webhook_id = subscriber.register(receiver.url(), all_bounties=True)["webhook"]["webhook_id"]
        worker.run()
        if status == 410:
            receiver.answer = lambda _: (410, b"")
            subscriber.test(webhook_id)
            worker.run()
        assert subscriber.one(webhook_id)["state"] == state
        grow_older(service, days)
        delete_expired(service.dependencies)
        assert [each["webhook_id"] for each in subscriber.list()] == [webhook_id] * kept
        for each in subscriber.list():
            subscriber.remove(each["webhook_id"])
    worker.deliverer.close()
