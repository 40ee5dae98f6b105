"""Registering, showing, testing, rotating and removing webhooks, each by its own account."""

import json
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from bounty_protocol.chain.blocks import header_at
from bounty_protocol.wire.webhooks import MAX_URL
from flask.testing import FlaskClient
from service_api.app import make_app
from service_api.config import ApiConfig, read_config
from service_api.usecases.webhooks import FORMER_SECRETS
from service_common.config import ConfigurationError
from service_common.db.notifications import Channel, Listener
from sqlalchemy import text
from werkzeug.test import TestResponse

from tests.api.conftest import Service, error_of, failed
from tests.api.contract import checked_client
from tests.protocol.auth.signing import Key

URL = "https://receiver.example/hook?key=1"
NOBODY = "wh_" + "0" * 32


class Subscriber:
    """An account that nobody else of the tests has."""

    def __init__(self, service: Service) -> None:
        self.service, self.key = service, secrets.token_hex(32)
        self.address = Key(bytes.fromhex(self.key)).address

    def call(self, method: str, path: str = "", body: object = None) -> TestResponse:
        data = b"" if body is None else json.dumps(body).encode()
        media_type = None if body is None else "application/json"
        return self.service.signed(self.key, method, f"/api/webhooks{path}", body=data, media_type=media_type)

    def post(self, url: str = URL, **wanted: Any) -> TestResponse:
        return self.call("POST", body={"url": url, **wanted})

    def register(self, url: str = URL, **wanted: Any) -> dict[str, Any]:
        return self._taken(self.post(url, **wanted), 201)

    def list(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._taken(self.call("GET"), 200)["items"]
        return found

    def one(self, webhook_id: str) -> dict[str, Any]:
        (found,) = (each for each in self.list() if each["webhook_id"] == webhook_id)
        return found

    def test(self, webhook_id: str) -> dict[str, Any]:
        return self._taken(self.call("POST", f"/{webhook_id}/test"), 200)

    def rotate(self, webhook_id: str) -> dict[str, Any]:
        return self._taken(self.call("POST", f"/{webhook_id}/rotate"), 200)

    def remove(self, webhook_id: str) -> None:
        self._taken(self.call("DELETE", f"/{webhook_id}"), 200)

    def _taken(self, response: TestResponse, status: int) -> dict[str, Any]:
        assert response.status_code == status, response.text
        found: dict[str, Any] = response.get_json()
        return found


@pytest.fixture
def subscriber(service: Service) -> Iterator[Subscriber]:
    made = Subscriber(service)
    yield made
    for each in made.list():
        made.remove(each["webhook_id"])


def test_webhook__that_is_registered__is_pending_and_shows_its_secret_once(
    service: Service, subscriber: Subscriber
) -> None:
    made = subscriber.register(bounty_id="7")
    webhook, secret = made["webhook"], made["secret"]
    assert (webhook["url"], webhook["bounty_id"], webhook["state"]) == (URL, "7", "pending")
    assert (webhook["account_address"], webhook["all_bounties"], webhook["finality"]) == (None, False, "finalized")
    assert secret.startswith("whsec_")
    assert subscriber.list() == [webhook]
    with service.world.database.engine().connect() as connection:
        stored = connection.execute(text("SELECT * FROM webhooks.subscriptions")).mappings().all()
    assert secret.removeprefix("whsec_") not in str(stored)


def test_webhook__registered_again__is_the_same_without_a_secret(subscriber: Subscriber) -> None:
    made = subscriber.register(all_bounties=True)
    again = subscriber.post(all_bounties=True)
    assert (again.status_code, again.get_json()) == (200, {"webhook": made["webhook"], "secret": None})
    assert subscriber.register(all_bounties=True, finality="unsafe")["webhook"] != made["webhook"]


def registration(subscriber: Subscriber) -> dict[str, Any]:
    """A signed request, to be sent any number of times."""
    body = json.dumps({"url": URL, "all_bounties": True}).encode()
    signed = subscriber.service.authorization(subscriber.key, "POST", "/api/webhooks", body=body)
    return {"data": body, "headers": {"Authorization": signed, "Content-Type": "application/json"}}


@pytest.mark.attack
@pytest.mark.parametrize("is_new", [True, False], ids=["made", "there already"])
def test_registration__that_is_repeated_after_the_removal__makes_no_webhook(
    service: Service, subscriber: Subscriber, is_new: bool
) -> None:
    if not is_new:
        subscriber.register(all_bounties=True)
        service.world.node.mine(1)  # else it would be the same request
    known = registration(subscriber)
    first, second = (service.client.post("/api/webhooks", **known) for _ in range(2))
    assert (first.status_code, second.status_code) == (201 if is_new else 200, 200)
    assert second.get_json() == {"webhook": first.get_json()["webhook"], "secret": None}
    subscriber.remove(first.get_json()["webhook"]["webhook_id"])
    refused = service.client.post("/api/webhooks", **known)
    assert (refused.status_code, error_of(refused)["code"]) == (409, "webhook_already_registered")
    assert subscriber.list() == []
    service.world.node.mine(1)
    subscriber.register(all_bounties=True)


@pytest.mark.attack
def test_registration__that_a_stranger_signed_first__is_made_for_its_subscriber(
    service: Service, subscriber: Subscriber
) -> None:
    """The digest that is signed has no signer: both sign the same one."""
    stranger = Subscriber(service)
    block = header_at(service.world.rpc, "latest").number
    for each in (stranger, subscriber):
        assert service.client.post("/api/webhooks", **registration(each)).status_code == 201
    assert header_at(service.world.rpc, "latest").number == block
    assert len(subscriber.list()) == 1
    stranger.remove(stranger.list()[0]["webhook_id"])


def test_webhook__that_is_new_or_changed__wakes_those_who_send(service: Service, subscriber: Subscriber) -> None:
    with service.world.engine("service_webhooks").connect().execution_options(isolation_level="AUTOCOMMIT") as sending:
        listener = Listener(sending, Channel.TO_SEND)
        webhook_id = subscriber.register(all_bounties=True)["webhook"]["webhook_id"]
        assert listener.wait(600.0) is True
        subscriber.list()
        assert listener.wait(0) is False
        subscriber.test(webhook_id)
        assert listener.wait(600.0) is True
        sending.invalidate()


def test_webhook__of_another_account__does_not_exist(service: Service, subscriber: Subscriber) -> None:
    webhook_id = subscriber.register(all_bounties=True)["webhook"]["webhook_id"]
    stranger = Subscriber(service)
    assert stranger.list() == []
    for method, path in (("DELETE", ""), ("POST", "/test"), ("POST", "/rotate")):
        for named in (webhook_id, NOBODY):
            response = stranger.call(method, f"/{named}{path}")
            assert (response.status_code, error_of(response)["code"]) == (404, "webhook_not_found")
    (kept,) = subscriber.list()
    assert kept["webhook_id"] == webhook_id


def test_webhook__that_is_removed__is_gone(subscriber: Subscriber) -> None:
    webhook_id = subscriber.register(all_bounties=True)["webhook"]["webhook_id"]
    subscriber.remove(webhook_id)
    assert subscriber.list() == []
    assert subscriber.call("DELETE", f"/{webhook_id}").status_code == 404


@pytest.mark.parametrize(
    ("wanted", "path"),
    [
        ({}, "account_address"),
        ({"bounty_id": "1", "all_bounties": True}, "account_address"),
        ({"bounty_id": "1", "account_address": "0x" + "1" * 40}, "account_address"),
        ({"all_bounties": False}, "account_address"),
        ({"bounty_id": "0"}, "bounty_id"),
        ({"bounty_id": 1}, "bounty_id"),
        ({"account_address": "0x1"}, "account_address"),
        ({"all_bounties": True, "bounties_matching": {"search": "x"}}, "account_address"),
        ({"bounties_matching": {}}, "bounties_matching"),
        ({"bounties_matching": {"search": ""}}, "bounties_matching.search"),
        ({"bounties_matching": {"search": "a" * 201}}, "bounties_matching.search"),
        ({"bounties_matching": {"status": "open"}}, "bounties_matching.status"),
        ({"bounties_matching": {"min_award": 5}}, "bounties_matching.min_award"),
        ({"bounties_matching": "parser"}, "bounties_matching"),
        ({"all_bounties": True, "finality": "soon"}, "finality"),
        ({"all_bounties": True, "secret": "mine"}, "secret"),
        ({"all_bounties": True, "url": "http://receiver.example/"}, "url"),
        ({"all_bounties": True, "url": "https://169.254.169.254/"}, "url"),
        ({"all_bounties": True, "url": "https://receiver.example/" + "a" * MAX_URL}, "url"),
    ],
)
def test_registration__of_another_shape__is_refused_and_keeps_nothing(
    subscriber: Subscriber, wanted: dict[str, Any], path: str
) -> None:
    error = error_of(subscriber.call("POST", body={"url": URL, **wanted}))
    assert error["code"] == "invalid_webhook"
    assert [issue["path"] for issue in error["issues"]] == [path]  # type: ignore[attr-defined]
    assert subscriber.list() == []


@pytest.mark.parametrize("named", ["x", "wh_" + "0" * 31, "wh_" + "A" * 32])
def test_webhook__with_an_id_of_another_form__is_refused(subscriber: Subscriber, named: str) -> None:
    assert error_of(subscriber.call("POST", f"/{named}/test"))["code"] == "invalid_webhook"


def test_secret__of_a_request_that_is_repeated__is_not_made_again(service: Service, subscriber: Subscriber) -> None:
    path = f"/api/webhooks/{subscriber.register(all_bounties=True)['webhook']['webhook_id']}/rotate"
    headers = {"Authorization": service.authorization(subscriber.key, "POST", path)}
    first, second = (service.client.post(path, headers=headers) for _ in range(2))
    assert (first.status_code, second.status_code) == (200, 409)
    assert error_of(second)["code"] == "webhook_already_rotated"
    assert "no-store" in first.headers["Cache-Control"]


@pytest.mark.attack(f"former secrets of a webhook that sign at a time: {FORMER_SECRETS}")
def test_secret__that_was_rotated_as_often_as_it_may_in_a_day__stays(service: Service, subscriber: Subscriber) -> None:
    webhook_id = subscriber.register(all_bounties=True)["webhook"]["webhook_id"]
    for _ in range(FORMER_SECRETS):
        service.world.node.mine(1)  # else it would be the same request
        subscriber.rotate(webhook_id)
    kept = text(
        "SELECT sealed_secret, 1 + cardinality(older_sealed_secrets) FROM webhooks.subscriptions WHERE webhook_id = :id"
    ).bindparams(id=webhook_id)
    with service.world.database.engine().connect() as connection:
        before = connection.execute(kept).one()
    for _ in range(2):
        service.world.node.mine(1)
        refused = subscriber.call("POST", f"/{webhook_id}/rotate")
        assert (refused.status_code, error_of(refused)["code"]) == (409, "webhook_secrets_limit_reached")
    with service.world.database.engine().connect() as connection:
        assert connection.execute(kept).one() == before
    assert before[1] == FORMER_SECRETS


@contextmanager
def lost_at_rotation(service: Service) -> Iterator[None]:
    """The server ends the connection of whoever writes another secret."""
    function = "webhooks.end_connection"
    with service.world.database.engine().begin() as connection:
        connection.execute(text(
            f"CREATE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NEW; END $$"
        ))  # fmt: skip
        trigger = "CREATE TRIGGER ending BEFORE UPDATE OF sealed_secret ON webhooks.subscriptions"
        connection.execute(text(f"{trigger} FOR EACH ROW EXECUTE FUNCTION {function}()"))
    try:
        yield
    finally:
        with service.world.database.engine().begin() as connection:
            connection.execute(text(f"DROP FUNCTION {function} CASCADE"))


def test_rotation__during_which_the_database_is_lost__is_made_by_the_same_request(
    service: Service, subscriber: Subscriber
) -> None:
    path = f"/api/webhooks/{subscriber.register(all_bounties=True)['webhook']['webhook_id']}/rotate"
    headers = {"Authorization": service.authorization(subscriber.key, "POST", path)}
    with lost_at_rotation(service):
        lost = service.client.post(path, headers=headers)
    assert (lost.status_code, error_of(lost)["code"]) == (503, "bounty_projection_unavailable")
    assert [service.client.post(path, headers=headers).status_code for _ in range(2)] == [200, 409]


@pytest.mark.attack
def test_rotation__that_a_stranger_signed_first__is_made_for_its_subscriber(
    service: Service, subscriber: Subscriber
) -> None:
    """The digest that is signed has no signer: both sign the same one."""
    path = f"/api/webhooks/{subscriber.register(all_bounties=True)['webhook']['webhook_id']}/rotate"
    block = header_at(service.world.rpc, "latest").number
    statuses = []
    for key in (Subscriber(service).key, subscriber.key):
        headers = {"Authorization": service.authorization(key, "POST", path)}
        statuses.append(service.client.post(path, headers=headers).status_code)
    assert header_at(service.world.rpc, "latest").number == block
    assert statuses == [404, 200]


def limited(service: Service, **settings: Any) -> FlaskClient:
    config: ApiConfig = service.dependencies.config
    webhooks = replace(config.webhooks, **settings)
    return checked_client(make_app(replace(service.dependencies, config=replace(config, webhooks=webhooks))))


@pytest.mark.parametrize("settings", [{"limit": 2}, {"total": 2}])
def test_account__with_as_many_webhooks_as_it_may_have__gets_no_other(
    service: Service, subscriber: Subscriber, monkeypatch: pytest.MonkeyPatch, settings: dict[str, int]
) -> None:
    with service.world.database.engine().connect() as connection:
        others = connection.execute(text("SELECT count(*) FROM webhooks.subscriptions")).scalar_one()
    more = {name: value + (others if name == "total" else 0) for name, value in settings.items()}
    monkeypatch.setattr(service, "client", limited(service, **more))
    for number in (1, 2):
        subscriber.register(bounty_id=str(number))
    refused = subscriber.post(bounty_id="3")
    assert (refused.status_code, error_of(refused)["code"]) == (409, "webhook_limit_reached")
    subscriber.remove(subscriber.list()[0]["webhook_id"])
    subscriber.register(bounty_id="3")


def test_deployment__without_a_key__takes_no_webhook(
    service: Service, subscriber: Subscriber, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "client", limited(service, key=None))
    before = failed()
    refused = subscriber.post(all_bounties=True)
    assert (refused.status_code, error_of(refused)["code"]) == (503, "webhooks_unconfigured")
    assert failed() == before, "its operator chose that"


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"SERVICE_WEBHOOK_PUBLIC_KEY": "age1x"}, "SERVICE_WEBHOOK_PUBLIC_KEY"),
        ({"SERVICE_WEBHOOK_LIMIT": "0"}, "SERVICE_WEBHOOK_LIMIT"),
        ({"SERVICE_WEBHOOK_TOTAL": "x"}, "SERVICE_WEBHOOK_TOTAL"),
        ({"SERVICE_WEBHOOK_PORTS": "443,70000"}, "SERVICE_WEBHOOK_PORTS"),
        ({"SERVICE_WEBHOOK_INSECURE_LOOPBACK": "true"}, "SERVICE_WEBHOOK_INSECURE_LOOPBACK"),
        ({"SERVICE_CHAIN_ID": "8453"}, "SERVICE_WEBHOOK_INSECURE_LOOPBACK"),
    ],
)
def test_setting__that_is_wrong__is_named(service: Service, changed: dict[str, str], named: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        read_config({**service.variables, **changed})
    assert [problem for problem in refused.value.problems if named in problem]
