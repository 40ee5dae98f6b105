"""The pages with a wallet, in a headless browser of somebody's own, by the texts of their buttons and fields.

The browser keeps what an act left unfinished, so that it goes on when it is tried again.
"""

import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pytest
import urllib3
from local_stack.contract import Wallet
from local_stack.process import StackError
from local_stack.stack import Stack

from tests.e2e.wallet_acts import GO_ON, SEND, SIGN, THOUGH_STILL, UNOPENED
from tests.pages.driver import Browser, Page, TestWallet, browsing, files_below
from tools.market.log import RunLog

_PATIENCE_SECONDS: Final = 15
"""For how long a page may do nothing that can be seen."""
_ALWAYS: Final = (GO_ON, THOUGH_STILL, SIGN, SEND, "Have it sent again")
_NO_WORK: Final = "No valid Submission"

Fields = Mapping[str, Mapping[str, object]]


class PageFailed(Exception):
    """A page did not come to its end; in its words, where it has any."""


@dataclass(frozen=True, slots=True)
class PersonAtPages:
    """Somebody with a wallet, who does one thing after the other."""

    url: str
    wallet: TestWallet = field(repr=False)
    browser: Browser = field(repr=False)
    log: RunLog = field(repr=False)
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def fund(self, page: str) -> None:
        """Publish a challenge page and fund it."""
        self._act("/publish", ("Go on without",), {"Page": {"text": page}}, "has its page in a moment")

    def submit(self, bounty: int, directory: Path, *, is_late: Callable[[], bool]) -> None:
        """Seal a directory and record it, unless it is too late when its turn comes."""
        buttons = ("Submit work", "Go on with it", "Seal it")
        fields = {"Directory with the work": {"files": files_below(directory)}}
        self._act(f"/bounties/{bounty}", buttons, fields, "is recorded", is_late)

    def judge(self, bounty: int, reasons: str, commitment: str | None, *, is_late: Callable[[], bool]) -> None:
        """Record a Verdict for the work with this commitment; without one, that none is valid. As for ``submit``."""
        fields: Fields = {commitment or _NO_WORK: {"tick": True}, "Reasons": {"text": reasons}, **UNOPENED}
        self._act(f"/bounties/{bounty}", ("Judge",), fields, "Your Verdict is recorded", is_late)

    def claim(self, bounty: int) -> None:
        """Claim what the bounty owes this account."""
        self._act(f"/bounties/{bounty}", ("Claim …",), {}, "Paid: ")

    def _act(
        self,
        path: str,
        buttons: tuple[str, ...],
        fields: Fields,
        end: str,
        is_late: Callable[[], bool] = lambda: False,
    ) -> None:
        with self.lock:
            if is_late():
                raise PageFailed(f"{path}: it is too late")
            self._require_shown(path)
            try:
                self._act_on(self.browser.open(self.url + path, self.wallet), path, buttons, fields, end)
            except AssertionError as failed:
                raise PageFailed(f"{path}: {failed}") from None

    def _act_on(self, page: Page, path: str, buttons: tuple[str, ...], fields: Fields, end: str) -> None:
        try:
            page.connect()
            patience = _PATIENCE_SECONDS * 1_000
            done = page.do("act", buttons=(*buttons, *_ALWAYS), fields=fields, ends=[end], patience=patience)
            for finding in page.findings():
                self.log.write("page", "finding", path=path, finding=finding[:500])
            if done["ended"] != end:
                idle = f"nothing happened after {done['presses']} buttons: {page.text('#acting')[-200:]}"
                raise PageFailed(f"{path}: {done['ended'] or idle}")
        finally:
            page.close()

    def _require_shown(self, path: str) -> None:
        """A page that is not there yet would be waited for, and nobody else's act could begin."""
        status = urllib3.request("GET", self.url + path, retries=False, timeout=20.0).status
        if status != 200:
            raise PageFailed(f"{path}: {status}")


def person_at_pages(stack: Stack, wallet: Wallet, folder: Path, log: RunLog, until: ExitStack) -> PersonAtPages:
    """Somebody whose browser is open until ``until`` is closed; ``StackError`` where there can be none."""
    given = TestWallet(wallet.private_key, stack.anvil.url, stack.anvil.chain_id)
    folder.mkdir()
    try:
        browser = until.enter_context(browsing(folder))
        browser.open(str(stack.pages_url)).close()
    except pytest.skip.Exception as skipped:
        raise StackError(str(skipped)) from None
    return PersonAtPages(str(stack.pages_url), given, browser, log)
