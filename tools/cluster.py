"""``./noxw -s cluster``: every overlay and component of ``deploy/k8s`` against a real API server.

    python tools/cluster.py [--definitions FOLDER] [--fetch]

Starts etcd and kube-apiserver, from ``KUBEBUILDER_ASSETS`` or the path, and applies with kubectl the
CustomResourceDefinitions of FOLDER (``.local/definitions``): what ``tools/definitions.toml`` names, fetched and
compared with its digests by ``tools/definitions.py``. Each overlay is then applied with strict validation, where a
warning is an error, too; the pod of every workload is admitted by PodSecurity, and one that wants more is not; the same
again changes nothing; another tag changes the images and nothing else; deleting leaves nothing. No controller and no
kubelet runs: no pod starts here. What changed is what has another generation, or other content where the kind has none:
kubectl prints "configured" for patches without effect, too.

Exit code 1 when something is not as it should be, and 77 where a program or a definition is missing.
"""

import argparse
import copy
import json
import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import urllib3
import yaml
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from kustomization.render import ENTRANCES, Object, containers, pod_spec, render
from local_stack.ports import HOST
from local_stack.process import Child, StackError, minimal_environment
from local_stack.runtime import Runtime, running

from tools import definitions as definitions_of_releases

TOP: Final = Path(__file__).resolve().parent.parent
K8S: Final = TOP / "deploy/k8s"
DEFINITIONS: Final = TOP / ".local/definitions"
OVERLAYS: Final = {name: K8S / "overlays" / name for name in ("staging", "mainnet", "small")} | {
    name: TOP / "tests/deploy" / name for name in ("complete", "former")
}
"""Between them they have every component but one of ``ENTRANCES``."""
PROGRAMS: Final = ("etcd", "kube-apiserver", "kubectl")
NEXT: Final = "next"
READY_SECONDS: Final = 60.0
NOT_RUN: Final = 77
_FIRST: Final = frozenset({"Namespace", "PriorityClass"})
_OWN_GROUPS: Final = frozenset({"networking.k8s.io", "rbac.authorization.k8s.io", "scheduling.k8s.io"})
"""Groups with a dot that are Kubernetes' own."""


class NoCluster(Exception):
    """This machine cannot run a cluster's API; the text names what is missing."""


class UnexpectedAnswer(Exception):
    """The API server answered otherwise than it should."""


def main() -> int:
    """Start the API server and take every overlay through its life."""
    parser = argparse.ArgumentParser(prog="cluster", description=__doc__)
    parser.add_argument("--definitions", type=Path, default=DEFINITIONS, help="the CustomResourceDefinitions, as YAML")
    parser.add_argument("--fetch", action="store_true", help="fetch those of tools/definitions.toml that it lacks")
    options = parser.parse_args()
    try:
        if options.fetch:
            definitions_of_releases.fetch(options.definitions)
        programs = find_programs()
        deployments = dict(rendered())
        definitions = find_definitions(options.definitions, deployments.values())
        with running() as runtime:
            api = _start(runtime, programs)
            api.apply(definitions)
            api.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
            for name, objects in deployments.items():
                _live(api, objects)
                _report(f"{name}: {len(objects)} objects applied, again, upgraded, deleted")
    except (NoCluster, definitions_of_releases.Unpinned) as reason:
        print(f"not run: {reason}")
        return NOT_RUN
    except (StackError, UnexpectedAnswer, definitions_of_releases.OtherContent) as fault:
        print(f"FAILED: {fault}")
        return 1
    print(f"{len(deployments)} deployments passed: {', '.join(deployments)}")
    return 0


def find_programs() -> dict[str, Path]:
    """Each of ``PROGRAMS``; ``NoCluster`` names those that are missing."""
    folders = (os.environ.get("KUBEBUILDER_ASSETS"), os.environ.get("PATH", os.defpath))
    path = os.pathsep.join(filter(None, folders))  # an empty one would be the folder that this was started in
    found = {name: shutil.which(name, path=path) for name in PROGRAMS}
    if missing := [name for name, program in found.items() if program is None]:
        raise NoCluster(f"neither KUBEBUILDER_ASSETS nor the path has {', '.join(missing)}")
    return {name: Path(program) for name, program in found.items() if program is not None}


def rendered() -> Iterator[tuple[str, list[Object]]]:
    """Every overlay, and staging with each entrance."""
    for name, folder in OVERLAYS.items():
        yield name, render(folder)
    for entrance in ENTRANCES:
        yield f"staging by {entrance}", render(OVERLAYS["staging"], entrance=entrance)


