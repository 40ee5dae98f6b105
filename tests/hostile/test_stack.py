"""Whatever is asked of the api in its real server gets an answer that the published document announces.

Requests are drawn from the document and from the GraphQL schema, as they are meant and changed, signed and not: 2,000
by default, 100,000 in a campaign. SERVICE_CAMPAIGN_SEED chooses others.
"""

import http.client
import random
from collections import Counter
from contextlib import closing
from urllib.parse import unquote

import pytest
from bounty_protocol.auth.sign import RequestToSign, approval_header
from bounty_protocol.auth.typed_data import SigningDomain, digest
from bounty_protocol.chain.blocks import Header, header_at
from bounty_protocol.domain.frontmatter import MAX_DOCUMENT_BYTES
from bounty_protocol.types import BlockNumber
from local_stack.ports import HOST as LOCAL
from service_api.pages.site import PROGRAMS

from bench.watching.manifests import memory_requests
from bench.watching.processes import weighed
from tests import campaign
from tests.api.conftest import HOST, Service
from tests.api.contract import check_answer
from tests.api.pages import page_for
from tests.api.running import RunningApi
from tests.api.test_submissions import open_bounty, seal
from tests.api.test_written_verdicts import document, judgeable
from tests.hostile.generated import Asked, Generator, Known, mutate
from tests.protocol.auth.signing import Key, new_key

pytestmark = pytest.mark.nightly

BEHIND = 16
"""Blocks behind the tip that are signed: the server has seen them."""


@pytest.fixture(scope="module")
def known(service: Service, tmp_path_factory: pytest.TempPathFactory) -> Known:
    """A bounty with a sealed Submission that is recorded, and one whose work is judged."""
    world = service.world
    sealed = seal(service, tmp_path_factory.mktemp("sealed"), open_bounty(service), world.solver(1))
    assert sealed.upload() == 200
    assert sealed.prepare().status_code == 201
    world.submit(sealed.bounty_id, world.solver(1), sealed.envelope.commitment())
    judged, submitted = judgeable(service)
    world.node.mine(BEHIND)
    world.index()
    verdict = document(service, judged, world.guardian(1), (world.solver(1), submitted))
    return Known(
        {
            "BountyId": [str(sealed.bounty_id), str(judged)],
            "Bytes32": [sealed.envelope.commitment(), submitted, sealed.artifact.sha256],
            "Address": [world.people.poster.address, world.solver(1).address, world.guardian(1).address],
        },
        {
            "application/json": [sealed.envelope.canonical_bytes()],
            "text/markdown": [page_for(world, title="Generated"), verdict],
        },
    )


class Caller:
    """Sends requests over one connection, as people of the world or as strangers."""

    def __init__(self, service: Service, api: RunningApi, chance: random.Random) -> None:
        world, self._chance = service.world, chance
        people = (world.people.poster.wallet, world.solver(1), world.guardian(1))
        secrets = (bytes.fromhex(each.private_key.removeprefix("0x")) for each in people)
        self._keys = [*map(Key, secrets), new_key()]
        self._domain = SigningDomain(world.chain_id, world.hub_address)
        self._block: Header = header_at(world.rpc, BlockNumber(header_at(world.rpc, "latest").number - BEHIND))
        self._connection = http.client.HTTPConnection(LOCAL, api.port, timeout=60)

    def close(self) -> None:
        self._connection.close()

    def signed(self, asked: Asked) -> tuple[tuple[str, str], ...]:
        """The header of this request by one of those who may be concerned, where it is one that can be signed."""
        key = self._chance.choice(self._keys)
        named = [each for each in self._keys if each.address in asked.target]
        if named and self._chance.random() < 0.8:
            key = named[0]
        try:
            request = RequestToSign(asked.method, unquote(asked.path), asked.query, asked.body, HOST)
            approval = request.approval(self._block.number, self._block.hash)
            signature = key.sign(digest(self._domain, approval))
            return (("Authorization", approval_header(key.address, signature, approval)),)
        except ValueError:
            return ()

    def send(self, asked: Asked, *more: tuple[str, str]) -> tuple[int, str, bytes]:
        """Status, media type and body of the answer; status 0 where the server ended the connection while more was sent
        than any route takes."""
        headers = dict((*asked.headers, *more))
        if asked.media_type is not None:
            headers["Content-Type"] = asked.media_type
        for attempt in range(2):
            try:
                self._connection.request(asked.method, asked.target, asked.body or None, headers)
                answer = self._connection.getresponse()
                return answer.status, answer.headers.get_content_type(), answer.read()
            except (OSError, http.client.HTTPException):
                self._connection.close()  # the server does so after an answer to what it has not read whole
                if attempt and len(asked.body) <= MAX_DOCUMENT_BYTES:
                    raise
        return 0, "", b""


def check(asked: Asked, status: int, media_type: str, body: bytes) -> None:
    """Raise unless the document announces this answer, and it is no failure of the api itself."""
    assert status != 500 or b"internal_error" not in body, body
    if asked.method == "HEAD":
        assert (status == 500, body) == (False, b"")
    elif unquote(asked.path).lstrip("/").split("/")[0] not in PROGRAMS:
        assert media_type.startswith("text/html")  # no path of the document: a page says that there is none
    elif status not in {204, 304}:
        check_answer(asked.method, unquote(asked.path), status, media_type, body)


def test_api__over_requests_made_from_its_document__answers_only_what_that_announces(
    service: Service, running_api: RunningApi, known: Known
) -> None:
    chance, statuses = campaign.source("stack"), Counter[int]()
    generator = Generator(chance, known)
    with closing(Caller(service, running_api, chance)) as caller:
        for _ in range(campaign.size(1_000, 100_000)):
            asked, more = generator.request(), tuple[tuple[str, str], ...]()
            if chance.random() < 0.5:
                more = caller.signed(asked)
            if chance.random() < 0.6:
                asked = mutate(chance, asked)
                if more and chance.random() < 0.5:  # signed after it was changed, so that it is read further
                    more = caller.signed(asked)
            status, media_type, body = caller.send(asked, *more)
            statuses[status] += 1
            try:
                if status:
                    check(asked, status, media_type, body)
            except (AssertionError, ValueError, LookupError) as wrong:
                raise AssertionError((asked, more, status, body[:1_000])) from wrong
    assert running_api.child.exit_status() is None
    assert statuses[200] > sum(statuses.values()) / 10, statuses
    size = weighed({"api": running_api.child.pid})["api"]
    print(f"{sum(statuses.values())} requests passed, {dict(sorted(statuses.items()))}, {size / 2**20:.0f} MiB")
    assert size <= memory_requests()["api"]
