"""Files of Debian's packages that a session needs and nobody has to install: downloaded, and unpacked into a folder."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path


class NoPackage(Exception):
    """Why a package is not to be had; a clause for the person at the terminal."""


def unpacked(folder: Path, packages: Sequence[str]) -> Path:
    """Return the folder with what these packages have below ``/``, of the release that this machine runs;
    filled once.
    """
    if folder.exists():
        return folder
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        raise NoPackage("this is no Debian: apt-get and dpkg-deb are needed")
    draft = folder.with_name(f"{folder.name}.draft")
    shutil.rmtree(draft, ignore_errors=True)
    root = draft / "root"
    root.mkdir(parents=True)
    for package in packages:
        done = subprocess.run(["apt-get", "download", package], cwd=draft, capture_output=True, check=False)
        found = next(draft.glob(f"{package}_*.deb"), None)
        if done.returncode != 0 or found is None:
            raise NoPackage(f"{package} cannot be downloaded; is Debian's archive reachable?")
        subprocess.run(["dpkg-deb", "--extract", found, root], check=True, capture_output=True)
    root.rename(folder)
    shutil.rmtree(draft)
    return folder
