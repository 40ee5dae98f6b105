"""The scripts of the pages, built from ``clients/typescript/actions`` into the package of the pages.

They are committed, since the pages are installed, demonstrated and packed on machines that have Python alone.
"""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from local_stack.toolbox import ensure_npm_package

from tests.clients.package import PACKAGE, run_node
from tools.generate.derived import Derived

_FOLDER: Final = "services/api/src/service_api/pages/static/actions"


def _contents() -> Mapping[str, bytes]:
    ensure_npm_package(PACKAGE)
    with tempfile.TemporaryDirectory() as folder:
        run_node(PACKAGE / "actions/build.mjs", folder)
        return {f"{_FOLDER}/{path.name}": path.read_bytes() for path in sorted(Path(folder).iterdir())}


PAGE_SCRIPTS: Final = Derived("page-scripts", _contents, _FOLDER)
