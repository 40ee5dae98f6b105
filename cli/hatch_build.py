"""What the wheel carries of ``service_common``.

The wheel and the sdist hold the packages that the client uses, so that they depend on no name that is not
published; those of servers (database, jobs, storage, web) are not among them. An editable install carries nothing:
there the repository's own package is imported.
"""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGES = (
    "__init__.py",
    "auth",
    "chain",
    "clock.py",
    "config.py",
    "crypto",
    "domain",
    "errors.py",
    "foreign_json.py",
    "keccak.py",
    "py.typed",
    "readiness",
    "shapes.py",
    "timely.py",
    "types.py",
    "wire",
)


class BundledPackages(BuildHookInterface):
    """Adds the packages to a standard build."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        root = Path(self.root)
        shipped = root / "bundled" / "service_common"  # where an sdist holds them
        source = shipped if shipped.is_dir() else root.parent / "libs" / "service_common" / "src" / "service_common"
        target = "bundled/service_common" if self.target_name == "sdist" else "service_common"
        for name in PACKAGES:
            build_data["force_include"][str(source / name)] = f"{target}/{name}"
