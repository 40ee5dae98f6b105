"""The reading tools for agents: an optional component of the manifests, and an optional file of Compose."""

import re
import shutil
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from kustomization.quantity import quantity
from kustomization.render import ENTRANCES, Object, containers, pod_spec, render
from kustomization.unset import unset

from .conftest import REPOSITORY
from .manifests import K8S, OVERLAYS, by_name, pause_before_stop
from .test_compose import SERVICES as COMPOSED
from .test_compose import settings
from .test_entrances import HOST, KINDS, NAMED, TRAEFIK, closed, hosts, led

AGENTS = yaml.safe_load((REPOSITORY / "deploy/compose/agents.yaml").read_text(encoding="utf-8"))
EVERY = [(overlay, entrance) for overlay in NAMED for entrance in ENTRANCES]
OWN = {
    ("ConfigMap", "mcp"), ("Deployment", "mcp"), ("NetworkPolicy", "mcp"), ("NetworkPolicy", "mcp-to-api"),
    ("Service", "mcp"), ("ServiceAccount", "mcp"),
}  # fmt: skip


def with_agents(folder: Path, overlay: str, entrance: str, *further: str) -> list[Object]:
    """An overlay with the entrance and the component, as an operator writes its lines."""
    shutil.copytree(K8S, folder / "k8s")
    file = folder / "k8s/overlays" / overlay / "kustomization.yaml"
    names = [entrance, "agents", f"agents/with-{entrance}", *further]
    lines = "".join(f"  - ../../components/{name}\n" for name in names)
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace(f"  - ../../components/{NAMED[overlay]}\n", lines), encoding="utf-8")
    return render(file.parent)


def _value(container: dict[str, Any], name: str) -> str:
    (value,) = [each["value"] for each in container["env"] if each["name"] == name]
    return str(value)


def test_overlays__as_they_come__have_no_process_for_agents() -> None:
    for overlay in NAMED:
        assert OWN & set(by_name(OVERLAYS[overlay])) == set()


@pytest.mark.parametrize(("overlay", "entrance"), EVERY)
def test_component__of_an_overlay__adds_one_process_and_its_way_in(tmp_path: Path, overlay: str, entrance: str) -> None:
    without = by_name(render(K8S / "overlays" / overlay, entrance=entrance))
    objects = by_name(with_agents(tmp_path, overlay, entrance))
    (route,) = [each for key, each in objects.items() if key not in {*without, *OWN}]
    assert {key: each for key, each in objects.items() if key in without} == without
    assert route["kind"] in KINDS[entrance]
    assert led([route]) == {"/mcp": "mcp"}
    named = by_name([route]) if entrance != "gateway" else {("Gateway", "public"): objects["Gateway", "public"]}
    assert hosts(list(named.values())) == {HOST[overlay]}, "the one public host, from web.env"
    for each in objects.values():
        if each["kind"] in {"Deployment", "Service", "ServiceAccount", "NetworkPolicy", "Ingress", "ConfigMap"}:
            kubernetes_validate.validate(each, "1.33", strict=True)
        if each["kind"] == "IngressRoute":
            import jsonschema

            jsonschema.validate(each["spec"], closed(TRAEFIK["IngressRoute"]))


def test_process__of_the_component__is_confined_as_the_others_are_and_has_no_key(tmp_path: Path) -> None:
    objects = by_name(with_agents(tmp_path, "staging", "ingress"))
    pod, web = (pod_spec(objects["Deployment", name]) for name in ("mcp", "web"))
    assert pod is not None
    assert web is not None
    assert pod["securityContext"] == web["securityContext"]
    assert pod["automountServiceAccountToken"] is False
    assert pod["priorityClassName"] == "bounty-escrow-staging"
    (own,), (other,) = pod["containers"], web["containers"]
    assert own["securityContext"] == other["securityContext"]
    assert own["image"] == "service-mcp:0.1.0"
    (secret,) = [each["secret"] for each in pod["volumes"] if "secret" in each]
    assert secret["secretName"] == "mcp"
    assert {each["name"] for each in own["env"]} == {
        "SERVICE_API_BASE_URL", "SERVICE_SUBGRAPH_ENDPOINT", "SERVICE_RPC_URLS_FILE", "XDG_STATE_HOME",
    }  # fmt: skip
    assert _value(own, "SERVICE_SUBGRAPH_ENDPOINT") == _value(own, "SERVICE_API_BASE_URL") + "/subgraph"
    (temporary,) = [each["name"] for each in pod["volumes"] if "emptyDir" in each]
    (writable,) = [Path(each["mountPath"]) for each in own["volumeMounts"] if each["name"] == temporary]
    assert writable in Path(_value(own, "XDG_STATE_HOME")).parents
    assert own["readinessProbe"]["httpGet"] == {"path": "/healthz", "port": "http"}


