"""One search followed in three ways, through a reorg: by the page, by its feed, and by a webhook, with equal facts."""

import io
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import feedparser
import pytest
from flask.testing import FlaskClient
from service_web.api.answers import Api
from service_web.api.client import ApiReader
from service_web.app import make_app
from service_web.challenge import Challenges
from service_web.config import read_config
from service_web.dependencies import make_dependencies
from service_web.withheld import WithheldTexts

from tests.api.conftest import Service, running_service
from tests.api.test_list import created
from tests.api.webhooks.receiving import Receiving, receiving
from tests.api.webhooks.test_deliverer import Worker, confirmed
from tests.api.webhooks.test_registration import Subscriber
from tests.cli.servers import Reply, Request, Server
from tests.web.conftest import VARIABLES, OwnClock

SEARCH = "quokka"


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    """Of its own: a reorg would disturb."""
    with running_service() as started:
        yield started


@pytest.fixture
def pages(service: Service) -> Iterator[FlaskClient]:
    """The real pages over the real API."""

    def answer(request: Request) -> Reply:
        headers = {name: value for name, value in request.headers.items() if name != "host"}
        path = request.path + (f"?{request.query}" if request.query else "")
        got = service.client.open(path, method=request.method, data=request.body or None, headers=headers)
        return got.status_code, got.get_data(), dict(got.headers)

    server = Server(answer)
    chain = service.dependencies.config.chain
    own = {
        "SERVICE_API_URL": server.url, "SERVICE_CHAIN_ID": str(chain.chain_id),
        "SERVICE_HUB_ADDRESS": chain.hub_address,
    }  # fmt: skip
    clock = OwnClock()  # nothing is kept
    api = Api(ApiReader(server.url, clock))
    real = make_dependencies(read_config(VARIABLES | own))
    yield make_app(
        replace(real, api=api, challenges=Challenges(api, WithheldTexts(api, clock), clock), clock=clock)
    ).test_client()
    server.close()


def facts_of_the_feed(pages: FlaskClient) -> set[tuple[str, str]]:
    answer = pages.get(f"/feed.atom?search={SEARCH}")
    assert answer.status_code == 200
    ids = [entry.id.split(":") for entry in feedparser.parse(io.BytesIO(answer.data)).entries]
    return {(parts[4], parts[5]) for parts in ids}


def facts_of_the_webhook(receiver: Receiving) -> set[tuple[str, str]]:
    """What still holds of what it got, in the words of the feed."""
    kinds = {"BountyCreated": "created", "VerdictRecorded": "verdict", "BountyFinalized": "decided"}
    held: list[dict[str, Any]] = []
    for change in receiver.facts():
        if change["event"] is None:
            held = [each for each in held if each["block_number"] <= change["last_block_number"]]
        else:
            held.append(change["event"])
    return {(each["bounty_id"], kinds[each["name"]]) for each in held if each["name"] in kinds}


def shown_by_the_page(pages: FlaskClient) -> set[str]:
    html = pages.get(f"/?show=all&search={SEARCH}").get_data(as_text=True)
    return {part.split('"')[0] for part in html.split('href="/bounties/')[1:]}


def test_search__through_a_reorg__is_the_same_on_the_page_in_the_feed_and_for_the_webhook(
    service: Service, pages: FlaskClient
) -> None:
    world, worker = service.world, Worker(service)
    world.finalize()
    with receiving() as receiver:
        confirmed(
            Subscriber(service), worker, receiver, bounties_matching={"search": SEARCH}, finality="unsafe"
        )  # fmt: skip
        first = created(service, "A quokka's parser")
        created(service, "Anything else")
        world.index()
        worker.run()
        assert shown_by_the_page(pages) == {str(first)}
        assert facts_of_the_feed(pages) == facts_of_the_webhook(receiver) == {(str(first), "created")}
        world.submit(first, world.solver(1))
        second = created(service, "Another quokka")
        world.index()
        worker.run()
        both = {(str(first), "created"), (str(second), "created")}
        assert facts_of_the_feed(pages) == facts_of_the_webhook(receiver) == both
        world.rpc.call("anvil_reorg", 1, [])
        world.people.poster.wallet.forget_nonce()
        world.open_bounties.pop()
        world.index()
        worker.run()
        assert shown_by_the_page(pages) == {str(first)}
        assert facts_of_the_feed(pages) == facts_of_the_webhook(receiver) == {(str(first), "created")}
        again = created(service, "Another quokka")
        world.finalize()
        worker.run()
        assert shown_by_the_page(pages) == {str(first), str(again)}
        assert facts_of_the_feed(pages) == facts_of_the_webhook(receiver)
        assert [each for each in receiver.facts() if each["event"] is None], "it was taken back"
