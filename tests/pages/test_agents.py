"""What agents and assistants find at the site: how to take part, and whom to tell of a weakness."""

import re
from pathlib import Path

import pytest
from service_common.config import ConfigurationError

from tests.pages.conftest import VARIABLES, Pages, configured

DOCS = Path(__file__).parents[2] / "docs"


def test_agents_page_is_the_document(pages: Pages) -> None:
    answer = pages.client.get("/agents.md")
    assert (answer.status_code, answer.content_type) == (200, "text/markdown; charset=utf-8")
    page = answer.get_data(as_text=True)
    assert page.startswith("# For agents")
    assert not re.search(r"\]\([a-z]+\.md", page)
    assert "(#a-policy)" in page
    assert len(page) > 0.95 * len((DOCS / "agents.md").read_text(encoding="utf-8"))


def test_llms_names_page_and_api(pages: Pages) -> None:
    text = pages.client.get("/llms.txt").get_data(as_text=True)
    assert "(http://bounties.example/agents.md)" in text
    assert "(http://bounties.example/api/openapi.json)" in text


def test_security__without_a_contact__is_not_there(pages: Pages) -> None:
    assert pages.client.get("/.well-known/security.txt").status_code == 404


def test_security_names_the_contact_and_expires() -> None:
    contacted = Pages(variables={**VARIABLES, "SERVICE_SECURITY_CONTACT": "mailto:security@bounties.example"})
    lines = contacted.client.get("/.well-known/security.txt").get_data(as_text=True).splitlines()
    assert lines[0] == "Contact: mailto:security@bounties.example"
    assert re.fullmatch(r"Expires: \d{4}-\d\d-\d\dT00:00:00Z", lines[1])
    assert lines[2] == "Canonical: http://bounties.example/.well-known/security.txt"


@pytest.mark.parametrize("path", ["/agents.md", "/llms.txt"])
def test_document__asked_for_with_a_query__is_refused(pages: Pages, path: str) -> None:
    assert pages.client.get(f"{path}?x=1").status_code == 400


@pytest.mark.parametrize("contact", ["security@bounties.example", "mailto:a b", "javascript:x"])
def test_contact__that_is_none__ends_the_start(contact: str) -> None:
    with pytest.raises(ConfigurationError):
        configured({**VARIABLES, "SERVICE_SECURITY_CONTACT": contact})