def test_policies__of_the_component__let_the_entrance_in_and_nothing_near_a_database(tmp_path: Path) -> None:
    objects = by_name(with_agents(tmp_path, "mainnet", "gateway"))
    own, into_api = (objects["NetworkPolicy", name]["spec"] for name in ("mcp", "mcp-to-api"))
    assert own["ingress"][0]["from"] == [{"namespaceSelector": {"matchLabels": {"bounty-escrow-entrance": "true"}}}]
    ports = {port["port"] for rule in own["egress"] for port in rule["ports"]}
    assert ports == {8080, 443}
    (into,) = into_api["ingress"]
    assert into["from"] == [{"podSelector": {"matchLabels": {"app.kubernetes.io/name": "mcp"}}}]
    assert into_api["podSelector"] == own["egress"][0]["to"][0]["podSelector"]
    chain = objects["NetworkPolicy", "to-chain-and-storage"]["spec"]["egress"][0]["to"]
    assert own["egress"][1]["to"] == chain, "what is outside, and no private address"


def test_overlay__with_the_component__says_what_is_to_be_set(tmp_path: Path) -> None:
    reported = set(unset(with_agents(tmp_path, "staging", "ingress"))) - set(unset(OVERLAYS["staging"]))
    assert reported == {
        "SERVICE_ESCROW_TOKEN_ADDRESS in the ConfigMap mcp is empty",
        "SERVICE_TIMELOCK_REVEAL_DELAY_SECONDS in the ConfigMap mcp is empty",
        "the image service-mcp:0.1.0 names no registry",
    }


def test_secret__of_the_component__comes_from_the_store_where_that_is_asked_for(tmp_path: Path) -> None:
    objects = by_name(with_agents(tmp_path, "staging", "ingress", "agents/with-external-secrets"))
    spec = objects["ExternalSecret", "mcp"]["spec"]
    assert spec["target"] == {"name": "mcp", "creationPolicy": "Owner", "deletionPolicy": "Retain"}
    assert [each["secretKey"] for each in spec["data"]] == ["SERVICE_RPC_URLS"]


def test_file__of_compose__runs_the_process_as_its_pod_does(tmp_path: Path) -> None:
    objects = by_name(with_agents(tmp_path, "mainnet", "gateway"))
    deployment: Any = objects["Deployment", "mcp"]
    (container,) = containers(deployment)
    service: dict[str, Any] = AGENTS["services"]["mcp"]
    web = COMPOSED["web"]
    assert {key: service[key] for key in ("user", "read_only", "cap_drop", "security_opt", "restart", "logging")} == {
        key: web[key] for key in ("user", "read_only", "cap_drop", "security_opt", "restart", "logging")
    }
    assert service["networks"] == web["networks"]
    assert service["command"] == container["args"]
    assert quantity(f"{service['mem_limit'].upper()}i") == quantity(container["resources"]["limits"]["memory"])
    pause = int(service["stop_grace_period"].removesuffix("s"))
    assert pause >= deployment["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] - pause_before_stop(
        container
    )
    own = {each["name"]: each["value"] for each in container["env"] if not each["name"].endswith("_FILE")}
    assert service["environment"] == own | {"SERVICE_RPC_URLS_FILE": "/run/secrets/mcp.SERVICE_RPC_URLS"}
    (temporary,) = [Path(each.split(":")[0]) for each in service["tmpfs"]]
    assert temporary in Path(own["XDG_STATE_HOME"]).parents
    assert service["env_file"] == [f"settings/{each['configMapRef']['name']}.env" for each in container["envFrom"]]
    assert settings({"env_file": ["settings/mcp.env"]}) == objects["ConfigMap", "mcp"]["data"]
    assert AGENTS["secrets"] == {"mcp.SERVICE_RPC_URLS": {"file": "./secrets/mcp/SERVICE_RPC_URLS"}}


def test_entrance__of_compose__leads_to_it_only_with_the_file_beside() -> None:
    folder = REPOSITORY / "deploy/compose"
    door = (folder / "Caddyfile").read_text(encoding="utf-8")
    further = (folder / "agents.caddy").read_text(encoding="utf-8")
    (pattern,) = re.findall(r"import (/etc/caddy/further/)\*\.caddy", door)
    assert AGENTS["services"]["caddy"]["volumes"] == [f"./agents.caddy:{pattern}agents.caddy:ro"]
    assert "mcp" not in door
    assert "reverse_proxy mcp:8080" in further
