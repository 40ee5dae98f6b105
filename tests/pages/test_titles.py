"""Titles of strangers on the pages, measured in a browser at three widths: each keeps to its box, and is whole where it
is what people write.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import Any

import pytest

from tests import campaign
from tests.pages.browser_process import browsed
from tests.pages.ledger import POSTER, Ledger, page_of
from tests.pages.test_browser import pages_of, served
from tests.titles import HOSTILE, LEGITIMATE

WIDTHS = (360, 768, 1280)
LIST, PERSON = "/?show=all", f"/people/{POSTER}"
SHOWN = 20
"""Bounties that a list shows."""


def ledger_of(titles: Mapping[str, str], times: int) -> Ledger:
    """A bounty for each title, which is its summary, too, so many times."""
    ledger = Ledger()
    for title in titles.values():
        ledger.add(page=page_of(title=title, summary=" ".join([title] * times)[:900]))
    return ledger


def some(titles: Mapping[str, str], first: int) -> dict[str, str]:
    return dict(list(titles.items())[first : first + SHOWN])


USUAL = [some(LEGITIMATE, 0), some(LEGITIMATE, SHOWN)]
BOUNTIES = [f"/bounties/{list(HOSTILE).index(name) + 1}" for name in ("Thai marks of many kinds", "wide signs")]


def hostile_visits() -> Iterator[tuple[str, int]]:
    yield from ((LIST, width) for width in WIDTHS)
    yield from ((path, 360) for path in (PERSON, *BOUNTIES))
    if campaign.FULL:
        others = [f"/bounties/{number}" for number in range(1, len(HOSTILE) + 1)]
        yield from ((path, width) for path in (PERSON, *others) for width in WIDTHS[1:])


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What one browser measured, by the address's path and the width."""
    with ExitStack() as servers:
        hostile = servers.enter_context(served(pages_of(ledger_of(HOSTILE, 5))))
        usual = [servers.enter_context(served(pages_of(ledger_of(each, 1)))) for each in USUAL]
        cases = [{"name": f"{path} {width}", "url": hostile + path, "width": width} for path, width in hostile_visits()]
        cases += [
            {"name": f"usual {number}", "url": origin + LIST, "width": 1280, "unclipped": True}
            for number, origin in enumerate(usual)
        ]
        found = browsed("boxes.mjs", cases, tmp_path_factory.mktemp("browser"))
    return {line["name"]: line for line in map(json.loads, found.splitlines())}


@pytest.mark.parametrize(("path", "width"), list(hostile_visits()))
def test_piled_titles_stay_in_their_boxes(measured: dict[str, dict[str, Any]], path: str, width: int) -> None:
    seen = measured[f"{path} {width}"]
    assert seen["titles"]
    assert (seen["wide"], seen["inkOutside"]) == (0, False)
    own_page, in_a_list = 12, 2
    assert seen["lines"] <= (own_page if path.startswith("/bounties/") else in_a_list)


@pytest.mark.parametrize("number", range(len(USUAL)))
def test_usual_titles_are_whole(measured: dict[str, dict[str, Any]], number: int) -> None:
    seen = measured[f"usual {number}"]
    assert set(seen["titles"]) == set(USUAL[number].values())
    assert (seen["wide"], seen["inkOutside"], seen["lines"]) == (0, False, 1)
