"""Faults of what works behind the api, and of too much that is asked of it."""

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Final

import psycopg
import urllib3
from bounty_protocol.crypto.x25519 import Identity
from local_stack.contract import Wallet
from local_stack.stack import DATABASE

from tests.fakes.model import ModelTwin
from tools.runbooks.scene import ExpectedAlert, Fault, FaultScene, nothing, standing

_KEYS: Final = "SERVICE_WEBHOOK_PRIVATE_KEYS_FILE"
_UNSENDABLE: Final = 'service_webhook_attempts_total{result="unsendable"}'
_PENDING: Final = "SERVICE_PENDING_MEBIBYTES"
_PUBLISHED_AGAIN: Final = 60
"""How often a page is sent to be reviewed, at most, until one is."""
_AT_ONCE: Final = 300
"""More requests than the api answers at a time."""


def _publish_without_a_worker(place: FaultScene) -> None:
    place.stack.services["reviewer-worker"].kill()
    _publish_by_strangers(place, 3)


def _publish_at_a_slow_provider(place: FaultScene) -> None:
    twin = ModelTwin()
    place.left.callback(twin.close)
    twin.released.clear()
    place.kept_events["provider"] = twin.released
    place.restarted(twin.variables(SERVICE_OPENAI_TIMEOUT_SECONDS="60"), "reviewer-worker")
    _publish_by_strangers(place, 40)


def _publish_by_strangers(place: FaultScene, number: int) -> None:
    """Each the first page of its account, which comes before others' second ones."""

    def publish(title: str) -> None:
        with suppress(urllib3.exceptions.HTTPError):
            place.publish(title, poster=Wallet())

    for each in range(number):
        threading.Thread(target=publish, args=(f"Waits {each}",), daemon=True).start()


def _answer_again(place: FaultScene) -> None:
    place.kept_events["provider"].set()


def _ask_a_provider_that_is_away(place: FaultScene) -> None:
    away = {
        "SERVICE_REVIEW_PROVIDER": "openai",
        "SERVICE_OPENAI_BASE_URL": f"http://127.0.0.1:{place.stack.runtime.port()}/v1",
        "SERVICE_OPENAI_API_KEY": "none",
        "SERVICE_OPENAI_MODEL": "none",
    }
    place.restarted(away, "reviewer-worker")
    with ThreadPoolExecutor(5) as pool:
        list(pool.map(lambda number: place.publish(f"Not reviewed {number}"), range(5)))


def _let_the_rules_decide(place: FaultScene) -> None:
    """As the runbook has it; the restart is its command. Somebody publishes until a page is reviewed."""
    place.change({"SERVICE_REVIEW_PROVIDER": "rules"}, "reviewer-worker")
    threading.Thread(target=_publish_once, args=(place,), daemon=True).start()


def _publish_once(place: FaultScene) -> None:
    """As a client does that waits for the provider."""
    for _ in range(_PUBLISHED_AGAIN):
        with suppress(urllib3.exceptions.HTTPError):
            if place.publish("Reviewed again", poster=Wallet()) in {200, 201}:
                return
        time.sleep(2)


def _forget_the_key(place: FaultScene) -> None:
    webhooks = place.stack.services["webhooks"]
    place.kept["webhook keys"] = webhooks.environment[_KEYS]
    other = place.stack.runtime.secret("secrets/webhooks.other", json.dumps([Identity.generate().to_text()]))
    place.restarted({_KEYS: str(other)}, "webhooks")
    place.cast.fund(submission_seconds=86_400, judging_seconds=3_600, title="Nobody hears of it")


def _put_the_key_back(place: FaultScene) -> None:
    place.change({_KEYS: place.kept["webhook keys"]}, "webhooks")


def _hold_the_table(place: FaultScene) -> None:
    """As a migration by hand or a long ``VACUUM FULL`` does."""
    connection = place.left.enter_context(psycopg.connect(place.stack.postgres.url(DATABASE)))
    connection.execute("LOCK TABLE webhooks.subscriptions IN ACCESS EXCLUSIVE MODE")
    place.held = connection


def _let_the_table_go(place: FaultScene) -> None:
    if place.held is not None:
        place.held.rollback()


def _fill_the_database(place: FaultScene) -> None:
    place.restarted({_PENDING: "1"}, "api", "api-worker")
    for number in range(3):
        place.publish(f"Large {number}", 150_000)


def _give_more_space(place: FaultScene) -> None:
    place.change({_PENDING: "2048"}, "api", "api-worker")


def _ask_too_much(place: FaultScene) -> None:
    """Requests that all wait, each of another caller as far as the api can know."""
    ended = place.kept_events["too much"] = threading.Event()
    url = f"{place.stack.api_base_url}/api/bounties"
    pool = urllib3.PoolManager(maxsize=_AT_ONCE)

    def ask(number: int) -> None:
        while not ended.is_set():
            with suppress(urllib3.exceptions.HTTPError):
                pool.request("GET", f"{url}?search=word{number}&limit=100", retries=False, timeout=20)

    for number in range(_AT_ONCE):
        threading.Thread(target=ask, args=(number,), daemon=True).start()


def _ask_no_more(place: FaultScene) -> None:
    place.kept_events["too much"].set()


WORK_FAULTS: Final[tuple[Fault, ...]] = (
    Fault(
        "no worker of the reviewer is there",
        _publish_without_a_worker,
        nothing,
        (
            ExpectedAlert(
                "ReviewsFail", "no pod of reviewer-worker", 'max(service_jobs{queue="reviews",state="waiting"}) == 0'
            ),
        ),
    ),
    Fault(
        "the review provider takes minutes for a page",
        _publish_at_a_slow_provider,
        _answer_again,
        (
            ExpectedAlert(
                "ReviewsWait",
                r'service_jobs\{queue="reviews",state="waiting"\} [1-9]',
                'max(service_jobs{queue="reviews",state="waiting"}) == 0',
            ),
        ),
        after=lambda place: place.restarted({"SERVICE_REVIEW_PROVIDER": "rules"}, "reviewer-worker"),
    ),
    Fault(
        "the review provider is away",
        _ask_a_provider_that_is_away,
        _let_the_rules_decide,
        (
            ExpectedAlert(
                "ReviewsFail",
                r'service_reviews_total\{outcome="provider_error"\} [1-9]',
                'sum(service_reviews_total{outcome="ready"}) > 0',
            ),
        ),
    ),
    Fault(
        "the key of the webhooks is missing",
        _forget_the_key,
        _put_the_key_back,
        (
            ExpectedAlert(
                "WebhooksUnsendable",
                "a webhook cannot be sent to",
                f'max(service_webhooks{{state="failing"}}) == 0 and {standing(_UNSENDABLE)}',
            ),
        ),
    ),
    Fault(
        "a statement holds the webhooks' table",
        _hold_the_table,
        _let_the_table_go,
        (ExpectedAlert("WebhooksLate", "no webhooks are sent", "max(service_webhooks_lag_seconds) < 10"),),
    ),
    Fault(
        "pages that nobody funds",
        _fill_the_database,
        _give_more_space,
        (
            ExpectedAlert(
                "PendingStorageFills",
                r'service_pending_ratio\{kind="pages"\} 0\.[4-9]',
                "max(service_pending_ratio) < 0.4",
            ),
        ),
    ),
    Fault(
        "300 requests at a time",
        _ask_too_much,
        _ask_no_more,
        (
            ExpectedAlert(
                "RequestsShed",
                r"service_http_requests_shed_total [1-9]",
                standing("service_http_requests_shed_total"),
            ),
        ),
    ),
)
"""Each is over before the next one begins."""
