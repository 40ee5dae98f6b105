"""Every page in a real browser, narrow and wide, light and dark; and hostile pages with the policy on and off.

The browser comes from npm, pinned, and runs with the Node of the test environment. A machine that can have neither
states so and is not counted as passed.
"""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from wsgiref.types import StartResponse, WSGIApplication

import pytest
from bounty_protocol.domain.lifecycle.states import VerdictKind
from bounty_protocol.domain.money.amounts import AmountKind
from werkzeug.serving import make_server

from tests import campaign
from tests.pages.browser_process import browsed
from tests.pages.conftest import OwnClock, Pages
from tests.pages.hostile_markdown import CASES, LARGE
from tests.pages.ledger import GUARDIANS, NOW, POSTER, SOLVERS, Ledger, page_of
from tests.pages.test_pages import STAGES
from tests.serving import serving

LOOKS = [(width, theme) for width in (360, 1280) for theme in ("light", "dark")]
SHOWN_LARGE = ("a wide table", "one word", "a picture in text", "headings")
REFUSED = {*map(chr, range(9)), *map(chr, range(0x0B, 0x20)), "\u2028", "\u2029", "\ufeff"}
"""Characters with which a page is no page, and is shown as text: not what is tried here."""
LONG = "Pneumonoultramicroscopicsilicovolcanoconiosis" * 4


@dataclass(frozen=True)
class Visit:
    """One page in one look."""

    name: str
    path: str
    width: int
    theme: str
    bypass: bool = False
    axe: bool = True


BAD = Visit("bad", "/", 360, "light")


def lived() -> Ledger:
    """Bounties in every stage, and hostile ones."""
    ledger = Ledger()
    for label, change in STAGES.items():
        change(ledger.add(page=page_of(title=f"A bounty that is: {label}")))
    decided = ledger.bounties[max(ledger.bounties) - 1]  # type: ignore[index]
    decided.claims = [(AmountKind.WINNER_AWARD, SOLVERS[0], 24_000_000)]
    decided.judge(2, VerdictKind.NO_VALID_SUBMISSION, None, "# None\n\n| a | b |\n|-|-|\n| 1 | 2 |\n", at=NOW - 310)
    return ledger


def hostile() -> Ledger:
    """One bounty with the whole corpus, and one for each large case that a page shows."""
    ledger = Ledger()
    corpus = "".join(each for each in "\n\n".join(CASES.values()) if each not in REFUSED)
    ledger.add(page=page_of(body=corpus, title="<img src=x onerror=alert(1)> " + LONG[:150], summary=corpus[:900]))
    for name in SHOWN_LARGE:
        ledger.add(page=page_of(body=LARGE[name][:200_000], title=LONG[:190], summary=LONG * 5))
    return ledger


def bad(_environ: object, start: StartResponse) -> Iterable[bytes]:
    """A page with one of each thing that a finding is, so that a browser that finds nothing is noticed."""
    start("200 OK", [("Content-Type", "text/html")])
    html = (
        b"<html><title>x</title><img src=https://attacker.example/a.png><div style=width:3000px>x</div>"
        b"<iframe srcdoc=x></iframe><script>document.cookie='a=b';console.log('c');alert(1);throw Error('e')</script>"
    )
    return [html]


def pages_of(ledger: Ledger) -> WSGIApplication:
    """The pages of a ledger."""
    return Pages(ledger, OwnClock(step=0.0)).app


@contextmanager
def served(app: WSGIApplication) -> Iterator[str]:
    """The origin of an app."""
    server = make_server("127.0.0.1", 0, app, threaded=True)
    with serving(server):
        yield f"http://127.0.0.1:{server.server_port}"


def visits() -> Iterator[Visit]:
    paths = ["/", "/?show=all", "/?min_award=x&until=tomorrow&poster=0x12&sort=best", "/?search=that&sort=award"]
    paths += [f"/people/{POSTER}", f"/people/{GUARDIANS[0]}", "/guardians", "/deployment"]
    paths += ["/how-it-works", "/glossary", "/publish"]
    for number, path in enumerate(paths + [f"/bounties/{number}" for number in range(1, len(STAGES) + 1)]):
        for width, theme in LOOKS:
            is_chosen = ((width, theme) in LOOKS[::3]) == bool(number % 2)
            if is_chosen or campaign.FULL:
                yield Visit(f"{path} {width} {theme}", path, width, theme)


def hostile_visits() -> Iterator[Visit]:
    for number in range(1, len(SHOWN_LARGE) + 2):
        for bypass in (False, True) if number == 1 else (False,):
            yield Visit(f"hostile {number} {bypass}", f"/bounties/{number}", 360, "light", bypass, axe=number == 1)
    yield Visit("hostile list", "/?show=all", 360, "dark", bypass=True)


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What one browser found, by visit."""
    with served(pages_of(lived())) as usual, served(pages_of(hostile())) as attacked, served(bad) as broken:
        cases = [case_of(each, usual) for each in visits()] + [case_of(each, attacked) for each in hostile_visits()]
        cases.append(case_of(BAD, broken))
        done = browsed("visit.mjs", cases, tmp_path_factory.mktemp("browser"))
    found = {}
    for line in done.splitlines():
        seen = json.loads(line)
        found[seen["name"]] = seen["findings"]
    assert set(found) == {case["name"] for case in cases}
    return found


def case_of(visit: Visit, origin: str) -> dict[str, Any]:
    """What ``visit.mjs`` reads."""
    return {
        "name": visit.name, "url": origin + visit.path, "width": visit.width, "theme": visit.theme,
        "bypass": visit.bypass, "axe": visit.axe,
    }  # fmt: skip


@pytest.mark.parametrize("visit", list(visits()), ids=lambda visit: visit.name)
def test_page__in_a_browser__shows_nothing_wrong(visit: Visit, findings: dict[str, list[str]]) -> None:
    assert findings[visit.name] == []


def test_corpus_is_rendered_as_a_page() -> None:
    html = Pages(hostile(), OwnClock(step=0.0)).get("/bounties/1").get_data(as_text=True)
    assert html.count('class="picture"') > 5
    assert "Acceptance criteria" in html
    assert "&lt;script" in html.partition('class="lead"')[2].partition("</p>")[0]


@pytest.mark.parametrize("visit", list(hostile_visits()), ids=lambda visit: visit.name)
def test_hostile_page_runs_and_loads_nothing(visit: Visit, findings: dict[str, list[str]]) -> None:
    assert findings[visit.name] == []


def test_bad_page_is_found_wrong_in_every_way(findings: dict[str, list[str]]) -> None:
    kinds = {found.partition(":")[0].partition(" by ")[0] for found in findings["bad"]}
    wanted = {"console", "error", "dialog", "request", "axe", "wider than the window", "cookies", "not loaded"}
    assert wanted <= kinds
    assert "1 frames" in kinds
