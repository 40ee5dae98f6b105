"""The reviewer's Flask service answers: as its pods are rendered, and as Compose starts it."""

from collections.abc import Iterator, Mapping

import pytest
import urllib3
from demo.examples import EXAMPLES
from local_stack.ports import HOST
from local_stack.runtime import Runtime, running

from tests.scraping import scrape, start

from .manifests import OVERLAYS, environment, own_containers
from .test_compose import SERVICES as COMPOSED

NAMED = ("Service", "reviewer")
GOOD = (EXAMPLES / "bounty_challenge.md").read_bytes()


@pytest.fixture
def runtime() -> Iterator[Runtime]:
    with running() as found:
        yield found


def commands() -> Iterator[tuple[str, list[str], Mapping[str, str]]]:
    """How each deployment starts it: arguments and environment."""
    for overlay in OVERLAYS:
        for name, _, container in own_containers(overlay):
            if name == "reviewer":
                yield overlay, container["args"], environment(overlay, container)
    service = COMPOSED["reviewer"]
    assert "env_file" not in service
    yield "compose", service["command"], service["environment"]


def require_whole(url: str) -> None:
    """What the service answers, whoever started it; asked again where the rules got no turn on a busy machine."""
    busy = urllib3.Retry(10, allowed_methods=None, status_forcelist=[503], backoff_factor=0.2, raise_on_status=False)
    ask = urllib3.PoolManager(timeout=20.0, retries=busy).request
    assert ask("GET", f"{url}/healthz").status == 200
    headers = {"Content-Type": "text/markdown"}
    found = ask("POST", f"{url}/findings?now=1795000000", body=GOOD, headers=headers)
    assert (found.status, found.json()["issues"]) == (200, [])
    bad = GOOD.replace(b"\n---\n", b"\n---\nTODO: ask somebody.\n", 1)
    assert ask("POST", f"{url}/findings?now=1795000000", body=bad, headers=headers).json()["issues"]


@pytest.mark.parametrize(
    ("where", "arguments", "variables"),
    [pytest.param(*each, id=each[0], marks=[] if each[0] == "mainnet" else pytest.mark.nightly) for each in commands()],
)
def test_reviewer_of_a_deployment_answers(
    where: str, arguments: list[str], variables: Mapping[str, str], runtime: Runtime
) -> None:
    port = runtime.port()
    own = {"SERVICE_PORT": str(port), "SERVICE_HOST": HOST, "SERVICE_INTERNAL_HOST": HOST}
    assert set(own) - {"SERVICE_PORT"} <= set(variables), where
    started = start(runtime, "reviewer", {**variables, **own}, "service-reviewer", *arguments)
    runtime.family.wait(started.child, lambda: _serves(started.port), 60.0)
    require_whole(f"http://{HOST}:{port}")
    assert scrape(started.port)


def _serves(internal: int) -> bool:
    return urllib3.request("GET", f"http://{HOST}:{internal}/serving", retries=False, timeout=20).status == 200
