"""``./noxw -s images``: build the image of every service and run it as its pod does.

    python tools/images.py [IMAGE ...]

Builds with buildah from ``deploy/images/Dockerfile``. The base is a stand-in, under the name of the real one: Debian
12 with its own Python, made by mmdebstrap, since this needs no registry of images. Then, for each service: a second
build is the same to the byte; the image holds no installer; its process has an ordinary user, a root it cannot write
and no capability; every sub-command ends on SIGTERM as process 1. Last, a whole local stack runs of the images. Exit
code 1 when something is not as it should be, and 77 if images cannot be built or run: without root, buildah,
mmdebstrap, an OCI runtime that starts a container here, or Debian's archive.
"""

import argparse
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Final

from demo.bounty import Cast
from demo.person import UnexpectedEnd
from local_stack.process import StackError
from local_stack.stack import Stack, StackSettings, running_stack

from tools import container
from tools.image_folders import FOLDERS, SERVICES, TOP

WORK: Final = TOP / ".local/image-builds"
SUITE: Final = "bookworm"
PACKAGES: Final = "python3,python3-venv,ca-certificates,libstdc++6"
"""The last one is in the real base because its package manager needs it."""
MEGABYTES: Final = 330
"""How large an image may be."""
PROBE: Final = "probe"
"""The base as a container, in which nothing but Python is started."""
STOP_SECONDS: Final = 10.0
NOT_RUN: Final = 77
_CERTIFICATES: Final = "/etc/ssl/certs/ca-certificates.crt"
_BASE: Final = f"""
rm -f /usr/lib/python3*/EXTERNALLY-MANAGED
cd /usr/share/python-wheels
python3 "$(ls pip-*.whl)/pip" install --quiet --root-user-action ignore --no-index --find-links . pip
rm -rf /usr/lib/python3*/ensurepip /usr/share/python-wheels /var/lib/apt/lists/* /var/cache/apt
test -s {_CERTIFICATES}
"""
"""Steps that make Debian's Python look like the base's: pip that installs, below /usr/local."""
_INSIDE: Final = """
import json, os, pathlib, shutil, importlib.util
def writable(path):
    try:
        pathlib.Path(path, "probe").touch()
    except OSError:
        return False
    return True
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(json.dumps({
    "process": os.getpid(),
    "user": [os.getuid(), os.getgid()],
    "capabilities": [status[name].strip() for name in ("CapPrm", "CapEff", "CapBnd", "CapAmb")],
    "no new privileges": status["NoNewPrivs"].strip(),
    "writable": [path for path in ("/", "/opt/service", "/usr/local/lib", "/tmp") if writable(path)],
    "installers": [name for name in ("pip", "pip3", "uv", "wheel") if shutil.which(name)]
        + [name for name in ("pip", "setuptools", "ensurepip", "uv") if importlib.util.find_spec(name)],
    "terminal": os.isatty(0),
}))
"""
_EXPECTED: Final = {
    "process": 1,
    "user": [10001, 10001],
    "capabilities": ["0000000000000000"] * 4,
    "no new privileges": "1",
    "writable": ["/tmp"],  # noqa: S108  # the container's own
    "installers": [],
    "terminal": False,
}


class NoBuilder(Exception):
    """This machine cannot build or run images; the text names what is missing."""


class UnexpectedImage(Exception):
    """Something of an image is not as it should be."""


@dataclass(frozen=True, slots=True)
class Image:
    """A built image. ``digest`` is of its configuration, which names every layer by its digest."""

    service: str
    digest: str
    seconds: float

    @property
    def folder(self) -> Path:
        """The folder from which ``tools/container.py`` runs it."""
        return WORK / self.service

    def megabytes(self) -> int:
        """Return how large everything in it is; mounted."""
        root = f"{(self.folder / 'root').resolve()}/"
        done = subprocess.run(["du", "-sx", "--bytes", root], capture_output=True, text=True, check=True)
        return int(done.stdout.split()[0]) // 1_000_000


def main() -> int:
    """Build, look inside, stop, run."""
    parser = argparse.ArgumentParser(prog="images", description=__doc__)
    parser.add_argument("images", nargs="*", default=list(FOLDERS), help="which; default all, and a stack of them")
    names = parser.parse_args().images
    try:
        require()
        make_base()
        with _clean():
            _try_runtime()
            images = [build(name) for name in names]
            for image in images:
                _check_rebuild(image)
                _mount(image.folder, f"localhost/service-{image.service}")
                if image.megabytes() > MEGABYTES:
                    raise UnexpectedImage(f"{image.service} takes {image.megabytes()} MB, more than {MEGABYTES}")
                _look_inside(image)
                _report(f"{image.service}: {image.megabytes()} MB, built in {image.seconds:.0f} s, {image.digest[:12]}")
            sizes = ", ".join(f"{image.service} {image.megabytes()}" for image in images)
            if "mcp" in names:
                _serve_agents(next(image for image in images if image.service == "mcp"))
            seen = ""
            if set(names) == set(FOLDERS):
                _run_stack([image for image in images if image.service in SERVICES])
                seen = "; a stack of them funded a bounty"
    except NoBuilder as reason:
        print(f"not run: {reason}")
        return NOT_RUN
    except (StackError, UnexpectedEnd, UnexpectedImage) as fault:
        print(f"FAILED: {fault}")
        return 1
    print(f"{len(images)} images passed ({sizes} MB), each the same twice; every process ended on SIGTERM{seen}")
    return 0


