"""Written Verdicts: stored for pinned Guardians only, read back byte for byte."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest
from bounty_protocol.chain.rpc import Call, Rpc
from bounty_protocol.crypto.x25519 import Identity
from bounty_protocol.domain.challenge.commitments import report_commitment
from bounty_protocol.domain.lifecycle.states import VerdictKind
from bounty_protocol.domain.verdict import WrittenVerdict, parse_verdict, render_verdict
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import ZERO_ADDRESS, BountyId, Bytes32, parse_address
from local_stack.contract import Wallet
from service_api.verdicts.written_verdicts import MAX_UNRECORDED_VERDICTS, store_verdict
from service_common.db import app as t
from sqlalchemy import event, func, select
from werkzeug.test import TestResponse

from tests.api.conftest import Service, error_of
from tests.waiting import wait_until


def document(
    service: Service,
    bounty_id: BountyId,
    guardian: Wallet,
    named: tuple[Wallet, Bytes32] | None = None,
    body: str = "Because.\n",
) -> bytes:
    return render_verdict(
        WrittenVerdict(
            kind=VerdictKind.AWARDED if named else VerdictKind.NO_VALID_SUBMISSION,
            chain_id=service.world.chain_id,
            hub_address=service.world.hub_address,
            bounty_id=bounty_id,
            guardian_address=parse_address(guardian.address),
            solver_address=parse_address(named[0].address) if named else None,
            submission_commitment=named[1] if named else None,
            body=body,
        )
    )


def write(service: Service, guardian: Wallet, body: bytes, commitment: Bytes32 | None = None) -> TestResponse:
    path = f"/api/written-verdicts/{commitment or report_commitment(body)}"
    return service.signed(guardian.private_key, "POST", path, body=body, media_type="text/markdown")


def judgeable(service: Service) -> tuple[BountyId, Bytes32]:
    """A bounty past its reveal point, and its first Solver's Submission."""
    world = service.world
    bounty_id = world.fund()
    submitted = world.submit(bounty_id, world.solver(1))
    world.advance_to(world.reveal_at(bounty_id))
    world.finalize()
    return bounty_id, submitted


def refused(response: TestResponse) -> str:
    """What a final refusal says."""
    error = error_of(response)
    assert (response.status_code, error["code"]) == (400, "invalid_written_verdict")
    assert "Read the chain again" in str(error["next_action"])
    assert "Retry-After" not in response.headers
    return str(error["message"])


@pytest.mark.spec(66, 70, 168, 170, 171, 324, 329)
def test_verdict_of_a_pinned_guardian_reads_back(service: Service) -> None:
    world = service.world
    bounty_id, submitted = judgeable(service)
    body = document(service, bounty_id, world.guardian(1), (world.solver(1), submitted))
    assert write(service, world.guardian(1), body).status_code == 201
    assert write(service, world.guardian(1), body).status_code == 200
    read = service.get(f"/api/written-verdicts/{report_commitment(body)}")
    assert read.data == body
    assert read.headers["Content-Type"] == "text/markdown; charset=utf-8"
    cached = service.get(f"/api/written-verdicts/{report_commitment(body)}", **{"If-None-Match": read.headers["ETag"]})
    assert cached.status_code == 304


@pytest.mark.spec(11, 168, 324)
def test_verdict__by_anyone_else__is_forbidden(service: Service) -> None:
    world = service.world
    bounty_id, _ = judgeable(service)
    for account in (world.solver(1), world.people.poster.wallet):
        response = write(service, account, document(service, bounty_id, account))
        assert (response.status_code, error_of(response)["code"]) == (403, "forbidden")


