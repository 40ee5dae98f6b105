"""The only door: everything a person or CI runs is a session of this file.

``./noxw`` runs ``check``: every session of ``CHECKS``, side by side, as CI does. A session makes the environment that
it needs, and no other: ``STACK``, ``TESTS``, ``TYPES``, ``LINT`` and ``ASSURANCE`` below.
"""

import fcntl
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import nox

nox.options.sessions = ["check"]
nox.options.default_venv_backend = "none"

TOP = Path(__file__).parent
LOCAL = TOP / ".local"
PACKAGES = [
    "libs/bounty_protocol",
    "libs/service_common",
    "services/api",
    "services/indexer",
    "services/reviewer",
    "services/delivery",
    "cli",
    "clients/audit",
]
AGENTS = ["clients/mcp"]
"""What only checks and the agents' demo install: its dependencies are many."""
IMAGES = [*(each for each in PACKAGES if each.startswith("services/")), "clients/audit", "clients/mcp"]
"""The folders that have an image: the services, the audit, and the reading tools for agents."""
LOCK = "requirements/constraints.txt"
UV = [sys.executable, "-m", "uv", "--system-certs"]
"""uv trusts the certificates that the system trusts, as pip and npm do."""
MEMORY = Path("/dev/shm")  # noqa: S108 - a private folder is made in it
SCRATCH = "bounty-tests-"
PLATFORMS = ("x86_64-manylinux_2_28", "aarch64-manylinux_2_28", "aarch64-apple-darwin")
"""Those that are supported, as uv names them; glibc 2.28 is Debian 10's."""
ON_PATH = [TOP / "deploy/local", TOP / "deploy/hub", TOP]
CHECKS = ["tests", "contracts", "types", "docs", "fresh", "lint"]
"""Longest first: a few run at a time, so the order decides how long the whole takes."""
WORKERS = str((os.cpu_count() or 2) + 1)
SHARED = ("-n", WORKERS, "--dist", "loadscope", "--no-loadscope-reorder")
"""One more than there are cores: tests wait for servers and browsers for a part of their time."""
ELSEWHERE = tuple(f"--ignore=tests/{name}" for name in ("contracts", "docs", "drills"))
"""Tests that run in other sessions, or at night alone."""
PROOFS = "--match-contract Proofs --forge-build-out out/proofs --loop 5 --solver-timeout-assertion 60000"


def hub_tool(profile: str, command: str) -> tuple[str, ...]:
    """A command in contracts/, with the native forge and the tools of ASSURANCE first on the path."""
    first = "$PWD/node_modules/@foundry-rs/forge-linux-amd64/bin:$PWD/../.local/venv-assurance/bin"
    return "/bin/sh", "-c", f"cd contracts && PATH={first}:$PATH FOUNDRY_PROFILE={profile} {command}"


MUTATED = {
    "auth": ("libs/bounty_protocol", "bounty_protocol/auth", "protocol/auth"),
    "envelope": (
        "libs/bounty_protocol",
        "bounty_protocol/domain/envelope/document.py",
        "protocol/domain/test_envelope.py protocol/crypto/test_vectors.py",
    ),
    "age": ("libs/bounty_protocol", "bounty_protocol/crypto/age_stream.py", "protocol/crypto/test_age.py"),
    "times": ("cli", "service_cli/chain/times.py", "cli/chain/test_times.py"),
    "sender": ("cli", "service_cli/chain/sender.py", "cli/chain/test_sender.py"),
    "fund": ("cli", "service_cli/acts/fund.py", "cli/acts/test_fund.py"),
    "verdict": ("cli", "service_cli/acts/verdict.py", "cli/acts/test_verdict.py"),
    "deliver": ("cli", "service_cli/acts/deliver.py", "cli/acts/test_deliver.py"),
    "sealing": ("cli", "service_cli/work/sealing.py", "cli/acts/test_submit.py"),
    "opening": ("cli", "service_cli/work/opening.py", "cli/work/test_opening.py"),
    "follower": ("services/indexer", "service_indexer/follower.py", "indexer/test_follower.py"),
}
"""What proves requests, moves money and opens work: its package, the module in it, and the tests nearest to it.

Changes that these tests do not notice are shown; whether other tests do, a person decides. ``auth`` fails above 5 %.
"""


