"""The wheel and the sdist carry the client and the protocol as private copies, ``service_mcp.service_cli`` and
``service_mcp.bounty_protocol``: they depend on no name that is not published, and own no file of another package. An
editable install carries nothing: there the repository's own packages are imported.
"""

import atexit
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

COPIES = {"service_cli": "cli/src/service_cli", "bounty_protocol": "libs/bounty_protocol/src/bounty_protocol"}
LEFT_OUT = ("__pycache__", "rubric")
"""The rubric of the service's own review is none of the client's."""
IMPORT = re.compile(rf"""(?m)(^\s*(?:from|import)\s+|["'])({"|".join(COPIES)})(?=[.\s"'])""")


class PrivateCopies(BuildHookInterface):
    """Puts the copies into a standard build."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        root = Path(self.root)
        # Where an sdist holds them, else where the repository does.
        bundled = root / "bundled"
        sources = {name: bundled / name if bundled.is_dir() else root.parents[1] / COPIES[name] for name in COPIES}
        if self.target_name == "sdist":
            for name, source in sources.items():
                for each in sorted(source.iterdir()):
                    if each.name not in LEFT_OUT:
                        build_data["force_include"][str(each)] = f"bundled/{name}/{each.name}"
            return
        made = Path(tempfile.mkdtemp())
        atexit.register(shutil.rmtree, made)
        shutil.copytree(root / "src", made, dirs_exist_ok=True, ignore=shutil.ignore_patterns(*LEFT_OUT))
        for name, source in sources.items():
            shutil.copytree(source, made / "service_mcp" / name, ignore=shutil.ignore_patterns(*LEFT_OUT))
        for path in made.rglob("*.py"):
            path.write_text(IMPORT.sub(r"\1service_mcp.\2", path.read_text(encoding="utf-8")), encoding="utf-8")
        build_data["force_include"][str(made / "service_mcp")] = "service_mcp"
