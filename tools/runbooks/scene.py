"""Where faults are caused: a stack whose chain is read by two endpoints, one bounty, the people at it, requests."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
import urllib3
from demo.bounty import Cast, Funded, Submitted
from demo.examples import challenge_page
from local_stack.contract import Wallet
from local_stack.postgres import PostgresServer
from local_stack.stack import Stack
from service_cli.library import sign_request

from tests.endpoints import Endpoint
from tests.front_door import FrontDoor
from tools.runbooks.watchtower import Watchtower

ALERT_SECONDS = 240.0
"""How long an expression is waited for, and its end."""
FORMER_SECONDS = 330.0
"""How long an expression that a former fault made hold is waited out: its window, and a little."""


@dataclass(frozen=True, slots=True)
class ExpectedAlert:
    """One alert of a fault: what the first commands have to print, and the expression that says that it is over."""

    alert: str
    prints: str
    over: str
    within: float = ALERT_SECONDS
    """How long the alert's expression is waited for."""
    ahead: float = 0.0
    """Of how many seconds later it is the result: hours in which nothing comes are not waited for."""
    gone: str = ""
    """With ``ahead``: an expression that holds now, since nothing comes."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that goes wrong."""

    words: str
    cause: Callable[["FaultScene"], None]
    repair: Callable[["FaultScene"], None]
    alerts: tuple[ExpectedAlert, ...]
    inside: str | None = None
    """The process in whose pod the runbook is typed."""
    after: Callable[["FaultScene"], None] = lambda _: None
    """What puts the stack back for the next fault, once it is over."""


@dataclass
class FaultScene:
    """A stack with one bounty, the people at it, and requests that go on all the time."""

    cast: Cast
    folder: Path
    bounty: Funded
    left: ExitStack
    endpoints: list[Endpoint]
    """What every process reads the chain by, in the order of its SERVICE_RPC_URLS."""
    front: FrontDoor
    watchtower: Watchtower
    kept: dict[str, str] = field(default_factory=dict)
    kept_events: dict[str, threading.Event] = field(default_factory=dict)
    replica: PostgresServer | None = None
    held: psycopg.Connection | None = None
    """A transaction that keeps others waiting."""
    works: list[tuple[str, str, Path]] = field(default_factory=list)
    """The Submissions that count, each by who typed it, its bounty and its folder."""

    @property
    def stack(self) -> Stack:
        return self.cast.stack

    @contextmanager
    def asked(self) -> Iterator[None]:
        """Somebody reads pages and the API, and asks for an upload, several times a second."""
        ended = threading.Event()

        def keep(ask: Callable[[], object]) -> None:
            while not ended.wait(0.3):
                with suppress(Exception):  # that it fails is what is looked at
                    ask()

        one = f"{self.stack.api_base_url}/api/bounties/{self.bounty.bounty_id}"
        asks: tuple[Callable[[], object], ...] = (
            lambda: urllib3.request("GET", one, retries=False, timeout=20),
            lambda: urllib3.request("GET", self.cast.page_address(self.bounty), retries=False, timeout=20),
            self._ask_for_an_upload,
        )
        threads = [threading.Thread(target=keep, args=(ask,), daemon=True) for ask in asks]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            ended.set()
            for thread in threads:
                thread.join(30)

    def submit(self, bounty: Funded, solver: str) -> Submitted:
        """A Submission that is kept for a fault of what is kept."""
        made = self.cast.submit(bounty, solver)
        self.works.append((solver, bounty.bounty_id, made.directory))
        return made

    def restarted(self, changed: Mapping[str, str], *names: str) -> None:
        """These processes with other variables, as after a change of a ConfigMap or a Secret."""
        self.change(changed, *names)
        for name in names:
            self.stack.services[name].stop()
            self.stack.services[name].restart()

    def change(self, changed: Mapping[str, str], *names: str) -> None:
        """Variables that these processes read when they start next."""
        for name in names:
            self.stack.services[name].environment.update(changed)

    def publish(self, title: str, padding: int = 0, poster: Wallet | None = None) -> int:
        """A page of the Poster's or of another account, so many bytes longer than the example; the answer's status."""
        deadline = self.cast.chain_time() + 9_000
        with TemporaryDirectory() as folder:
            page = challenge_page(Path(folder), submission_deadline=deadline, judging_window_seconds=3_000, title=title)
            body = page.read_bytes() + b"\n" + (b"Text. " * 12 + b"\n") * (padding // 73)
        poster = poster or self.stack.people.poster.wallet
        path = f"/api/bounty-challenge-specs/prepare-publication?poster_address={poster.address}"
        return self.signed(poster, "POST", path, body, "text/markdown").status

    def signed(
        self, wallet: Wallet, method: str, path: str, body: bytes = b"", kind: str = "application/json"
    ) -> urllib3.BaseHTTPResponse:
        """The answer to one signed request to the API."""
        url = self.stack.api_base_url + path
        headers = sign_request(
            method, url, body, rpc_url=self.stack.anvil.url, hub_address=self.stack.hub.hub.address,
            private_key=bytes.fromhex(wallet.private_key.removeprefix("0x")),
        )  # fmt: skip
        headers = {**headers, **({"Content-Type": kind} if body else {})}
        return urllib3.request(method, url, body=body or None, headers=headers, retries=False, timeout=40)

    def _ask_for_an_upload(self) -> None:
        wallet = self.stack.people.solvers[1].wallet
        path = f"/api/bounties/{self.bounty.bounty_id}/submissions/{wallet.address}/artifact-upload-url"
        body = json.dumps({"ciphertext_sha256": "0x" + "11" * 32, "ciphertext_byte_length": 1_000}).encode()
        self.signed(wallet, "POST", path, body)


def standing(series: str) -> str:
    """An expression that holds once a counter has stood still for a quarter of a minute."""
    return f"sum(increase({series}[15s])) == 0"


def nothing(_: FaultScene) -> None:
    """What the runbook's own commands do."""