def mutants(name: str) -> tuple[str, ...]:
    """Return the command that makes every small change to a copy of a module, one by one, and shows which live."""
    package, module, nearest = MUTATED[name]
    tests = " ".join(f"../../../tests/{path}" for path in nearest.split())
    campaign = f"""
unset SERVICE_CAMPAIGN
rm -rf .local/assurance/{name} && mkdir -p .local/assurance/{name}
cp -R {package}/src .local/assurance/{name}/src && cd .local/assurance/{name}
export PATH="$PATH:$PWD/../../venv-assurance/bin" PYTHONPATH="$PWD/src:$PYTHONPATH" PYTHONDONTWRITEBYTECODE=1
cat > campaign.toml <<END
[cosmic-ray]
module-path = "src/{module}"
timeout = 120.0
excluded-modules = []
test-command = "pytest -xqm 'not nightly' --rootdir ../../.. -c ../../../pyproject.toml {tests}"
distributor.name = "local"
END
cosmic-ray baseline campaign.toml
cosmic-ray init campaign.toml session.sqlite
cosmic-ray exec campaign.toml session.sqlite
cr-report --surviving-only --show-diff session.sqlite
cr-rate --fail-over {5 if name == "auth" else 100} session.sqlite
"""
    return "/bin/sh", "-ec", campaign


BY_DAY = shlex.join(("tests", "-m", "not nightly", *ELSEWHERE, *SHARED))
ORDERS = f"""
unset SERVICE_CAMPAIGN
for seed in 1 2 3 4 5 6 7 8 9 10; do
    pytest {BY_DAY} --random-order-bucket=module --random-order-seed=$seed
done
"""
"""The session ``tests`` ten times, its modules and their tests in random order."""
FIGURES = f"""
unset SERVICE_CAMPAIGN
coverage erase
coverage run -m pytest {BY_DAY}
coverage combine --quiet
coverage json --quiet
python tools/figures.py > .local/figures.json
"""
"""The session ``tests`` once, for the branches that it takes; then all that ``tools/figures.py`` counts.

Servers have an environment of their own, so what they alone take is not counted.
"""
FIREFOX = """
SERVICE_FIREFOX=$(command -v firefox-esr || command -v firefox)
export SERVICE_FIREFOX
exec pytest tests/e2e/test_wallets.py -k 'not earlier_wallet'
"""
"""Left out is what its driver lacks: data that is deleted."""
WEBKIT = """
set -- /usr/lib/*/webkit*/MiniBrowser
test -x "$1"
export SERVICE_WEBKIT="$1"
exec xvfb-run --auto-servernum --server-args='-screen 0 1400x1200x24' pytest \
    tests/pages/test_engines.py tests/e2e/test_wallets.py \
    -k 'not without_scripts and not lying_api and not silent_api and not earlier_wallet \
and not submitted_to and not judged_claimed and not without_work'
"""
"""WebKitGTK, the engine nearest to Safari's (Debian: webkit2gtk-driver, xvfb).

Left out is what its driver lacks: pages without scripts, requests that somebody else answers, data that is deleted.
So is what seals: unlike Safari, WebKitGTK opens no file for a worker (`createSyncAccessHandle`).
"""
NIGHTLY = {
    "index": ("pytest", "tests/indexer"),
    "client": ("pytest", "tests/cli/plays"),
    "pages": ("pytest", "tests/pages", "tests/e2e"),
    "orders": ("/bin/sh", "-ec", ORDERS),
    "figures": ("/bin/sh", "-ec", FIGURES),
    "outages": ("pytest", "tests/drills"),
    "formats": ("pytest", "tests/protocol", "tests/common"),
    "services": ("pytest", "tests/api", "tests/reviewer", "tests/delivery", "tests/hostile"),
    "typescript": ("pytest", "tests/clients", "tests/agents"),
    "audit": ("pytest", "tests/audit"),
    "built": ("pytest", "-m", "nightly", "tests/deploy", "tests/architecture"),
    "hub": ("pytest", "tests/contracts"),
    "hub-planted": ("python", "contracts/tools/check.py", "coverage", "mutants"),
    "hub-slither": hub_tool("mutants", "python tools/slither.py --slither slither"),
    "hub-proofs": hub_tool("proofs", f"halmos {PROOFS}"),
    "hub-histories": hub_tool("assurance", "python tools/histories.py --forge forge"),
    **{f"mutants-{name}": mutants(name) for name in MUTATED},
    "market": ("python", "-m", "tools.market", "--seed", "57", "--minutes", "10"),
    "firefox": ("/bin/sh", "-ec", FIREFOX),
    "webkit": ("/bin/sh", "-ec", WEBKIT),
    "package": ("python", "-m", "tools.typescript_package"),
    "world": ("python", "-m", "tools.world"),
}
"""What takes hours, by part: a program of the tests' environment and its arguments."""


