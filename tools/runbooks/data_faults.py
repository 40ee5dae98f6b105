"""Faults of the database, its replica, Redis, and of what is kept and uploaded."""

import json
import secrets
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, LiteralString
from urllib.parse import quote, unquote, urlsplit

import psycopg
import urllib3
from bounty_protocol.domain.binding import Binding
from bounty_protocol.domain.envelope import Envelope
from bounty_protocol.types import Address, ChainId, parse_address, parse_bounty_id
from demo.examples import artifact
from local_stack.contract import Wallet
from local_stack.stack import DATABASE
from psycopg import sql

from tests.kept import inspect_now, lose_objects
from tests.sealing import seal_for
from tools.runbooks.scene import ExpectedAlert, Fault, FaultScene, nothing, standing

_READ_URL: Final = "SERVICE_DATABASE_READ_URL_FILE"
_READERS: Final = ("api", "api-worker")
_UPLOADS: Final = 15
"""Within an hour, of which eleven are too many."""


def _run(place: FaultScene, statement: LiteralString | sql.Composed, *values: object) -> None:
    with psycopg.connect(place.stack.postgres.url(DATABASE), autocommit=True) as connection:
        connection.execute(statement, values)


def _alter_the_index(place: FaultScene) -> None:
    """As somebody does who wants to read another's sealed work; and asks for it."""
    bounty_id, reader = int(place.bounty.bounty_id), place.stack.people.solvers[1].wallet
    statement: LiteralString = "UPDATE hub_index.bounties SET poster = %s WHERE bounty_id = %s"
    _run(place, statement, reader.address.lower(), bounty_id)
    work = bytes(place.stack.hub.hub.call("getSubmission", bounty_id, place.cast.address("solver-1")))
    place.signed(reader, "GET", f"/api/bounties/{bounty_id}/submissions/0x{work.hex()}/content")


def _lose_an_object(place: FaultScene) -> None:
    """All that Solvers uploaded; and have it inspected, which is due once a day."""
    lose_objects(place.stack)
    inspect_now(place.stack)


def _submit_again(place: FaultScene) -> None:
    """Each Solver whose Submission counts types the same command once more."""
    for solver, bounty_id, folder in place.works:
        place.cast.person(solver).run("solver:submit", bounty_id, str(folder))


def _change_the_password(place: FaultScene) -> None:
    _set_password(place, secrets.token_urlsafe(24))


def _put_it_into_the_secret(place: FaultScene) -> None:
    """The password that the database has now, as somebody wrote it into the Secret, and the restart that it needs."""
    place.restarted({}, *_READERS)


