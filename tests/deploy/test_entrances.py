"""How requests come in: a Gateway, an Ingress or Traefik, by one line of an overlay, all to the same services."""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import jsonschema
import kubernetes_validate
import pytest
import uvicorn
import yaml
from bounty_protocol.domain.frontmatter import MAX_DOCUMENT_BYTES
from kustomization.__main__ import main
from kustomization.quantity import quantity
from kustomization.render import ENTRANCES, Object, render
from kustomization.unset import unset
from service_common.web.server import IDLE_SECONDS

from .manifests import K8S, OVERLAYS, by_name

NAMED: Final = {"staging": "ingress", "mainnet": "gateway"}
"""The entrance that each overlay names."""
KINDS: Final = {
    "gateway": {"Gateway", "HTTPRoute", "BackendTrafficPolicy", "ClientTrafficPolicy"},
    "ingress": {"Ingress"},
    "traefik": {"IngressRoute", "Middleware"},
}
HOST: Final = {"staging": "staging.bounties.example", "mainnet": "bounties.example"}
EVERY: Final = [(overlay, entrance) for overlay in NAMED for entrance in ENTRANCES]

MIDDLEWARES: Final = {"type": "array", "items": {"required": ["name"], "properties": {"name": {"type": "string"}}}}
TRAEFIK: Final[dict[str, dict[str, Any]]] = {
    "IngressRoute": {
        "required": ["routes"],
        "properties": {
            "entryPoints": {"type": "array", "items": {"type": "string"}},
            "routes": {
                "type": "array",
                "items": {
                    "required": ["match", "kind"],
                    "properties": {
                        "kind": {"enum": ["Rule"]},
                        "match": {"type": "string"},
                        "middlewares": MIDDLEWARES,
                        "services": {
                            "type": "array",
                            "items": {
                                "required": ["name"],
                                "properties": {
                                    "kind": {"enum": ["Service", "TraefikService"]},
                                    "name": {"type": "string"},
                                    "port": {"type": ["integer", "string"]},
                                },
                            },
                        },
                    },
                },
            },
            "tls": {"properties": {"secretName": {"type": "string"}}},
        },
    },
    "Middleware": {
        "properties": {
            "buffering": {
                "properties": {
                    "maxRequestBodyBytes": {"type": "integer"},
                    "memRequestBodyBytes": {"type": "integer"},
                },
            },
            "redirectScheme": {"properties": {"scheme": {"type": "string"}, "permanent": {"type": "boolean"}}},
        },
    },
}
"""The fields of Traefik's definitions (traefik.io/v1alpha1) that are used here, with their types. ``./noxw -s cluster``
takes the definitions themselves."""


def closed(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema that refuses what it does not name, as an API server does with strict validation."""
    made = {key: closed(value) if isinstance(value, dict) else value for key, value in schema.items()}
    return made | {"type": "object", "additionalProperties": False} if "properties" in schema else made


def of(overlay: str, entrance: str) -> list[Object]:
    """What the entrance adds to an overlay."""
    return [each for each in render(K8S / "overlays" / overlay, entrance=entrance) if each["kind"] in KINDS[entrance]]


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
        if each["kind"] == "IngressRoute" and spec["entryPoints"] == ["websecure"]:
            for route in spec["routes"]:
                exact = re.findall(r"[^x]Path\(`([^`]*)`\)", route["match"])
                assert [f"{path}/" for path in exact] == re.findall(r"PathPrefix\(`([^`]*)`\)", route["match"])
                found |= dict.fromkeys(exact or ["/"], route["services"][0]["name"])
    return found


def hosts(objects: list[Object]) -> set[str]:
    """Every host that is served, redirected, or in a certificate's place."""
    return set(re.findall(r"[\w.]+\.example", yaml.safe_dump(objects)))


@pytest.mark.parametrize(("overlay", "entrance"), EVERY)
def test_entrance__of_an_overlay__leads_to_the_same_services(overlay: str, entrance: str) -> None:
    assert led(of(overlay, entrance)) == {"/api": "api", "/subgraph": "api", "/": "web"}
    services = {each["metadata"]["name"] for each in OVERLAYS[overlay] if each["kind"] == "Service"}
    assert {"api", "web"} <= services


@pytest.mark.spec(26)
@pytest.mark.parametrize(("overlay", "entrance"), EVERY)
def test_host__of_an_entrance__is_the_audience_of_every_signature(overlay: str, entrance: str) -> None:
    assert hosts(of(overlay, entrance)) == {HOST[overlay]}
    every = by_name(render(K8S / "overlays" / overlay, entrance=entrance))
    assert every["ConfigMap", "web"]["data"]["SERVICE_PUBLIC_HOST"] == HOST[overlay]


@pytest.mark.parametrize(("overlay", "entrance"), EVERY)
def test_certificate__of_an_entrance__is_the_same_secret(overlay: str, entrance: str) -> None:
    assert yaml.safe_dump(of(overlay, entrance)).count("api-tls") == 1


@pytest.mark.parametrize(("overlay", "entrance"), EVERY)
def test_difference__of_two_entrances__is_themselves(overlay: str, entrance: str) -> None:
    named = {key: each for key, each in by_name(OVERLAYS[overlay]).items() if key[0] not in KINDS[NAMED[overlay]]}
    taken = by_name(render(K8S / "overlays" / overlay, entrance=entrance))
    assert {key: each for key, each in taken.items() if key[0] not in KINDS[entrance]} == named


@pytest.mark.parametrize("overlay", NAMED)
def test_overlay__by_itself__has_the_entrance_that_one_line_names(overlay: str) -> None:
    text = (K8S / "overlays" / overlay / "kustomization.yaml").read_text(encoding="utf-8")
    assert re.findall(r"components/(gateway|ingress|traefik)$", text, re.MULTILINE) == [NAMED[overlay]]
    assert OVERLAYS[overlay] == render(K8S / "overlays" / overlay, entrance=NAMED[overlay])


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="needs kubectl")
@pytest.mark.parametrize(("overlay", "entrance"), EVERY)
def test_line__of_an_overlay_changed__kustomize_makes_the_same(tmp_path: Path, overlay: str, entrance: str) -> None:
    shutil.copytree(K8S, tmp_path / "k8s")
    file = tmp_path / "k8s/overlays" / overlay / "kustomization.yaml"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace(f"components/{NAMED[overlay]}\n", f"components/{entrance}\n"), encoding="utf-8")
    done = subprocess.run(["kubectl", "kustomize", file.parent], capture_output=True, check=False, timeout=60)
    if done.returncode == 0:  # an older one knows no components
        assert by_name(list(yaml.safe_load_all(done.stdout))) == by_name(
            render(K8S / "overlays" / overlay, entrance=entrance)
        )


