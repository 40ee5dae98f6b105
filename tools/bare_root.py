"""Both commands of the README on a machine with nothing but a Debian release's own Python.

    python tools/bare_root.py SUITE [SESSION ...]        SUITE is bookworm, trixie or forky

Makes a root of the release below ``.local/roots``, clones the present commit into the home of an ordinary user
there, and runs ``./noxw -s demo`` and ``./noxw`` (or the named sessions; ``check`` is ``./noxw``) as that user:
no npm, no compiler, no cache. The last line says how long each took and what it left on disk. Exit code 1 when one
failed, and 77 when no root can be made here: neither as root with debootstrap or mmdebstrap, nor in a user namespace.
"""

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

TOP: Final = Path(__file__).resolve().parent.parent
ROOTS: Final = TOP / ".local/roots"
PACKAGES: Final = "python3,python3-venv,git,ca-certificates,passwd"
# A mirror may be some weeks behind; what is checked here is this project, not the archive.
_APT: Final = 'Acquire::Check-Valid-Until "false"'
USER: Final = "visitor"
HOME: Final = f"/home/{USER}"
NOT_RUN: Final = 77
_DEVICES: Final = ("null", "zero", "full", "random", "urandom", "tty")
_IN_NAMESPACE: Final = "BARE_ROOT_IN_NAMESPACE"


class NoRoot(Exception):
    """This machine cannot make a root; the text names what is missing."""


def main() -> int:
    """Run the sessions one after the other, each in what the one before has left."""
    parser = argparse.ArgumentParser(prog="bare_root", description=__doc__)
    parser.add_argument("suite", help="a Debian release by its code name")
    parser.add_argument("sessions", nargs="*", default=["demo", "check"], help="sessions of noxfile.py")
    options = parser.parse_args()
    try:
        if os.geteuid() != 0:
            return _again_in_namespace()
        root = _make_root(options.suite)
    except NoRoot as reason:
        print(f"not run: {reason}")
        return NOT_RUN
    _clone(root)
    reports, failed = [], False
    for session in options.sessions:
        started = time.monotonic()
        code = _run(root, ["./noxw", "-s", session])
        seconds, megabytes = time.monotonic() - started, _megabytes(root)
        failed |= code != 0
        state = "passed" if code == 0 else f"FAILED ({code})"
        reports.append(f"{session} {state} in {seconds:.0f} s, {megabytes} MB on disk")
    version = _output(root, ["python3", "--version"])
    print(f"Debian {_output(root, ['cat', '/etc/debian_version'])}, {version}: {'; '.join(reports)}")
    return 1 if failed else 0


def _make_root(suite: str) -> Path:
    """Make a root of the release; one that was made before is used again, with an empty home."""
    root = ROOTS / suite
    done = root / ".made"
    if not done.exists():
        shutil.rmtree(root, ignore_errors=True)
        ROOTS.mkdir(parents=True, exist_ok=True)
        if (program := shutil.which("mmdebstrap")) is not None:
            command = [
                program,
                "--mode=root",
                "--variant=minbase",
                f"--aptopt={_APT}",
                f"--include={PACKAGES}",
                suite,
                str(root),
            ]
        elif (program := shutil.which("debootstrap")) is not None and _IN_NAMESPACE not in os.environ:
            command = [program, "--variant=minbase", f"--include={PACKAGES}", suite, str(root)]
        else:
            raise NoRoot("neither mmdebstrap nor debootstrap is installed")
        ended = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=sys.stderr, check=False)
        if ended.returncode != 0:
            raise NoRoot(f"{Path(program).name} could not make Debian {suite}; is the archive reachable?")
        _run_as_root(root, ["useradd", "--create-home", "--shell", "/bin/sh", USER])
        done.touch()
    return root