@dataclass(frozen=True)
class Environment:
    """A virtual environment below .local, made from one file of pins when a session first needs it."""

    folder: str
    pins: str
    megabytes: tuple[int, int]
    """About how much is downloaded, and how much disk it takes."""
    packages: tuple[str, ...] = tuple(PACKAGES)
    """Those of our own that are installed in it, in place."""
    wheels_only: bool = True
    """Whether no package may be built from source, which would run its code while it is installed."""

    @property
    def path(self) -> Path:
        return LOCAL / self.folder

    @property
    def python(self) -> str:
        return str(self.path / "bin/python")

    def digest(self) -> str:
        """Changes whenever the environment has to be made again."""
        digest = hashlib.sha256(sys.version.encode() + str(TOP).encode())
        for file in [self.pins, *(f"{package}/pyproject.toml" for package in self.packages)]:
            digest.update((TOP / file).read_bytes())
        return digest.hexdigest()


STACK = Environment("venv", "requirements/stack.txt", (85, 280))
AGENTS_STACK = Environment("venv-agents", "requirements/agents.txt", (100, 330), packages=(*PACKAGES, *AGENTS))
TESTS = Environment("venv-tests", "requirements/tests.txt", (275, 830), packages=(*PACKAGES, *AGENTS))
TYPES = Environment("venv-types", "requirements/types.txt", (285, 880), packages=(*PACKAGES, *AGENTS))
LINT = Environment("venv-lint", "requirements/lint.txt", (22, 55), packages=())
DOCS = Environment("venv-docs", "requirements/docs.txt", (20, 90), packages=())
ASSURANCE = Environment(
    "venv-assurance", "requirements/assurance.txt", (150, 500), packages=(), wheels_only=False
)  # yattag has no wheel


@nox.session
def check(session: nox.Session) -> None:
    """Every check, as CI runs it; arguments after -- name single ones."""
    make(session, TESTS)
    session.run(sys.executable, "tools/run_checks.py", *(session.posargs or CHECKS), external=True)


def name_of(folder: str) -> str:
    """The name of an image, and of the file of its pins."""
    return folder.rpartition("/")[2]


@nox.session
def lint(session: nox.Session) -> None:
    """Rules and formatting by ruff, spelling by codespell, code that nothing uses by vulture, workflows by zizmor."""
    make(session, LINT)
    run(session, LINT, "ruff", "check", ".")
    run(session, LINT, "ruff", "format", "--check", ".")
    run(session, LINT, "codespell")
    run(session, LINT, "vulture")
    run(session, LINT, "zizmor", "--offline", "--quiet", "--no-progress", ".github")


