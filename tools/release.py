"""``./noxw -s release``: what a release publishes, made in ``.local/release/VERSION``.

    python tools/release.py [--draft] [--repository URL] [--site FOLDER]

The wheels and sdists of the client, the audit and the server for agents, the TypeScript client's tarball for npm, the
Hub's artifact with the standard JSON input that explorers take, the changelog's part as notes, the documents where
``--site`` names their built site, and ``SHA256SUMS`` over all of them. The same commit makes the same bytes. Refused,
unless ``--draft``: files that are not committed, a changelog without this version, and a commit that does not carry the
tag ``vVERSION``.
"""

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import service_cli

from tools.typescript_package import packed

TOP: Final = Path(__file__).resolve().parent.parent


class NotReady(Exception):
    """Why this commit is no release; the text says what to do."""


def main() -> int:
    """Make everything; one line for each file on stdout."""
    parser = argparse.ArgumentParser(prog="release", description=__doc__)
    parser.add_argument("--draft", action="store_true", help="of any commit, to look at")
    parser.add_argument("--repository", metavar="URL", help="where the sources are, for the tarball: git+https://...")
    parser.add_argument("--site", type=Path, metavar="FOLDER", help="the documents as ./noxw -s docs makes them")
    parser.add_argument("--to", type=Path, default=TOP / ".local/release", help="where; default .local/release")
    options = parser.parse_args()
    version = service_cli.__version__
    try:
        notes = _notes(version)
        if not options.draft:
            _require_tag(version)
    except NotReady as reason:
        print(f"release: {reason}", file=sys.stderr)
        return 1
    folder = options.to / version
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "NOTES.md").write_text(notes, encoding="utf-8")
    for package in ("cli", "clients/audit", "clients/mcp"):
        _make_package(TOP / package, folder)
    packed(folder, options.repository)
    _make_hub(folder)
    if options.site is not None:
        _pack(options.site.resolve(), folder / f"documents-{version}.tar.gz")
    files = sorted(each for each in folder.iterdir())
    sums = "".join(f"{hashlib.sha256(each.read_bytes()).hexdigest()}  {each.name}\n" for each in files)
    (folder / "SHA256SUMS").write_text(sums, encoding="utf-8")
    print(sums, end="")
    return 0


def _notes(version: str) -> str:
    """Return the changelog's part for this version."""
    parts = re.split(r"(?m)^## ", (TOP / "CHANGELOG.md").read_text(encoding="utf-8"))[1:]
    for part in parts:
        if part.split()[0] == version:
            return f"## {part.strip()}\n"
    raise NotReady(f"CHANGELOG.md has no part {version}; docs/keys.md says how to close it")


def _require_tag(version: str) -> None:
    if _git("status", "--porcelain"):
        raise NotReady("some files are not committed")
    if f"v{version}" not in _git("tag", "--points-at", "HEAD").split():
        raise NotReady(f"this commit has no tag v{version}: git tag --sign v{version}")


def _make_package(package: Path, folder: Path) -> None:
    """Wheel and sdist, dated by the commit."""
    environment = {**os.environ, "SOURCE_DATE_EPOCH": _git("log", "-1", "--format=%ct") or "0"}
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(folder)]
    subprocess.run(command, cwd=package, env=environment, check=True, capture_output=True)


def _make_hub(folder: Path) -> None:
    artifacts = TOP / "contracts/artifacts"
    shutil.copyfile(artifacts / "Hub.json", folder / "hub-artifact.json")
    command = [sys.executable, "contracts/tools/build_artifacts.py", "--input-out", str(folder / "hub-input.json")]
    subprocess.run(command, cwd=TOP, check=True, capture_output=True)


def _pack(site: Path, archive: Path) -> None:
    """A folder's files for any server of files, without owners or times."""
    nobody = ("--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner", "--mode=u=rwX,go=rX")
    named = ("--exclude=.buildinfo", f"--transform=s,^{site.name},documents,", "--directory", site.parent, site.name)
    create = ("tar", "--create", "--use-compress-program=gzip -n", "--file", archive)
    subprocess.run([*create, *nobody, *named], check=True)


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=TOP, capture_output=True, text=True, check=False)
    return done.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
