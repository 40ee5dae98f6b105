"""What a stack keeps, by the api's own Secrets: its bucket, and an inspection of all of it before a day is over."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import urllib3
from bounty_protocol.types import Bytes32
from local_stack.stack import DATABASE, Stack
from service_api.config import read_config
from service_api.dependencies import Dependencies, make_dependencies
from service_common.jobs.queues import QueueName, message, open_queue

UPLOAD_SECONDS = 60


@contextmanager
def kept_by(stack: Stack) -> Iterator[Dependencies]:
    """The api's own access to bucket, database and Redis."""
    deps = make_dependencies(read_config(stack.services["api-worker"].environment), application="test")
    try:
        yield deps
    finally:
        deps.engine.dispose()
        deps.redis.close()


def lose_objects(stack: Stack, prefix: str = "") -> None:
    """Delete all objects whose locator begins so."""
    with kept_by(stack) as deps:
        for found in list(deps.store.list(prefix)):
            deps.store.delete(found.locator, generation=found.generation)


def put_object(deps: Dependencies, locator: str, content: bytes, sha256: Bytes32) -> None:
    """Write an object where none is; ``sha256`` is what the uploader says of it."""
    target = deps.store.sign_upload(locator, sha256=sha256, byte_length=len(content), lifetime=UPLOAD_SECONDS)
    put = urllib3.request(
        target.method, target.url, body=content, headers=dict(target.headers), retries=False, timeout=20.0
    )
    if put.status != 200:
        raise OSError(f"the bucket answered {put.status} to an upload")


def inspect_now(stack: Stack) -> None:
    """Have everything inspected that is kept, which is due once a day."""
    with psycopg.connect(stack.postgres.url(DATABASE), autocommit=True) as connection:
        connection.execute("DELETE FROM app.inspections")
    with kept_by(stack) as deps:
        open_queue(QueueName.ARTIFACTS, deps.redis).enqueue("service_api.jobs.inspect", message())