def _again_in_namespace() -> int:
    """As an ordinary user: the same in a user namespace in which that user is root."""
    if _IN_NAMESPACE in os.environ or shutil.which("unshare") is None:
        raise NoRoot("no root, and no user namespace either")
    probe = ["unshare", "--user", "--map-root-user", "--map-auto", "--mount"]
    if subprocess.run([*probe, "true"], capture_output=True, check=False).returncode != 0:
        raise NoRoot("no root, and the kernel gives this user no namespace with subordinate ids")
    command = [*probe, sys.executable, *sys.argv]
    return subprocess.run(command, env={**os.environ, _IN_NAMESPACE: "1"}, check=False).returncode


def _clone(root: Path) -> None:
    """The present commit, as somebody clones it, in an empty home."""
    shutil.rmtree(root / HOME.removeprefix("/"))
    _run_as_root(root, ["install", "--directory", f"--owner={USER}", f"--group={USER}", HOME])
    bundle = root / "tmp/project.bundle"
    subprocess.run(["git", "bundle", "create", "--quiet", str(bundle), "HEAD"], cwd=TOP, check=True)
    bundle.chmod(0o644)
    clone = ["git", "-c", "advice.detachedHead=false", "clone", "--quiet", "/tmp/project.bundle", "project"]  # noqa: S108
    _check(_as_user(root, clone, cwd=HOME))
    bundle.unlink()
    # The release's own list of authorities, and those that this machine trusts besides.
    certificates = Path(os.environ.get("SSL_CERT_FILE", "/etc/ssl/certs/ca-certificates.crt"))
    if certificates.is_file():
        shutil.copy(certificates, root / "etc/ssl/certs/ca-certificates.crt")
    shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
    shutil.copy("/etc/hosts", root / "etc/hosts")


def _run(root: Path, command: Sequence[str]) -> int:
    print(f"bare_root: {' '.join(command)}", file=sys.stderr, flush=True)
    ended = subprocess.run(
        _as_user(root, command, cwd=f"{HOME}/project"), stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT, check=False
    )
    return ended.returncode


def _as_user(root: Path, command: Sequence[str], cwd: str) -> list[str]:
    """Return a command as the ordinary user, in a process namespace of its own: what it leaves running ends with it."""
    mounts = f"""
        mount -t proc proc "$0/proc"
        mount -t tmpfs tmpfs "$0/dev"
        mkdir -m 1777 "$0/dev/shm"
        for name in {" ".join(_DEVICES)}; do touch "$0/dev/$name"; mount --bind "/dev/$name" "$0/dev/$name"; done
        ln -s /proc/self/fd "$0/dev/fd"
        mkdir "$0/dev/pts"
        mount -t devpts -o newinstance,ptmxmode=0666 devpts "$0/dev/pts"
        ln -s pts/ptmx "$0/dev/ptmx"
        exec chroot "$0" "$@"
    """
    user = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--init-groups"]
    variables = [f"HOME={HOME}", f"USER={USER}", "LANG=C.UTF-8", "PATH=/usr/local/bin:/usr/bin:/bin"]
    inside = ["env", "-i", *variables, "sh", "-c", 'cd "$0" && exec "$@"', cwd, *command]
    return ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-ec", mounts, str(root), *user, *inside]


def _run_as_root(root: Path, command: Sequence[str]) -> None:
    _check(["chroot", str(root), *command])


def _check(command: Sequence[str]) -> None:
    subprocess.run(command, stdin=subprocess.DEVNULL, check=True)


def _output(root: Path, command: Sequence[str]) -> str:
    return subprocess.run(["chroot", str(root), *command], capture_output=True, text=True, check=True).stdout.strip()


def _megabytes(root: Path) -> int:
    """Return everything in the user's home: the clone, its environments, the caches of uv and npm."""
    done = subprocess.run(["du", "-sm", str(root / HOME.removeprefix("/"))], capture_output=True, text=True, check=True)
    return int(done.stdout.split()[0])


if __name__ == "__main__":
    sys.exit(main())
