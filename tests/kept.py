"""What a stack keeps, by the api's own Secrets."""

from collections.abc import Iterator
from contextlib import contextmanager

import urllib3
from bounty_protocol.types import Bytes32
from local_stack.stack import Stack
from service_api.config import read_config
from service_api.resources import Resources, make_resources

UPLOAD_SECONDS = 60


@contextmanager
def kept_by(stack: Stack) -> Iterator[Resources]:
    """The api's own access to bucket, database and Redis."""
    deps = make_resources(read_config(stack.services["api-worker"].environment), application="test")
    try:
        yield deps
    finally:
        deps.close()


def put_object(deps: Resources, locator: str, content: bytes, sha256: Bytes32) -> None:
    """Write an object where none is; ``sha256`` is what the uploader says of it."""
    target = deps.store.sign_upload(locator, sha256=sha256, byte_length=len(content), lifetime=UPLOAD_SECONDS)
    put = urllib3.request(
        target.method, target.url, body=content, headers=dict(target.headers), retries=False, timeout=20.0
    )
    if put.status != 200:
        raise OSError(f"the bucket answered {put.status} to an upload")
