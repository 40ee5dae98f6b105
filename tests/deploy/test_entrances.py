"""How requests come in: a Gateway or an Ingress, by one line of an overlay, both to the same services."""

import re
import shutil
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest
import yaml
from service_common.web.server import IDLE_SECONDS

from tests.deploy.kustomize import Object, render

from .manifests import K8S, OVERLAYS, by_name

NAMED: Final = {"staging": "ingress", "mainnet": "ingress"}
"""The entrance that each overlay names."""
KINDS: Final = {
    "gateway": {"Gateway", "HTTPRoute", "BackendTrafficPolicy"},
    "ingress": {"Ingress"},
}
HOST: Final = {"staging": "staging.bounties.example", "mainnet": "bounties.example"}
EVERY: Final = [(overlay, entrance) for overlay in NAMED for entrance in KINDS]


@cache
def rendered(overlay: str, entrance: str) -> list[Object]:
    """An overlay whose line of the entrance names this one."""
    with TemporaryDirectory() as folder:
        file = shutil.copytree(K8S, Path(folder) / "k8s") / "overlays" / overlay / "kustomization.yaml"
        text = file.read_text(encoding="utf-8")
        assert f"components/{NAMED[overlay]}\n" in text
        file.write_text(text.replace(f"components/{NAMED[overlay]}\n", f"components/{entrance}\n"), encoding="utf-8")
        return render(file.parent)


def of(overlay: str, entrance: str) -> list[Object]:
    """What the entrance adds to an overlay."""
    return [each for each in rendered(overlay, entrance) if each["kind"] in KINDS[entrance]]


def led(objects: list[Object]) -> dict[str, str]:
    """The service behind each prefix of paths, of what is served over https."""
    found: dict[str, str] = {}
    for each in objects:
        spec = each["spec"]
        if each["kind"] == "Ingress":
            (rule,) = spec["rules"]
            assert {path["pathType"] for path in rule["http"]["paths"]} == {"Prefix"}
            found |= {path["path"]: path["backend"]["service"]["name"] for path in rule["http"]["paths"]}
        if each["kind"] == "HTTPRoute" and spec["parentRefs"][0]["sectionName"] == "https":
            for rule in spec["rules"]:
                found |= {match["path"]["value"]: rule["backendRefs"][0]["name"] for match in rule["matches"]}
    return found


def hosts(objects: list[Object]) -> set[str]:
    """Every host that is served, redirected, or in a certificate's place."""
    return set(re.findall(r"[\w.]+\.example", yaml.safe_dump(objects)))


@pytest.mark.parametrize(("overlay", "entrance"), EVERY)
def test_entrance_leads_to_the_same_services(overlay: str, entrance: str) -> None:
    people, programs = {"/": "pages"}, {"/api": "api", "/subgraph": "api"}
    assert led(of(overlay, entrance)) == ({**programs, **people} if overlay == "mainnet" else {"/": "api"})
    services = {each["metadata"]["name"] for each in OVERLAYS[overlay] if each["kind"] == "Service"}
    assert "api" in services


@pytest.mark.spec(26)
@pytest.mark.parametrize(("overlay", "entrance"), EVERY)
def test_host_is_the_audience_of_every_signature(overlay: str, entrance: str) -> None:
    assert hosts(of(overlay, entrance)) == {HOST[overlay]}
    every = by_name(rendered(overlay, entrance))
    assert every["ConfigMap", "web"]["data"]["SERVICE_PUBLIC_HOST"] == HOST[overlay]


def test_gateway_closes_idle_connections_first() -> None:
    """Else a request meets the end of its connection."""
    policy = by_name(of("mainnet", "gateway"))["BackendTrafficPolicy", "public"]["spec"]
    kept = int(policy["timeout"]["http"]["connectionIdleTimeout"].removesuffix("s"))
    assert 0 < kept < IDLE_SECONDS


def test_plain_http_is_redirected() -> None:
    spec = by_name(of("mainnet", "gateway"))["HTTPRoute", "to-https"]["spec"]
    assert (spec["parentRefs"][0]["sectionName"], list(spec["rules"][0])) == ("http", ["filters"])