@nox.session
def types(session: nox.Session) -> None:
    """mypy, strict, and the import contracts."""
    make(session, TYPES)
    run(session, TYPES, "mypy")
    make(session, TESTS)
    run(session, TESTS, "lint-imports")


@nox.session
def fast(session: nox.Session) -> None:
    """What the change touches, in a minute: ruff, mypy, unit tests; -- COMMIT to compare with another than the last."""
    for environment in (LINT, TYPES, TESTS):
        make(session, environment)
    run(session, TESTS, "python", "tools/fast.py", str(LINT.path / "bin"), str(TYPES.path / "bin"), *session.posargs)


@nox.session
def fresh(session: nox.Session) -> None:
    """Whether every pin has a wheel on every supported Python and platform, before a user finds out that it has not."""
    probe = [*UV, "pip", "compile", "--no-deps", "--no-cache", "requirements/nox.in"]
    if subprocess.run(probe, capture_output=True, check=False).returncode:
        session.skip("no package index can be reached from here")
    with tempfile.TemporaryDirectory() as folder:
        install = [*UV, "pip", "install", "--quiet", "--dry-run", "--no-deps", "--require-hashes", "--no-build"]
        pins = ["--target", folder, "-r", "requirements/nox.txt", "-r", LOCK]
        for python in (TOP / "requirements/pythons.txt").read_text().split():
            for platform in PLATFORMS:
                session.run(*install, "--python-version", python, "--python-platform", platform, *pins)


PARTS = {
    "common": ("protocol", "common"),
    "api": ("api", "clients", "hostile"),
    "indexer": ("indexer",),
    "reviewer": ("reviewer",),
    "delivery": ("delivery",),
    "pages": ("pages",),
    "cli": ("cli",),
    "e2e": ("e2e",),
}
"""Folders of the tests of each part; what follows -- chooses of them, or names others."""


def part(name: str) -> None:
    """Register the session that runs the tests of one part."""
    paths = " ".join(f"tests/{folder}" for folder in PARTS[name])

    @nox.session(name=name)
    def tests_of_part(session: nox.Session) -> None:
        pytest(session, paths, *SHARED)

    tests_of_part.__doc__ = f"The tests of {paths}."


for name in PARTS:
    part(name)


@nox.session
def tests(session: nox.Session) -> None:
    """Every test but those of the night and of other sessions; what follows -- goes to pytest, such as paths."""
    pytest(session, "tests", *ELSEWHERE, *SHARED)


@nox.session
def docs(session: nox.Session) -> None:
    """The documents as a site in .local/site; open index.html there."""
    build_site(session)
    pytest(session, "tests/docs")


@nox.session
def contracts(session: nox.Session) -> None:
    """The Hub: its formatting, forge tests, gas figures, model and state machine; the night rebuilds its artifacts."""
    make(session, TESTS)
    run(session, TESTS, "python", "-m", "local_stack.toolbox", "contracts")
    run(session, TESTS, "python", "contracts/tools/check.py")
    pytest(session, "tests/contracts")


@nox.session
def nightly(session: nox.Session) -> None:
    """Every test at its whole size, and what needs hours or an archive; -- NAME for parts of it: see NIGHTLY."""
    make(session, TESTS)
    parts = session.posargs or list(NIGHTLY)
    if unknown := set(parts) - set(NIGHTLY):
        session.error(f"no part {', '.join(sorted(unknown))}; there are {', '.join(NIGHTLY)}")
    if any(name.startswith(("mutants", "hub-slither", "hub-proofs")) for name in parts):
        make(session, ASSURANCE)
    fetch_chain_node(session)
    if any(name.startswith("hub") for name in parts):
        for folder in ("contracts", "contracts/usdc"):
            run(session, TESTS, "python", "-m", "local_stack.toolbox", folder)
    for name in parts:
        run(session, TESTS, *NIGHTLY[name], SERVICE_CAMPAIGN="full")


