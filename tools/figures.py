"""Count what a reader of a tree has to know, as one JSON object: ``python tools/figures.py [FOLDER]``.

It only reads text, so that it counts any commit alike; branches that no test takes are added where a run of
``./noxw -s nightly -- figures`` has left its report.
"""

import ast
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PYTHON = (
    *("libs/bounty_protocol", "libs/service_common", "services", "services/api", "services/indexer"),
    *("services/reviewer", "services/delivery", "cli", "clients/mcp", "clients/audit", "deploy", "tools", "bench"),
    "tests",
)
ROOMS = dict.fromkeys(PYTHON, ".py") | {"clients/typescript": ".ts", "contracts": ".sol", "docs": ".md"}
METRICS = {"Counter", "Histogram", "Gauge", "CounterMetricFamily", "GaugeMetricFamily", "counter_by"}
REFUSALS = {"CommandRefused", "CommandFailed", "Refused", "Failed"}


def main(top: Path) -> None:
    """Print the figures of the committed files below ``top``."""
    listed = subprocess.run(["git", "ls-files"], cwd=top, capture_output=True, text=True, check=True).stdout.split("\n")
    texts = dict(_texts(top, [name for name in listed if name]))
    product = {name: text for name, text in texts.items() if "/src/" in name and name.endswith(".py")}
    client = {name: text for name, text in product.items() if name.startswith("cli/")}
    servers = {name: text for name, text in product.items() if name.startswith(("libs/", "services/"))}
    client_source, server_source = "\n".join(client.values()), "\n".join(servers.values())
    documents = {name: text for name, text in texts.items() if name.startswith("docs/") and name.endswith(".md")}
    pages = {name: text for name, text in documents.items() if "/adr/" not in name}
    tests = "\n".join(text for name, text in texts.items() if name.startswith("tests/") and name.endswith(".py"))
    manifests = "\n".join(text for name, text in texts.items() if "/k8s/" in name)
    figures = {
        "lines": {room: _lines(texts, room, suffix) for room, suffix in ROOMS.items()},
        "commands": _found(r'^    "[a-z:-]+": \("', texts["cli/src/service_cli/main.py"]),
        "options": len(_first_words(client, {"option"}, r"--[a-z-]+")),
        "settings": _found(r'"(SERVICE_[A-Z0-9_]+)"', server_source),
        "metrics": len(_first_words(servers, METRICS, r"service_[a-z0-9_]+")),
        "alerts": _found(r"^\s*- (alert: .*)", manifests),
        "events": _found(r'^    EVENT\b[^=\n]*= "([a-z_.]+)"', client_source),
        "codes": len(_first_words(client, REFUSALS, r"[a-z_]+")),
        "tables": _found(r"^CREATE TABLE (\S+)", texts["libs/service_common/src/service_common/db/schema.sql"]),
        "documents": len(pages),
        "decisions": len(documents) - len(pages),
        "document_words": sum(len(text.split()) for text in pages.values()),
        "changelog_lines": texts["CHANGELOG.md"].count("\n"),
        "test_functions": len(re.findall(r"^(?:async )?def test_", tests, re.MULTILINE)),
        "nox_sessions": texts["noxfile.py"].count("\n@nox.session"),
    }
    if (report := top / ".local/coverage.json").exists():
        figures["branches_not_taken"] = _branches_not_taken(json.loads(report.read_text()))
    print(json.dumps(figures, indent=2))


def _branches_not_taken(report: dict[str, Any]) -> dict[str, int]:
    """Return the number for each package, from what ``coverage json`` wrote."""
    found: Counter[str] = Counter()
    for name, file in report["files"].items():
        found[name.partition("/src/")[0]] += file["summary"]["missing_branches"]
    return dict(found)


def _texts(top: Path, names: list[str]) -> Iterator[tuple[str, str]]:
    for name in names:
        try:
            yield name, (top / name).read_text(encoding="utf-8")
        except (UnicodeDecodeError, OSError):
            continue


def _lines(texts: dict[str, str], room: str, suffix: str) -> int:
    inside = (n for n in texts if n.startswith(f"{room}/") and n.endswith(suffix) and "/generated/" not in n)
    return sum(texts[name].count("\n") for name in inside)


def _found(pattern: str, text: str) -> int:
    """Count the different texts that match."""
    return len(set(re.findall(pattern, text, re.MULTILINE)))


def _first_words(files: dict[str, str], callees: set[str], form: str) -> set[str]:
    """Return the string arguments of this form in calls of these names."""
    found = set()
    for text in files.values():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in callees:
                words = [
                    each.value for each in node.args if isinstance(each, ast.Constant) and isinstance(each.value, str)
                ]
                found |= {word for word in words[:3] if re.fullmatch(form, word)}
    return found


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path())