@pytest.mark.spec(65, 88, 167)
def test_verdict__that_does_not_fit__says_what(service: Service) -> None:
    world = service.world
    bounty_id, _ = judgeable(service)
    mine = document(service, bounty_id, world.guardian(1))
    cases = [
        (write(service, world.guardian(2), mine), "guardian_address"),
        (write(service, world.guardian(1), mine, Bytes32("0x" + "11" * 32)), "report_commitment"),
        (write(service, world.guardian(1), mine + b" ", report_commitment(mine)), "report_commitment"),
        (write(service, world.guardian(1), mine.replace(b"chain_id: 31337", b"chain_id: 1")), "chain_id"),
        (write(service, world.guardian(1), mine.replace(b"version: 1\n", b"version: 1\nnote: x\n")), "note"),
        (write(service, world.guardian(1), b"no frontmatter"), "document"),
    ]
    for response, path in cases:
        error = error_of(response)
        assert (response.status_code, error["code"]) == (400, "invalid_written_verdict")
        assert path in {issue["path"] for issue in error["issues"]}  # type: ignore[attr-defined]


@pytest.mark.spec(61, 98, 169, 381)
def test_verdict_for_a_replaced_submission_is_refused(service: Service) -> None:
    world = service.world
    bounty_id = world.fund()
    replaced = world.submit(bounty_id, world.solver(1))
    world.submit(bounty_id, world.solver(1))
    world.advance_to(world.reveal_at(bounty_id))
    world.finalize()
    for named in ((world.solver(1), replaced), (world.solver(2), replaced)):
        body = document(service, bounty_id, world.guardian(1), named)
        assert "not that Solver's active one" in refused(write(service, world.guardian(1), body))


@pytest.mark.spec(107, 381)
def test_verdict_outside_its_window_is_refused(service: Service) -> None:
    world = service.world
    bounty_id = world.fund()
    world.submit(bounty_id, world.solver(1))
    world.finalize()
    body = document(service, bounty_id, world.guardian(1))
    assert "reveal point" in refused(write(service, world.guardian(1), body))
    world.advance_to(world.judging_deadline(bounty_id))
    world.index()
    assert "judging window" in refused(write(service, world.guardian(1), body))


@pytest.mark.spec(109, 375)
def test_verdict_before_a_late_reveal_point_waits(service: Service) -> None:
    world = service.world
    bounty_id = world.fund()
    world.submit(bounty_id, world.solver(1))
    world.finalize()
    world.advance_to(world.reveal_at(bounty_id))
    body = document(service, bounty_id, world.guardian(1))
    waiting = write(service, world.guardian(1), body)
    assert (waiting.status_code, error_of(waiting)["code"]) == (503, "bounty_chain_state_unavailable")
    world.index()
    assert write(service, world.guardian(1), body).status_code == 201


class WatchedRpc(Rpc):
    """A chain that notes, at each call, whether it waits a bounded time and how many transactions are open."""

    def __init__(self, service: Service, noted: list[tuple[bool, int]], *, is_bounded: bool = False) -> None:
        super().__init__([service.world.node.url])
        self._service, self._noted, self._is_bounded = service, noted, is_bounded

    def bounded(self, *, seconds: float, max_answer_bytes: int | None = None, patient: bool = False) -> Rpc:
        return WatchedRpc(self._service, self._noted, is_bounded=True)

    def batch(self, calls: Sequence[Call]) -> list[object]:
        self._noted.append((self._is_bounded, self._service.world.database.open_transactions()))
        return super().batch(calls)


def test_recorded_verdict_hands_in_its_reasons_later(service: Service) -> None:
    world = service.world
    bounty_id, submitted = judgeable(service)
    bodies = {n: document(service, bounty_id, world.guardian(n), (world.solver(1), submitted)) for n in (1, 2)}
    for number, body in bodies.items():
        arguments = (
            1,
            world.solver(1).address,
            bytes.fromhex(submitted[2:]),
            bytes.fromhex(report_commitment(body)[2:]),
        )
        world.contract.transact(world.guardian(number), "recordVerdict", bounty_id, *arguments)
    world.finalize()
    assert write(service, world.guardian(1), bodies[1]).status_code == 201
    assert write(service, world.guardian(2), bodies[2]).status_code == 201
    other = document(service, bounty_id, world.guardian(1))
    assert "final" in refused(write(service, world.guardian(1), other))


