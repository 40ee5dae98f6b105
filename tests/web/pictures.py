"""Draws the pictures of docs/web.md anew: a bounty's page in five states, from the ledger of the browser's tests.

``PYTHONPATH=.:deploy/local .local/venv-tests/bin/python -m tests.web.pictures``
"""

import io
import re
import tempfile
from pathlib import Path

from bounty_protocol.domain.money import AmountKind
from demo.examples import EXAMPLES
from PIL import Image

from tests.web.browser_process import browsed
from tests.web.fake_api import GUARDIANS, POSTER, SOLVERS, Bounty, Ledger, account
from tests.web.test_browser import case_of, pages_of, served, visit_of
from tests.web.test_pages import STAGES

FOLDER = Path(__file__).parents[2] / "docs/pages"
STATES = {
    "open": "Open for work", "judging": "Being judged", "awarded": "Awarded", "paid": "Awarded",
    "not-awarded": "Not awarded",
}  # fmt: skip
_REASONS = (
    "`bench.py` prints 3.4 on CPython 3.11, the middle of three runs on one core. All 1,000 timestamps agree.\n",
    "Ratio 3.3 here. Each of the 20 malformed ones raises `ValueError`; no dependency.\n",
)
"""Of those who awarded it."""


def main() -> None:
    """Write them."""
    ledger = Ledger()
    for stage in STATES.values():
        bounty = ledger.add()
        STAGES[stage](bounty)
        bounty.page = _example_page(bounty)
        _give_reasons(bounty)
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


def _example_page(bounty: Bounty) -> bytes:
    """The page of examples, with the terms of this bounty."""
    page = (EXAMPLES / "bounty_challenge.md").read_text(encoding="utf-8")
    terms = {"submission_deadline": bounty.deadline, "judging_window_seconds": bounty.window}
    for name, value in {**terms, "escrow_amount": bounty.escrow}.items():
        page = re.sub(rf"(?m)^{name}: .*$", f"{name}: {value}", page)
    return page.encode()


def _give_reasons(bounty: Bounty) -> None:
    recorded, bounty.verdicts = bounty.verdicts, []
    for each, reasons in zip(recorded, _REASONS, strict=False):
        bounty.judge(GUARDIANS.index(each.guardian), each.kind, each.solver, reasons, at=each.at)


if __name__ == "__main__":
    main()
