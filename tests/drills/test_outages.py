"""One thing after the other is away from a whole running stack: down, then hanging. What needs it answers the 503 of
the interface within the client's patience, everything else goes on, and all of it recovers by itself.

Run by ``./noxw -s nightly -- outages``: it waits for real timeouts.
"""

import signal
import time

import pytest

from tests.drills.scene import Answer, Scene, eventually, send


def server(scene: Scene, name: str) -> object:
    servers = {
        "postgres": scene.stack.postgres,
        "valkey": scene.stack.valkey,
        "storage": scene.stack.gcs,
        "beacon": scene.stack.beacon,
    }
    return servers.get(name, scene.stack.services.get(name))


UNAVAILABLE = {
    "postgres": {"detail": "bounty_projection_unavailable", "graphql": "bounty_projection_unavailable"},
    "valkey": {},
    "storage": {"content": "storage_unavailable", "upload_url": "storage_unavailable"},
    "delivery": {"delivery_status": "delivery_unavailable"},
    "beacon": {},
    "reviewer-worker": {},
    "indexer-worker": {},
}
"""What is away, and which route says so; every other one answers as before."""
ROUTES = ("alive", "detail", "graphql", "delivery_status", "content", "upload_url", "deployment")


@pytest.mark.parametrize("name", UNAVAILABLE)
def test_outage_is_told_and_recovers_by_itself(scene: Scene, name: str) -> None:
    away = server(scene, name)
    away.kill()  # type: ignore[attr-defined]
    try:
        time.sleep(1.5)  # what a process remembers of public reads is older than it shows
        seen = {route: getattr(scene, route)() for route in ROUTES}
    finally:
        away.restart()  # type: ignore[attr-defined]
    check(name, seen)
    eventually(lambda: scene.all_well(ROUTES))


@pytest.mark.parametrize("name", ["postgres", "valkey", "storage", "delivery", "beacon"])
def test_hang_holds_no_request_past_its_bound(scene: Scene, name: str) -> None:
    child = server(scene, name).child  # type: ignore[attr-defined]
    send(child.pid, signal.SIGSTOP)
    try:
        time.sleep(1.5)
        seen = {route: getattr(scene, route)() for route in ROUTES}
    finally:
        send(child.pid, signal.SIGCONT)
    check(name, seen)
    eventually(lambda: scene.all_well(ROUTES))


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


@pytest.mark.parametrize("how", ["down", "hanging"])
def test_chain_away_refuses_signed_and_keeps_reads(scene: Scene, how: str) -> None:
    path = f"/api/bounties/{scene.bounty.bounty_id}/submissions/{scene.submitted.commitment}/content"
    approval = scene._approval(path)
    eventually(lambda: scene.deployment() == (200, ""))  # what it reads of the chain once is read
    if how == "down":
        scene.proxies["rpc"].cut()
    else:
        scene.stack.anvil.pause()
    try:
        time.sleep(3.0)  # what is known of the chain is too old to judge freshness by
        refused = (503, "bounty_submission_content_authority_unavailable")
        assert scene.ask("GET", path, headers=approval) == refused
        for public in ("detail", "graphql", "deployment", "delivery_status", "alive"):
            assert getattr(scene, public)() == (200, ""), public
    finally:
        scene.proxies["rpc"].mend()
        scene.stack.anvil.resume()
    eventually(lambda: scene.content() == (200, ""))


@pytest.mark.parametrize("how", ["down", "hanging"])
@pytest.mark.parametrize("name", ["beacon", "rpc"])
def test_api_starts_while_what_it_reads_is_away(scene: Scene, name: str, how: str) -> None:
    """What never changes is read on first use and kept: a new process has not read it yet."""
    api = scene.stack.services["api"]
    api.stop()
    if how == "down":
        scene.proxies[name].cut()
    else:
        scene.proxies[name].delay = 1_000.0
    try:
        api.start()
        eventually(lambda: scene.reached() and scene.detail() == (200, ""))
        assert scene.deployment() == (503, "bounty_chain_state_unavailable")
        assert scene.alive() == (200, "")
    finally:
        scene.proxies[name].cut()
        scene.proxies[name].mend()
    api.wait_ready()
    eventually(lambda: scene.all_well(ROUTES))
