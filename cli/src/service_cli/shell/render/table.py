"""The text of each event, by the event's name, from the module of its command's role.

A new event gets a function and a line of ``TEXTS`` in such a module; a new command's prefix gets its line here. Only
the module of the command that runs is imported.
"""

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Final

from service_cli.shell.about import About
from service_cli.shell.render.fields import Fields
from service_cli.shell.render.screen import Screen, Shown

Text = Callable[[Fields, About, Screen], Iterable[Shown]]

MODULES: Final = {
    "publish_fund": "poster",
    "poster_new": "poster",
    "poster_check": "poster",
    "open_winning_submission": "poster",
    "spec_commitment": "poster",
    "submit": "solver",
    "claim": "solver",
    "guardian_judgeable": "guardian",
    "guardian_open": "guardian",
    "guardian_forget": "guardian",
    "guardian_verdict": "guardian",
    "guardian_deliver_key": "guardian",
    "guardian_new_key": "guardian",
    "guardian_keys": "guardian",
    "guardian_heartbeat": "guardian",
    "guardian_claim_fee": "guardian",
    "bounty_list": "bounties",
    "bounty_show": "page",
    "bounty_watch": "bounties",
    "verification_record": "bounties",
    "webhook_add": "webhook",
    "webhook_list": "webhook",
    "webhook_test": "webhook",
    "webhook_rotate": "webhook",
    "webhook_remove": "webhook",
    "config": "machine",
    "doctor": "machine",
    "status": "machine",
    "service_audit": "machine",
}
"""By the prefix of a command's events."""


def texts_of(prefix: str) -> dict[str, Text]:
    """The texts of the module that has a command's events; ``KeyError`` for an unknown command."""
    found: dict[str, Text] = import_module(f"service_cli.shell.render.{MODULES[prefix]}").TEXTS
    return found


def text_of(name: str) -> Text:
    """What puts an event into text; ``KeyError`` where nothing does."""
    return texts_of(name.partition(".")[0])[name]
