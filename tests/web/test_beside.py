"""The pages of two deployments that are served side by side: each has its settings as one file, and its own API."""

from typing import cast

import pytest
from bounty_protocol.chain.deployment import HUB_HEADER, caip_10
from bounty_protocol.foreign_json import read_object
from bounty_protocol.timely import HttpAnswer, TimelyHttp
from service_web.api.client import ApiReader, ApiUnavailable, Question

from tests.web.conftest import OwnClock, Pages
from tests.web.fake_api import CHAIN, HUB, account


@pytest.fixture
def served(pages: Pages) -> Pages:
    pages.ledger.add()
    return pages


def test_pages__of_a_deployment__have_its_own_settings(served: Pages) -> None:
    shown = served.get("/deployment").text
    assert 'href="https://api.example/api/deployment/client.env"' in shown
    assert HUB in shown


@pytest.mark.attack
@pytest.mark.parametrize("status", [200, 304, 404])
def test_api__of_another_hub__is_as_good_as_none(status: int) -> None:
    """Two deployments on one cluster have the same names: an address with the other's namespace reaches its API."""

    class Answering:
        hub = caip_10(CHAIN, HUB)

        def exchange(self, *_: object, **__: object) -> HttpAnswer:
            found = 200 if self.hub == caip_10(CHAIN, HUB) else status
            return HttpAnswer(found, {HUB_HEADER: self.hub, "ETag": '"a"'}, b'{"x": 1}')

    answering = Answering()
    reader = ApiReader("http://api", OwnClock(), cast("TimelyHttp", answering), (HUB_HEADER, caip_10(CHAIN, HUB)))
    assert reader.ask(Question("/api/bounties/1"), read_object).is_stale is False
    answering.hub = caip_10(CHAIN, account("another hub"))
    assert reader.ask(Question("/api/bounties/1"), read_object).is_stale, "the last answer of its own"
    with pytest.raises(ApiUnavailable):
        reader.ask(Question("/api/bounties/2"), read_object)
