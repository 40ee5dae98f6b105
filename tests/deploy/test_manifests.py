"""The Kubernetes manifests are valid."""

import kubernetes_validate
import pytest
from local_stack.services import SERVICES

from bench.watching.manifests import memory_requests

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


def test_memory_of_every_process_is_requested() -> None:
    assert set(memory_requests()) == {process.name for process in SERVICES}
