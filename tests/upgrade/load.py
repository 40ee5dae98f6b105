"""People who go on working while the service is replaced under them: public reads, signed requests, publications.

Every request goes to each api that is in turn, as a load balancer sends them; one that is taken out gets no
further request, and is answered what it has. Whatever is not answered 200 is kept.
"""

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import urllib3
from demo.bounty import Funded, Submitted
from demo.examples import EXAMPLES
from local_stack.contract import Wallet
from local_stack.stack import Stack
from service_cli.library import sign_request

PAUSE_SECONDS = 0.05
PATIENCE_SECONDS = 30.0
PUBLISH = "/api/bounty-challenge-specs/prepare-publication"
Asked = tuple[str, str, bytes, dict[str, str]]
"""Method, path with query, body, headers."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A request that was not answered 200."""

    api: str
    route: str
    status: int
    words: str


@dataclass
class Load:
    """The requests, and where they go. ``apis`` maps a name to an address."""

    stack: Stack
    bounty: Funded
    submitted: Submitted
    apis: dict[str, str]
    failures: list[Failure] = field(default_factory=list)
    answered: Counter[tuple[str, str]] = field(default_factory=Counter)
    _http: urllib3.PoolManager = field(default_factory=lambda: urllib3.PoolManager(maxsize=8, retries=False))
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _ended: threading.Event = field(default_factory=threading.Event)
    _titles: Iterator[int] = field(default_factory=lambda: iter(range(1_000_000)))

    @contextmanager
    def going(self) -> Iterator[None]:
        """Ask and ask for the length of a with statement."""
        groups = ((self.detail, self.graphql, self.challenges), (self.content, self.upload_url), (self.publication,))
        threads = [threading.Thread(target=self._keep_asking, args=(routes,)) for routes in groups]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._ended.set()
            for thread in threads:
                thread.join()

    def go_on(self, times: int = 2) -> None:
        """Return when every api has answered every route so many times from now on; raise what failed."""
        with self._lock:
            self.answered.clear()
        ends = time.monotonic() + 60
        while True:
            assert self.failures == [], self.failures
            with self._lock:
                routes = {route for _, route in self.answered}
                least = min((self.answered[api, route] for api in self.apis for route in routes), default=0)
            if least >= times and len(routes) == 6:
                return
            assert time.monotonic() < ends, self.answered
            time.sleep(0.05)

    def _keep_asking(self, routes: tuple[Callable[[], Asked], ...]) -> None:
        while not self._ended.is_set():
            for route in routes:
                for api, address in list(self.apis.items()):
                    self._ask(route, api, address)
            time.sleep(PAUSE_SECONDS)

    def _ask(self, route: Callable[[], Asked], api: str, address: str) -> None:
        name = route.__name__
        status, words = 0, ""
        try:
            method, path, body, headers = route()
            answer = self._http.request(
                method, address + path, body=body or None, headers=headers, timeout=PATIENCE_SECONDS
            )
            status, words = answer.status, answer.data.decode(errors="replace")[:500]
        except (urllib3.exceptions.HTTPError, OSError) as error:
            words = repr(error)
        with self._lock:
            self.answered[api, name] += 1
            if status != 200:
                self.failures.append(Failure(api, name, status, words))

    # ---------------------------------------------------------------- the requests

    def detail(self) -> Asked:
        return "GET", f"/api/bounties/{self.bounty.bounty_id}", b"", {}

    def challenges(self) -> Asked:
        return "GET", "/api/bounties?limit=5", b"", {}

    def graphql(self) -> Asked:
        body = b'{"query": "{ _meta { block { number } } }"}'
        return "POST", "/subgraph", body, {"Content-Type": "application/json"}

    def content(self) -> Asked:
        path = f"/api/bounties/{self.bounty.bounty_id}/submissions/{self.submitted.commitment}/content"
        return self._signed(self.stack.people.poster.wallet, "GET", path)

    def upload_url(self) -> Asked:
        wallet = self.stack.people.solvers[1].wallet
        path = f"/api/bounties/{self.bounty.bounty_id}/submissions/{wallet.address}/artifact-upload-url"
        body = json.dumps({"ciphertext_sha256": "0x" + "11" * 32, "ciphertext_byte_length": 1_000}).encode()
        return self._signed(wallet, "POST", path, body, "application/json")

    def publication(self) -> Asked:
        """A page that nobody published before, so that it is reviewed."""
        poster = self.stack.people.poster
        lines = (EXAMPLES / "bounty_challenge.md").read_text(encoding="utf-8").splitlines(keepends=True)
        changed = {
            "title": f"Page {next(self._titles)} of an upgrade",
            "submission_deadline": str(int(time.time()) + 3_000),
            "judging_window_seconds": "3000",
        }
        page = "".join(_with(line, changed) for line in lines).encode()
        return self._signed(poster.wallet, "POST", f"{PUBLISH}?poster_address={poster.address}", page, "text/markdown")

    def _signed(self, wallet: Wallet, method: str, path: str, body: bytes = b"", kind: str = "") -> Asked:
        """Signed for the public host, whichever api behind it gets the request."""
        headers = sign_request(
            method, self.stack.api_base_url + path, body,
            rpc_url=self.stack.anvil.url, hub_address=self.stack.hub.hub.address,
            private_key=bytes.fromhex(wallet.private_key.removeprefix("0x")),
        )  # fmt: skip
        return method, path, body, {**headers, **({"Content-Type": kind} if kind else {})}


def _with(line: str, changed: Mapping[str, str]) -> str:
    name = line.partition(":")[0]
    return f"{name}: {changed[name]}\n" if name in changed else line
