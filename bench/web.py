"""The pages: their size, and what a page costs; how large the scripts of wallets are, and how fast a browser seals with
them.

The whole application makes each page anew, from a real database: what it keeps of pages that it has made is emptied
before each. The figure is processor time of this process.
"""

import json
import logging
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final
from wsgiref.types import StartResponse

from bounty_protocol.types import TokenAmount
from local_stack import postgres
from service_common import log
from service_common.web.versions import EXTENSION, version_cache
from werkzeug.test import run_wsgi_app
from werkzeug.wrappers import Request

from bench.figures import Figure, Report, median
from tests.clients.package import built, run_node
from tests.clients.test_actions import compressed_sizes
from tests.clients.test_typescript import BrowserMissing, seal_in_browser
from tests.pages.browser_process import browsed
from tests.pages.conftest import OwnClock, Pages
from tests.pages.ledger import ESCROW, NOW, SOLVERS, Ledger, page_of
from tests.pages.test_browser import served
from tests.pages.test_pages import STAGES
from tests.servers import DatabaseServer

ROUNDS: Final = 5
COUNT: Final = 200
MAX_KB: Final = 60.0
MAX_MS: Final = 30.0
MAX_PAINT: Final = 1.2
SEALED_MB: Final = 100
PROGRAMS_KB: Final = {"reading": 90, "signing": 95, "sealing": 220}
"""Set from what dependencies weigh in November 2026: 79, 84 and 205."""
BODY: Final = "# Task\n\n" + "A paragraph of a task with *some* emphasis and `code`.\n\n- one\n- two\n\n" * 40
PATHS: Final = {
    "list": "/?show=all",
    "search": "/?show=all&search=parser&sort=award&min_award=1",
    "bounty": "/bounties/1",
}


def run(report: Report) -> None:
    """Measure the group."""
    log.configure("bench", logging.ERROR)
    with postgres.start() as server:
        pages = Pages(_ledger(), OwnClock(step=0.0), server=DatabaseServer.on(server))  # what is kept stays kept
        _measured(report, pages)
        _painted(report, pages)
        pages.close()
    acting, _ = compressed_sizes()
    report(Figure("web.script", acting / 1_000, "kB", "<= 125 compressed", acting <= 125_000))
    _programs(report)
    _seal(report)


def _measured(report: Report, pages: Pages) -> None:
    for name, path in PATHS.items():
        size = len(_made(pages, path)) / 1_000
        report(Figure(f"web.{name}_bytes", size, "kB", f"<= {MAX_KB:.0f}, without pictures", size <= MAX_KB))
        spent = median([_spent(pages, path) for _ in range(ROUNDS)]) * 1_000
        report(Figure(f"web.{name}_cpu", spent, "ms", f"<= {MAX_MS:.0f}", spent <= MAX_MS))


def _painted(report: Report, pages: Pages) -> None:
    """When the largest part of a page is painted on a slow phone (tests/pages/browser/lcp.mjs), served by one process.

    The reference is a page of one line without a stylesheet.
    """
    with served(pages.app) as origin, served(_one_line) as other, TemporaryDirectory() as folder:
        cases = [{"name": name, "url": origin + path} for name, path in PATHS.items()]
        cases.append({"name": "line", "url": other})
        lines = browsed("lcp.mjs", cases, Path(folder)).splitlines()
    seconds = {found["name"]: found["painted"] / 1_000 for found in map(json.loads, lines)}
    for name in PATHS:
        is_met = seconds[name] <= MAX_PAINT
        goal = f"<= {MAX_PAINT} on a slow phone"
        report(Figure(f"web.{name}_lcp", seconds[name], "s", goal, is_met, "a line of text", seconds["line"]))


def _one_line(_environ: object, start: StartResponse) -> list[bytes]:
    start("200 OK", [("Content-Type", "text/html")])
    return [b"<!doctype html><title>x</title><p>One line of text."]


def _programs(report: Report) -> None:
    """Bytes that a program of its own loads of the TypeScript client, tree-shaken, by brotli.

    The reference is the dependencies' part of it, by their share of the minified bytes.
    """
    sizes: dict[str, dict[str, int]] = json.loads(run_node(built() / "test/sizes.mjs"))
    for name, most in PROGRAMS_KB.items():
        size, dependencies, own = (sizes[name][part] for part in ("brotli", "dependencies", "own"))
        reference = size * dependencies / (dependencies + own)
        is_met = size <= most * 1_000 and size <= 1.1 * reference
        goal = f"<= {most}, ratio <= 1.1"
        report(Figure(f"typescript.{name}", size / 1_000, "kB", goal, is_met, "its dependencies", reference / 1_000))


def _seal(report: Report) -> None:
    """A file sealed in a headless browser as the pages do: read, encrypted, hashed and written on the way.

    The reference is the same without WebAssembly.
    """
    try:
        with TemporaryDirectory() as folder:
            answer = seal_in_browser(Path(folder), SEALED_MB, SEALED_MB)
    except BrowserMissing as missing:
        report(Figure("web.seal", 0.0, "MB/s", f"NOT RUN: {missing}", None))
        return
    rate, reference = (SEALED_MB * 1.048576 / answer[each]["sealSeconds"] for each in ("compiled", "plain"))
    grown = answer["compiled"]["kilobytes"]["sealing"] / 1_000
    goal = f">= 60 in headless Chromium, which grew by {grown:.0f} MB here"
    report(Figure("web.seal", rate, "MB/s", goal, rate >= 60, "without WebAssembly", reference))


def _ledger() -> Ledger:
    """A full page of bounties in every stage."""
    ledger = Ledger()
    for number in range(20):
        summary = "A function that parses timestamps at least three times as fast as the one that everybody uses. " * 3
        page = page_of(title=f"A fast parser, part {number}", summary=summary, body=BODY)
        bounty = ledger.add(page=page, escrow=TokenAmount(ESCROW * (number + 1)), deadline=NOW + 3_600)
        list(STAGES.values())[(number + 4) % len(STAGES)](bounty)  # the first one is decided, with reasons
        bounty.submitted = list(SOLVERS)
    return ledger


def _made(pages: Pages, path: str) -> bytes:
    """A page, made anew."""
    pages.app.extensions[EXTENSION] = version_cache(pages.clock)
    body, status, _ = run_wsgi_app(pages.app, Request.from_values(path).environ, buffered=True)
    if status != "200 OK":
        raise RuntimeError(f"{path} was answered with {status}")
    return b"".join(body)


def _spent(pages: Pages, path: str) -> float:
    """Seconds of processor time of one page."""
    began = time.process_time()
    for _ in range(COUNT):
        _made(pages, path)
    return (time.process_time() - began) / COUNT
