"""The jobs of queue ``artifacts``: verification that outlasts its request, and deletion of what has served its time."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from bounty_protocol.domain.envelope import CiphertextReference
from bounty_protocol.types import parse_bytes32
from service_common.jobs.periodic import Periodic, left_to_the_next
from service_common.jobs.queues import QueueName, check_message

from service_api.config import read_config
from service_api.dependencies import Dependencies, make_dependencies
from service_api.usecases.ciphertexts import known_good, verify
from service_api.usecases.inspecting import inspect_kept
from service_api.usecases.lifetimes import delete_expired
from service_api.usecases.orphans import delete_orphans
from service_api.usecases.pages import fill_summaries
from service_api.usecases.pending import settle_pending

PERIODIC: Final = (
    Periodic(QueueName.ARTIFACTS, "service_api.jobs.sweep_orphans", every_seconds=3_600, run_seconds=3_000),
    Periodic(QueueName.ARTIFACTS, "service_api.jobs.sweep_rows", every_seconds=3_600, run_seconds=3_000),
    Periodic(QueueName.ARTIFACTS, "service_api.jobs.settle_kept", every_seconds=600, run_seconds=600),
    Periodic(QueueName.ARTIFACTS, "service_api.jobs.summarize_pages", every_seconds=3_600, run_seconds=3_000),
    Periodic(QueueName.ARTIFACTS, "service_api.jobs.inspect", every_seconds=3_600, run_seconds=3_500),
)


def verify_artifact(received: Mapping[str, object]) -> str:
    """Hash one uploaded ciphertext to its end; idempotent per object generation."""
    check_message(received)
    locator, length = str(received["storage_locator"]), received["byte_length"]
    if not isinstance(length, int):
        raise ValueError("byte_length is not a number")
    wanted = CiphertextReference(parse_bytes32(str(received["sha256"])), length, locator)
    with _dependencies() as deps:
        info = deps.store.stat(locator)
        if info is None or known_good(deps, info) is not None:
            return "nothing to do"
        return verify(deps, info, wanted, lambda: True).value


@left_to_the_next
def sweep_orphans(received: Mapping[str, object]) -> int:
    """Delete uploads that became no Submission; how many."""
    check_message(received)
    with _dependencies() as deps:
        return delete_orphans(deps)


@left_to_the_next
def sweep_rows(received: Mapping[str, object]) -> int:
    """Delete rows that are no longer needed; how many."""
    check_message(received)
    with _dependencies() as deps:
        return delete_expired(deps)


@left_to_the_next
def settle_kept(received: Mapping[str, object]) -> int:
    """Stop counting what waited for its transaction and is on chain by now; how many rows."""
    check_message(received)
    with _dependencies() as deps:
        return settle_pending(deps.engine)


@left_to_the_next
def summarize_pages(received: Mapping[str, object]) -> int:
    """Write what lists show of pages that a release before stored; how many there were."""
    check_message(received)
    with _dependencies() as deps:
        return fill_summaries(deps.engine)


@left_to_the_next
def inspect(received: Mapping[str, object]) -> int:
    """Compare what is kept with what it came from; how much of it."""
    check_message(received)
    with _dependencies() as deps:
        return inspect_kept(deps)


@contextmanager
def _dependencies() -> Iterator[Dependencies]:
    """Those of one job; its connections are closed with it."""
    deps = make_dependencies(read_config(os.environ), application="api-worker", pool_size=2)
    try:
        yield deps
    finally:
        deps.engine.dispose()
        deps.redis.close()
