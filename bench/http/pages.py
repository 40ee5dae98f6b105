"""The page of a bounty: its size, its statements and its processor time.

The whole application makes it anew, from a real database: what is kept of pages that were made is emptied before each.
"""

import logging
import time
from typing import Final

from bounty_protocol.types import TokenAmount
from local_stack import postgres
from service_api.versions import EXTENSION, version_cache
from service_common import log
from sqlalchemy import Engine, event
from werkzeug.test import run_wsgi_app
from werkzeug.wrappers import Request

from bench.figures import Figure, Report, median
from tests.pages.conftest import OwnClock, Pages
from tests.pages.ledger import ESCROW, NOW, SOLVERS, Ledger, page_of
from tests.pages.test_pages import STAGES
from tests.servers import DatabaseServer

ROUNDS: Final = 5
COUNT: Final = 200
PATH: Final = "/bounties/1"
BODY: Final = "# Task\n\n" + "A paragraph of a task with *some* emphasis and `code`.\n\n- one\n- two\n\n" * 40


def report_page(report: Report) -> None:
    """Measure the page of a decided bounty with reasons."""
    log.configure("bench", logging.ERROR)
    with postgres.start() as server:
        pages = Pages(_ledger(), OwnClock(step=0.0), server=DatabaseServer.on(server))  # what is kept stays kept
        size = len(_made(pages, PATH)) / 1_000
        report(Figure("api.page_bytes", size, "kB", "<= 60, without pictures", size <= 60))
        asked: list[str] = []
        event.listen(
            Engine, "before_cursor_execute", lambda _connection, _cursor, statement, *_: asked.append(statement)
        )
        _made(pages, PATH)
        report(Figure("api.page_statements", len(asked), "statements", "<= 6", len(asked) <= 6))
        spent = median([_spent(pages) for _ in range(ROUNDS)]) * 1_000
        report(Figure("api.page_cpu", spent, "ms", "<= 10", spent <= 10))
        pages.close()


def _ledger() -> Ledger:
    """Return a full page of bounties in every stage."""
    ledger = Ledger()
    for number in range(20):
        summary = "A function that parses timestamps at least three times as fast as the one that everybody uses. " * 3
        page = page_of(title=f"A fast parser, part {number}", summary=summary, body=BODY)
        bounty = ledger.add(page=page, escrow=TokenAmount(ESCROW * (number + 1)), deadline=NOW + 3_600)
        list(STAGES.values())[(number + 4) % len(STAGES)](bounty)  # the first one is decided, with reasons
        bounty.submitted = list(SOLVERS)
    return ledger


def _made(pages: Pages, path: str) -> bytes:
    """Return a page, made anew."""
    pages.app.extensions[EXTENSION] = version_cache(pages.clock)
    body, status, _ = run_wsgi_app(pages.app, Request.from_values(path).environ, buffered=True)
    if status != "200 OK":
        raise RuntimeError(f"{path} was answered with {status}")
    return b"".join(body)


def _spent(pages: Pages) -> float:
    """Return seconds of processor time of one page."""
    began = time.process_time()
    for _ in range(COUNT):
        _made(pages, PATH)
    return (time.process_time() - began) / COUNT
