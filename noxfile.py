"""The only door: everything a person or CI runs is a session of this file.

``./noxw`` runs ``check``: every session of ``CHECKS``, side by side, as CI does. All sessions share one environment in
``.local/venv``, made by uv from ``requirements/constraints.txt`` and the six packages as editable installs.
"""

import fcntl
import hashlib
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import nox

nox.options.sessions = ["check"]
nox.options.default_venv_backend = "none"

TOP = Path(__file__).parent
LOCAL = TOP / ".local"
VENV = LOCAL / "venv"
PACKAGES = [
    "libs/service_common",
    "services/api",
    "services/indexer",
    "services/reviewer",
    "services/delivery",
    "cli",
]
IMAGES = ["api", "indexer", "reviewer", "delivery"]
LOCK = "requirements/constraints.txt"
UV = [sys.executable, "-m", "uv", "--system-certs"]
"""uv trusts the certificates that the system trusts, as pip and npm do."""
ON_PATH = [TOP / "deploy/local", TOP / "deploy/hub", TOP / "deploy/render", TOP]
# Longest first: two run at a time, so the order decides how long the whole takes.
CHECKS = [
    "contracts", "e2e", "indexer", "cli", "api", "deploy", "common",
    "types", "reviewer", "delivery", "lint", "architecture",
]  # fmt: skip


@nox.session
def env(session: nox.Session) -> None:
    """Make or refresh the shared environment in .local/venv."""
    stamp = VENV / "made-for"
    wanted = _environment_digest()
    LOCAL.mkdir(exist_ok=True)
    with _only_one(LOCAL / "venv.lock"):
        if stamp.exists() and stamp.read_text() == wanted:
            return
        python = str(VENV / "bin/python")
        editable = [word for package in PACKAGES for word in ("--editable", package)]
        session.run(*UV, "venv", "--quiet", "--allow-existing", "--python", sys.executable, str(VENV))
        session.run(*UV, "pip", "sync", "--quiet", "--python", python, "--require-hashes", "--no-build", LOCK)
        session.run(
            *UV, "pip", "install", "--quiet", "--python", python, "--no-deps", "--no-build-isolation", "--offline",
            *editable,
        )  # fmt: skip
        stamp.write_text(wanted)


@nox.session
def check(session: nox.Session) -> None:
    """Every check, as CI runs it; arguments after -- name single ones."""
    env(session)
    run(session, "python", "tools/run_checks.py", *(session.posargs or CHECKS))


@nox.session
def lint(session: nox.Session) -> None:
    """ruff: rules and formatting."""
    env(session)
    run(session, "ruff", "check", ".")
    run(session, "ruff", "format", "--check", ".")


@nox.session
def types(session: nox.Session) -> None:
    """mypy, strict, tests included."""
    env(session)
    run(session, "mypy")


@nox.session
def architecture(session: nox.Session) -> None:
    """The import contracts, and the rules that hold across parts."""
    env(session)
    run(session, "lint-imports")
    pytest(session, "tests/architecture")


@nox.session
def common(session: nox.Session) -> None:
    """service_common."""
    part(session, "common", "-n", "2")


@nox.session
def api(session: nox.Session) -> None:
    """The public API."""
    part(session, "api")


@nox.session
def indexer(session: nox.Session) -> None:
    """The indexer."""
    part(session, "indexer")


@nox.session
def reviewer(session: nox.Session) -> None:
    """The readiness reviewer."""
    part(session, "reviewer")


@nox.session
def delivery(session: nox.Session) -> None:
    """The delivery service."""
    part(session, "delivery")


@nox.session
def cli(session: nox.Session) -> None:
    """The command-line client."""
    part(session, "cli", "-n", "2")


@nox.session
def contracts(session: nox.Session) -> None:
    """The Hub: forge tests, and the committed artifacts rebuilt bit for bit."""
    env(session)
    run(session, "python", "-m", "local_stack.toolbox", "contracts")
    run(session, "python", "contracts/tools/check.py")
    pytest(session, "tests/contracts")


@nox.session
def deploy(session: nox.Session) -> None:
    """The local stack's servers, the images, the manifests."""
    part(session, "deploy", "-n", "2")


@nox.session
def e2e(session: nox.Session) -> None:
    """Whole bounties through every part."""
    part(session, "e2e")


@nox.session
def demo(session: nox.Session) -> None:
    """One whole bounty on a local stack, narrated and verified; about two minutes after set-up."""
    env(session)
    hand_over(session, "-m", "demo", *session.posargs)


@nox.session
def stack(session: nox.Session) -> None:
    """The whole service on this machine until interrupted; see .local/stack.env."""
    env(session)
    hand_over(session, "-m", "local_stack", "up", *session.posargs)


@nox.session
def assurance(session: nox.Session) -> None:
    """The long campaigns, resumable; -- STEP for one of them. Writes docs/assurance.md."""
    env(session)
    assurance_tools(session)
    run(session, "python", "tools/assurance.py", *session.posargs)


@nox.session
def sbom(session: nox.Session) -> None:
    """What each image holds, as CycloneDX documents in .local/sbom."""
    env(session)
    assurance_tools(session)
    run(session, "python", "tools/sbom.py")


