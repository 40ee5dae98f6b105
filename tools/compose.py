"""``./noxw -s compose``: bring ``deploy/compose`` up by Docker as its README describes, and play bounties through it.

What an operator types is taken from the README and run as it stands there: the start, a backup, a new password, a
restore onto an empty volume, an upgrade; beside it every container is killed at once, and the whole is stopped and
started again. A whole bounty (the demo's) is played before and after, its people at the https address of Caddy, and the
service's answers are compared with the chain after each step.

The services' images are those of ``tools/images.py``; PostgreSQL, Valkey and Caddy are stood in for by
``tools/stand_ins.py``. The chain, the beacon and the bucket are the local stack's, on the machine; the bucket is
behind TLS, since the client uploads to nothing else. Docker is the machine's; where there is none, that of Debian
testing is unpacked below ``.local``. It runs in namespaces of its own: no network, firewall rule or port of the machine
is touched, and no process stays. Exit code 1 when something is not as it should be, and 77 if no engine can run.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import dedent
from typing import Any, Final

import yaml
from demo.__main__ import NotVerified, Story, play
from demo.bounty import Cast
from demo.person import UnexpectedEnd
from local_stack import gcs
from local_stack.hub import LocalHubTerms
from local_stack.ports import HOST
from local_stack.process import StackError, StopRule
from local_stack.runtime import Runtime
from local_stack.stack import Stack, StackSettings, running_stack

from tools.image_folders import FOLDERS, SERVICES, TOP
from tools.images import NoBuilder, UnexpectedImage, build, buildah, debian, make_base, require
from tools.stand_ins import SUITE, full_name, make_stand_ins

SOURCE: Final = TOP / "deploy/compose"
README: Final = (SOURCE / "README.md").read_text(encoding="utf-8")
PROCESSES: Final[dict[str, Any]] = yaml.safe_load((SOURCE / "compose.yaml").read_text(encoding="utf-8"))["services"]
VERSION: Final = str(PROCESSES["api"]["image"]).rpartition(":-")[2].removesuffix("}")
NEXT: Final = f"{VERSION}-next"
ARCHIVES: Final = TOP / ".local/compose"
SCRATCH: Final = ARCHIVES / "run"
ENGINE: Final = TOP / ".local/docker"
ENGINE_PACKAGES: Final = "docker.io,docker-cli,docker-compose,containerd"
PUBLIC_HOST: Final = "bounties.internal"
"""For a name below .internal Caddy makes the certificate itself."""
STORAGE_HOST: Final = "storage.internal"
MACHINE: Final = "10.99.0.1"
"""The machine's address, as containers see it."""
NOT_RUN: Final = 77
HEALTHY_SECONDS: Final = 300.0
SUBMISSION_SECONDS: Final = 45
_NAMESPACES: Final = ("unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")
_INSIDE: Final = "COMPOSE_IN_NAMESPACES"
_TRIAL: Final = f"""
# What the trial has beside the deployment: a storage whose certificate the machine made.
x-trusting: &trusting
  volumes: ["./trial-ca.pem:/opt/service/lib/python3.11/site-packages/certifi/cacert.pem:ro"]
  extra_hosts: ["{STORAGE_HOST}:{MACHINE}"]
services:
  api: *trusting
  api-worker: *trusting
"""


def main() -> int:
    """Build here, then do the rest in namespaces of its own."""
    try:
        if _INSIDE in os.environ:
            print(_try_out())
            return 0
        _prepare()
    except NoBuilder as reason:
        print(f"not run: {reason}")
        return NOT_RUN
    except (NotVerified, StackError, UnexpectedImage, UnexpectedEnd) as fault:
        print(f"FAILED: {fault}")
        return 1
    try:
        inside = [*_NAMESPACES, sys.executable, __file__]
        return subprocess.run(inside, env=os.environ | {_INSIDE: "1"}, check=False).returncode
    finally:
        shutil.rmtree(ARCHIVES)


