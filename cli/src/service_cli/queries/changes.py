"""The final events of the Hub, of every bounty, followed as the API's feed of changes shows them."""

import time
from typing import NoReturn

from bounty_protocol.wire.changes import MAX_LIMIT, ChangeList
from bounty_protocol.wire.values import Finality

from service_cli.api import api_of
from service_cli.config.settings import Settings
from service_cli.errors import CommandFailed
from service_cli.queries.events import FinalChange
from service_cli.queries.watch import POLL_SECONDS, Outage
from service_cli.ui.output import emit


def watch_changes(settings: Settings) -> NoReturn:
    """Run the command ``bounty:watch`` without a bounty: print each final event so far and from now on, in order.

    An event that is not final yet delays those after it. It ends only with an error that lasts.
    """
    api, after, outage = api_of(settings), 0, Outage()
    while True:
        try:
            query = {"after": str(after), "limit": str(MAX_LIMIT)}
            page = api.get("/api/changes", query).read(ChangeList)
            outage.end()
        except CommandFailed as failure:
            outage.note(failure)
            time.sleep(outage.pause)
            continue
        for change in page.items:
            event = change.event  # none of what a reorg took back
            if event is not None and event.finality is not Finality.FINALIZED:
                break
            after = change.number
            if event is not None:
                place = (event.block_number, event.block_hash, event.log_index, event.tx_hash, event.time)
                emit(FinalChange(after, event.name, event.bounty_id, event.fields, *place))
        else:
            after = page.next_after
            if page.has_more:
                continue
        time.sleep(POLL_SECONDS)
