"""The examples of docs/subgraph.md, run as they stand."""

import json
import re
from pathlib import Path

import pytest

from tests.api.conftest import Service

PAGE = (Path(__file__).parents[2] / "docs" / "subgraph.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```graphql\n(.*?)```", PAGE, re.DOTALL)


def test_page__of_the_endpoint__has_examples() -> None:
    assert len(EXAMPLES) >= 6


@pytest.mark.parametrize("query", EXAMPLES, ids=[f"example-{n}" for n in range(1, len(EXAMPLES) + 1)])
def test_example__as_it_stands__is_answered(service: Service, query: str) -> None:
    response = service.client.post(
        "/subgraph", data=json.dumps({"query": query}), headers={"Content-Type": "application/json"}
    )
    assert response.status_code == 200, response.get_data(as_text=True)
    assert response.json is not None
    assert set(response.json) == {"data"}
    assert all(value is not None or name == "bounty" for name, value in response.json["data"].items())
