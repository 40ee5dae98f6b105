"""Faults planted in every dependency: the answer is an envelope, and no word of what failed is in it."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from bounty_protocol.chain.rpc import ChainUnavailable, Rpc, RpcRefused
from bounty_protocol.errors import PROBLEMS
from bounty_protocol.types import BountyId
from psycopg import errors as pg
from redis.exceptions import ConnectionError as RedisError
from service_api.app import make_app
from service_api.resources import Resources
from sqlalchemy.exc import OperationalError, ProgrammingError

from tests.api.conftest import Service, error_of

MARK = "LEAKED secret://user:password@10.0.0.1 execution reverted NotAGuardian(0x1234)"
ZERO = "0x" + "00" * 32
_DRIVER = pg.UndefinedTable(MARK)
ERRORS: dict[str, Exception] = {
    "database down": OperationalError(MARK, {}, _DRIVER),
    "database broken": ProgrammingError(MARK, {}, _DRIVER),
    "revert": RpcRefused(3, MARK, b"\x08\xc3y\xa0"),
    "endpoint limited": RpcRefused(-32005, "LEAKED secret://10.0.0.1 limit exceeded"),
    "chain down": ChainUnavailable(MARK),
    "redis down": RedisError(MARK),
    "value": ValueError(MARK),
    "key": KeyError(MARK),
    "anything": RuntimeError(MARK),
    "recursion": RecursionError(MARK),
    "memory": MemoryError(MARK),
}


class Raising:
    """Stands for a dependency and raises whatever is asked of it."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def __getattr__(self, name: str) -> object:
        def raise_it(*_: object, **__: object) -> object:
            raise self._error

        return raise_it


class FaultyRpc(Rpc):
    """A chain that answers every call with an error."""

    def __init__(self, error: Exception) -> None:
        super().__init__(["http://127.0.0.1:9"])
        self._error = error

    def bounded(self, *, seconds: float, max_answer_bytes: int | None = None, patient: bool = False) -> Rpc:
        return self

    def batch(self, calls: object) -> list[object]:
        raise self._error


PLANT: dict[str, Callable[[Resources, Exception], Resources]] = {
    "engine": lambda deps, error: replace(deps, engine=Raising(error)),  # type: ignore[arg-type]
    "redis": lambda deps, error: replace(deps, redis=Raising(error)),  # type: ignore[arg-type]
    "store": lambda deps, error: replace(deps, store=Raising(error)),  # type: ignore[arg-type]
    "rpc": lambda deps, error: replace(deps, rpc=FaultyRpc(error)),
    "http": lambda deps, error: replace(deps, http=Raising(error)),  # type: ignore[arg-type]
}


FAULTS = [
    *(("engine", fault) for fault in ("database down", "database broken", "key", "recursion", "memory")),
    *(("redis", fault) for fault in ("redis down", "anything")),
    *(("store", fault) for fault in ("value", "anything")),
    *(("rpc", fault) for fault in ("revert", "endpoint limited", "chain down", "anything")),
    *(("http", fault) for fault in ("value", "anything")),
]
"""What is planted where: what each dependency raises, and one that nothing expects."""


def requests_of(service: Service) -> list[tuple[str, str, str, bytes, str | None]]:
    """Method, path, query, body and signer's key of one request for each route."""
    people = service.world.people
    solver, poster, guardian = people.solvers[0], people.poster, people.guardians[0]
    own = f"/api/bounties/1/submissions/{solver.address}"
    key = {"solver": solver.wallet.private_key, "poster": poster.wallet.private_key}
    publish = "/api/bounty-challenge-specs/prepare-publication"
    named = b'{"submission_commitments": ["0x' + b"11" * 32 + b'"]}'
    upload = b'{"ciphertext_sha256": "0x' + b"11" * 32 + b'", "ciphertext_byte_length": 5}'
    return [
        ("GET", "/api/bounties", "", b"", None),
        ("GET", "/api/bounties/1", "", b"", None),
        ("GET", "/api/deployment", "", b"", None),
        ("GET", "/api/deployment/delivery-key", "", b"", None),
        ("GET", f"/api/written-verdicts/{ZERO}", "", b"", None),
        ("POST", "/subgraph", "", b'{"query": "{ bounties { id } }"}', None),
        ("POST", publish, f"poster_address={poster.address}", b"---\nversion: 1\n---\nx\n", key["poster"]),
        ("POST", f"{own}/artifact-upload-url", "", upload, key["solver"]),
        ("POST", f"{own}/prepare", "", b"{}", key["solver"]),
        ("GET", f"/api/bounties/1/submissions/{ZERO}/content", "", b"", guardian.wallet.private_key),
        ("POST", "/api/bounties/1/submissions/contents", "", named, guardian.wallet.private_key),
        ("POST", f"/api/written-verdicts/{ZERO}", "", b"x", guardian.wallet.private_key),
        ("POST", "/api/bounties/1/delivery/wrap", "", b"{}", guardian.wallet.private_key),
    ]


@pytest.mark.spec(380)
@pytest.mark.parametrize(("place", "fault"), FAULTS)
def test_planted_fault_shows_none_of_its_words(service: Service, place: str, fault: str) -> None:
    world = service.world
    if not world.events(BountyId(1)):
        world.fund()
        world.finalize()
    broken = PLANT[place](service.resources, ERRORS[fault])
    client = make_app(broken).test_client()
    for method, path, query, body, secret in requests_of(service):
        headers = {"Content-Type": "text/markdown" if body.startswith((b"-", b"x")) else "application/json"}
        if not body:
            headers = {}
        if secret is not None:
            headers["Authorization"] = service.authorization(secret, method, path, query=query, body=body)
        url = path + (f"?{query}" if query else "")
        response = client.open(url, method=method, data=body or None, headers=headers)
        text = response.get_data(as_text=True) + str(response.headers)
        assert not any(word in text for word in ("LEAKED", "secret", "10.0.0.1", "NotAGuardian", "Traceback")), path
        if response.status_code >= 400:
            assert error_of(response)["code"] in PROBLEMS
        if place == "engine" and "delivery" not in path:
            assert response.status_code in {400, 500, 503}, (path, text)


@pytest.mark.parametrize("fault", ["endpoint limited", "chain down", "revert"])
def test_chain_that_gives_no_answer_is_unavailable(service: Service, fault: str) -> None:
    broken = PLANT["rpc"](service.resources, ERRORS[fault])
    response = make_app(broken).test_client().get("/api/deployment")
    assert (response.status_code, error_of(response)["code"]) == (503, "bounty_chain_state_unavailable")
    assert "Retry-After" in response.headers
