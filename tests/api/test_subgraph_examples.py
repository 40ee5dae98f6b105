"""The examples of docs/subgraph.md, run as they stand."""

import json
import re
from pathlib import Path

import pytest

from tests.api.conftest import Service

PANEL = Path(__file__).parents[2] / "examples/notices/grafana-bounties.json"
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


def test_panel__of_grafana__reads_columns_that_its_query_answers(service: Service) -> None:
    service.world.create()
    service.world.finalize()
    panel = json.loads(PANEL.read_text(encoding="utf-8"))
    (target,) = panel["targets"]
    query = target["url_options"]["body_graphql_query"]
    answer = service.client.post("/subgraph", json={"query": query}).get_json()
    for step in target["root_selector"].split("."):
        answer = answer[step]
    assert answer
    assert {column["selector"] for column in target["columns"]} == set(answer[0])
