"""The release before, as its images hold it: made from the commit that ``former-release`` names.

The environments lie in ``.local/former``, one for each service, made once for a commit by the script that the
commit's own images are made with. Refuses, in words, a copy of the repository without that commit: an upgrade that was
not tried is no upgrade that works.
"""

import fcntl
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Final

from local_stack import services as processes

from tests.unpacking import unpack

REPOSITORY: Final = Path(__file__).resolve().parents[2]
FORMER_RELEASE: Final = Path(__file__).with_name("former-release")
SERVICES: Final = ("api", "indexer", "reviewer", "delivery", "web")
NEW: Final = tuple(each for each in processes.SERVICES if each.name in {"reviewer", "webhooks"})
"""What the release before does not have."""
OTHERS: Final = ("indexer-worker", "indexer-scheduler", "settler", "api-worker", "delivery", "delivery-worker")
"""What no request waits for, in the order they are replaced: after the reviewer's worker, before the api."""


def former_services() -> tuple[processes.ServiceProcess, ...]:
    """The processes of the former release."""
    return tuple(each for each in processes.SERVICES if each not in NEW)


class NoFormerRelease(Exception):
    """The history that holds the former release is not here."""


def former_commit() -> str:
    """The whole name of the commit."""
    return FORMER_RELEASE.read_text(encoding="ascii").strip()


def former_file(end: str) -> bytes:
    """A file as the former release has it, by the end of its path: its folder may have been another one."""
    names = _git("ls-tree", "-r", "--name-only", former_commit()).decode().splitlines()
    (path,) = (name for name in names if name.endswith(f"/{end}"))
    return _git("show", f"{former_commit()}:{path}")


def former_programs() -> dict[str, Path]:
    """The folder of each entry point of the former release, made where it is not there yet."""
    top = REPOSITORY / ".local/former" / former_commit()
    top.mkdir(parents=True, exist_ok=True)
    with (top / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for service in SERVICES:
            if not (top / service / "made").exists():
                _install(top, service)
    return {f"service-{service}": top / service / "bin" for service in SERVICES}


def former_client() -> str:
    """The former release's ``service-cli``: its source, in the environment of the indexer, whose settler signs, too."""
    python = former_programs()["service-indexer"] / "python"
    program = python.parent / "service-cli"
    source = REPOSITORY / ".local/former" / former_commit() / "source/cli/src"
    command = 'import sys; from service_cli.main import main; sys.argv[0] = "service-cli"; main()'
    program.write_text(f"#!/bin/sh\nPYTHONPATH='{source}' exec '{python}' -c '{command}' \"$@\"\n")
    program.chmod(0o755)
    return str(program)


def source_of(commit: str) -> Path:
    """The repository as it was at a commit."""
    top = REPOSITORY / ".local/former" / commit
    source, draft = top / "source", top / "source.new"
    if not source.exists():
        shutil.rmtree(draft, ignore_errors=True)  # of a run that was interrupted
        with tarfile.open(fileobj=BytesIO(_git("archive", commit))) as archive:
            unpack(archive, draft)
        draft.rename(source)
    return source


def _install(top: Path, service: str) -> None:
    source = source_of(top.name)
    shutil.rmtree(top / service, ignore_errors=True)
    path = f"{REPOSITORY / '.noxw' / 'bin'}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [source / "deploy/images/install.sh", service, top / service],
        cwd=source, env={**os.environ, "PATH": path, "PYTHON": sys.executable},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (top / service / "made").touch()


def _git(*words: str) -> bytes:
    environment: Mapping[str, str] = {**os.environ, "GIT_TERMINAL_PROMPT": "0"}
    done = subprocess.run(["git", *words], cwd=REPOSITORY, env=environment, capture_output=True, check=False)
    if done.returncode != 0:
        raise NoFormerRelease(
            "a commit that tests/upgrade names is not in this copy of the repository; "
            f"fetch the whole history (git fetch --unshallow): {done.stderr.decode(errors='replace').strip()}"
        )
    return done.stdout
