"""One thing after the other is away from a whole running stack: down, then hanging. What needs it answers the 503 of
the interface within the client's patience, everything else goes on, and all of it recovers by itself.

Run by ``./noxw -s drill -- outages`` and by ``./noxw -s assurance -- outages``: it waits for real timeouts.
"""

import json
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
import urllib3
from demo.bounty import Cast, Funded, Submitted
from local_stack.contract import Wallet
from local_stack.stack import Stack, running_stack
from service_cli.signing import sign_request

PATIENCE_SECONDS = 20.0
"""How long a client waits for an answer; none may take longer, whatever is away."""
RECOVERY_SECONDS = 60.0
Answer = tuple[int, str]
"""Status, and the code of an error."""


@dataclass(frozen=True, slots=True)
class Scene:
    """A stack with one open bounty and a Submission."""

    stack: Stack
    bounty: Funded
    submitted: Submitted

    def ask(self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None) -> Answer:
        """One request to the public API, with a body as JSON."""
        sent = {**(headers or {}), **({"Content-Type": "application/json"} if body else {})}
        answer = urllib3.request(
            method, self.stack.api_base_url + path, body=body or None, headers=sent,
            retries=False, timeout=PATIENCE_SECONDS,
        )  # fmt: skip
        return answer.status, json.loads(answer.data)["error"]["code"] if answer.status >= 400 else ""

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


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    folder: Path = tmp_path_factory.mktemp("people")
    with running_stack() as stack:
        cast = Cast(stack, folder)
        bounty = cast.fund(submission_seconds=3_000, judging_seconds=3_000)
        submitted = cast.submit(bounty, "solver-1")
        scene = Scene(stack, bounty, submitted)
        eventually(lambda: scene.content() == (200, ""))
        yield scene


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


def server(scene: Scene, name: str) -> object:
    return {"postgres": scene.stack.postgres, "valkey": scene.stack.valkey, "storage": scene.stack.gcs}.get(
        name, scene.stack.services.get(name)
    )


UNAVAILABLE = {
    "postgres": {"detail": "bounty_projection_unavailable", "graphql": "bounty_projection_unavailable"},
    "valkey": {},
    "storage": {"upload_url": "storage_unavailable"},
    "delivery": {"delivery_status": "delivery_unavailable"},
    "reviewer-worker": {},
    "indexer-worker": {},
}
"""What is away, and which route says so; every other one answers as before."""
ROUTES = ("alive", "detail", "graphql", "delivery_status", "content", "upload_url")


@pytest.mark.parametrize("name", UNAVAILABLE)
def test_outage__of_one_thing__is_told_by_what_needs_it_and_recovers_by_itself(scene: Scene, name: str) -> None:
    away = server(scene, name)
    away.kill()  # type: ignore[attr-defined]
    try:
        time.sleep(1.5)  # what a process remembers of public reads is older than it shows
        seen = {route: getattr(scene, route)() for route in ROUTES}
    finally:
        away.restart()  # type: ignore[attr-defined]
    check(name, seen)
    eventually(lambda: all(getattr(scene, route)()[0] == 200 for route in ROUTES))


@pytest.mark.parametrize("name", ["postgres", "valkey", "storage", "delivery"])
def test_hang__of_one_thing__holds_no_request_longer_than_its_bound(scene: Scene, name: str) -> None:
    child = server(scene, name).child  # type: ignore[attr-defined]
    send(child.pid, signal.SIGSTOP)
    try:
        time.sleep(1.5)
        seen = {route: getattr(scene, route)() for route in ROUTES}
    finally:
        send(child.pid, signal.SIGCONT)
    check(name, seen)
    eventually(lambda: all(getattr(scene, route)()[0] == 200 for route in ROUTES))


def check(name: str, seen: dict[str, Answer]) -> None:
    """Each route answers 200, or the 503 that says what is away; a database that is away may be behind any of them."""
    told = UNAVAILABLE[name]
    for route, (status, code) in seen.items():
        if route in told:
            assert (status, code) == (503, told[route]), (name, route)
        elif name == "postgres" and route != "alive":
            assert status == 503, (name, route, code)
        else:
            assert status == 200, (name, route, code)


def test_chain__that_does_not_answer__refuses_signed_requests_with_503_and_keeps_public_reads(scene: Scene) -> None:
    path = f"/api/bounties/{scene.bounty.bounty_id}/submissions/{scene.submitted.commitment}/content"
    approval = scene._approval(path)
    scene.stack.anvil.pause()
    try:
        time.sleep(3.0)  # two block times: what is known of the chain is too old to judge freshness by
        status, code = scene.ask("GET", path, headers=approval)
        assert (status, code) == (503, "bounty_chain_state_unavailable")
        assert scene.detail() == (200, "")
        assert scene.alive() == (200, "")
    finally:
        scene.stack.anvil.resume()
    eventually(lambda: scene.content() == (200, ""))
