"""The checker is written from the documents: it takes nothing from what it checks, and of that only the door to it
takes something of the checker."""

import ast
import sys
from pathlib import Path

TOP = Path(__file__).parents[2]
CHECKER = TOP / "cli/src/service_checker"
DOOR = "cli/src/service_cli/audit/main.py"
"""``service-audit --watch``, which passes its arguments to the checker."""
PUBLIC = {"eth_abi", "eth_utils", "urllib3", "yaml"}
"""The libraries that it may use."""


def imported(path: Path) -> set[str]:
    found = set[str]()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, path
            found.add(node.module or "")
    return found


def test_checker__imports__public_libraries_and_itself_alone() -> None:
    files = list(CHECKER.rglob("*.py"))
    assert len(files) > 5
    foreign = {
        f"{path.name}: {name}"
        for path in files
        for name in imported(path)
        if name.partition(".")[0] not in PUBLIC | sys.stdlib_module_names | {"service_checker"}
    }
    assert foreign == set()


def test_checker__loads_no_code__by_its_name() -> None:
    calls = ("__import__", "import_module", "exec(", "eval(", "subprocess", "open_code", "runpy")
    found = {f"{path.name}: {call}" for path in CHECKER.rglob("*.py") for call in calls if call in path.read_text()}
    assert found == set()


def test_product__imports__nothing_of_the_tools_and_of_the_checker_its_entry_alone() -> None:
    folders = ("libs", "services", "cli", "clients", "deploy")
    users = {
        (str(path.relative_to(TOP)), name)
        for folder in folders
        for path in (TOP / folder).rglob("*.py")
        if "node_modules" not in path.parts and not path.is_relative_to(CHECKER)
        for name in imported(path)
        if name.partition(".")[0] in {"tools", "service_checker"}
    }
    assert users == {(DOOR, "service_checker.__main__")}