@pytest.mark.parametrize("overlay", NAMED)
def test_ingress__needs_no_annotation_and_names_no_controller(overlay: str) -> None:
    (ingress,) = of(overlay, "ingress")
    kubernetes_validate.validate(ingress, "1.33", strict=True)
    assert "annotations" not in ingress["metadata"]
    assert "ingressClassName" not in ingress["spec"]


@pytest.mark.parametrize("overlay", NAMED)
def test_traefik__of_an_overlay__uses_fields_that_its_definitions_have(overlay: str) -> None:
    objects = of(overlay, "traefik")
    middlewares = {each["metadata"]["name"] for each in objects if each["kind"] == "Middleware"}
    for each in objects:
        assert each["apiVersion"] == "traefik.io/v1alpha1"
        jsonschema.validate(each["spec"], closed(TRAEFIK[each["kind"]]))
        for route in each["spec"].get("routes", []):
            assert {one["name"] for one in route["middlewares"]} <= middlewares


def test_traefik__with_a_field_that_its_definitions_lack__is_refused() -> None:
    (middleware,) = [each for each in of("staging", "traefik") if each["metadata"]["name"] == "whole-requests"]
    middleware["spec"]["buffering"]["maxBodyBytes"] = 1
    with pytest.raises(jsonschema.ValidationError, match="maxBodyBytes"):
        jsonschema.validate(middleware["spec"], closed(TRAEFIK["Middleware"]))


@pytest.mark.parametrize(("overlay", "entrance"), [("mainnet", "gateway"), ("mainnet", "traefik")])
def test_bodies__that_an_entrance_reads_whole__may_be_as_large_as_the_largest_of_a_route(
    overlay: str, entrance: str
) -> None:
    objects = by_name(of(overlay, entrance))
    if entrance == "gateway":
        limit = quantity(objects["BackendTrafficPolicy", "public"]["spec"]["requestBuffer"]["limit"])
    else:
        limit = objects["Middleware", "whole-requests"]["spec"]["buffering"]["maxRequestBodyBytes"]
    assert limit > MAX_DOCUMENT_BYTES


def test_gateway__closes_a_connection_without_a_request_before_the_service_does() -> None:
    """Else a request meets the end of its connection; Traefik does by its own default, 90 seconds."""
    policy = by_name(of("mainnet", "gateway"))["BackendTrafficPolicy", "public"]["spec"]
    kept = int(policy["timeout"]["http"]["connectionIdleTimeout"].removesuffix("s"))
    assert 0 < kept < min(IDLE_SECONDS, uvicorn.Config("of the agents' service").timeout_keep_alive)
    assert IDLE_SECONDS > 90


@pytest.mark.parametrize("entrance", ["gateway", "traefik"])
def test_request__without_tls__is_sent_on_and_not_served(entrance: str) -> None:
    objects = by_name(of("mainnet", entrance))
    if entrance == "gateway":
        spec = objects["HTTPRoute", "to-https"]["spec"]
        assert (spec["parentRefs"][0]["sectionName"], list(spec["rules"][0])) == ("http", ["filters"])
    else:
        spec = objects["IngressRoute", "to-https"]["spec"]
        assert spec["entryPoints"] == ["web"]
        assert {one["name"] for route in spec["routes"] for one in route["services"]} == {"noop@internal"}
        assert objects["Middleware", "to-https"]["spec"]["redirectScheme"]["scheme"] == "https"


@pytest.mark.parametrize("entrance", ENTRANCES)
def test_manifests__of_another_entrance__say_of_its_host_that_it_is_to_be_set(
    entrance: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["manifests", "mainnet", "--entrance", entrance])
    assert main() == 0
    printed = list(yaml.safe_load_all(capsys.readouterr().out))
    assert by_name(printed) == by_name(render(K8S / "overlays/mainnet", entrance=entrance))
    reported = [text for text in unset(printed) if text.endswith("bounties.example") and "ConfigMap" not in text]
    kind = {"gateway": "Gateway", "ingress": "Ingress", "traefik": "IngressRoute"}[entrance]
    assert reported == [f"the host of the {kind} is still bounties.example"]
