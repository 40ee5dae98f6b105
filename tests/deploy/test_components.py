"""Components that other operators of a cluster take: Secrets from a store, and a database."""

import re

import kubernetes_validate
from local_stack.services import MIGRATOR, ROLES

from tests.deploy.kustomize import Object, pod_spec, render

from .conftest import REPOSITORY
from .manifests import OVERLAYS, by_name

COMPLETE = render(REPOSITORY / "tests/deploy/complete")
OBJECTS = by_name(COMPLETE)
PAGE = (REPOSITORY / "docs/install.md").read_text(encoding="utf-8")
MADE_BY_HAND = {"restore", "api-tls"}
"""For the time of a restore alone; and the entrance's."""


def of_kind(kind: str) -> dict[str, Object]:
    return {name: each["spec"] for (own, name), each in OBJECTS.items() if own == kind}


def test_every_mounted_secret_is_an_external_one() -> None:
    mounted = {
        volume["secret"]["secretName"]
        for overlay in OVERLAYS
        for each in OVERLAYS[overlay]
        for volume in (pod_spec(each) or {}).get("volumes", [])
        if "secret" in volume
    }
    assert mounted - MADE_BY_HAND == set(of_kind("ExternalSecret")) - {"keda-redis"}


def test_database_has_the_roles_of_the_page() -> None:
    (spec,) = of_kind("Cluster").values()
    initial = spec["bootstrap"]["initdb"]
    assert (initial["database"], initial["owner"]) == ("service", MIGRATOR)
    managed = {each["name"]: each for each in spec["managed"]["roles"]}
    described = set(re.findall(r"CREATE ROLE (\w+) LOGIN;", PAGE))
    assert set(managed) | {MIGRATOR} == described == {*ROLES, MIGRATOR, "service_backup"}
    assert managed["service_backup"]["inRoles"] == ["pg_read_all_data"]
    for name, role in managed.items():
        assert role["login"] is True
        assert role["passwordSecret"]["name"] == f"role-{name.removeprefix('service_')}"
        assert ("inRoles" in role) is (name == "service_backup")
        assert not {"superuser", "createdb", "createrole"} & set(role)


def test_database_archives_to_the_backups_store() -> None:
    cluster, store = OBJECTS["Cluster", "database"]["spec"], OBJECTS["ObjectStore", "database"]["spec"]
    (plugin,) = cluster["plugins"]
    scheduled = OBJECTS["ScheduledBackup", "database"]["spec"]
    assert plugin["isWALArchiver"] is True
    assert plugin["parameters"] == {"barmanObjectName": "database"}
    assert scheduled["cluster"] == {"name": "database"}
    assert (scheduled["method"], scheduled["pluginConfiguration"]) == ("plugin", {"name": plugin["name"]})
    assert len(scheduled["schedule"].split()) == 6, "seconds first"
    assert store["configuration"]["destinationPath"].startswith("gs://")
    assert cluster["postgresql"]["parameters"]["archive_timeout"] == "5min"
    local = by_name(OVERLAYS["staging"])["StatefulSet", "postgresql"]["spec"]["template"]["spec"]["containers"][0]
    assert local["args"][-1] == f"max_connections={cluster['postgresql']['parameters']['max_connections']}"


def test_policies_of_the_database_let_in_its_own() -> None:
    for (kind, _), each in OBJECTS.items():
        if kind == "NetworkPolicy":
            kubernetes_validate.validate(each, "1.33", strict=True)
    into = OBJECTS["NetworkPolicy", "into-database"]["spec"]
    out = OBJECTS["NetworkPolicy", "to-database"]["spec"]
    selector = {"matchLabels": {"cnpg.io/cluster": "database"}}
    assert into["podSelector"] == out["egress"][0]["to"][0]["podSelector"] == selector
    opened = {str(peer): [port["port"] for port in rule["ports"]] for rule in into["ingress"] for peer in rule["from"]}
    assert sorted(opened.values()) == [[5432], [5432, 8000], [5432, 8000], [9187]]
