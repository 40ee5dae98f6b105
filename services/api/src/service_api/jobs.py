"""The jobs of queue ``artifacts``: verification that outlasts its request, what follows from an ending, and deletion of
what has served its time.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from bounty_protocol.domain.envelope.document import CiphertextReference
from bounty_protocol.domain.envelope.locator import parse_locator
from service_common.jobs import JobKind, Message, Periodic, QueueName

from service_api.bounties.verification_records import keep_records, read_ended
from service_api.config import read_config
from service_api.resources import Resources, make_resources
from service_api.storage.lifetimes import delete_expired
from service_api.storage.missing import note_missing
from service_api.storage.orphans import delete_orphans
from service_api.storage.room import settle_pending

PERIODIC: Final = (
    Periodic(JobKind(QueueName.ARTIFACTS, "service_api.jobs.sweep_orphans", run_seconds=3_000), every_seconds=3_600),
    Periodic(JobKind(QueueName.ARTIFACTS, "service_api.jobs.sweep_rows", run_seconds=3_000), every_seconds=3_600),
    Periodic(JobKind(QueueName.ARTIFACTS, "service_api.jobs.settle_kept", run_seconds=600), every_seconds=600),
    Periodic(JobKind(QueueName.ARTIFACTS, "service_api.jobs.keep_endings", run_seconds=600), every_seconds=600),
    Periodic(JobKind(QueueName.ARTIFACTS, "service_api.jobs.look_for_work", run_seconds=3_000), every_seconds=86_400),
)


def verify_artifact(received: Message) -> str:
    """Hash one uploaded ciphertext to its end; idempotent per object generation.

    The object is compared with its own name, which contains the digest. A message only names an object: somebody who
    writes to the queue cannot have an object removed that matches its name, or one of another deployment.
    """
    place = parse_locator(str(received["storage_locator"]))
    with _resources() as resources:
        chain, ciphertexts = resources.config.chain, resources.ciphertexts
        if (place.chain_id, place.hub_address) != (chain.chain_id, chain.hub_address):
            raise ValueError("an object of another deployment")
        info = resources.store.stat(str(place))
        if info is None or ciphertexts.known_good(info) is not None:
            return "nothing to do"
        wanted = CiphertextReference(place.ciphertext_sha256, info.byte_length, info.locator)
        by_solver = received.get("by_solver") is True
        return ciphertexts.verify(info, wanted, lambda: True, may_delete_recorded=by_solver).value


def sweep_orphans(_received: Message) -> int:
    """Delete uploads that no Submission uses; return how many."""
    with _resources() as resources:
        return delete_orphans(resources.facts, resources.store)


def sweep_rows(_received: Message) -> int:
    """Delete rows that are no longer needed; return how many."""
    with _resources() as resources:
        return delete_expired(resources.facts)


def settle_kept(_received: Message) -> int:
    """Stop counting rows that were pending and are now on chain; return how many."""
    with _resources() as resources:
        return settle_pending(resources.engine)


def keep_final(received: Message) -> int:
    """Keep the records of the bounties whose ending became final in these blocks, and delete their uploads that are
    over; return how many. The indexer sends the blocks (``service_common.endings``); the facts are read here.
    """
    first, last = int(str(received["first_block"])), int(str(received["last_block"]))
    with _resources() as resources:
        with resources.facts.open() as facts:
            ended = read_ended(facts, first, last)
        kept = keep_records(resources.facts, ended)
        return kept + sum(delete_orphans(resources.facts, resources.store, each) for each in ended)


def keep_endings(_received: Message) -> int:
    """Keep the records of final bounties that have none, also those of which no message came; return how many."""
    with _resources() as resources:
        with resources.facts.open() as facts:
            ended = read_ended(facts)
        return keep_records(resources.facts, ended)


def look_for_work(_received: Message) -> int:
    """Note the recorded Submissions whose envelope or bytes are missing here; return how many."""
    with _resources() as resources:
        return note_missing(resources.facts, resources.store)


@contextmanager
def _resources() -> Iterator[Resources]:
    """Open the connections of one job; they close with it."""
    resources = make_resources(read_config(os.environ), application="api-worker", pool_size=2)
    try:
        yield resources
    finally:
        resources.close()


JOBS: Final = (verify_artifact, sweep_orphans, sweep_rows, settle_kept, keep_final, keep_endings, look_for_work)
