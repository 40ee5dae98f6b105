"""One fact for a thousand receivers, with some beside them that never answer: how long until all have it.

Real servers, the worker as its image runs it, and every message over a TLS connection of its own. All of it shares this
machine. The time goes from the block to the last receiver; the chain calls a block final after three more.
"""

import json
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from bounty_protocol.crypto.x25519 import Identity
from bounty_protocol.wire.values import WebhookId
from local_stack import anvil, postgres, valkey
from local_stack.process import minimal_environment
from local_stack.runtime import running
from service_api.webhooks import tables as t
from service_api.webhooks.secrets import make_secret, seal
from sqlalchemy import Engine, insert

from bench.figures import Figure, Report
from tests.api.webhooks.receiving import certificate_for
from tests.servers import DatabaseServer
from tests.world import World, make_world

COUNT: Final = 1_000
DEAD: Final = 20
ROUNDS: Final = 4
MAX_SECONDS: Final = 5.0


def run_fanout(report: Report) -> None:
    """Measure ``web.webhooks``."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        certificate_for("localhost", Path(folder))
        (certificate,) = Path(folder).glob("*.pem")
        port, lots = stack.enter_context(_receivers(certificate))
        world = stack.enter_context(_world(certificate, port))
        taken = []
        for _ in range(ROUNDS):
            world.create()
            block = time.time()
            world.finalize()
            taken.append(float(next(lots)) - block)
    worst = max(taken)
    goal = f"<= {MAX_SECONDS:.0f} from the block to the last of {COUNT:,}, {DEAD} more never answer; worst of {ROUNDS}"
    report(Figure("web.webhooks", worst, "s", goal, worst <= MAX_SECONDS))


@contextmanager
def _receivers(certificate: Path) -> Iterator[tuple[int, Iterator[str]]]:
    """The port of the receivers, and the times at which all had one more message."""
    command = [sys.executable, "-m", "bench.receivers", str(certificate), str(COUNT)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline()), iter(process.stdout.readline, "")
        finally:
            process.kill()


@contextmanager
def _world(certificate: Path, port: int) -> Iterator[World]:
    """A chain and its index, with the webhooks registered and their worker at work."""
    key = Identity.generate()
    with (
        running() as runtime,
        postgres.start(runtime) as server,
        valkey.start(runtime) as redis,
        anvil.start(runtime, mining="automine") as node,
        socket.create_server(("127.0.0.1", 0), backlog=256) as dead,
    ):
        database = DatabaseServer.on(server).new()
        with make_world(node, database) as world:
            urls = [f"https://localhost:{port}/{number}" for number in range(COUNT)]
            urls += [f"https://localhost:{dead.getsockname()[1]}/{number}" for number in range(DEAD)]
            _register(database.engine(), urls, key)
            runtime.family.spawn(
                "webhooks",
                [Path(sys.executable).parent / "service-api", "webhooks"],
                environment=minimal_environment(runtime.logs)
                | {
                    "SERVICE_CHAIN_ID": str(world.chain_id),
                    "SERVICE_DATABASE_URL": database.url("service_webhooks"),
                    "SERVICE_REDIS_URL": redis.url(),
                    "SERVICE_WEBHOOK_INSECURE_LOOPBACK": "yes",
                    "SERVICE_WEBHOOK_PRIVATE_KEYS_FILE": str(
                        runtime.secret("webhook-keys", json.dumps([key.to_text()]))
                    ),
                    "SERVICE_INTERNAL_PORT": str(runtime.port()),
                    "SSL_CERT_FILE": str(certificate),
                },
                cwd=runtime.logs,
            )
            yield world
        database.close()


def _register(engine: Engine, urls: list[str], key: Identity) -> None:
    """Webhooks of every fact, whose receivers have answered the challenge."""
    secret, now = make_secret(), datetime.now(UTC)
    ids = [WebhookId(f"wh_{number:032x}") for number in range(len(urls))]
    subscriptions = [
        {
            "webhook_id": webhook_id,
            "subscriber": f"0x{number // 20:040x}",  # as many as one account may have
            "url": url,
            "subject": "all",
            "finality": "finalized",
            "sealed_secret": seal(secret, key.public_key, webhook_id),
            "after_number": 0,
            "after_block": 0,
        }
        for number, (webhook_id, url) in enumerate(zip(ids, urls, strict=True))
    ]
    with engine.begin() as connection:
        newest = connection.exec_driver_sql("SELECT max(number), max(block_number) FROM hub_index.changes").one()
        place = {"after_number": newest[0], "sent_block": newest[1], "sent_log": 1_000_000}
        connection.execute(insert(t.subscriptions), subscriptions)
        connection.execute(
            insert(t.deliveries),
            [{"webhook_id": each, "state": "active", "next_attempt_at": now, **place} for each in ids],
        )
