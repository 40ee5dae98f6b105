"""``docs/webhooks.md`` and the published document against the code: a receiver is sent what they state."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bounty_protocol.types import ZERO_ADDRESS, ZERO_BYTES32, BlockNumber, BountyId, ChainId, UnixSeconds
from bounty_protocol.wire.changes import Change
from bounty_protocol.wire.values import ChangeKind, ChangeNumber, WebhookId
from bounty_protocol.wire.webhooks import FIELDS
from service_api.webhooks.deliveries import BACKOFF
from service_api.webhooks.messages import (
    challenge_message,
    facts_message,
    message_of_test,
    missed_message,
    signed,
    work_message,
)
from service_api.webhooks.notices import SealedWorkNotice
from service_common.db.app import WorkNotice
from service_common.db.hub_reads import Head

from tests.api.conftest import Service, running_service
from tests.api.contract import openapi_document, violations
from tests.api.webhooks.receiving import Got, echo, receiving
from tests.api.webhooks.test_deliverer import Worker
from tests.api.webhooks.test_registration import Subscriber

PAGE = (Path(__file__).parents[3] / "docs/webhooks.md").read_text(encoding="utf-8")
Take = Callable[[str, dict[str, str], bytes], tuple[int, bytes]]


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with running_service() as started:
        yield started


def take_of_page() -> Take:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)  # noqa: S102  # as its reader would
    found: Take = names["take"]
    return found


def test_receiver__of_the_page__takes_the_challenge_and_facts_of_the_worker(
    service: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    subscriber, worker, take = Subscriber(service), Worker(service), take_of_page()
    with receiving() as receiver:
        secret = subscriber.register(receiver.url(), all_bounties=True)["secret"]
        receiver.answer = lambda got: take(secret, dict(got.headers), got.body)
        worker.run()
        bounty_id = service.world.create()
        service.world.finalize()
        assert worker.run() == 1
        assert f"BountyCreated {bounty_id} " in capsys.readouterr().out
        assert [unlike_the_document(each) for each in receiver.got] == [[], []]
        (got,) = receiver.of_type("hub.facts")
        assert take(secret, dict(got.headers), got.body) == (204, b"")
        assert capsys.readouterr().out == ""  # the same fact again
        assert take(secret, dict(got.headers), got.body + b" ") == (400, b"")
        assert subscriber.list()[0]["last_result"] == "delivered"
    worker.deliverer.close()


def test_document__of_webhooks__has_each_message_that_is_made() -> None:
    webhook_id, number, now = WebhookId(f"wh_{'0' * 32}"), BlockNumber(7), UnixSeconds(1_800_000_000)
    head = Head(ChainId(1), ZERO_ADDRESS, number, ZERO_BYTES32, now, number, now, None, number, 0, 0, None)
    notices = [SealedWorkNotice(1, kind, BountyId(7), ZERO_ADDRESS, ZERO_BYTES32, now) for kind in WorkNotice]
    made = (
        facts_message(webhook_id, head, [Change(ChangeNumber(1), ChangeKind.RETRACTION, None, number)]),
        missed_message(webhook_id, head, number, ChangeNumber(1)),
        challenge_message(webhook_id, now),
        message_of_test(webhook_id, now),
        *(work_message(webhook_id, head, notice) for notice in notices),
    )
    sent = [signed(each, [b"0" * 24], now) for each in made]
    got = [Got("/", each.fields, each.body) for each in sent]
    assert {each.message["type"] for each in got} == set(openapi_document()["webhooks"])
    for each in got:
        assert unlike_the_document(each) == []
        assert unlike_the_document(replace(each, body=each.body.replace(b"wh_0", b"wh_x"))) != []
        assert unlike_the_document(replace(each, headers={})) == [*FIELDS]


def test_document__of_a_challenge__has_the_answer_that_is_taken() -> None:
    operation = openapi_document()["webhooks"]["webhook.challenge"]["post"]
    schema = operation["responses"]["2XX"]["content"]["application/json"]["schema"]
    message = signed(challenge_message(WebhookId("wh_"), UnixSeconds(0)), [b"0" * 24], UnixSeconds(0))
    status, body = echo(Got("/", message.fields, message.body))
    assert status == 200
    assert violations(json.loads(body), schema) == []
    assert violations({}, schema) != []


def unlike_the_document(got: Got) -> list[str]:
    """Header fields and values of a message that are others than the document states."""
    operation = openapi_document()["webhooks"][got.message["type"]]["post"]
    sent = {name.lower() for name in got.headers}
    missing = [each["name"] for each in operation["parameters"] if each["name"] not in sent]
    return missing + violations(got.message, operation["requestBody"]["content"]["application/json"]["schema"])


def test_tables__of_the_page__are_those_of_the_code() -> None:
    failing = PAGE.split("## When it fails")[1].split("\n## ")[0]
    *first, last = BACKOFF
    assert f"{', '.join(map(str, first[:-1]))} and {first[-1]} seconds" in failing
    assert last == 3_600
    messages = PAGE.split("## Messages")[1].split("\n## ")[0]
    assert set(re.findall(r"^\| `([a-z]+[.][a-z]+)` \|", messages, re.MULTILINE)) == set(openapi_document()["webhooks"])