@nox.session
def demo(session: nox.Session) -> None:
    """One whole bounty on a local stack, narrated and verified; about a minute with set-up. -- --agents: over MCP."""
    environment = AGENTS_STACK if "--agents" in session.posargs else STACK
    make(session, environment)
    fetch_chain_node(session)
    hand_over(session, environment, "-m", "demo", *session.posargs)


@nox.session
def release(session: nox.Session) -> None:
    """Make what a release publishes in .local/release; -- --draft for any commit; docs/keys.md has the steps."""
    build_site(session)
    run(session, TESTS, "python", "-m", "tools.release", "--site", str(LOCAL / "site"), *session.posargs)


@nox.session
def stack(session: nox.Session) -> None:
    """The whole service on this machine until interrupted; see .local/stack.env."""
    make(session, STACK)
    fetch_chain_node(session)
    hand_over(session, STACK, "-m", "local_stack", "up", *session.posargs)


@nox.session
def market(session: nox.Session) -> None:
    """Play a market under attack on a local stack, and check it: -- --seed N --minutes M."""
    make(session, TESTS)
    fetch_chain_node(session)
    hand_over(session, TESTS, "-m", "tools.market", *session.posargs)


@nox.session
def bench(session: nox.Session) -> None:
    """Measure; -- --only GROUP for one group."""
    make(session, TESTS)
    run(session, TESTS, "python", "-m", "bench", *session.posargs)


@nox.session
def compose(session: nox.Session) -> None:
    """Build every image, bring deploy/compose up by Docker and play bounties through it; needs root and Debian."""
    make(session, TESTS)
    run(session, TESTS, "python", "-m", "tools.compose", *session.posargs)


@nox.session
def hub(session: nox.Session) -> None:
    """What an operator does to the Hub: -- deploy, owner or admin; a dry run unless --send; see -- --help."""
    make(session, STACK)
    run(session, STACK, "python", "-m", "hub_operations", *session.posargs)


@nox.session
def generate(session: nox.Session) -> None:
    """Write everything that is derived again; -- --check only names what differs."""
    make(session, TESTS)
    run(session, TESTS, "python", "-m", "tools.generate", *session.posargs)


@nox.session
def env(session: nox.Session) -> None:
    """Make the environments of the stack, the tests, mypy and ruff, for an editor and for running pytest by hand."""
    for environment in (STACK, TESTS, TYPES, LINT):
        make(session, environment)


@nox.session
def lock(session: nox.Session) -> None:
    """Compile the pins from requirements/*.in and the packages' own dependencies."""
    LOCAL.mkdir(exist_ok=True)
    compile_ = [
        *UV, "pip", "compile", "--quiet", "--universal", "--python-version", "3.11",
        "--generate-hashes", "--no-header", "--no-annotate", "--override", "requirements/overrides.txt",
        *session.posargs,
    ]  # fmt: skip
    for name in ("nox", "assurance"):
        session.run(*compile_, f"requirements/{name}.in", "-o", f"requirements/{name}.txt")
    own, tested, agents, image = (TOP / f"requirements/.{name}.in" for name in ("own", "tested", "agents", "image"))
    own.write_text("".join(f"-e ./{package}\n" for package in PACKAGES))
    tested.write_text("".join(f"-e ./{package}\n" for package in AGENTS))
    own_names = ["bounty-protocol", *(f"service-{name}" for name in ("common", *map(name_of, IMAGES), "cli"))]
    hidden = [word for name in own_names for word in ("--no-emit-package", name)]
    try:
        everything = [
            "requirements/.own.in",
            "requirements/.tested.in",
            "requirements/types.in",
            "requirements/lint.in",
            "requirements/docs.in",
        ]
        session.run(*compile_, *hidden, *everything, "-o", LOCK)
        pinned = [*compile_, *hidden, "-c", LOCK]
        packages = ["requirements/.own.in"]
        for name in ("stack", "tests", "types"):
            session.run(*pinned, *packages, f"requirements/{name}.in", "-o", f"requirements/{name}.txt")
            packages = ["requirements/.own.in", "requirements/.tested.in"]
        agents.write_text("".join(f"-e ./{package}\n" for package in AGENTS))
        by_agents = ["requirements/.own.in", "requirements/.agents.in", "requirements/stack.in"]
        session.run(*pinned, *by_agents, "-o", "requirements/agents.txt")
        for name in ("lint", "npm", "docs"):
            session.run(*pinned, f"requirements/{name}.in", "-o", f"requirements/{name}.txt")
        for folder in IMAGES:
            libraries = ("libs/bounty_protocol", "libs/service_common") if folder.startswith("services/") else ()
            own_packages = (*libraries, folder)
            image.write_text("".join(f"-e ./{package}\n" for package in own_packages))
            session.run(*pinned, "requirements/.image.in", "-o", f"requirements/images/{name_of(folder)}.txt")
        session.run(*pinned, "requirements/build.in", "-o", "requirements/images/build.txt")
    finally:
        for scratch in (own, tested, agents, image):
            scratch.unlink(missing_ok=True)