def _prepare() -> None:
    """Everything that comes from a network: images, as archives, and the engine."""
    require()
    for program in ("unshare", "iptables", "ip"):
        if shutil.which(program) is None:
            raise NoBuilder(f"{program} is not installed")
    if subprocess.run([*_NAMESPACES, "true"], capture_output=True, check=False).returncode != 0:
        raise NoBuilder("the kernel gives no namespaces of networks, mounts and processes")
    if not shutil.which("dockerd") and not (ENGINE / "usr/sbin/dockerd").exists():
        _report(f"unpacking Docker of Debian {SUITE}")
        part = ENGINE.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        debian(SUITE, ENGINE_PACKAGES, part, variant="extract")
        part.rename(ENGINE)
    shutil.rmtree(ARCHIVES, ignore_errors=True)  # of a run that was killed
    SCRATCH.mkdir(parents=True)
    make_base()
    names = make_stand_ins(PROCESSES)
    for name in FOLDERS:
        build(name)
    for service in FOLDERS:
        _archive(service, f"localhost/service-{service}", f"localhost/service-{service}:{VERSION}")
    for name in names:
        _archive(name.partition(":")[0].replace("/", "-"), full_name(name), name)


def block(after: str) -> str:
    """Return the README's first block of shell after a text, without what needs a registry."""
    found = re.search(re.escape(after) + r".*?```sh\n(.*?)```", README, re.DOTALL)
    if found is None:
        raise UnexpectedImage(f"the README has no block after {after!r}")
    return "\n".join(line for line in dedent(found[1]).splitlines() if "not with images built here" not in line)


def _archive(stem: str, image: str, name: str) -> None:
    buildah("push", image, f"docker-archive:{ARCHIVES / stem}.tar:{name}")


@dataclass(frozen=True, slots=True)
class Site:
    """A copy of ``deploy/compose`` as an operator has it, and the shell in which the operator types."""

    folder: Path
    environment: Mapping[str, str]

    def type(self, script: str) -> str:
        """Run a piece of shell in the folder; its output. ``UnexpectedImage`` where it fails."""
        done = subprocess.run(
            ["sh", "-ec", script], cwd=self.folder, env=self.environment,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=900,
        )  # fmt: skip
        if done.returncode != 0:
            raise UnexpectedImage(f"{script}\nended with {done.returncode}: {done.stdout[-1000:]}{done.stderr[-3000:]}")
        return done.stdout

    def from_readme(self, after: str) -> str:
        """Run a block of the README."""
        return self.type(block(after).replace("https://HOST/", f"https://{PUBLIC_HOST}/"))

    def set(self, name: str, values: Mapping[str, str]) -> None:
        """Fill in a file of settings."""
        file = self.folder / f"settings/{name}.env"
        kept = [line for line in file.read_text(encoding="utf-8").splitlines() if line.partition("=")[0] not in values]
        file.write_text("\n".join([*kept, *(f"{key}={value}" for key, value in values.items())]) + "\n")

    def containers(self) -> dict[str, dict[str, Any]]:
        """Return the report of ``docker compose ps`` for each service."""
        lines = self.type("docker compose ps --all --format json").splitlines()
        return {each["Service"]: each for each in map(json.loads, lines)}

    def check_healthy(self, *, without: frozenset[str] = frozenset()) -> None:
        """Every process runs and is healthy; the schema's ended with 0; the copy is equal to the chain."""
        found = self.containers()
        if started := without & set(found):
            raise UnexpectedImage(f"{started} was started")
        for name, process in PROCESSES.items():
            if name in without:
                continue
            state = (found[name]["State"], found[name]["Health"], found[name]["ExitCode"])
            wanted = ("running", "healthy", 0)
            if name == "migrate":
                wanted = ("exited", "", 0)
            elif "healthcheck" not in process:
                wanted = ("running", "", 0)
            if state != wanted:
                raise UnexpectedImage(f"{name} is {state}, not {wanted}")
        self.type("docker compose exec -T indexer-worker service-indexer rebuild")