def assurance_tools(session: nox.Session) -> None:
    """Make or refresh the environment of the tools that are no part of the project's own."""
    tools = LOCAL / "assurance-venv"
    pins = (TOP / "requirements/assurance.txt").read_text()
    if not (tools / "made-for").exists() or (tools / "made-for").read_text() != pins:
        python = str(tools / "bin/python")
        session.run(*UV, "venv", "--quiet", "--allow-existing", "--python", sys.executable, str(tools))
        session.run(*UV, "pip", "sync", "--quiet", "--python", python, "--require-hashes", "requirements/assurance.txt")
        (tools / "made-for").write_text(pins)


@nox.session
def bench(session: nox.Session) -> None:
    """Measure; -- --only GROUP for one group, --json FILE to keep the lines. Reports, never fails."""
    env(session)
    run(session, "python", "-m", "bench", *session.posargs)


@nox.session
def manifests(session: nox.Session) -> None:
    """Print a Kubernetes overlay as YAML, without kustomize: -- staging | kubectl apply -f -"""
    env(session)
    hand_over(session, "-m", "kustomization", *session.posargs)


@nox.session
def drill(session: nox.Session) -> None:
    """Go through a runbook of docs/operations.md on this machine: -- NAME; -- --help lists them."""
    env(session)
    run(session, "python", "tools/drill.py", *session.posargs)


@nox.session
def deploy_hub(session: nox.Session) -> None:
    """Deploy the Hub: -- --network staging …; a dry run unless --send; see -- --help."""
    env(session)
    run(session, "python", "-m", "hub_operations", "deploy", *session.posargs)


@nox.session
def hub_admin(session: nox.Session) -> None:
    """Act as the Hub's owner: roster, delivery key, fees, ownership; a dry run unless --send; see -- --help."""
    env(session)
    run(session, "python", "-m", "hub_operations", "admin", *session.posargs)


@nox.session
def lock(session: nox.Session) -> None:
    """Compile the pins from requirements/*.in and the packages' own dependencies."""
    LOCAL.mkdir(exist_ok=True)
    compile_ = [
        *UV, "pip", "compile", "--quiet", "--universal", "--python-version", "3.11",
        "--generate-hashes", "--no-header", "--no-annotate", *session.posargs,
    ]  # fmt: skip
    session.run(*compile_, "requirements/nox.in", "-o", "requirements/nox.txt")
    session.run(*compile_, "requirements/assurance.in", "-o", "requirements/assurance.txt")
    extras = {"libs/service_common": "[db,jobs,log,storage,traces,web]"}
    own = TOP / "requirements/.own.in"
    own.write_text("".join(f"-e ./{package}{extras.get(package, '')}\n" for package in PACKAGES))
    image = TOP / "requirements/.image.in"
    try:
        names = [f"service-{name}" for name in ("common", "api", "indexer", "reviewer", "delivery", "cli")]
        hidden = [word for name in names for word in ("--no-emit-package", name)]
        session.run(*compile_, *hidden, "requirements/.own.in", "requirements/dev.in", "-o", LOCK)
        pinned = ["-c", LOCK, "--no-emit-package", "service-common"]
        for service in IMAGES:
            image.write_text(f"-e ./libs/service_common\n-e ./services/{service}\n")
            wanted = [*pinned, "--no-emit-package", f"service-{service}", "requirements/.image.in"]
            session.run(*compile_, *wanted, "-o", f"requirements/images/{service}.txt")
        session.run(*compile_, "-c", LOCK, "requirements/build.in", "-o", "requirements/images/build.txt")
    finally:
        own.unlink()
        image.unlink(missing_ok=True)


def part(session: nox.Session, name: str, *options: str) -> None:
    """Run one part's test folder."""
    env(session)
    pytest(session, f"tests/{name}", *options)


def pytest(session: nox.Session, folder: str, *options: str) -> None:
    run(session, "pytest", folder, *options, *session.posargs)


def run(session: nox.Session, command: str, *arguments: str) -> None:
    """Run a command of the shared environment; an interrupted one gets time to stop what it started."""
    session.run(
        str(VENV / "bin" / command), *arguments,
        env=_variables(), external=True, silent=False, interrupt_timeout=5, terminate_timeout=30,
    )  # fmt: skip


def hand_over(session: nox.Session, *arguments: str) -> None:
    """Become a long-running program, so that every signal reaches it and nothing stands between it and the caller."""
    session.log(f"python {' '.join(arguments)}")
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(str(VENV / "bin/python"), ["python", *arguments], {**os.environ, **_variables()})  # noqa: S606


def _variables() -> dict[str, str]:
    return {
        "PATH": f"{VENV / 'bin'}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        "VIRTUAL_ENV": str(VENV),
        "PYTHONPATH": os.pathsep.join(map(str, ON_PATH)),
        "PYTHONUNBUFFERED": "1",
    }


def _environment_digest() -> str:
    digest = hashlib.sha256(sys.version.encode() + str(TOP).encode())
    for file in [LOCK, *(f"{package}/pyproject.toml" for package in PACKAGES)]:
        digest.update((TOP / file).read_bytes())
    return digest.hexdigest()


@contextmanager
def _only_one(lock_file: Path) -> Iterator[None]:
    """Hold a lock across processes: sessions run side by side and share the environment."""
    with lock_file.open("w") as handle:
        started = time.monotonic()
        fcntl.flock(handle, fcntl.LOCK_EX)
        waited = time.monotonic() - started
        if waited > 5:
            print(f"waited {waited:.0f} s for another session to make the environment", file=sys.stderr)
        yield
