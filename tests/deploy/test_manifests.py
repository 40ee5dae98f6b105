"""The Kubernetes manifests are valid."""

import kubernetes_validate
import pytest
from local_stack.services import SERVICES

from bench.watching.manifests import memory_requests
from tests.deploy.kustomize import quantity

from .manifests import OVERLAYS

KUBERNETES_VERSION = "1.33"
FOREIGN = {
    *("ScaledObject", "TriggerAuthentication", "PodMonitor", "PrometheusRule"),
    *("Gateway", "HTTPRoute", "BackendTrafficPolicy"),
}
"""Kinds that other operators define; their schemas are not Kubernetes' own."""


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_objects__of_an_overlay__are_valid_kubernetes(overlay: str) -> None:
    checked = 0
    for each in OVERLAYS[overlay]:
        if each["kind"] not in FOREIGN:
            kubernetes_validate.validate(each, KUBERNETES_VERSION, strict=True)
            checked += 1
    assert checked > 30


def test_memory__of_every_process_of_the_service__is_requested() -> None:
    assert set(memory_requests()) == {process.name for process in SERVICES}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("256Mi", 2**28),
        ("1.5Gi", 3 * 2**29),
        ("128974848", 128_974_848),
        ("129e6", 129_000_000),
        ("1E", 10**18),
        ("2k", 2_000),
    ],
)
def test_quantity__of_kubernetes__is_its_number(text: str, value: int) -> None:
    assert quantity(text) == value


@pytest.mark.parametrize("text", ["", "Mi", "1 Mi", "-1Mi", "1mi", "1e3Mi", "1Zi"])
def test_quantity__that_kubernetes_refuses__is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no quantity"):
        quantity(text)