def make(session: nox.Session, environment: Environment) -> None:
    """Make or refresh an environment; another session that needs it at the same time waits."""
    stamp, wanted = environment.path / "made-for", environment.digest()
    LOCAL.mkdir(exist_ok=True)
    with _only_one(LOCAL / f"{environment.folder}.lock"):
        if stamp.exists() and stamp.read_text() == wanted:
            return
        download, disk = environment.megabytes
        session.log(
            f"making .local/{environment.folder} from {environment.pins}: "
            f"up to {download} MB to download, {disk} MB on disk"
        )
        started, options = time.monotonic(), [] if sys.stderr.isatty() else ["--quiet"]
        if environment is STACK and not has_cache():
            options.append("--no-cache")  # uv would keep 30 MB of the index's pages for people who may never need them
        install = [*UV, "pip", "install", *options, "--python", environment.python, "--no-deps"]
        sync = [*UV, "pip", "sync", *options, "--python", environment.python, "--require-hashes"]
        sync += ["--no-build"] if environment.wheels_only else []
        venv = [*UV, "venv", "--quiet", "--allow-existing", "--python", sys.executable, str(environment.path)]
        session.run(*venv, log=False)
        session.run(*sync, environment.pins, log=False)
        if environment.packages:
            editable = [word for package in environment.packages for word in ("--editable", package)]
            session.run(*install, "--no-build-isolation", "--offline", *editable, log=False)
        stamp.write_text(wanted)
        session.log(f"made .local/{environment.folder} in {time.monotonic() - started:.0f} s")


def has_cache() -> bool:
    """Whether uv was used on this machine before."""
    found = subprocess.run([*UV, "cache", "dir"], capture_output=True, text=True, check=False)
    return found.returncode == 0 and Path(found.stdout.strip()).exists()


def fetch_chain_node(session: nox.Session) -> None:
    """Install the EVM node of the local chain from its npm package.

    A machine without npm borrows one from the Python package index and gives it back: it takes 200 MB.
    """
    make(session, STACK)
    toolbox = [STACK.python, "-m", "local_stack.toolbox", "deploy/local"]
    variables = {**os.environ, **_variables(STACK)}
    session.log("looking for the chain's node in deploy/local/node_modules (44 MB from npm the first time)")
    if subprocess.run(
        [*toolbox, "--if-npm"], cwd=TOP, env=variables, stdout=subprocess.DEVNULL, check=False
    ).returncode:
        session.log("no npm on this machine: borrowing one from the Python package index, 60 MB to download")
        with tempfile.TemporaryDirectory(prefix="npm-", dir=LOCAL) as folder:
            install = [*UV, "pip", "install", "--quiet", "--no-cache", "--require-hashes", "--no-build"]
            target = ["--python", STACK.python, "--target", folder]
            session.run(*install, *target, "-r", "requirements/npm.txt", log=False)
            variables |= {
                "PYTHONPATH": f"{variables['PYTHONPATH']}{os.pathsep}{folder}",
                "npm_config_cache": f"{folder}/cache",
            }
            session.run(*toolbox, env=variables, external=True, silent=True, log=False)