def _try_out() -> str:
    """Take all steps; return the line that sums them up."""
    started = time.monotonic()
    _own_network()
    settings = StackSettings(services=(), terms=LocalHubTerms(reveal_delay=3))
    with running_stack(settings, say=_report) as stack:
        site = _engine(stack.runtime)
        _serve_storage(site, stack)
        _fill_in(site, stack)
        try:
            return _operate(site, stack, started)
        except BaseException:
            print(site.type("docker compose ps --all; docker compose logs --tail 15 2>&1 || true"), file=sys.stderr)
            raise
        finally:
            site.type("docker compose down --volumes; docker rm --force storage")


def _operate(site: Site, stack: Stack, started: float) -> str:
    """Take an operator's steps, one after the other."""
    site.type("docker compose up --detach --wait")
    _trust(site)
    site.from_readme("5. **Healthy**")
    site.check_healthy()
    _report("everything is healthy; a bounty through it")
    cast = _cast(stack)
    play(Story(), cast, SUBMISSION_SECONDS)

    def holds(step: str) -> None:
        site.check_healthy()
        cast.person("solver-2").audit("1")
        _report(f"{step}: healthy, and every answer agrees with the chain")

    before = {name: each["ID"] for name, each in site.containers().items()}
    site.type("docker compose up --detach --wait")
    if {name: each["ID"] for name, each in site.containers().items()} != before:
        raise UnexpectedImage("a second `up` made containers anew")
    holds("up again")

    _kill_everything(site)
    holds("kill -9 of everything")

    site.from_readme("Another password")
    holds("another password")

    site.type("docker compose stop")
    if killed := [name for name, each in site.containers().items() if each["ExitCode"] == 128 + signal.SIGKILL]:
        raise UnexpectedImage(f"these did not end when they were told to: {killed}")
    site.type("docker compose down; docker compose up --detach --wait")
    holds("stop, down and up")

    _restore(site)
    holds("a restore onto an empty volume")

    _upgrade(site)
    holds("an upgrade")
    again = replace(cast, folder=SCRATCH / "people-again")
    play(Story(), again, SUBMISSION_SECONDS)
    site.check_healthy()

    again.person("guardian-1").run("guardian:claim-fee", "2")
    again.person("solver-2").audit("2")
    _report("left for another Hub: a share is claimed, and every answer agrees with the chain")

    for other in set(FOLDERS) - set(SERVICES):
        site.type(f"docker run --rm --read-only --cap-drop ALL localhost/service-{other}:{VERSION} --help")

    site.type("docker compose down; rm -r secrets/settler/SERVICE_SETTLER_PRIVATE_KEY")
    site.type("docker compose up --detach --wait --scale settler=0")
    site.check_healthy(without=frozenset({"settler"}))
    docker, compose = site.type("docker version --format '{{.Server.Version}}'; docker compose version --short").split()
    return (
        f"Docker {docker}, Compose {compose}: passed in {time.monotonic() - started:.0f} s: two whole bounties, "
        "kill -9 of everything, another password, stop and up, a backup restored onto an empty volume, an upgrade, "
        "a Hub that is left, no gas key"
    )


