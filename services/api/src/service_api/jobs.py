"""The jobs of queue ``artifacts``: verification that outlasts its request, and deletion of what has served its time."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from bounty_protocol.domain.envelope import CiphertextReference
from bounty_protocol.domain.locator import parse_locator
from service_common.jobs import JobKind, Message, Periodic, QueueName, left_to_the_next

from service_api.config import read_config
from service_api.dependencies import Dependencies, make_dependencies
from service_api.storage.lifetimes import delete_expired
from service_api.storage.orphans import delete_orphans
from service_api.storage.pending import settle_pending
from service_api.submissions.ciphertexts import known_good, verify

PERIODIC: Final = (
    Periodic(JobKind(QueueName.ARTIFACTS, "service_api.jobs.sweep_orphans", run_seconds=3_000), every_seconds=3_600),
    Periodic(JobKind(QueueName.ARTIFACTS, "service_api.jobs.sweep_rows", run_seconds=3_000), every_seconds=3_600),
    Periodic(JobKind(QueueName.ARTIFACTS, "service_api.jobs.settle_kept", run_seconds=600), every_seconds=600),
)


def verify_artifact(received: Message) -> str:
    """Hash one uploaded ciphertext to its end; idempotent per object generation.

    An object is held against its own name, which has the digest. A message says only which one: whoever writes to the
    queue has nothing removed that is what it is called, and nothing of another deployment.
    """
    place = parse_locator(str(received["storage_locator"]))
    with _dependencies() as deps:
        chain = deps.config.chain
        if (place.chain_id, place.hub_address) != (chain.chain_id, chain.hub_address):
            raise ValueError("an object of another deployment")
        info = deps.store.stat(str(place))
        if info is None or known_good(deps, info) is not None:
            return "nothing to do"
        wanted = CiphertextReference(place.ciphertext_sha256, info.byte_length, info.locator)
        return verify(deps, info, wanted, lambda: True, may_delete_recorded=received.get("by_solver") is True).value


@left_to_the_next
def sweep_orphans(_received: Message) -> int:
    """Delete uploads that became no Submission; how many."""
    with _dependencies() as deps:
        return delete_orphans(deps)


@left_to_the_next
def sweep_rows(_received: Message) -> int:
    """Delete rows that are no longer needed; how many."""
    with _dependencies() as deps:
        return delete_expired(deps)


@left_to_the_next
def settle_kept(_received: Message) -> int:
    """Stop counting what waited for its transaction and is on chain by now; how many rows."""
    with _dependencies() as deps:
        return settle_pending(deps.engine)


@contextmanager
def _dependencies() -> Iterator[Dependencies]:
    """Those of one job; its connections are closed with it."""
    deps = make_dependencies(read_config(os.environ), application="api-worker", pool_size=2)
    try:
        yield deps
    finally:
        deps.engine.dispose()
        deps.redis.close()


JOBS: Final = (verify_artifact, sweep_orphans, sweep_rows, settle_kept)
