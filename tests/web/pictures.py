"""Draws the pictures of docs/web.md anew: a bounty's page in five states, from the ledger of the browser's tests.

``PYTHONPATH=.:deploy/local .local/venv-tests/bin/python -m tests.web.pictures``
"""

import io
import tempfile
from pathlib import Path

from bounty_protocol.domain.money import AmountKind
from PIL import Image

from tests.web.browser_process import browsed
from tests.web.fake_api import GUARDIANS, POSTER, SOLVERS, Ledger, account, page_of
from tests.web.test_browser import case_of, pages_of, served, visit_of
from tests.web.test_pages import STAGES

FOLDER = Path(__file__).parents[2] / "docs/pages"
STATES = {
    "open": "Open for work", "judging": "Being judged", "awarded": "Awarded", "paid": "Awarded",
    "not-awarded": "Not awarded",
}  # fmt: skip
_TITLE = "Fastest parser for RFC 3339 timestamps in pure Python"
_SUMMARY = "A function that parses RFC 3339 timestamps at least three times as fast as strptime."


def main() -> None:
    """Write them."""
    ledger = Ledger()
    for stage in STATES.values():
        bounty = ledger.add()
        STAGES[stage](bounty)
        bounty.page = page_of(title=_TITLE, summary=_SUMMARY, deadline=bounty.deadline)
    paid = ledger.bounties[min(ledger.bounties) + 3]  # type: ignore[index]
    paid.claims = [
        (AmountKind.WINNER_AWARD, SOLVERS[0], 24_000_000),
        (AmountKind.POSTER_REFUND, POSTER, 250_000),
        *((AmountKind.GUARDIAN_FEE, each, 250_000) for each in GUARDIANS[:2]),
        (AmountKind.PROTOCOL_FEE, account("fees"), 250_000),
    ]
    FOLDER.mkdir(exist_ok=True)
    with served(pages_of(ledger)) as origin, tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        cases = [
            case_of(visit_of(name, f"/bounties/{number}"), origin) | {"shot": str(folder / f"{name}.png")}
            for number, name in enumerate(STATES, 1)
        ]
        browsed("visit.mjs", cases, folder)
        for name in STATES:
            with Image.open(folder / f"{name}.png") as picture:
                made = io.BytesIO()
                shown = picture.convert("RGB").crop((0, 0, picture.width, min(1_500, picture.height)))
                shown.quantize(64).save(made, "PNG", optimize=True)
            (FOLDER / f"{name}.png").write_bytes(made.getvalue())


if __name__ == "__main__":
    main()