def _set_password(place: FaultScene, text: str) -> None:
    _run(place, sql.SQL("ALTER ROLE service_api PASSWORD {}").format(sql.Literal(text)))
    _run(place, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'service_api'")
    former = unquote(urlsplit(place.stack.launcher.databases["service_api"]).password or "")
    for name in _READERS:
        url = place.stack.launcher.databases["service_api"].replace(quote(former, safe=""), quote(text, safe=""))
        path = place.stack.runtime.secret(f"secrets/{name}.{secrets.token_hex(4)}", url)
        place.change({"SERVICE_DATABASE_URL_FILE": str(path)}, name)
    place.stack.launcher.databases["service_api"] = url


def _use_a_replica(place: FaultScene) -> None:
    replica = place.stack.postgres.replica(f"replica-{secrets.token_hex(3)}")
    place.replica = replica
    primary = place.stack.launcher.databases["service_api"]
    url = primary.replace(f":{place.stack.postgres.port}/", f":{replica.port}/")
    path = place.stack.runtime.secret(f"secrets/read.{secrets.token_hex(4)}", url)
    place.restarted({_READ_URL: str(path)}, *_READERS)
    time.sleep(5)  # as long as it takes to be used: what is measured begins when it ends


def _with_replica(end: Callable[[FaultScene], None]) -> Callable[[FaultScene], None]:
    def cause(place: FaultScene) -> None:
        _use_a_replica(place)
        end(place)

    return cause


def _use_none(place: FaultScene) -> None:
    for name in _READERS:
        place.stack.services[name].environment.pop(_READ_URL, None)
    place.restarted({}, *_READERS)
    if place.replica is not None:
        place.replica.stop()


def _upload_other_bytes(place: FaultScene) -> None:
    """As a client does that reads another file than the one it sealed, and tries again each time."""
    solver = place.stack.people.solvers[1].wallet
    envelope = _sealed(place, solver)
    path = f"/api/bounties/{place.bounty.bounty_id}/submissions/{solver.address}"
    length = envelope.ciphertext.byte_length
    wanted = {"ciphertext_sha256": envelope.ciphertext.sha256, "ciphertext_byte_length": length}
    for _ in range(_UPLOADS):
        target = place.signed(solver, "POST", f"{path}/artifact-upload-url", json.dumps(wanted).encode()).json()
        put = urllib3.request(
            target["upload_method"], target["upload_url"], body=bytes(length), headers=target["upload_headers"],
            retries=False, timeout=20,
        )  # fmt: skip
        refused = place.signed(solver, "POST", f"{path}/prepare", envelope.canonical_bytes())
        if (put.status, refused.status) != (200, 400):
            raise ValueError(f"{put.status} to an upload, {refused.status} to its prepare: {refused.data[:300]!r}")


def _sealed(place: FaultScene, solver: Wallet) -> Envelope:
    """The envelope of the example work, sealed for the bounty of the scene as the client does it."""
    stack, bounty_id = place.stack, parse_bounty_id(place.bounty.bounty_id)
    detail = urllib3.request("GET", f"{stack.api_base_url}/api/bounties/{bounty_id}", retries=False).json()
    hub, account = Address(stack.hub.hub.address.lower()), parse_address(solver.address)
    binding = Binding(ChainId(stack.anvil.chain_id), hub, bounty_id, account)
    with TemporaryDirectory() as made:
        work = artifact(Path(made), note="Of a faulty client.")
        return seal_for(binding, detail, work, Path(made) / "sealed.age", stack.beacon.chain.info)[1]


DATA_FAULTS: Final[tuple[Fault, ...]] = (
    Fault(
        "Redis is gone, and comes back empty",
        lambda place: place.stack.valkey.kill(),
        lambda place: place.stack.valkey.restart(empty=True),
        (
            ExpectedAlert(
                "DependencyAway",
                r'"failing": ?\[[^]]*redis',
                "min(service_dependency_up) == 1 and max(service_index_lag_seconds) < 10",
            ),
        ),
    ),
    Fault(
        "the RPC endpoints hang",
        lambda place: place.stack.anvil.pause(),
        lambda place: place.stack.anvil.resume(),
        (
            ExpectedAlert("DependencyAway", r'"failing": ?\[[^]]*chain', "min(service_dependency_up) == 1"),
            ExpectedAlert("IndexBehind", "endpoint [12] has not answered since", "max(service_index_lag_seconds) < 10"),
        ),
    ),
    Fault(
        "a database password was changed",
        _change_the_password,
        _put_it_into_the_secret,
        (
            ExpectedAlert(
                "ErrorsAnswered",
                "bounty_projection_unavailable",
                standing('service_http_requests_total{status=~"5.."}'),
            ),
        ),
    ),
    Fault(
        "the read replica takes nothing in",
        _with_replica(lambda place: place.replica.pause_replay() if place.replica else None),
        lambda place: place.replica.resume_replay() if place.replica else None,
        (
            ExpectedAlert(
                "ReplicaBehind", r"service_replica_lag_seconds [1-9]", "max(service_replica_lag_seconds) < 10"
            ),
        ),
        after=_use_none,
    ),
    Fault(
        "the read replica is gone",
        _with_replica(lambda place: place.replica.kill() if place.replica else None),
        lambda place: place.replica.restart() if place.replica else None,
        (ExpectedAlert("ReplicaAway", "the read replica is not used", "min(service_replica_usable) == 1"),),
        after=_use_none,
    ),
    Fault(
        "somebody altered a row of the index",
        _alter_the_index,
        nothing,
        (
            ExpectedAlert(
                "IndexContradicted",
                "DIFFERENT bounties|DIFFERENT",
                standing("service_index_contradicted_total"),
            ),
        ),
    ),
    Fault(
        "the bucket lost every object",
        _lose_an_object,
        _submit_again,
        (ExpectedAlert("KeptDataDamaged", "the storage has no ciphertext", "max(service_defects) == 0"),),
    ),
    Fault(
        "a client uploads other bytes than it announced",
        _upload_other_bytes,
        nothing,
        (
            ExpectedAlert(
                "CiphertextsDiffer",
                r"(?s)other bytes than announced.*submissions/.*result=\"differs\"\} [1-9]",
                standing('service_ciphertexts_total{result="differs"}'),
            ),
        ),
    ),
)
"""Each is over before the next one begins."""
