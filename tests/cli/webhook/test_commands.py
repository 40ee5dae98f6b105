"""The commands of webhooks, against a twin that keeps what it is sent."""

import stat
from pathlib import Path
from typing import Any

import pytest

from tests.cli.api_twin import ApiTwin
from tests.cli.conftest import person
from tests.cli.ledger import Ledger
from tests.cli.servers import Lost, RpcProxy
from tests.cli.terminal import Ran, Terminal
from tests.cli.webhooks_twin import SECRET, WebhooksTwin

URL = "https://receiver.example/hook"
ADDRESS = "0x" + "1" * 40


@pytest.fixture
def registered(api: ApiTwin) -> WebhooksTwin:
    return api.webhooks


@pytest.fixture
def subscriber(ledger: Ledger, api: ApiTwin, rpc: RpcProxy, tmp_path: Path) -> Terminal:
    made = person(ledger, api, rpc, tmp_path / "poster", "poster")
    key = ledger.people.poster.wallet.private_key
    return Terminal(made.home, {**made.environment, "SERVICE_SUBSCRIBER_PRIVATE_KEY": key})


def add(subscriber: Terminal, *more: str, code: int = 0) -> Ran:
    return subscriber.run("webhook:add", "--url", URL, *(more or ("--all",)), code=code)


@pytest.mark.parametrize(
    ("chosen", "kept"),
    [
        (("--all",), {"all_bounties": True, "finality": "finalized"}),
        (("--bounty", "7", "--unsafe"), {"bounty_id": "7", "finality": "unsafe"}),
        (("--account", ADDRESS), {"account_address": ADDRESS}),
        (("--tag", "csv"), {"bounties_matching": {"tag": "csv"}}),
        (
            ("--search", "parser", "--min-award", "100.00", "--poster-address", ADDRESS),
            {"bounties_matching": {"search": "parser", "min_award": "100000000", "poster_address": ADDRESS}},
        ),
    ],
)
def test_add__of_each_choice__registers_it_and_keeps_the_secret_in_a_file(
    subscriber: Terminal,
    registered: WebhooksTwin,
    api: ApiTwin,
    tmp_path: Path,
    chosen: tuple[str, ...],
    kept: dict[str, Any],
) -> None:
    ran = add(subscriber, *chosen)
    (webhook,) = registered.webhooks.values()
    assert webhook.items() >= kept.items()
    assert ran.last.items() >= {**kept, "url": URL, "state": "pending"}.items()
    file = subscriber.home / str(ran.last["secret_file"])
    assert file.name == f"{webhook['webhook_id']}.secret"
    assert file.read_text() == SECRET + "\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert SECRET not in ran.stdout + ran.words
    assert len(api.approvals()) == 1


def test_add__again__makes_no_secret(subscriber: Terminal, registered: WebhooksTwin) -> None:
    add(subscriber)
    assert add(subscriber).last["secret_file"] is None
    assert len(list(subscriber.home.glob("*.secret"))) == len(registered.webhooks) == 1


@pytest.mark.parametrize("chosen", [("--unsafe",), ("--all", "--bounty", "7"), ("--bounty", "7", "--account", ADDRESS)])
def test_add__of_no_choice_or_two__is_a_usage_error(
    subscriber: Terminal, registered: WebhooksTwin, chosen: tuple[str, ...]
) -> None:
    add(subscriber, *chosen, code=2)
    assert registered.requests == []


def test_add__to_a_file_that_is_there__registers_nothing(subscriber: Terminal, registered: WebhooksTwin) -> None:
    (subscriber.home / "kept").write_text("mine")
    assert add(subscriber, "--all", "--save-to", "kept", code=1).last["code"] == "output_refused"
    assert registered.requests == []
    assert (subscriber.home / "kept").read_text() == "mine"


def test_add__answered_with_another_webhook__is_not_believed(subscriber: Terminal, registered: WebhooksTwin) -> None:
    registered.altered = {"url": "https://other.example/"}
    assert add(subscriber, code=1).last["code"] == "answer_malformed"


def test_webhook__that_is_listed_tested_rotated_and_removed__is_the_one_that_was_added(
    subscriber: Terminal, registered: WebhooksTwin
) -> None:
    webhook_id = str(add(subscriber).last["webhook_id"])
    (listed,) = subscriber.run("webhook:list").events
    assert listed == {"event": "webhook_list.webhook", **registered.webhooks[webhook_id]}
    assert subscriber.run("webhook:test", webhook_id).last["state"] == "pending"
    rotated = subscriber.run("webhook:rotate", "--save-to", "new", webhook_id)
    assert (subscriber.home / "new").read_text() == SECRET + "\n"
    assert SECRET not in rotated.stdout + rotated.words
    subscriber.run("webhook:remove", webhook_id)
    empty = subscriber.run("webhook:list")
    assert (empty.events, "webhook:add" in empty.words) == ((), True)
    for command in ("test", "remove"):
        assert subscriber.run(f"webhook:{command}", webhook_id, code=1).last["code"] == "webhook_not_found"


def test_webhook__with_an_id_of_another_form__is_not_asked_for(subscriber: Terminal, registered: WebhooksTwin) -> None:
    for named in ("7", "../changes", "wh_" + "x" * 32):
        assert "not a webhook's id" in subscriber.run("webhook:remove", named, code=2).words
    assert registered.requests == []


@pytest.mark.parametrize("moment", ["before", "after"])
def test_add__whose_answer_was_lost__is_not_sent_again(api: ApiTwin, subscriber: Terminal, moment: str) -> None:
    def watch(when: str) -> None:
        if when == moment:
            raise Lost

    api.server.watch = watch
    ran = add(subscriber, code=1)
    assert ran.last["code"] == "api_unreachable"
    assert len(api.paths()) == 1
