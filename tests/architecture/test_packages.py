"""Each package declares what it imports, and nothing of another's."""

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest
import service_cli

TOP = Path(__file__).parents[2]
REASONS = tomllib.loads((TOP / "requirements/reasons.toml").read_text(encoding="utf-8"))["dependency"]
PACKAGES = {
    "bounty_protocol": "libs/bounty_protocol",
    "service_common": "libs/service_common",
    "service_api": "services/api",
    "service_indexer": "services/indexer",
    "service_reviewer": "services/reviewer",
    "service_delivery": "services/delivery",
    "service_cli": "cli",
    "service_audit": "clients/audit",
    "service_mcp": "clients/mcp",
}
DISTRIBUTIONS = {
    "btclib_libsecp256k1": "btclib-libsecp256k1",
    "tiny_keccak": "tiny-keccak",
    "dns": "dnspython",
    "dotenv": "python-dotenv",
    "nacl": "pynacl",
    "yaml": "pyyaml",
    "py_arkworks_bls12381": "py-arkworks-bls12381",
    "eth_abi": "eth-abi",
    "eth_account": "eth-account",
    "eth_utils": "eth-utils",
    "prometheus_client": "prometheus-client",
    "google": "google-cloud-storage",
    "google_crc32c": "google-crc32c",
    "graphql": "graphql-core",
    "markdown_it": "markdown-it-py",
    "re2": "google-re2",
    "werkzeug": "flask",
    "jinja2": "flask",
    "markupsafe": "flask",
    "bounty_protocol": "bounty-protocol",
    "service_cli": "service-cli",
    "service_common": "service-common",
    "mcp_types": "mcp-types",
}


def imported(folder: Path) -> set[str]:
    found: set[str] = set()
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.split(".")[0])
    return found - set(sys.stdlib_module_names)


def declared(project: dict[str, object]) -> set[str]:
    lines = list(project["dependencies"])  # type: ignore[call-overload]
    for extra in project.get("optional-dependencies", {}).values():  # type: ignore[attr-defined]
        lines += extra
    return {re.split(r"[\[<>=!~; ]", line)[0] for line in lines}


@pytest.mark.parametrize("module", PACKAGES)
def test_package__as_declared__covers_what_it_imports(module: str) -> None:
    folder = TOP / PACKAGES[module]
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    needed = {DISTRIBUTIONS.get(name, name) for name in imported(folder / "src" / module) - {module}}
    if module in {"service_cli", "service_mcp"}:  # private copies: nothing may depend on a name that is not published
        needed -= {"bounty-protocol", "service-cli"}
    available = declared(project)
    for name in ("service_common", "bounty_protocol"):
        if DISTRIBUTIONS[name] in available:
            available |= declared(tomllib.loads((TOP / PACKAGES[name] / "pyproject.toml").read_text())["project"])
    assert needed <= available


def test_pins_carry_hashes_and_no_index() -> None:
    for name in ("constraints.txt", "nox.txt"):
        text = (TOP / "requirements" / name).read_text()
        pins = re.findall(r"(?m)^[a-z0-9][\w.-]*==", text)
        assert len(pins) > 10
        assert text.count("--hash=sha256:") >= len(pins)
        assert not re.search(r"://|--index|--find-links", text)


def test_released_things_have_one_version() -> None:
    packages = [tomllib.loads((TOP / folder / "pyproject.toml").read_text()) for folder in PACKAGES.values()]
    found = {project["project"]["version"] for project in packages} | {service_cli.__version__}
    found |= set(re.findall(r"(?m)^ARG VERSION=(.*)$", (TOP / "deploy/images/Dockerfile").read_text()))
    assert len(found) == 1


def _named(requirement: str) -> str:
    return re.split(r"[^\w.-]", requirement)[0].replace("_", "-").lower()


def test_dependencies__of_every_package__have_a_reason() -> None:
    named = {_named(each) for row in REASONS for each in re.findall(r"[\w-]+", row["packages"])}
    own = {_named(name) for name in PACKAGES}
    asked = set()
    for folder in set(PACKAGES.values()):
        project = tomllib.loads((TOP / folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        further = [each for extra in project.get("optional-dependencies", {}).values() for each in extra]
        asked |= {_named(each) for each in (*project.get("dependencies", ()), *further)}
    assert asked - own - named == set(), "requirements/reasons.toml says why each is here"
    assert len(asked) > 30
