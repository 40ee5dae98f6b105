"""The budget of connections: every process has its pools, and the server of the trials takes what an overlay opens."""

import pytest
import yaml

from tests.deploy.kustomize import containers

from .conftest import REPOSITORY
from .connections import ENGINES_OF, JOBS, of_overlay, per_pod
from .manifests import ENTRY_POINTS, OVERLAYS, by_name


def test_budget_of_a_pod_is_what_its_pools_open() -> None:
    engine = (REPOSITORY / "libs/service_common/src/service_common/db/engine.py").read_text(encoding="utf-8")
    assert "max_overflow=pool_size" in engine
    assert set(ENGINES_OF) - {"pages"} == set(ENTRY_POINTS)
    assert all((count > 0) == bool(ENGINES_OF[name]) for name, count in per_pod().items())


@pytest.mark.parametrize("overlay", ["staging", "mainnet"])
def test_budget_of_an_overlay_fits_the_server(overlay: str) -> None:
    rest, most = of_overlay(overlay)
    (server,) = containers(by_name(OVERLAYS["staging"])["StatefulSet", "postgresql"])
    (limit,) = (int(word.partition("=")[2]) for word in server["args"] if word.startswith("max_connections="))
    assert 0 < rest < most < limit


def test_budget_of_compose_fits_its_server() -> None:
    services = yaml.safe_load((REPOSITORY / "deploy/compose/compose.yaml").read_text(encoding="utf-8"))["services"]
    (limit,) = (word.partition("=")[2] for word in services["postgresql"]["command"] if "max_connections" in word)
    assert 4 * sum(count for name, count in per_pod().items() if name in services) + JOBS < int(limit)
