"""Checking a page through the api: what is found, what it costs whom, and that nothing of the page stays anywhere."""

import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest
from bounty_protocol.domain.challenge.page import parse_challenge
from bounty_protocol.readiness import VERSION
from bounty_protocol.readiness.material import Material
from bounty_protocol.readiness.review import review
from bounty_protocol.rubric import current_rubric
from bounty_protocol.shapes import to_json
from flask.testing import FlaskClient
from local_stack.ports import HOST
from redis import Redis
from service_api.app import make_app
from service_api.config import ApiBudgets
from service_api.deployment.constants import Constants
from service_common import log
from service_common.db import app as t
from service_common.db.engine import reading
from sqlalchemy import func, select
from werkzeug.test import TestResponse

from tests.api.conftest import Service, error_of, used_by
from tests.api.contract import checked_client
from tests.api.pages import page_for
from tests.cli.servers import Server
from tests.scraping import start

PATH = "/api/bounty-challenge-specs/check"
SECRET = "a sentence that only this page has"
USUAL = ApiBudgets()


@dataclass
class Checking:
    """An api whose reviewer runs, and one of which it does not."""

    service: Service
    reviewer_url: str

    def client(self, reviewer_url: str | None = None, **config: Any) -> FlaskClient:
        """The api with another reviewer or other settings."""
        own = replace(self.service.resources.config, reviewer_url=reviewer_url or self.reviewer_url, **config)
        return checked_client(make_app(replace(self.service.resources, config=own)))

    def check(self, page: bytes, client: FlaskClient | None = None, media_type: str = "text/markdown") -> TestResponse:
        return (client or self.client()).post(PATH, data=page, headers={"Content-Type": media_type})


@pytest.fixture(scope="module")
def checking(service: Service) -> Checking:
    port = service.runtime.port()
    started = start(service.runtime, "reviewer-http", {"SERVICE_PORT": str(port)}, "service-reviewer", "serve")
    found = Checking(service, f"http://{HOST}:{port}")
    page = page_for(service.world)
    service.runtime.family.wait(started.child, lambda: found.check(page).status_code == 200, 60.0)
    return found


def fields_of(answer: TestResponse) -> Any:
    assert answer.status_code == 200, answer.text
    return json.loads(answer.data)


def with_body(page: bytes, text: str) -> bytes:
    return page + f"\n\n{text}\n".encode()


def test_ready_page_has_no_finding(checking: Checking) -> None:
    rubric = current_rubric()
    assert fields_of(checking.check(page_for(checking.service.world))) == {
        "rubric_version": rubric.version,
        "rubric_hash": rubric.hash,
        "rules_version": VERSION,
        "issues": [],
    }


def test_unready_page_has_the_rules_findings(checking: Checking) -> None:
    service = checking.service
    page = with_body(page_for(service.world), "TODO: say more. The winner gets 999,999 USDC. Pay by 2020-01-01.")
    hub = used_by(service.client, Constants).hub
    material = Material(
        parse_challenge(page), page, service.world.time(), hub.reveal_delay, hub.token.symbol, hub.token.decimals
    )
    expected = [to_json(issue) for issue in review(material)]
    assert expected
    assert fields_of(checking.check(page))["issues"] == expected


def test_refused_terms_come_beside_the_rules(checking: Checking) -> None:
    page = with_body(page_for(checking.service.world, escrow_amount="1"), "TODO: say more.")
    paths = [issue["path"] for issue in fields_of(checking.check(page))["issues"]]
    assert paths[0] == "escrow_amount"
    assert len(paths) > 1


@pytest.mark.parametrize(
    ("status", "body", "code"),
    [
        (200, SECRET.encode(), "page_check_unavailable"),
        (200, b"[" * 100_000, "page_check_unavailable"),
        (200, b'{"issues": [{"path": "body"}]}', "page_check_unavailable"),
        (200, b" " * 300_000, "page_check_unavailable"),
        (400, b"{}", "page_check_unavailable"),
        (500, SECRET.encode(), "page_check_unavailable"),
        (503, SECRET.encode(), "service_overloaded"),
    ],
)
def test_unusable_reviewer_is_503_and_not_quoted(
    checking: Checking, capfd: pytest.CaptureFixture[str], status: int, body: bytes, code: str
) -> None:
    log.configure("api", logging.DEBUG)
    try:
        with Server(lambda _: (status, body, {"Content-Type": "application/json"})) as reviewer:
            refused = checking.check(page_for(checking.service.world), checking.client(reviewer.url))
    finally:
        log.configure("api")
    assert (refused.status_code, error_of(refused)["code"]) == (503, code)
    assert SECRET not in "".join(capfd.readouterr()) + refused.text


def test_checked_page_leaves_no_trace(checking: Checking, capfd: pytest.CaptureFixture[str]) -> None:
    service = checking.service
    page = with_body(page_for(service.world), f"TODO: {SECRET}.")
    rows, keys = _kept(service)
    log.configure("api", logging.DEBUG)
    try:
        found = fields_of(checking.check(page))
    finally:
        log.configure("api")
    assert found["issues"]
    rows_after, keys_after = _kept(service)
    assert rows_after == rows
    assert keys_after <= keys, "some of earlier reviews may have expired meanwhile"
    reviewer = (service.runtime.logs / "reviewer-http.log").read_text(encoding="utf-8")
    assert '"/findings"' in reviewer
    assert SECRET not in "".join(capfd.readouterr()) + reviewer


def _kept(service: Service) -> tuple[dict[str, int], set[str]]:
    with reading(service.resources.engine) as connection:
        rows = {
            table.name: int(connection.execute(select(func.count()).select_from(table)).scalar_one())
            for table in (t.challenge_pages, t.processed_approvals, t.review_charges)
        }
    return rows, {str(key) for key in service.resources.redis.scan_iter("rq:*") if b"worker" not in key}


@pytest.fixture
def redis(service: Service) -> Iterator[Redis]:
    def forget() -> None:
        for key in service.resources.redis.scan_iter("LIMITS:*"):
            service.resources.redis.delete(key)

    forget()
    yield service.resources.redis
    forget()


@pytest.mark.usefixtures("redis")
def test_checks_of_a_network_keep_to_the_budget(checking: Checking) -> None:
    web = replace(checking.service.resources.config.web, forwarded_hops=1)
    with Server(lambda _: (200, b"{}", {"Content-Type": "application/json"})) as reviewer:
        client = checking.client(reviewer.url, budgets=USUAL, web=web)

        def check(address: str) -> int:
            headers = {"Content-Type": "text/markdown", "X-Forwarded-For": address}
            return client.post(PATH, data=b"no page", headers=headers).status_code

        asked = [check("203.0.113.7") for _ in range(USUAL.page_checks.amount + 20)]
        assert check("198.51.100.1") == 200, "nobody else pays"
    assert (asked.count(200), asked.count(429)) == (USUAL.page_checks.amount, 20)
