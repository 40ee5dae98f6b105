"""Mutated requests through the running server: nobody is verified, nothing is a 500, nothing is written."""

import json
from collections import Counter

from bounty_protocol.auth.verify import ReceivedRequest

from tests import campaign
from tests.api.conftest import Service
from tests.api.running import Answer, RunningApi
from tests.api.test_running_server import rows
from tests.protocol.auth.mutations import mutate, same

BODY = json.dumps({"ciphertext_sha256": "0x" + "11" * 32, "ciphertext_byte_length": 5}).encode()
REFUSED = {0, 400, 401, 404, 405, 411, 413, 414, 415, 431, 501}


def send(api: RunningApi, request: ReceivedRequest) -> Answer:
    """The request as bytes, whatever is in it."""
    target = request.path + (f"?{request.raw_query}" if request.raw_query else "")
    lines = [f"{request.method} {target} HTTP/1.1", "Host: a", "Connection: close", "Content-Type: application/json"]
    lines += [f"Authorization: {value}" for value in request.authorization]
    lines += [f"Content-Length: {len(request.body)}", "", ""]
    return api.send("\r\n".join(lines).encode("utf-8", "surrogatepass") + request.body)


def is_let_in(answer: Answer) -> bool:
    """Whether the answer could only be given after the signature was accepted: the bounty does not exist. An answer to
    HEAD has no body, and no signed route takes it but for a read; one of no route of the API is a page."""
    return (answer.status < 400 and answer.status != 0) or (
        answer.status == 404 and b'"bounty_not_found"' in answer.body
    )


def test_server__over_mutated_requests__lets_in_only_those_that_still_say_the_same(
    service: Service, running_api: RunningApi
) -> None:
    world, chance, outcomes = service.world, campaign.source("server"), Counter[int]()
    world.node.mine(3)
    solver = world.solver(1)
    path = f"/api/bounties/4711/submissions/{solver.address}/artifact-upload-url"
    authorization = service.authorization(solver.private_key, "POST", path, query="a=b", body=BODY)
    good = ReceivedRequest("POST", path, "a=b", BODY, (authorization,))
    assert send(running_api, good).code == "invalid_solver_submission"  # let in, and then the query is refused
    good = ReceivedRequest(
        "POST", path, "", BODY, (service.authorization(solver.private_key, "POST", path, body=BODY),)
    )
    before = rows(service)
    assert is_let_in(send(running_api, good))
    for _ in range(campaign.size(300, 2_000)):
        request = mutate(chance, good)
        answer = send(running_api, request)
        outcomes[answer.status] += 1
        if is_let_in(answer):
            assert same(request, good) or request.method == "OPTIONS", request
        elif answer.status == 503:
            assert request.method == "HEAD" or answer.code == "service_overloaded"  # a wallet check that was shed
        else:
            assert answer.status in REFUSED, (answer, request)
    assert rows(service) == before
    assert outcomes[401] > sum(outcomes.values()) / 3, outcomes