def build_site(session: nox.Session) -> None:
    """Write the references, and make the site from nothing: a page that is gone leaves no file."""
    make(session, TESTS)
    make(session, DOCS)
    run(session, TESTS, "python", "-m", "tools.reference")
    shutil.rmtree(LOCAL / "site", ignore_errors=True)
    options = ["-q", "-W", "--keep-going", "-b", "html", "-c", "docs", "-d", ".local/site-cache"]
    run(session, DOCS, "sphinx-build", *options, ".", ".local/site")


def pytest(session: nox.Session, paths: str, *options: str) -> None:
    """Run one part's tests, or what the arguments after -- choose of them or name elsewhere.

    The paths are pytest's own default, so that pytest itself decides whether an argument names a test. The options are
    for the whole part: they are left out when there are arguments.
    """
    make(session, TESTS)
    with _scratch_in_memory() as variables:
        arguments = ["--override-ini", f"testpaths={paths}", *(session.posargs or ("-m", "not nightly", *options))]
        run(session, TESTS, "pytest", *arguments, **variables)


@contextmanager
def _scratch_in_memory() -> Iterator[dict[str, str]]:
    """Have tests and their servers write to memory where there is plenty, and TMPDIR does not say where to write.

    They make and remove hundreds of databases and thousands of small files: on some disks that is half of their time.
    What a killed session left is removed by the next one.
    """
    if "TMPDIR" in os.environ or not _has_plenty_of_memory():
        yield {}
        return
    for left in MEMORY.glob(f"{SCRATCH}*"):
        with suppress(OSError), _locked_folder(left):
            if left.stat().st_uid == os.getuid() and time.time() - left.stat().st_mtime > 60:  # and not just being made
                shutil.rmtree(left)
    folder = Path(tempfile.mkdtemp(prefix=SCRATCH, dir=MEMORY))
    try:
        with _locked_folder(folder):
            folder.chmod(0o711)  # servers that refuse root run as somebody else
            yield {"TMPDIR": str(folder)}
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _has_plenty_of_memory() -> bool:
    try:
        room = os.statvfs(MEMORY)
        known = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
        available = int(known["MemAvailable"].split()[0]) << 10
        return os.access(MEMORY, os.W_OK) and min(room.f_bavail * room.f_frsize, available) > 6 << 30
    except (OSError, ValueError, KeyError):
        return False


@contextmanager
def _locked_folder(folder: Path) -> Iterator[None]:
    """Hold a folder's lock; OSError where somebody else does."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def run(session: nox.Session, environment: Environment, command: str, *arguments: str, **variables: str) -> None:
    """Run a command of an environment; an interrupted one gets time to stop what it started."""
    session.run(
        str(environment.path / "bin" / command), *arguments,
        env=_variables(environment) | variables, external=True, silent=False, interrupt_timeout=5, terminate_timeout=30,
    )  # fmt: skip


def hand_over(session: nox.Session, environment: Environment, *arguments: str) -> None:
    """Become a long-running program, so that every signal reaches it and nothing is between it and the caller."""
    session.log(f"python {' '.join(arguments)}")
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(environment.python, ["python", *arguments], {**os.environ, **_variables(environment)})  # noqa: S606


def _variables(environment: Environment) -> dict[str, str]:
    return {
        "PATH": f"{environment.path / 'bin'}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        "VIRTUAL_ENV": str(environment.path),
        "PYTHONPATH": os.pathsep.join(map(str, ON_PATH)),
        "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "",  # tests start a thousand processes: each would compile what it imports
    }


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
