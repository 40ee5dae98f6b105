"""Images of the services without a registry of images, for ``tools/compose.py``.

They are built with buildah from ``deploy/images/Dockerfile``. The base is a stand-in, under the name of the real one:
Debian 12 with its own Python, made by mmdebstrap.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tools.image_folders import FOLDERS, TOP

WORK: Final = TOP / ".local/image-builds"
SUITE: Final = "bookworm"
PACKAGES: Final = "python3,python3-venv,ca-certificates,libstdc++6"
"""The last one is in the real base because its package manager needs it."""
_CERTIFICATES: Final = "/etc/ssl/certs/ca-certificates.crt"
_BASE: Final = f"""
rm -f /usr/lib/python3*/EXTERNALLY-MANAGED
cd /usr/share/python-wheels
python3 "$(ls pip-*.whl)/pip" install --quiet --root-user-action ignore --no-index --find-links . pip
rm -rf /usr/lib/python3*/ensurepip /usr/share/python-wheels /var/lib/apt/lists/* /var/cache/apt
test -s {_CERTIFICATES}
"""
"""Steps that make Debian's Python look like the base's: pip that installs, below /usr/local."""


class NoBuilder(Exception):
    """This machine cannot build or run images; the text names what is missing."""


class UnexpectedImage(Exception):
    """Something of an image is not as it should be."""


def require() -> None:
    """Raise ``NoBuilder`` where images cannot be built."""
    if os.geteuid() != 0:
        raise NoBuilder("images are built and run as root here")
    for program in ("buildah", "mmdebstrap"):
        if shutil.which(program) is None:
            raise NoBuilder(f"{program} is not installed")


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


def build(service: str) -> None:
    """Build the image of one service from the Dockerfile; its name is ``localhost/service-SERVICE``."""
    _report(f"building {service}")
    common = ("--isolation", "chroot", "--no-cache", "--timestamp", "0", "--pull-never")
    file = ("--file", "deploy/images/Dockerfile", "--build-arg", f"SERVICE={service}")
    folder = ("--build-arg", f"FOLDER={FOLDERS[service]}")
    buildah("build", *common, *file, *folder, "--tag", f"localhost/service-{service}", ".")


def _report(text: str) -> None:
    print(f"images: {text}", file=sys.stderr, flush=True)
