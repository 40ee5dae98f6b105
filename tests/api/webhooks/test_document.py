"""``docs/webhooks.md`` against the code: its receiver takes what the worker sends, its tables are the code's."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from service_api.webhooks.deliveries import BACKOFF
from service_api.webhooks.sending import Result
from service_common.wire import webhooks as wire

from tests.api.conftest import Service, running_service
from tests.api.webhooks.receiving import receiving
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
        (got,) = receiver.of_type("hub.facts")
        assert take(secret, dict(got.headers), got.body) == (204, b"")
        assert capsys.readouterr().out == ""  # the same fact again
        assert take(secret, dict(got.headers), got.body + b" ") == (400, b"")
        assert subscriber.list()[0]["last_result"] == "delivered"
    worker.deliverer.close()


def test_tables__of_the_page__are_those_of_the_code() -> None:
    failing = PAGE.split("## When it fails")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`.*?) \|", failing, re.MULTILINE)
    results = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert results | {"delivered"} == {each.value for each in Result}
    *first, last = BACKOFF
    assert f"{', '.join(map(str, first[:-1]))} and {first[-1]} seconds" in failing
    assert last == 3_600
    messages = PAGE.split("## Messages")[1].split("\n## ")[0]
    kinds = (wire.FactsMessage, wire.ChallengeMessage, wire.TestMessage)
    assert set(re.findall(r"^\| `([a-z]+[.][a-z]+)` \|", messages, re.MULTILINE)) == {
        get_args(each.__annotations__["type"])[0] for each in kinds
    }
