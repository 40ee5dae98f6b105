"""Delivery: what a core can do besides verifying signatures.

Requests go through the whole application; their signature is verified beforehand, once. Rates are per second of this
process's processor time, since a process answers many requests side by side while PostgreSQL works on another core.
"""

import io
import json
import logging
import tempfile
import time
import timeit
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from bounty_protocol.auth.verify import VerifiedRequest
from bounty_protocol.crypto import sealed_box
from bounty_protocol.crypto.x25519 import Identity
from bounty_protocol.domain.envelope.document import Envelope
from bounty_protocol.types import BountyId
from flask import Flask, Request
from local_stack import anvil, postgres
from local_stack.contract import Wallet
from service_common import log
from service_common.web import authentication
from service_delivery.app import make_app
from service_delivery.config import read_config
from sqlalchemy import text
from werkzeug.test import EnvironBuilder

from bench.figures import Figure, Report, median
from tests.delivery.conftest import Delivery, running_delivery
from tests.servers import DatabaseServer
from tests.world import Deployment

ROUNDS: Final = 5
COUNT: Final = 400


def run(report: Report) -> None:
    """Measure the group."""
    log.configure("bench", logging.ERROR)
    with _delivery() as delivery:
        bounty_id, envelope, identity = _awarded(delivery)
        _requests(delivery, bounty_id, envelope, identity, report)


@contextmanager
def _delivery() -> Iterator[Delivery]:
    with tempfile.TemporaryDirectory() as name, postgres.start() as server, anvil.start(mining="automine") as node:
        database = DatabaseServer.on(server).new()
        with running_delivery(Deployment.on(node).world(database), Path(name)) as delivery:
            yield delivery
        database.close()


def _awarded(delivery: Delivery) -> tuple[BountyId, Envelope, Identity]:
    world, identity = delivery.world, Identity.generate()
    bounty_id = world.fund()
    envelope = delivery.submission(bounty_id, world.solver(1), identity)
    world.decide(bounty_id, world.solver(1), envelope.commitment())
    world.finalize()
    return bounty_id, envelope, identity


def _requests(delivery: Delivery, bounty_id: BountyId, envelope: Envelope, identity: Identity, report: Report) -> None:
    world, base = delivery.world, f"/api/bounties/{bounty_id}/delivery"
    wrap = {
        "solver_address": envelope.solver_address,
        "submission_commitment": envelope.commitment(),
        "wrapped_key": sealed_box.wrap(identity, world.delivery.public_key),
    }
    retrieve = {"poster_ephemeral_public_key": Identity.generate().public_key}

    def forget() -> None:
        with world.engine("service_delivery").begin() as connection:
            connection.execute(text("DELETE FROM delivery.wraps"))

    def open_key() -> object:
        return sealed_box.unwrap(wrap["wrapped_key"], [world.delivery], envelope.content_public_key)

    def seal_key() -> object:
        return sealed_box.wrap(identity, retrieve["poster_ephemeral_public_key"])

    for name, wallet, path, body, before, crypto in (
        ("wrap", world.guardian(1), f"{base}/wrap", wrap, forget, open_key),
        ("retrieve", world.people.poster.wallet, f"{base}/retrieve", retrieve, lambda: None, seal_key),
    ):
        value = median(_rates(delivery, wallet, path, json.dumps(body).encode(), before))
        goal = f">= 800, where the key's box alone is {_rate_of(crypto):,.0f}"
        report(Figure(f"delivery.{name}", value, "requests/s of a core", goal, value >= 800))


def _rate_of(work: Callable[[], object]) -> float:
    """Calls for each second of processor time."""
    return COUNT / timeit.timeit(work, timer=time.process_time, number=COUNT)


def _rates(delivery: Delivery, wallet: Wallet, path: str, body: bytes, before: Callable[[], None]) -> list[float]:
    """Return requests for each second of processor time, the signature verified beforehand."""
    # The tests' clock leaps, so that nothing would be kept.
    app, header = make_app(read_config(delivery.variables)), delivery.header(wallet, path, body)
    verify = authentication.authenticate
    seen: list[VerifiedRequest] = []

    def verified(received: Request, content: bytes) -> VerifiedRequest:
        if not seen:
            seen.append(verify(received, content))
        return seen[0]

    authentication.authenticate = verified  # type: ignore[assignment]
    try:
        return [_rate(app, path, body, header, before) for _ in range(ROUNDS + 1)][1:]
    finally:
        authentication.authenticate = verify


def _rate(app: Flask, path: str, body: bytes, header: str, before: Callable[[], None]) -> float:
    """Call one round as a server calls it."""
    fixed = EnvironBuilder(path=path, method="POST", headers=[("Authorization", header)], data=body).get_environ()
    fixed["CONTENT_TYPE"], answers = "application/json", list[str]()
    before()
    started = time.process_time()
    for _ in range(COUNT):
        environ = {**fixed, "wsgi.input": io.BytesIO(body)}
        b"".join(app(environ, lambda status, *_: answers.append(status)))  # type: ignore[arg-type]
    seconds = time.process_time() - started
    if not all(status.startswith("20") for status in answers):
        raise RuntimeError("a request was refused")
    return COUNT / seconds
