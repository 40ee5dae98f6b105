"""``./noxw -s fresh``: whether a fresh machine can install every pin, before a user finds out that it cannot.

For each Python of ``requirements/pythons.txt`` and each platform, every pin that applies there must have a wheel whose
hash is pinned. Missing ones are named and the exit code is 1. Without a package index nothing is checked, and the
output states that. Where the npm lock files pin no program of foundry for a platform, that is reported too;
docs/faq.md explains what follows from it.
"""

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

TOP: Final = Path(__file__).resolve().parent.parent
REQUIREMENTS: Final = TOP / "requirements"
PLATFORMS: Final = {
    "Linux x86-64": "x86_64-manylinux_2_28",
    "Linux arm64": "aarch64-manylinux_2_28",
    "macOS arm64": "aarch64-apple-darwin",
}
"""The supported platforms, by the name that uv gives each; glibc 2.28 is Debian 10's."""
_FOUNDRY: Final = {"Linux x86-64": "linux-amd64", "Linux arm64": "linux-arm64", "macOS arm64": "darwin-arm64"}
_PROGRAMS: Final = {"anvil": "deploy/local", "forge": "contracts"}
PINS: Final = ("nox.txt", "constraints.txt")
_PIN = re.compile(r"^[A-Za-z0-9].*?(?=^[A-Za-z0-9]|\Z)", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Target:
    """One Python on one platform."""

    python: str
    platform: str

    def __str__(self) -> str:
        return f"Python {self.python}, {self.platform}"


def main() -> int:
    """Check every target, and report each on a line of its own."""
    pins = [pin for file in PINS for pin in _PIN.findall((REQUIREMENTS / file).read_text(encoding="utf-8"))]
    targets = [
        Target(python, platform)
        for python in (REQUIREMENTS / "pythons.txt").read_text(encoding="utf-8").split()
        for platform in PLATFORMS
    ]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(4) as pool:
        if not _index_answers(Path(folder)):
            print("fresh: not checked: no package index can be reached from here")
            return 0
        found = list(pool.map(lambda target: (target, list(_missing(target, pins, Path(folder)))), targets))
        if any(missing for _, missing in found) and not _index_answers(Path(folder)):
            print("fresh: not checked: the package index stopped answering")
            return 0
    for target, missing in found:
        print(f"fresh: {target}: " + (f"no wheel for {', '.join(missing)}" if missing else "every pin has its wheel"))
    for platform, suffix in _FOUNDRY.items():
        if missing := [program for program, folder in _PROGRAMS.items() if not _on_npm(folder, f"{program}-{suffix}")]:
            print(f"fresh: {platform}: no {' and no '.join(missing)} from npm (see docs/faq.md)")
    return 1 if any(missing for _, missing in found) else 0


def _on_npm(folder: str, package: str) -> bool:
    """Return whether the lock file of a folder pins the content of a foundry package."""
    packages = json.loads((TOP / folder / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    return "integrity" in packages.get(f"node_modules/@foundry-rs/{package}", {})


def _index_answers(folder: Path) -> bool:
    request = folder / "nox.in"
    request.write_text("nox\n", encoding="utf-8")
    return _uv("compile", "--no-deps", "--no-cache", str(request))


def _missing(target: Target, pins: list[str], folder: Path) -> Iterator[str]:
    """Yield the pins without a wheel, found by halving: mostly there is none, and one question is enough."""
    if _installable(target, pins, folder):
        return
    if len(pins) == 1:
        yield pins[0].split(" ", 1)[0]
        return
    half = len(pins) // 2
    yield from _missing(target, pins[:half], folder)
    yield from _missing(target, pins[half:], folder)


def _installable(target: Target, pins: list[str], folder: Path) -> bool:
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        request = Path(scratch) / "pins.txt"
        request.write_text("".join(pins), encoding="utf-8")
        return _uv(
            "install", "--dry-run", "--no-deps", "--require-hashes", "--only-binary", ":all:",
            "--python", sys.executable, "--target", f"{scratch}/target",
            "--python-version", target.python, "--python-platform", PLATFORMS[target.platform], "-r", str(request),
        )  # fmt: skip


def _uv(*arguments: str) -> bool:
    command = [sys.executable, "-m", "uv", "--system-certs", "--quiet", "--no-python-downloads", "pip", *arguments]
    return subprocess.run(command, cwd=TOP, capture_output=True, check=False).returncode == 0


if __name__ == "__main__":
    sys.exit(main())
