"""The error codes that the document announces, operation by operation, against those that are answered.

For each code that many operations share there is a way to provoke it everywhere; those that answer it are exactly those
that announce it. What the delivery service answers by itself is its own tests' matter.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest
from bounty_protocol.chain.rpc import ChainUnavailable
from bounty_protocol.domain.challenge.commitments import report_commitment
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import BountyId
from psycopg import errors as pg
from service_api.app import make_app
from service_api.config import ApiBudgets
from service_api.resources import Resources
from service_common.budgets import Budget
from sqlalchemy.exc import OperationalError

from tests.api.conftest import Service
from tests.api.contract import Operation, checked_client, operations
from tests.api.pages import page_for
from tests.api.test_faults import FaultyRpc, Raising
from tests.api.test_submissions import Sealed, open_bounty, seal
from tests.api.test_written_verdicts import document

PREPARE = "/api/bounties/{bounty_id}/submissions/{solver_address}/prepare"
VERDICT = "/api/written-verdicts/{report_commitment}"


@pytest.fixture(scope="module")
def sealed(service: Service, tmp_path_factory: pytest.TempPathFactory) -> Sealed:
    """A Submission that is recorded, whose bounty takes others."""
    found = seal(service, tmp_path_factory.mktemp("sealed"), open_bounty(service), service.world.solver(1))
    assert (found.upload(), found.prepare().status_code) == (200, 201)
    service.world.submit(found.bounty_id, found.solver, found.envelope.commitment())
    service.world.finalize()
    return found


@dataclass(frozen=True)
class Sent:
    """One request that an operation takes, and what is changed about it."""

    sealed: Sealed
    operation: Operation
    bounty_id: BountyId
    large: bool = False
    media_type: str | None = None
    is_signed: bool = True
    by_a_stranger: bool = False

    @property
    def body(self) -> bytes:
        service, operation = self.sealed.service, self.operation
        if operation.body_type is None:
            return b""
        if self.large:
            return b"x" * 2**20
        made = {
            VERDICT: lambda: document(service, self.bounty_id, service.world.guardian(1)),
            PREPARE: self.sealed.envelope.canonical_bytes,
        }
        if operation.path in made:
            return made[operation.path]()
        if operation.body_type == "text/markdown":
            return page_for(service.world)
        return json.dumps(operation.body["example"]).encode()

    @property
    def key(self) -> str:
        world, signer = self.sealed.service.world, str(self.operation.signer)
        own = self.sealed.solver if "Solver" in signer else world.guardian(1)
        own = world.people.poster.wallet if "poster_address" in signer or signer == "the funding Poster" else own
        return (world.solver(3) if self.by_a_stranger else own).private_key

    def code(self, service: Service) -> str | None:
        """The error code of the answer; None of one that is no error."""
        people, operation, body = service.world.people, self.operation, self.body
        path = operation.path.format(
            bounty_id=self.bounty_id,
            account_address=self.sealed.solver.address,
            solver_address=self.sealed.solver.address,
            submission_commitment=self.sealed.envelope.commitment(),
            report_commitment=report_commitment(body),
        )
        values = {"poster_address": people.poster.address, "submission_commitment": "0x" + "00" * 32}
        query = "&".join(f"{name}={values[name]}" for name in operation.query(required=True))
        headers = {"X-Forwarded-For": "203.0.113.7"}
        if body:
            headers["Content-Type"] = self.media_type or str(operation.body_type)
        if operation.signer and self.is_signed:
            headers["Authorization"] = service.authorization(self.key, operation.method, path, query=query, body=body)
        url = path + (f"?{query}" if query else "")
        answer = service.client.open(url, method=operation.method, data=body or None, headers=headers)
        return str(json.loads(answer.data)["error"]["code"]) if answer.status_code >= 400 else None


def without_budgets(deps: Resources) -> Resources:
    """Nobody may ask for anything."""
    nothing = {each: Budget(each, 0, 60) for each in ("reads", "account", "subgraph", "page_checks")}
    web = replace(deps.config.web, forwarded_hops=1)
    return replace(deps, config=replace(deps.config, budgets=ApiBudgets(**nothing), web=web))


def without_database(deps: Resources) -> Resources:
    silent = Raising(OperationalError("", {}, pg.AdminShutdown()))
    return replace(deps, engine=silent)  # type: ignore[arg-type]


def without_storage(deps: Resources) -> Resources:
    return replace(deps, store=Raising(ServiceError("storage_unavailable", "Away.")))  # type: ignore[arg-type]


def without_chain(deps: Resources) -> Resources:
    return replace(deps, rpc=FaultyRpc(ChainUnavailable()))


Change = Callable[[Sent], Sent]
PROVOKED: dict[str, tuple[Callable[[Resources], Resources], Change]] = {
    "rate_limit_reached": (without_budgets, lambda sent: sent),
    "bounty_projection_unavailable": (without_database, lambda sent: sent),
    "bounty_chain_state_unavailable": (without_chain, lambda sent: sent),
    "bounty_submission_content_authority_unavailable": (without_chain, lambda sent: sent),
    "storage_unavailable": (without_storage, lambda sent: sent),
    "unauthorized": (replace, lambda sent: replace(sent, is_signed=False)),
    "forbidden": (replace, lambda sent: replace(sent, by_a_stranger=True)),
    "bounty_not_found": (replace, lambda sent: replace(sent, bounty_id=BountyId(999_999))),
    "payload_too_large": (replace, lambda sent: replace(sent, large=True)),
    "unsupported_media_type": (replace, lambda sent: replace(sent, media_type="text/csv")),
}
OF_DELIVERY_TOO = {"rate_limit_reached", "unauthorized", "payload_too_large", "unsupported_media_type"}
"""Codes that the api answers before it forwards."""

OF_A_HELD_DOCUMENT = {"forbidden", "bounty_not_found"}
"""Codes that the signed read of a written Verdict answers once the document, which names the bounty, is held here:
``test_withholding``."""


@pytest.mark.spec(132, 133, 163, 164, 165, 317, 318, 372, 373, 374, 375)
@pytest.mark.parametrize("code", PROVOKED)
def test_provoked_codes_are_those_announced(service: Service, sealed: Sealed, code: str) -> None:
    plant, change = PROVOKED[code]
    there = replace(service, client=checked_client(make_app(plant(service.resources))))
    asked = [each for each in operations() if code in OF_DELIVERY_TOO or "deliver" not in each.path]
    asked = [each for each in asked if code not in OF_A_HELD_DOCUMENT or not each.path.endswith("/document")]
    answered = {str(each) for each in asked if change(Sent(sealed, each, sealed.bounty_id)).code(there) == code}
    assert answered == {str(each) for each in asked if code in each.codes}
