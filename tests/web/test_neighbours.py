"""The pages of two deployments that are served side by side: each names the other, and its settings as one file."""

import pytest
from bounty_protocol.wire.deployment import NeighbourDeployment

from tests.web.conftest import Pages
from tests.web.fake_api import HUB, account

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