@pytest.mark.spec(4, 168)
def test_guardian_of_another_roster_is_forbidden(service: Service) -> None:
    world = service.world
    bounty_id, _ = judgeable(service)
    newcomer = Wallet()
    members = [(one.wallet, one.identity.public_key) for one in world.people.guardians if one.identity]
    try:
        world.publish_roster([(newcomer, Identity.generate().public_key), *members[:2]], 2)
        theirs = world.fund()
        world.submit(theirs, world.solver(1))
        world.advance_to(world.reveal_at(theirs))
        world.finalize()
        assert write(service, newcomer, document(service, theirs, newcomer)).status_code == 201
        for guardian, bounty in ((newcomer, bounty_id), (world.guardian(3), theirs)):
            response = write(service, guardian, document(service, bounty, guardian))
            assert (response.status_code, error_of(response)["code"]) == (403, "forbidden")
    finally:
        world.publish_roster(members, 2)


def kept(service: Service, bounty_id: BountyId, guardian: Wallet) -> int:
    """How many documents are stored."""
    c = t.written_verdicts.c
    mine = (c.bounty_id == bounty_id) & (c.guardian == guardian.address)
    with service.resources.engine.connect() as connection:
        return connection.execute(select(func.count()).where(mine)).scalar_one()


def test_unrecorded_verdicts_are_eight_of_a_guardian(service: Service) -> None:
    world, guardian = service.world, service.world.guardian(1)
    bounty_id, elsewhere = world.fund(), world.fund()
    world.submit(bounty_id, world.solver(1))
    world.advance_to(world.reveal_at(elsewhere))
    world.finalize()
    bodies = [
        document(service, bounty_id, guardian, body=f"Reason {number}.\n")
        for number in range(MAX_UNRECORDED_VERDICTS + 3)
    ]
    *few, ninth, tenth, last = bodies
    assert [write(service, guardian, each).status_code for each in few] == [201] * MAX_UNRECORDED_VERDICTS
    beyond = write(service, guardian, ninth)
    assert (beyond.status_code, error_of(beyond)["code"]) == (400, "invalid_written_verdict")
    assert "--unpublished" in str(error_of(beyond)["next_action"])
    assert service.get(f"/api/written-verdicts/{report_commitment(ninth)}").status_code == 404
    assert write(service, guardian, few[0]).status_code == 200  # one that is there can be repeated
    assert write(service, world.guardian(2), document(service, bounty_id, world.guardian(2))).status_code == 201
    assert write(service, guardian, document(service, elsewhere, guardian)).status_code == 201

    def record(body: bytes) -> None:
        names = [bounty_id, 2, ZERO_ADDRESS, bytes(32), bytes.fromhex(report_commitment(body)[2:])]
        world.contract.transact(guardian, "recordVerdict", *names)
        world.index()

    record(ninth)
    assert write(service, guardian, ninth).status_code == 201  # one that the Hub records always has a place
    assert write(service, guardian, tenth).status_code == 400
    record(few[0])
    assert write(service, guardian, tenth).status_code == 201
    assert write(service, guardian, last).status_code == 400
    assert kept(service, bounty_id, guardian) == MAX_UNRECORDED_VERDICTS + 2


def test_simultaneous_verdicts_keep_the_bound(service: Service) -> None:
    engine, database, guardian = service.resources.engine, service.world.database, service.world.guardian(1)
    bounty_id, _ = judgeable(service)
    bodies = [
        document(service, bounty_id, guardian, body=f"Reason {number}.\n")
        for number in range(MAX_UNRECORDED_VERDICTS + 1)
    ]
    *before, eighth, ninth = bodies
    for each in before:
        assert store_verdict(engine, parse_verdict(each), each)
    committing = list[int]()

    def wait_for_the_other(_: object) -> None:
        committing.append(1)
        wait_until(lambda: len(committing) == 2 or database.waiting_for_locks() == 1)

    def stored(body: bytes) -> bool:
        try:
            return store_verdict(engine, parse_verdict(body), body)
        except ServiceError as error:
            assert error.code == "invalid_written_verdict"
            return False

    event.listen(engine, "commit", wait_for_the_other)
    try:
        with ThreadPoolExecutor(2) as threads:
            assert sorted(threads.map(stored, (eighth, ninth))) == [False, True]
    finally:
        event.remove(engine, "commit", wait_for_the_other)
    assert kept(service, bounty_id, guardian) == MAX_UNRECORDED_VERDICTS
