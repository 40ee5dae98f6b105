"""A whole running stack with work in it, whose dependencies the drills take away, and the requests they ask."""

import json
import secrets
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

import psutil
import urllib3
from demo.bounty import Cast, Funded, Submitted
from demo.examples import challenge_page
from local_stack.contract import Wallet
from local_stack.stack import Stack, running_stack
from service_cli.library import sign_request

from tests.fakes.model import ModelTwin
from tests.proxy import Proxy, proxies

REVIEW_WAIT_SECONDS = 8
PATIENCE_SECONDS = 20.0
"""How long a client waits for an answer; none may take longer, whatever is away."""
RECOVERY_SECONDS = 60.0
Answer = tuple[int, str]
"""Status, and the code of an error."""


@dataclass(frozen=True, slots=True)
class Scene:
    """A stack with one open bounty and a Submission; its api reaches each thing through a proxy of its own."""

    stack: Stack
    bounty: Funded
    submitted: Submitted
    proxies: Mapping[str, Proxy]
    """``postgres``, ``valkey``, ``rpc``, ``storage``, ``beacon``, ``delivery`` and ``provider``, which is the
    reviewer's."""
    twin: ModelTwin
    cast: Cast

    def ask(self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None) -> Answer:
        """One request to the public API, with a body as JSON."""
        sent = {**({"Content-Type": "application/json"} if body else {}), **(headers or {})}
        answer = urllib3.request(
            method, self.stack.api_base_url + path, body=body or None, headers=sent,
            retries=False, timeout=PATIENCE_SECONDS,
        )  # fmt: skip
        return answer.status, json.loads(answer.data)["error"]["code"] if answer.status >= 400 else ""

    def publication(self) -> Answer:
        """A page that nobody published before, by the Poster."""
        poster, deadline = self.stack.people.poster, int(time.time()) + 3_000
        with TemporaryDirectory() as folder:
            title = f"Page {secrets.token_hex(8)}"
            page = challenge_page(Path(folder), submission_deadline=deadline, judging_window_seconds=3_000, title=title)
            body = page.read_bytes()
        path = f"/api/bounty-challenge-specs/prepare-publication?poster_address={poster.address}"
        headers = {**self._approval(path, poster.wallet, "POST", body), "Content-Type": "text/markdown"}
        return self.ask("POST", path, body, headers)

    def deployment(self) -> Answer:
        return self.ask("GET", "/api/deployment")

    def alive(self) -> Answer:
        return self.ask("GET", "/healthz")

    def detail(self) -> Answer:
        return self.ask("GET", f"/api/bounties/{self.bounty.bounty_id}")

    def graphql(self) -> Answer:
        return self.ask("POST", "/subgraph", b'{"query": "{ _meta { block { number } } }"}')

    def delivery_status(self) -> Answer:
        path = f"/api/bounties/{self.bounty.bounty_id}/delivery/status"
        return self.ask("GET", f"{path}?submission_commitment={self.submitted.commitment}")

    def content(self) -> Answer:
        """A signed read by the Poster; signed again for each attempt, over the chain as it was last seen."""
        path = f"/api/bounties/{self.bounty.bounty_id}/submissions/{self.submitted.commitment}/content"
        return self.ask("GET", path, headers=self._approval(path))

    def upload_url(self) -> Answer:
        """A signed request by a Solver, which asks the storage what is there already."""
        wallet = self.stack.people.solvers[1].wallet
        path = f"/api/bounties/{self.bounty.bounty_id}/submissions/{wallet.address}/artifact-upload-url"
        body = json.dumps({"ciphertext_sha256": "0x" + "11" * 32, "ciphertext_byte_length": 1_000}).encode()
        return self.ask("POST", path, body, self._approval(path, wallet, "POST", body))

    def _approval(
        self, path: str, wallet: Wallet | None = None, method: str = "GET", body: bytes = b""
    ) -> dict[str, str]:
        wallet = wallet or self.stack.people.poster.wallet
        return sign_request(
            method, self.stack.api_base_url + path, body,
            rpc_url=self.stack.anvil.url, hub_address=self.stack.hub.hub.address,
            private_key=bytes.fromhex(wallet.private_key.removeprefix("0x")),
        )  # fmt: skip

    def through_proxies(self) -> dict[str, str]:
        """What the api is told so that it reaches everything through its proxies."""
        api, far = self.stack.services["api"].environment, self.proxies
        secret = self.stack.runtime.secret
        database, redis = (Path(api[f"SERVICE_{name}_URL_FILE"]).read_text() for name in ("DATABASE", "REDIS"))
        return {
            "SERVICE_DATABASE_URL_FILE": str(secret("secrets/api.far-database", far["postgres"].url(database))),
            "SERVICE_REDIS_URL_FILE": str(secret("secrets/api.far-redis", far["valkey"].url(redis))),
            "SERVICE_RPC_URLS": far["rpc"].url(api["SERVICE_RPC_URLS"]),
            "SERVICE_STORAGE_ENDPOINT": far["storage"].url(api["SERVICE_STORAGE_ENDPOINT"]),
            "SERVICE_BEACON_URLS": far["beacon"].url(api["SERVICE_BEACON_URLS"]),
            "SERVICE_DELIVERY_URL": far["delivery"].url(api["SERVICE_DELIVERY_URL"]),
            "SERVICE_REVIEW_WAIT_SECONDS": str(REVIEW_WAIT_SECONDS),
        }

    def reached(self) -> bool:
        """Whether anybody listens."""
        try:
            return self.alive() == (200, "")
        except urllib3.exceptions.HTTPError:
            return False

    def all_well(self, routes: Sequence[str]) -> bool:
        return all(getattr(self, route)()[0] == 200 for route in routes)


@contextmanager
def staged(folder: Path) -> Iterator[Scene]:
    """The stack, the bounty, the Submission; the api and the reviewer restarted behind the proxies."""
    with running_stack() as stack:
        cast = Cast(stack, folder)
        bounty = cast.fund(submission_seconds=10_000, judging_seconds=3_000)
        submitted = cast.submit(bounty, "solver-1")
        twin = ModelTwin()
        ports = {
            "postgres": stack.postgres.port,
            "valkey": stack.valkey.port,
            "rpc": stack.anvil.port,
            "storage": stack.gcs.port,
            "beacon": stack.beacon.port,
            "delivery": stack.services["delivery"].port or 0,
            "provider": urlsplit(twin.url).port or 0,
        }
        with proxies(*ports.values()) as made:
            scene = Scene(stack, bounty, submitted, dict(zip(ports, made, strict=True)), twin, cast)
            _restart(stack, "api", scene.through_proxies())
            model = twin.variables(SERVICE_OPENAI_BASE_URL=scene.proxies["provider"].url(twin.url))
            _restart(stack, "reviewer-worker", {**model, "SERVICE_OPENAI_TIMEOUT_SECONDS": "6"})
            eventually(lambda: scene.content() == (200, ""))
            yield scene
        twin.close()


def _restart(stack: Stack, name: str, changed: Mapping[str, str]) -> None:
    stack.services[name].stop()
    stack.services[name].restart(changed)


def eventually(holds: Callable[[], bool]) -> None:
    ends = time.monotonic() + RECOVERY_SECONDS
    while time.monotonic() < ends:
        if holds():
            return
        time.sleep(0.2)
    raise AssertionError("it did not recover")


def send(pid: int, number: signal.Signals) -> None:
    """To a process and all below it."""
    process = psutil.Process(pid)
    for each in (process, *process.children(recursive=True)):
        each.send_signal(number)