def require() -> None:
    """Raise ``NoBuilder`` where images cannot be built."""
    if os.geteuid() != 0:
        raise NoBuilder("images are built and run as root here")
    for program in ("buildah", "mmdebstrap"):
        if shutil.which(program) is None:
            raise NoBuilder(f"{program} is not installed")
    if container.runtime() is None:
        raise NoBuilder(f"no OCI runtime ({' or '.join(container.RUNTIMES)}) is installed")


def buildah(*arguments: str) -> str:
    """Run buildah on a storage of our own; what it printed."""
    storage = ("--root", str(WORK / "storage"), "--runroot", str(WORK / "run"))
    done = subprocess.run(["buildah", *storage, *arguments], cwd=TOP, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise UnexpectedImage(f"buildah {arguments[0]}: {done.stderr.strip()[-2000:]}")
    return done.stdout.strip()


def debian(suite: str, packages: str, target: Path, *, variant: str = "essential", hooks: Sequence[str] = ()) -> None:
    """A Debian release with these packages, as a folder or a ``.tar``; ``NoBuilder`` where the archive is away."""
    options = ["--mode=root", f"--variant={variant}", '--aptopt=Acquire::Check-Valid-Until "false"', *hooks]
    options += [f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in ("doc", "man", "locale")]
    command = ["mmdebstrap", *options, f"--include={packages}", suite, str(target)]
    if subprocess.run(command, capture_output=True, check=False).returncode != 0:
        raise NoBuilder(f"mmdebstrap could not make Debian {suite}; is the archive reachable?")


def _base_name() -> str:
    """As the Dockerfile names its base."""
    text = (TOP / "deploy/images/Dockerfile").read_text(encoding="utf-8")
    return next(line.partition("=")[2] for line in text.splitlines() if line.startswith("ARG PYTHON_IMAGE="))


def make_base() -> None:
    """The stand-in for the base of the services' images, unless the one that is there is the same."""
    name, archive, stamp = f"docker.io/library/{_base_name()}", WORK / "base.tar", WORK / "base"
    WORK.mkdir(parents=True, exist_ok=True)
    made_of = f"{name} {SUITE} {PACKAGES} {_BASE}"
    if stamp.exists() and stamp.read_text(encoding="utf-8") == made_of:
        return
    _report(f"making a stand-in for {_base_name()}: Debian {SUITE} with its Python, about a minute")
    debian(SUITE, PACKAGES, archive)
    building = buildah("from", "scratch")
    buildah("add", "--quiet", building, str(archive), "/")
    trusted = os.environ.get("SSL_CERT_FILE", _CERTIFICATES)
    if Path(trusted).is_file():  # besides the release's own, those that this machine trusts
        buildah("copy", "--quiet", building, trusted, _CERTIFICATES)
    buildah("run", "--isolation", "chroot", building, "--", "sh", "-ec", _BASE)
    for variable in (f"PIP_CERT={_CERTIFICATES}", f"SSL_CERT_FILE={_CERTIFICATES}", "UV_SYSTEM_CERTS=1"):
        buildah("config", "--env", variable, building)
    buildah("commit", "--quiet", "--rm", building, name)
    archive.unlink()
    stamp.write_text(made_of, encoding="utf-8")


def build(service: str) -> Image:
    """Build the image of one service from the Dockerfile; its name is ``localhost/service-SERVICE``."""
    _report(f"building {service}")
    started, name = time.monotonic(), f"localhost/service-{service}"
    common = ("--isolation", "chroot", "--no-cache", "--timestamp", "0", "--pull-never")
    file = ("--file", "deploy/images/Dockerfile", "--build-arg", f"SERVICE={service}")
    folder = ("--build-arg", f"FOLDER={FOLDERS[service]}")
    digest = buildah("build", *common, *file, *folder, "--tag", name, ".").splitlines()[-1]
    return Image(service, digest, time.monotonic() - started)


def _check_rebuild(image: Image) -> None:
    again = build(image.service)
    if again.digest != image.digest:
        raise UnexpectedImage(f"{image.service}: a second build is {again.digest}, the first is {image.digest}")


def _try_runtime() -> None:
    """``NoBuilder`` where the runtime starts nothing here, as crun does where both versions of cgroups are mounted."""
    folder = WORK / PROBE
    _mount(folder, f"docker.io/library/{_base_name()}")
    done = _run_python(folder, "pass", {"User": "10001:10001", "WorkingDir": "/", "Env": [f"PATH={os.defpath}"]})
    if done.returncode != 0:
        raise NoBuilder(f"{container.runtime()} starts no container on this machine: {done.stderr.strip()}")


def _mount(folder: Path, name: str) -> None:
    """An image, where ``tools/container.py`` finds it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    config = json.loads(buildah("inspect", "--type", "image", name))["OCIv1"]["config"]
    (folder / "image.json").write_text(json.dumps(config), encoding="utf-8")
    working = buildah("from", "--pull-never", "--name", f"run-{folder.name}", name)
    (folder / "root").symlink_to(buildah("mount", working))


def _run_python(folder: Path, script: str, changes: Mapping[str, object]) -> "subprocess.CompletedProcess[str]":
    """Run a script by the image's Python, and otherwise as its own program runs."""
    file = folder / "image.json"
    config = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps({**config, **changes, "Entrypoint": ["python3", "-c"]}), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(TOP / "tools/container.py"), str(folder), script],
        env={}, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    file.write_text(json.dumps(config), encoding="utf-8")
    return done


