"""The reviewer's own HTTP face: what it answers, what it refuses, and what is left of a page afterwards."""

import json
import threading
from typing import Any

import pytest
from bounty_protocol.domain.challenge.frontmatter import MAX_DOCUMENT_BYTES
from bounty_protocol.errors import Issue
from bounty_protocol.readiness.material import Material
from bounty_protocol.rubric import current_rubric
from demo.examples import EXAMPLES
from flask.testing import FlaskClient
from service_reviewer import app as judging
from service_reviewer.app import PageJudge, make_app
from service_reviewer.rules import judge_by_rules
from werkzeug.test import TestResponse

from tests.reviewer.labelled import CORPUS, REVEAL_DELAY, WRITTEN_AT

GOOD = (EXAMPLES / "bounty_challenge.md").read_bytes()
ASKED = f"now={WRITTEN_AT}&reveal_delay={REVEAL_DELAY}"


def post(client: FlaskClient, page: bytes, query: str = "", media_type: str = "text/markdown") -> TestResponse:
    return client.post(f"/findings?{query}", data=page, headers={"Content-Type": media_type})


def fields_of(response: TestResponse) -> Any:
    return json.loads(response.data)


@pytest.fixture
def client() -> FlaskClient:
    return make_app().test_client()


def test_findings_are_those_of_the_rules(client: FlaskClient) -> None:
    for folder in ("ready", "not_ready"):
        page = next(iter(sorted((CORPUS / folder).glob("*.md")))).read_bytes()
        answer = post(client, page, ASKED)
        assert answer.status_code == 200
        assert bool(fields_of(answer)["issues"]) is (folder != "ready")
        assert fields_of(answer)["rubric_hash"] == current_rubric().hash


def test_page_without_its_form_has_its_lacks(client: FlaskClient) -> None:
    assert [issue["path"] for issue in fields_of(post(client, b"hello"))["issues"]] == ["document"]


def test_largest_page_is_taken_and_no_larger_one(client: FlaskClient) -> None:
    most = GOOD + b"x" * (MAX_DOCUMENT_BYTES - len(GOOD))
    assert post(client, most, ASKED).status_code == 200
    assert post(client, most + b"x", ASKED).status_code == 413


@pytest.mark.parametrize("query", ["now=soon", "token_decimals=37", "reveal_delay=-1", "token_symbol=%00", "page=1"])
def test_circumstances__of_another_form__are_refused(client: FlaskClient, query: str) -> None:
    assert post(client, GOOD, query).status_code == 400
    assert post(client, GOOD, "token_decimals=36&token_symbol=DAI&now=1795000000").status_code == 200
    assert post(client, GOOD, media_type="application/json").status_code == 415


def test_too_many_pages_wait_and_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "PATIENCE_SECONDS", 0.01)
    started, released = threading.Semaphore(0), threading.Event()

    def judge(material: Material, seconds: float) -> list[Issue]:
        started.release()
        released.wait(30)
        return judge_by_rules(material, seconds)

    client = make_app(PageJudge(judge)).test_client
    threads = [threading.Thread(target=post, args=(client(), GOOD)) for _ in range(judging.AT_ONCE)]
    for thread in threads:
        thread.start()
        started.acquire()
    refused = post(client(), GOOD)
    assert (refused.status_code, fields_of(refused)["error"]["code"]) == (503, "service_overloaded")
    assert int(refused.headers["Retry-After"]) >= 1
    released.set()
    for thread in threads:
        thread.join()
    assert post(client(), GOOD).status_code == 200
