"""The final events of the Hub, of every bounty, followed as the API's feed of changes shows them."""

import time
from typing import NoReturn

from bounty_protocol.wire.changes import MAX_LIMIT, Change, ChangeList
from bounty_protocol.wire.values import Finality

from service_cli.api import ApiClient, api_of
from service_cli.config.settings import Settings
from service_cli.errors import CommandFailed
from service_cli.queries.events import FinalChange
from service_cli.queries.watch import POLL_SECONDS, Outage
from service_cli.ui.output import emit


def watch_changes(settings: Settings) -> NoReturn:
    """The command ``bounty:watch`` without a bounty: each final event so far and from now on, in order.

    An event that is not final yet holds back those after it. Ends only by an error that lasts.
    """
    api, after, outage = api_of(settings), 0, Outage()
    while True:
        try:
            page = _page(api, after)
            outage.end()
        except CommandFailed as failure:
            outage.note(failure)
            time.sleep(outage.pause)
            continue
        for change in page.items:
            if not _is_settled(change):
                break
            after = change.number
            _print_change(change)
        else:
            after = page.next_after
            if page.has_more:
                continue
        time.sleep(POLL_SECONDS)


def _page(api: ApiClient, after: int) -> ChangeList:
    return api.get("/api/changes", {"after": str(after), "limit": str(MAX_LIMIT)}).read(ChangeList)


def _is_settled(change: Change) -> bool:
    """Whether no reorg can take it back any more; what one took back is in the feed no longer."""
    return change.event is None or change.event.finality is Finality.FINALIZED


def _print_change(change: Change) -> None:
    event = change.event
    if event is not None:
        emit(
            FinalChange(
                change.number,
                event.name,
                event.bounty_id,
                event.fields,
                event.block_number,
                event.block_hash,
                event.log_index,
                event.tx_hash,
                event.time,
            )
        )