@contextmanager
def _clean() -> Iterator[None]:
    """Leave no container and no mount behind, whatever happened."""
    try:
        yield
    finally:
        runtime = container.runtime() or ""
        for state in WORK.glob("*/runtime"):
            for started in state.iterdir():
                subprocess.run([runtime, "--root", str(state), "delete", "--force", started.name], check=False)
        buildah("rm", "--all")
        for folder in (WORK / name for name in (*FOLDERS, PROBE)):
            shutil.rmtree(folder, ignore_errors=True)


def _look_inside(image: Image) -> None:
    """A process of the image looks at what it is and what it may."""
    done = _run_python(image.folder, _INSIDE, {})
    if done.returncode != 0:
        raise UnexpectedImage(f"{image.service} does not run: {done.stderr.strip()}")
    found = json.loads(done.stdout)
    if found != _EXPECTED:
        differs = {name: value for name, value in found.items() if _EXPECTED[name] != value}
        raise UnexpectedImage(f"{image.service}: {differs}")


def _serve_agents(image: Image) -> None:
    """The reading tools over HTTP, for a chain that cannot be reached: they answer, and end."""
    with socket.socket() as chosen:
        chosen.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{chosen.getsockname()[1]}"
    nowhere = dict.fromkeys(("SERVICE_RPC_URL", "SERVICE_API_BASE_URL"), "http://127.0.0.1:1")
    account = "0x" + 20 * "11"
    environment = {
        **nowhere, "SERVICE_CHAIN_ID": "staging", "SERVICE_HUB_ADDRESS": account,
        "SERVICE_ESCROW_TOKEN_ADDRESS": account, "SERVICE_TIMELOCK_REVEAL_DELAY_SECONDS": "3600",
        "SERVICE_PUBLIC_HOST": "bounties.example",
    }  # fmt: skip
    command = [sys.executable, str(TOP / "tools/container.py"), str(image.folder), "--http", address]
    process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        if not _answers(f"http://{address}/mcp", process):
            process.kill()
            raise UnexpectedImage(f"mcp does not serve: {process.communicate()[1][-2000:]}")
        started = time.monotonic()
        process.terminate()
        process.wait(STOP_SECONDS)
        _report(f"mcp ended {time.monotonic() - started:.1f} s after SIGTERM")
    except subprocess.TimeoutExpired:
        raise UnexpectedImage(f"mcp did not end {STOP_SECONDS:.0f} s after SIGTERM") from None
    finally:
        process.kill()


def _answers(url: str, process: subprocess.Popen[str]) -> bool:
    for _ in range(600):
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:  # noqa: S310  # our own address
                return bool(answer.status == HTTPStatus.OK)
        except urllib.error.HTTPError:
            return True  # the protocol's own refusal of a plain GET
        except OSError:
            if process.poll() is not None:
                return False
            time.sleep(0.1)
    return False


def _run_stack(images: list[Image]) -> None:
    """Fund a bounty on a whole local stack of the images; then send SIGTERM to each of its processes."""
    programs = WORK / "programs"
    programs.mkdir(exist_ok=True)
    for image in images:
        program = programs / f"service-{image.service}"
        program.write_text(f'#!/bin/sh\nexec {sys.executable} {TOP / "tools/container.py"} {image.folder} "$@"\n')
        program.chmod(0o755)
    _report("starting a stack of the images")
    with running_stack(StackSettings(programs={program.name: programs for program in programs.iterdir()})) as stack:
        cast = Cast(stack, WORK / "people")
        cast.fund(submission_seconds=600, judging_seconds=600)
        for name in list(stack.services):
            _terminate(stack, name)


def _terminate(stack: Stack, name: str) -> None:
    """SIGTERM, and how long the process took to end."""
    child = stack.services[name].child
    if child is None:
        raise UnexpectedImage(f"{name} was not started")
    started = time.monotonic()
    os.kill(child.pid, signal.SIGTERM)
    while child.exit_status() is None:
        if time.monotonic() - started > STOP_SECONDS:
            raise UnexpectedImage(f"{name} did not end {STOP_SECONDS:.0f} s after SIGTERM")
        time.sleep(0.05)
    _report(f"{name} ended {time.monotonic() - started:.1f} s after SIGTERM")


def _report(text: str) -> None:
    print(f"images: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