def find_definitions(folder: Path, deployments: Iterable[Sequence[Object]]) -> list[Object]:
    """The CustomResourceDefinitions of ``folder``; ``NoCluster`` names the kinds of the deployments that it lacks."""
    files = sorted(folder.rglob("*.y*ml")) if folder.is_dir() else []
    documents = [each for file in files for each in yaml.safe_load_all(file.read_text(encoding="utf-8")) if each]
    found = [each for each in documents if each.get("kind") == "CustomResourceDefinition"]
    known = {(each["spec"]["names"]["kind"], each["spec"]["group"]) for each in found}
    used = {(each["kind"], each["apiVersion"].rpartition("/")[0]) for objects in deployments for each in objects}
    wanted = {(kind, group) for kind, group in used if "." in group and group not in _OWN_GROUPS}
    if missing := sorted(wanted - known):
        names = ", ".join(f"{kind}.{group}" for kind, group in missing)
        raise NoCluster(f"{folder} has no CustomResourceDefinition of {names}; --fetch gets them")
    return found


@dataclass(frozen=True, slots=True)
class ApiServer:
    """A running API server, and its kubectl."""

    program: Path
    configuration: Path

    def kubectl(self, *arguments: str, objects: Sequence[Object] = (), refused: bool = False) -> str:
        """The output of kubectl; ``UnexpectedAnswer`` unless it ended as expected."""
        done = subprocess.run(
            [self.program, "--kubeconfig", self.configuration, *arguments],
            input=yaml.safe_dump_all(objects), capture_output=True, text=True, check=False, timeout=300,
        )  # fmt: skip
        if (done.returncode != 0) is not refused:
            raise UnexpectedAnswer(f"kubectl {' '.join(arguments)} ended with {done.returncode}: {done.stderr[-3000:]}")
        return done.stderr if refused else done.stdout

    def apply(self, objects: Sequence[Object]) -> list[str]:
        """Apply with strict validation, by the server, warnings as errors; a line for each object."""
        options: tuple[str, ...] = ("--validate=strict", "--warnings-as-errors", "--filename=-")
        # A definition is larger than the annotation in which the client would keep it.
        server_side = all(each["kind"] == "CustomResourceDefinition" for each in objects)
        return self.kubectl(
            "apply", f"--server-side={str(server_side).lower()}", *options, objects=objects
        ).splitlines()

    def state(self, objects: Sequence[Object]) -> dict[str, object]:
        """What identifies the content of each object that is there, by its kind and name."""
        read = self.kubectl("get", "--filename=-", "--ignore-not-found", "--output=json", objects=objects)
        found = json.loads(read) if read.strip() else {"items": []}
        return {name_of(each): content_of(each) for each in found.get("items", [found])}


def name_of(each: Object) -> str:
    """Kind and name, as messages have them."""
    return f"{each['kind']} {each['metadata']['name']}"


def content_of(each: Object) -> object:
    """What changes with an object's content and with nothing else."""
    metadata = each["metadata"]
    if "generation" in metadata:  # labels and annotations are not counted in it
        return metadata["uid"], metadata["generation"], metadata.get("labels")
    rest = {key: value for key, value in each.items() if key not in {"metadata", "status"}}
    return metadata["uid"], metadata.get("labels"), rest


def changed(before: Mapping[str, object], after: Mapping[str, object]) -> set[str]:
    """What is there now with another content than before, or was not there."""
    return {name for name, content in after.items() if before.get(name) != content}


def _live(api: ApiServer, objects: list[Object]) -> None:
    """One deployment from nothing to nothing."""
    first = [each for each in objects if each["kind"] in _FIRST]
    rest = [each for each in objects if each["kind"] not in _FIRST]
    api.apply(first)
    api.apply(rest)
    for each in rest:
        _admit(api, each)
    before = api.state(objects)
    api.apply(objects)
    if different := changed(before, api.state(objects)):
        raise UnexpectedAnswer(f"applied again, the same manifests changed: {', '.join(sorted(different))}")
    _upgrade(api, rest)
    api.kubectl("delete", "--filename=-", "--wait=false", objects=rest)
    left = api.kubectl("get", "--filename=-", "--ignore-not-found", "--output=yaml", objects=rest)
    for each in (yaml.safe_load(left) or {}).get("items", []):
        if "deletionTimestamp" not in each["metadata"]:
            raise UnexpectedAnswer(f"{each['kind']} {each['metadata']['name']} was not deleted")


def _admit(api: ApiServer, workload: Object) -> None:
    """PodSecurity admits the workload's pod, and not the same with a privileged container."""
    specification = pod_spec(workload)
    if specification is None:
        return
    pod = pod_of(workload, specification)
    command = ("create", "--dry-run=server", "--validate=strict", "--filename=-")
    api.kubectl(*command, objects=[pod])
    pod["spec"]["containers"][0]["securityContext"] = {"privileged": True}
    if "violates PodSecurity" not in api.kubectl(*command, objects=[pod], refused=True):
        raise UnexpectedAnswer(
            f"a privileged container of {workload['metadata']['name']} is refused for another reason"
        )


