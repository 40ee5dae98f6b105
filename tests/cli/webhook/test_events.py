"""Webhooks as text."""

from service_cli.shell.items import Field
from service_cli.shell.render.screen import Screen

from tests.cli.event_kinds import made


def test_webhook__that_fails__shows_its_times_as_every_other_command() -> None:
    fields: dict[str, object] = {
        "webhook_id": "wh_" + "a" * 32,
        "url": "https://receiver.example",
        "account_address": None,
        "bounty_id": None,
        "all_bounties": True,
        "finality": "finalized",
        "state": "pending",
        "created_at": "2026-11-20T13:12:56Z",
        "last_attempt_at": "2026-11-21T13:12:56Z",
        "last_success_at": None,
        "last_result": "unreachable",
        "last_status": None,
        "failure_count": 1,
        "failing_since": "2026-11-21T13:12:56Z",
        "next_attempt_at": "2026-11-21T13:14:00Z",
    }
    shown = made("webhook_list.webhook", fields).text(Screen(None, colours=False, now=1_795_266_781))
    facts = {item.label: item.text for item in shown if isinstance(item, Field)}
    assert facts["Last success"] == "none yet"
    assert facts["Failing"] == "1 time in a row since 2026-11-21 13:12:56 UTC (5 s ago): unreachable"
    assert facts["Next attempt"] == "2026-11-21 13:14:00 UTC (in 59 s)"
