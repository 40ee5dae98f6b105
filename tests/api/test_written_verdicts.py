"""Written Verdicts: stored for pinned Guardians only, read back byte for byte."""

from local_stack.contract import Wallet
from service_common.domain.commitments import report_commitment
from service_common.domain.lifecycle import VerdictKind
from service_common.domain.verdict import WrittenVerdict, render_verdict
from service_common.types import BountyId, Bytes32, parse_address
from werkzeug.test import TestResponse

from tests.api.conftest import Service, error_of


def document(
    service: Service, bounty_id: BountyId, guardian: Wallet, named: tuple[Wallet, Bytes32] | None = None
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
            body="Because.\n",
        )
    )


def write(service: Service, guardian: Wallet, body: bytes, commitment: Bytes32 | None = None) -> TestResponse:
    path = f"/api/written-verdicts/{commitment or report_commitment(body)}"
    return service.signed(guardian.private_key, "POST", path, body=body, media_type="text/markdown")


def test_verdict__of_a_pinned_guardian__is_stored_and_read_back(service: Service) -> None:
    world = service.world
    bounty_id = world.create()
    submitted = world.submit(bounty_id, world.solver(1))
    world.finalize()
    body = document(service, bounty_id, world.guardian(1), (world.solver(1), submitted))
    assert write(service, world.guardian(1), body).status_code == 201
    assert write(service, world.guardian(1), body).status_code == 200
    read = service.get(f"/api/written-verdicts/{report_commitment(body)}")
    assert read.data == body
    assert read.headers["Content-Type"] == "text/markdown; charset=utf-8"
    cached = service.get(f"/api/written-verdicts/{report_commitment(body)}", **{"If-None-Match": read.headers["ETag"]})
    assert cached.status_code == 304


def test_verdict__by_anyone_else__is_forbidden(service: Service) -> None:
    world = service.world
    bounty_id = world.create()
    world.finalize()
    body = document(service, bounty_id, world.solver(1))
    response = write(service, world.solver(1), body)
    assert (response.status_code, error_of(response)["code"]) == (403, "forbidden")


def test_verdict__that_does_not_fit__says_what(service: Service) -> None:
    world = service.world
    bounty_id = world.create()
    submitted = world.submit(bounty_id, world.solver(1))
    world.finalize()
    mine = document(service, bounty_id, world.guardian(1))
    cases = [
        (write(service, world.guardian(2), mine), "guardian_address"),
        (write(service, world.guardian(1), mine, Bytes32("0x" + "11" * 32)), "report_commitment"),
        (write(service, world.guardian(1), mine.replace(b"chain_id: 31337", b"chain_id: 1")), "chain_id"),
        (write(service, world.guardian(1), b"no frontmatter"), "document"),
    ]
    for response, path in cases:
        error = error_of(response)
        assert (response.status_code, error["code"]) == (400, "invalid_written_verdict")
        assert path in {issue["path"] for issue in error["issues"]}  # type: ignore[attr-defined]
    world.submit(bounty_id, world.solver(1))
    world.finalize()
    replaced = document(service, bounty_id, world.guardian(1), (world.solver(1), submitted))
    error = error_of(write(service, world.guardian(1), replaced))
    assert error["code"] == "invalid_written_verdict"
    assert "Re-read the chain" in str(error["next_action"])