def pod_of(workload: Object, specification: Object) -> Object:
    """The pod that a controller makes, with the volume of each claim of a StatefulSet."""
    metadata = {"name": "admitted", "namespace": workload["metadata"]["namespace"]}
    claims = [each["metadata"]["name"] for each in workload["spec"].get("volumeClaimTemplates", [])]
    spec = copy.deepcopy(specification)
    if claims:
        claimed = [{"name": name, "persistentVolumeClaim": {"claimName": f"{name}-0"}} for name in claims]
        spec["volumes"] = [*spec.get("volumes", []), *claimed]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _upgrade(api: ApiServer, objects: list[Object]) -> None:
    """As docs/operations.md, "Upgrading": the Job goes first, then everything is applied with the new tag."""
    new = copy.deepcopy(objects)
    for each in new:
        for container in containers(each):
            if container["image"].startswith("service-"):
                container["image"] = f"{container['image'].partition(':')[0]}:{NEXT}"
    expected = {name_of(each) for former, each in zip(objects, new, strict=True) if former != each}
    job = next(each for each in objects if (each["kind"], each["metadata"]["name"]) == ("Job", "migrate"))
    before = api.state(objects)
    api.kubectl("delete", "--filename=-", objects=[job])
    api.apply(new)
    if (different := changed(before, api.state(new))) != expected:
        raise UnexpectedAnswer(f"another tag changed {sorted(different)}, not {sorted(expected)}")


def _start(runtime: Runtime, programs: Mapping[str, Path]) -> ApiServer:
    """etcd and the API server, on ports and with keys of this run."""
    etcd_port = start_etcd(runtime, programs["etcd"])
    folder = runtime.directory("apiserver")
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    token = secrets.token_hex(32)
    accounts = runtime.secret("apiserver/accounts.key", private)
    options = (
        f"--etcd-servers=http://{HOST}:{etcd_port}",
        f"--bind-address={HOST}",
        f"--cert-dir={folder}",
        "--service-cluster-ip-range=10.0.0.0/24",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-signing-key-file={accounts}",
        f"--service-account-key-file={runtime.secret('apiserver/accounts.pem', public)}",
        f"--token-auth-file={runtime.secret('apiserver/tokens.csv', f'{token},admin,admin,system:masters')}",
        "--authorization-mode=RBAC",
        "--allow-privileged=true",  # so that it is PodSecurity that refuses a privileged container
        "--disable-admission-plugins=ServiceAccount",  # no controller makes the account that it looks for
    )
    configuration = runtime.path / "kubeconfig"

    def api(port: int) -> ApiServer:
        configuration.write_text(_kubeconfig(port, folder / "apiserver.crt", runtime.path / "token"))
        return ApiServer(programs["kubectl"], configuration)

    def ready(port: int) -> bool:
        try:
            return api(port).kubectl("get", "--raw=/readyz") == "ok"
        except UnexpectedAnswer:
            return False

    runtime.secret("token", token)
    _, port = runtime.start_listening(
        lambda port: runtime.family.spawn(
            "kube-apiserver", [programs["kube-apiserver"], *options, f"--secure-port={port}"],
            environment=minimal_environment(folder), cwd=folder, rank=1,
        ),
        ready,
        READY_SECONDS,
    )  # fmt: skip
    return api(port)


def start_etcd(runtime: Runtime, program: Path) -> int:
    """An empty etcd in ``runtime``; its port."""
    folder, peers = runtime.directory("etcd"), f"http://{HOST}:{runtime.port()}"

    def spawn(port: int) -> Child:
        clients = f"http://{HOST}:{port}"
        options = (
            f"--data-dir={folder}/data",
            *(f"--listen-client-urls={clients}", f"--advertise-client-urls={clients}"),
            *(f"--listen-peer-urls={peers}", f"--initial-advertise-peer-urls={peers}"),
            f"--initial-cluster=default={peers}",
        )
        return runtime.family.spawn("etcd", [program, *options], environment=minimal_environment(folder), cwd=folder)

    def ready(port: int) -> bool:
        try:
            return urllib3.request("GET", f"http://{HOST}:{port}/health", timeout=2.0, retries=False).status == 200
        except urllib3.exceptions.HTTPError:
            return False

    return runtime.start_listening(spawn, ready, READY_SECONDS)[1]


def _kubeconfig(port: int, authority: Path, token: Path) -> str:
    cluster = {"server": f"https://{HOST}:{port}", "certificate-authority": str(authority)}
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "local", "cluster": cluster}],
            "users": [{"name": "admin", "user": {"tokenFile": str(token)}}],
            "contexts": [{"name": "local", "context": {"cluster": "local", "user": "admin"}}],
            "current-context": "local",
        }
    )


def _report(text: str) -> None:
    print(f"cluster: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