def _own_network() -> None:
    """The machine's address and its names, and what is sent there reaches the servers, which listen on 127.0.0.1."""
    for command in (
        "ip link set lo up",
        f"ip address add {MACHINE}/32 dev lo",
        "mount -t tmpfs tmpfs /run",
        f"iptables -t nat -A PREROUTING -d {MACHINE} -p tcp -j DNAT --to-destination {HOST}",
    ):
        done = subprocess.run(command.split(), capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise NoBuilder(f"{command}: {done.stderr.strip()}")
    Path("/proc/sys/net/ipv4/conf/all/route_localnet").write_text("1")
    hosts = Path("/run/hosts")
    hosts.write_text(f"{HOST} localhost {PUBLIC_HOST} {STORAGE_HOST}\n")
    subprocess.run(["mount", "--bind", str(hosts), "/etc/hosts"], check=True)


def _engine(runtime: Runtime) -> Site:
    """Docker with every image loaded, and a folder to type in."""
    # The machine's own programs first: of an unpacked release some, such as runc, need a newer C library.
    path = os.pathsep.join((os.environ["PATH"], str(ENGINE / "usr/bin"), str(ENGINE / "usr/sbin")))
    socket = f"unix://{runtime.path}/docker.sock"
    plugins = [str(ENGINE / "usr/libexec/docker/cli-plugins")]
    (SCRATCH / "config.json").write_text(json.dumps({"cliPluginsExtraDirs": plugins}))
    environment = {"PATH": path, "HOME": str(SCRATCH), "DOCKER_HOST": socket, "DOCKER_CONFIG": str(SCRATCH)}
    environment["COMPOSE_PROGRESS"] = "quiet"
    roots = ["--data-root", str(SCRATCH / "docker"), "--exec-root", str(runtime.directory("docker"))]
    child = runtime.family.spawn(
        "dockerd",
        ["dockerd", *roots, "--host", socket, "--pidfile", str(SCRATCH / "docker.pid")],
        environment=environment, cwd=SCRATCH, rule=StopRule(grace=60.0), rank=3,
    )  # fmt: skip
    shutil.copytree(SOURCE, SCRATCH / "site", ignore=shutil.ignore_patterns("secrets", ".env"))
    site = Site(SCRATCH / "site", environment | {"CURL_CA_BUNDLE": str(SCRATCH / "ca.pem")})
    probe = ["docker", "version"]
    try:
        runtime.family.wait(
            child,
            lambda: subprocess.run(probe, env=environment, capture_output=True, check=False).returncode == 0,
            60.0,
        )
    except StackError as error:
        raise NoBuilder(f"the engine does not start: {error}") from error
    for archive in ARCHIVES.glob("*.tar"):
        site.type(f"docker load --quiet --input {archive}")
    return site


def _serve_storage(site: Site, stack: Stack) -> None:
    """The bucket under https, by another Caddy on the machine; it keeps the host that signatures name."""
    servers = f"https://{STORAGE_HOST}:{_tls_port(stack.gcs)} {{\n reverse_proxy {HOST}:{stack.gcs.port}\n}}\n"
    (site.folder / "storage").write_text(f"{{\n admin off\n auto_https disable_redirects\n}}\n{servers}")
    caddy = PROCESSES["caddy"]["image"]
    mount = f"--volume {site.folder}/storage:/etc/caddy/Caddyfile:ro"
    site.type(f"docker run --detach --name storage --network host {mount} {caddy}")
    _copy_root(site, "docker cp storage", site.folder / "trial-ca.pem")
    (site.folder / "trial-ca.pem").chmod(0o644)
    (site.folder / "compose.override.yaml").write_text(_TRIAL)


def _tls_port(server: gcs.GcsServer) -> int:
    return server.port + 1 if server.port < 60_000 else server.port - 1


def _copy_root(site: Site, copy: str, target: Path) -> None:
    """The certificate of a Caddy's own authority, which is made when it starts."""
    ends = time.monotonic() + 60
    while True:
        try:
            site.type(f"{copy}:/data/caddy/pki/authorities/local/root.crt {target}")
        except UnexpectedImage:
            if time.monotonic() > ends:
                raise
            time.sleep(0.5)
        else:
            return


def _fill_in(site: Site, stack: Stack) -> None:
    """Settings and secrets, as an operator writes them."""
    known = stack.launcher.variables | {
        "SERVICE_PUBLIC_HOST": PUBLIC_HOST,
        "SERVICE_RPC_QUORUM": "1",
        "SERVICE_STORAGE_ENDPOINT": f"https://{STORAGE_HOST}:{_tls_port(stack.gcs)}",
    }
    chain = ("SERVICE_CHAIN_ID", "SERVICE_HUB_ADDRESS", "SERVICE_DEPLOY_BLOCK")
    beacon = ("SERVICE_BEACON_URLS", "SERVICE_BEACON_CHAIN_HASH", "SERVICE_BEACON_PUBLIC_KEY")
    for name, variables in (
        ("chain", (*chain, *beacon)),
        ("indexer", ("SERVICE_RPC_QUORUM",)),
        ("storage", ("SERVICE_STORAGE_BUCKET", "SERVICE_STORAGE_ENDPOINT")),
        ("web", ("SERVICE_PUBLIC_HOST",)),
    ):
        site.set(name, {each: known[each].replace(HOST, MACHINE) for each in variables})

    secrets = stack.launcher.secrets | {"SERVICE_RPC_URLS": stack.anvil.url.replace(HOST, MACHINE)}
    asked = [line.removeprefix("to be written: ") for line in site.type("./make-secrets.sh").splitlines()]
    for name in asked:
        file = site.folder / name
        value = secrets.get(file.name, "")
        if file.name == "SERVICE_STORAGE_CREDENTIALS":
            account = json.loads(stack.gcs.credentials_file.read_text(encoding="utf-8"))
            value = json.dumps(account | {"token_uri": f"https://{STORAGE_HOST}:{_tls_port(stack.gcs)}/token"})
        file.parent.mkdir(exist_ok=True)
        file.write_text(value, encoding="utf-8")
    if left := site.type("./make-secrets.sh"):
        raise UnexpectedImage(f"every secret is written, and still: {left}")


def _trust(site: Site) -> None:
    """The authorities that people and their clients trust: the authorities of both Caddys."""
    _copy_root(site, "docker compose cp caddy", SCRATCH / "public-ca.pem")
    authorities = [SCRATCH / "public-ca.pem", site.folder / "trial-ca.pem"]
    (SCRATCH / "ca.pem").write_bytes(b"".join(each.read_bytes() for each in authorities))
    os.environ["SSL_CERT_FILE"] = str(SCRATCH / "ca.pem")


def _cast(stack: Stack) -> Cast:
    """Return the demo's people, at the deployment's address."""
    url = f"https://{PUBLIC_HOST}"
    common = {"SERVICE_API_BASE_URL": url, "SERVICE_SUBGRAPH_ENDPOINT": f"{url}/subgraph"}
    common["SSL_CERT_FILE"] = os.environ["SSL_CERT_FILE"]
    return Cast(replace(stack, common={**stack.common, **common}, pages_url=url), SCRATCH / "people")


def _kill_everything(site: Site) -> None:
    """SIGKILL to the first process of every container; the engine starts each again."""
    running = [each["ID"] for each in site.containers().values() if each["State"] == "running"]
    pids = _inspect(site, "{{.State.Pid}}", running)
    for pid in pids:
        os.kill(int(pid), signal.SIGKILL)
    ends = time.monotonic() + HEALTHY_SECONDS
    while time.monotonic() < ends:
        again = _inspect(site, "{{.State.Pid}} {{if .State.Health}}{{.State.Health.Status}}{{end}}", running)
        states = [each.split() for each in again]
        if all(state[0] not in {"0", *pids} and state[1:] in ([], ["healthy"]) for state in states):
            return
        time.sleep(1)
    raise UnexpectedImage(f"{HEALTHY_SECONDS:.0f} s after kill -9 not every container is healthy")


def _restore(site: Site) -> None:
    """As the README does, without age and the bucket: everything that people wrote is in the dump alone."""
    site.type("docker compose exec -T postgresql pg_dump --username postgres --format=custom service > a.dump")
    site.type("docker compose down; docker volume rm bounty-escrow_postgresql")
    restore = block("**Restore**")
    left_out = re.search(r"gsutil .*? \| age .*? \| ", restore)
    if left_out is None:
        raise UnexpectedImage("the README restores in another way")
    site.type(restore.replace(left_out[0], "cat a.dump | "))


def _upgrade(site: Site) -> None:
    """To another tag of the same images."""
    for service in SERVICES:
        site.type(f"docker tag localhost/service-{service}:{VERSION} localhost/service-{service}:{NEXT}")
    (site.folder / ".env").write_text(f"SERVICE_VERSION={NEXT}\n")
    site.from_readme("## Upgrading")
    if former := [name for name, each in site.containers().items() if each["Image"].endswith(f":{VERSION}")]:
        raise UnexpectedImage(f"after the upgrade these are of the former release: {former}")


def _inspect(site: Site, template: str, containers: Iterable[str]) -> list[str]:
    return site.type(f"docker inspect --format '{template}' {' '.join(containers)}").splitlines()


def _report(text: str) -> None:
    print(f"compose: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
