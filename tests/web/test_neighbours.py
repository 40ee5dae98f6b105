"""The pages of two deployments that are served side by side: each names the other, and its settings as one file."""

from typing import cast

import pytest
from bounty_protocol.chain.deployment import HUB_HEADER, caip_10
from bounty_protocol.foreign_json import read_object
from bounty_protocol.timely import HttpAnswer, TimelyHttp
from bounty_protocol.wire.deployment import NeighbourDeployment
from service_web.api.client import ApiReader, ApiUnavailable, Question

from tests.web.conftest import OwnClock, Pages
from tests.web.fake_api import CHAIN, HUB, account

PATHS = ("/", "/bounties/1", "/guardians", "/publish", "/deployment")
OTHER = NeighbourDeployment(account("another hub"), "https://next.example")
LINK = 'href="https://next.example"'
FILE = 'href="https://next.example/api/deployment/client.env"'


@pytest.fixture
def served(pages: Pages) -> Pages:
    pages.ledger.add()
    return pages


def test_pages__of_a_deployment_alone__name_no_other_and_have_its_own_settings(served: Pages) -> None:
    assert not any("another Hub" in served.text(path) or "Hub before" in served.text(path) for path in PATHS)
    shown = served.get("/deployment").text
    assert 'href="https://api.example/api/deployment/client.env"' in shown
    assert HUB in shown
    assert "Where new bounties go" not in shown


def test_pages__of_a_deployment_with_a_successor__send_new_bounties_there(served: Pages) -> None:
    served.ledger.successor = OTHER
    for path in PATHS:
        assert LINK in served.get(path).text, path
        assert "New bounties go to another Hub" in served.text(path)
        assert "their numbers are other bounties there" in served.text(path)
    assert FILE in served.get("/deployment").text
    assert OTHER.hub_address in served.get("/deployment").text


def test_pages__of_a_successor__name_where_earlier_bounties_are(served: Pages) -> None:
    served.ledger.predecessor = OTHER
    for path in PATHS:
        assert LINK in served.get(path).text, path
        assert "Earlier bounties, on the Hub before: next.example" in served.text(path)
        assert "New bounties go to another Hub" not in served.text(path)
    assert FILE in served.get("/deployment").text


@pytest.mark.attack
def test_neighbour__whose_address_is_none__is_text(served: Pages) -> None:
    """Where the api answers what its configuration refuses."""
    served.ledger.successor = NeighbourDeployment(account("another hub"), "javascript:alert(1)//<b>")
    for path in PATHS:
        shown = served.get(path).text
        assert 'href="javascript' not in shown
        assert "<b>" not in shown
        assert "javascript:alert(1)//<b>" in served.text(path)


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
    answering.hub = caip_10(CHAIN, OTHER.hub_address)
    assert reader.ask(Question("/api/bounties/1"), read_object).is_stale, "the last answer of its own"
    with pytest.raises(ApiUnavailable):
        reader.ask(Question("/api/bounties/2"), read_object)
