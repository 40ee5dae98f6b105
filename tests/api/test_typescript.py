"""The published document for people who generate code: types are made of it, and a client of them compiles."""

import json
import os
import shutil
import subprocess
from pathlib import Path

from local_stack.toolbox import ensure_npm_package, find_npm

from tests.api.contract import openapi_document

FOLDER = Path(__file__).parent / "openapi_typescript"
STRICT = ("--noEmit", "--strict", "--target", "es2022", "--module", "esnext", "--moduleResolution", "bundler")


def run(program: str, *arguments: object) -> tuple[int, str]:
    """The exit code of a program of the npm package, and what it printed."""
    npm = find_npm()
    node = npm[0] if len(npm) > 1 else shutil.which("node") or "node"
    done = subprocess.run(
        [node, ensure_npm_package(FOLDER) / program, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/")},
    )
    return done.returncode, done.stdout + done.stderr


def test_types__made_of_the_document__compile_with_a_client_of_them(tmp_path: Path) -> None:
    (tmp_path / "openapi.json").write_text(json.dumps(openapi_document()))
    shutil.copy(FOLDER / "use.ts", tmp_path)
    code, output = run("openapi-typescript/bin/cli.js", tmp_path / "openapi.json", "--output", tmp_path / "types.ts")
    assert code == 0, output
    code, output = run("typescript/bin/tsc", *STRICT, tmp_path / "types.ts", tmp_path / "use.ts")
    assert code == 0, output
