"""The wheel and the sdist carry the protocol as a private copy: ``service_cli.bounty_protocol``.

So they depend on no name that is not published, and own no file that another package may own: client, library and
protocol are installed and removed in any order. The copy is the repository's ``bounty_protocol`` with its imports put
below ``service_cli``. An editable install carries nothing: there the repository's own package is imported.
"""

import atexit
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PROTOCOL = "bounty_protocol"
LEFT_OUT = ("__pycache__", "rubric")
"""The rubric of the service's own review is none of the client's."""
IMPORT = re.compile(rf"""(?m)(^\s*(?:from|import)\s+|["'])({PROTOCOL})(?=[.\s"'])""")


class PrivateCopy(BuildHookInterface):
    """Puts the copy into a standard build."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        root = Path(self.root)
        bundled = root / "bundled" / PROTOCOL  # where an sdist holds it, as it is in the repository
        source = bundled if bundled.is_dir() else root.parent / "libs" / PROTOCOL / "src" / PROTOCOL
        if self.target_name == "sdist":
            for each in sorted(source.iterdir()):
                if each.name not in LEFT_OUT:
                    build_data["force_include"][str(each)] = f"bundled/{PROTOCOL}/{each.name}"
            return
        made = Path(tempfile.mkdtemp())
        atexit.register(shutil.rmtree, made)
        shutil.copytree(root / "src", made, dirs_exist_ok=True, ignore=shutil.ignore_patterns(*LEFT_OUT))
        shutil.copytree(source, made / "service_cli" / PROTOCOL, ignore=shutil.ignore_patterns(*LEFT_OUT))
        for path in made.rglob("*.py"):
            path.write_text(IMPORT.sub(r"\1service_cli.\2", path.read_text(encoding="utf-8")), encoding="utf-8")
        build_data["force_include"][str(made / "service_cli")] = "service_cli"
