"""``./noxw -s fast``: check what a change touches, in about a minute.

What changed is what git shows against the last commit, or, if nothing is uncommitted, what that commit changed; another
commit after ``--`` is compared with instead. Ruff reads the changed files, mypy what depends on them, and pytest runs
the unit tests that import them, directly or through other modules. A file that is no Python counts as a change of the
modules beside it; what ``NEAREST`` has of it runs as well, with the servers that it needs.
"""

import ast
import subprocess
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Final

TOP: Final = Path(__file__).parents[1]
ROOTS: Final = ("libs/*/src", "services/*/src", "cli/src", "clients/*/src", "deploy/local", "deploy/hub")
"""What Python finds modules in, beside the folders ``OWN`` of the project's own folder."""
OWN: Final = ("tests", "tools", "bench")
DOCUMENTS: Final = "tests/architecture/test_documents.py"
RENDERED: Final = tuple(
    f"tests/deploy/test_{name}.py"
    for name in (
        *("components", "compose", "connections", "entrances", "manifest_containers", "manifest_scheduling"),
        *("manifests", "network_policies", "policy_pairs"),
    )
)
IN_NODE: Final = tuple(
    f"tests/clients/test_typescript.py::test_{name}"
    for name in (
        "refusals__in_node__each_with_its_code",
        "acts_are_found_by_their_events",
        "terms_are_the_frontmatter_or_refused",
    )
)
NEAREST: Final = {
    "clients/typescript/*.ts": IN_NODE,
    "clients/typescript/actions/*.ts": ("tests/clients/test_actions.py",),
    "deploy/k8s/*": RENDERED,
    "deploy/compose/*": ("tests/deploy/test_compose.py",),
    "*Caddyfile": ("tests/deploy/test_compose.py", "tests/api/test_proxy.py"),
    "services/api/src/service_api/pages/*/*": tuple(
        f"tests/pages/test_{name}.py" for name in ("list", "pages", "status", "withheld")
    ),
    "*/openapi/templates/*": ("tests/api/test_openapi.py",),
    "*/db/*.sql": ("tests/common/db/test_schema.py",),
    "*/schema.graphql": ("tests/api/test_subgraph.py",),
    "tests/README.md": tuple(f"tests/{folder}/test_readme.py" for folder in ("api", "cli", "indexer")),
}
"""The tests, of whichever tier, that are nearest to a file that no Python imports, and end within the minute."""
HUB: Final = "contracts/*.sol"
"""What forge formats, builds and tests: ``contracts/tools/check.py``."""


def main(lint: str, types: str, base: str | None) -> int:
    """Run ruff, mypy and pytest; ``lint`` and ``types`` are the folders of their programs."""
    changed = changed_files(base)
    existing = [path for path in changed if path.suffix == ".py" and (TOP / path).exists()]
    tests = touched_tests(changed)
    patterns = [pattern for pattern in NEAREST if any(fnmatch(str(path), pattern) for path in changed)]
    nearest = sorted({test for pattern in patterns for test in NEAREST[pattern]})
    hub = any(fnmatch(str(path), HUB) for path in changed)
    print(f"{len(changed)} files changed, {len(tests)} files of tests import them; nearest:", flush=True)
    print(*nearest, *(["contracts/tools/check.py"] if hub else ["none"] if not nearest else []), flush=True)
    mypy = subprocess.Popen([f"{types}/mypy"], cwd=TOP)
    commands = (
        [[f"{lint}/ruff", "check", *existing], [f"{lint}/ruff", "format", "--check", *existing]] if existing else []
    )
    if tests:
        commands.append(["pytest", "-m", "unit", "-n", "2", "-q", *tests])
    if nearest:
        commands.append(["pytest", "-m", "not nightly", "-n", "2", "-q", *nearest])
    if hub:
        commands.append(["python", "contracts/tools/check.py"])
    codes = [subprocess.run(list(map(str, command)), cwd=TOP, check=False).returncode for command in commands]
    no_tests = 5
    return 1 if mypy.wait() or any(code not in (0, no_tests) for code in codes) else 0


def changed_files(base: str | None) -> list[Path]:
    """Return the paths that git shows, new files included."""
    new = _git("ls-files", "--others", "--exclude-standard")
    return [
        Path(line)
        for line in (_git("diff", "--name-only", base or "HEAD") + new or _git("diff", "--name-only", "HEAD~1"))
    ]


def _git(*arguments: str) -> list[str]:
    return subprocess.run(["git", *arguments], cwd=TOP, check=True, capture_output=True, text=True).stdout.splitlines()


def touched_tests(changed: list[Path]) -> list[Path]:
    """Return the files of tests that a change of these files can make fail."""
    modules = {name: path for path, name in _modules()}
    importers: dict[Path, set[Path]] = {}
    for name, path in modules.items():
        for imported in _imports(path, name):
            if imported in modules:
                importers.setdefault(modules[imported], set()).add(path)
        if path.name.startswith("test_"):
            for folder in path.parents:
                importers.setdefault(folder / "conftest.py", set()).add(path)
    known, waiting = set[Path](), [beside for path in changed for beside in _python_of(path)]
    while waiting:
        path = waiting.pop()
        if path not in known:
            known.add(path)
            waiting += importers.get(path, ())
    return sorted(path for path in known if path.name.startswith("test_") and (TOP / path).exists())


def _modules() -> Iterator[tuple[Path, str]]:
    folders = [(root, root) for pattern in ROOTS for root in TOP.glob(pattern)] + [(TOP, TOP / name) for name in OWN]
    for root, folder in folders:
        for path in folder.rglob("*.py"):
            if not {"node_modules", ".local"} & set(path.parts[len(TOP.parts) :]):
                parts = path.relative_to(root).with_suffix("").parts
                yield path.relative_to(TOP), ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imports(path: Path, name: str) -> Iterator[str]:
    """Yield the modules that a file may import, with the names from them, which may be modules, too."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse((TOP / path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            yield module
            yield from (f"{module}.{each.name}" for each in node.names)


def _python_of(path: Path) -> list[Path]:
    if path.suffix == ".py":
        return [path]
    if path.suffix == ".md":
        return [Path(DOCUMENTS)]
    folder = next((each for each in path.parents if any((TOP / each).glob("*.py"))), None)
    return [] if folder is None else [each.relative_to(TOP) for each in (TOP / folder).glob("*.py")]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else None))
