"""Rules that hold across parts, read off the tree itself."""

import ast
import json
import os
import re
import subprocess
from collections import Counter
from graphlib import TopologicalSorter
from pathlib import Path

from bounty_protocol.auth import verify
from bounty_protocol.chain.deployment import deployment_of
from bounty_protocol.crypto.beacon_info import QUICKNET
from bounty_protocol.errors import PROBLEMS
from bounty_protocol.types import ChainId
from service_common.jobs import QueueName

TOP = Path(__file__).parents[2]
FILES = subprocess.run(["git", "ls-files"], cwd=TOP, capture_output=True, text=True, check=True).stdout.splitlines()
PYTHON = [TOP / name for name in FILES if name.endswith(".py") and (TOP / name).exists()]
SOURCES = [path for path in PYTHON if "src" in path.relative_to(TOP).parts]


def test_queues__all_of_them__have_exactly_one_worker() -> None:
    text = "\n".join(path.read_text() for path in SOURCES if path.name == "main.py")
    served = Counter(re.findall(r"\brun_worker\(QueueName\.(\w+)", text))
    wrong = {queue.name: served[queue.name] for queue in QueueName if served[queue.name] != 1}
    assert wrong == {}, "each queue is in one run_worker(QueueName.…) of a service's main.py"
    assert set(served) <= set(QueueName.__members__)


def test_verified_requests_are_made_in_one_place() -> None:
    makers = [path for path in SOURCES if re.search(r"\bVerifiedRequest\(", path.read_text())]
    assert [path.name for path in makers] == [Path(verify.__file__).name]


def test_pickle__in_a_queue__appears_nowhere() -> None:
    users = [path.name for path in SOURCES if re.search(r"\bpickle\b|from rq import .*\bQueue\b", path.read_text())]
    assert users == ["jobs.py"]


def test_error_codes_are_all_in_the_table() -> None:
    used: dict[str, Path] = {}
    for path in SOURCES:
        if "service_cli" in path.parts or {"domain", "crypto"} & set(path.parts):
            continue
        for code in re.findall(r'(?:ServiceError|state_refusal)\(\s*"(\w+)"', path.read_text()):
            used[code] = path
    assert set(used) <= set(PROBLEMS)


def test_files_speak_only_of_the_project() -> None:
    foreign = re.compile(
        r"\.\./shared\b|DESIGN section|interface-spec\.md|hub-interface\.md|house-style\.md"
        r"|https?://(?:[\w.-]*\.)?(?:pypi|pythonhosted|npmjs)\.\w+"
    )
    found = {}
    for name in FILES:
        path = TOP / name
        if path.exists() and path != Path(__file__):
            text = path.read_text(encoding="utf-8", errors="replace")
            if words := foreign.findall(text):
                found[name] = words
    assert found == {}


def test_beacon__of_known_networks__is_the_pinned_one() -> None:
    for chain_id in (8453, 84532):
        deployment = deployment_of(ChainId(chain_id))
        assert deployment is not None
        assert deployment.beacon is not None
        assert deployment.beacon.chain_hash == QUICKNET.chain_hash
        assert deployment.beacon.public_key == QUICKNET.public_key
        assert deployment.beacon.genesis_time == QUICKNET.genesis_time
        assert deployment.beacon.period_seconds == QUICKNET.period_seconds
        assert deployment.hub_address is None  # never an invented address


def test_class_names__public_ones__mean_one_thing() -> None:
    roots = ("libs", "services", "cli", "deploy", "tools")
    sources = [path for path in PYTHON if path.relative_to(TOP).parts[0] in roots]
    named = Counter(
        node.name
        for path in sources
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert {name for name, count in named.items() if count > 1} == set()


def modules_of_typescript() -> dict[str, set[str]]:
    """Each module of the TypeScript client and the pages' actions, with those that it imports, types included."""
    top = TOP / "clients/typescript"
    paths = [path for folder in ("src", "actions") for path in (top / folder).rglob("*.ts")]
    names = {path.relative_to(top).with_suffix("").as_posix(): path for path in paths}
    return {
        name: {
            os.path.normpath((path.parent / found).relative_to(top).with_suffix(""))
            for found in re.findall(r'(?:from|import\()\s*"(\.[^"]*)\.js"', path.read_text(encoding="utf-8"))
        }
        for name, path in names.items()
    }


def test_typescript_module_reaches_no_upper_folder() -> None:
    modules = modules_of_typescript()
    assert len(modules) > 40
    TopologicalSorter(modules).prepare()  # CycleError names the circle
    assert [
        name for name, found in modules.items() if name.startswith("src/") and any("actions/" in x for x in found)
    ] == []


def test_pages_use_only_public_modules() -> None:
    exports = json.loads((TOP / "clients/typescript/package.json").read_text(encoding="utf-8"))["exports"].values()
    public = {Path(entry["default"]).stem for entry in exports if isinstance(entry, dict)}
    used = {
        found
        for name, imported in modules_of_typescript().items()
        if name.startswith("actions/")
        for found in imported
        if found.startswith("src/")
    }
    assert used <= {f"src/{name}" for name in public}
