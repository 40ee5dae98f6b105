"""``./noxw -s sbom``: what each image holds, as a CycloneDX document in ``.local/sbom/``.

The environment of each image is made by the script that the Dockerfile runs, and listed as it is: names, versions,
licences, nothing of the machine it was made on.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

TOP: Final = Path(__file__).resolve().parent.parent
SERVICES: Final = ("api", "indexer", "reviewer", "delivery", "web")
LISTER: Final = TOP / ".local/venv-assurance/bin/cyclonedx-py"


def main() -> int:
    """Write one document for each image."""
    target = TOP / ".local/sbom"
    target.mkdir(parents=True, exist_ok=True)
    path = f"{TOP / '.noxw/bin'}{os.pathsep}{os.environ['PATH']}"
    for service in SERVICES:
        prefix, document = target / service, target / f"service-{service}.cdx.json"
        environment = {**os.environ, "PATH": path, "PYTHON": sys.executable}
        command = [str(TOP / "deploy/images/install.sh"), service, str(prefix)]
        subprocess.run(command, cwd=TOP, env=environment, check=True)
        options = ["--output-reproducible", "--of", "JSON", "-o", str(document)]
        subprocess.run([str(LISTER), "environment", *options, str(prefix / "bin/python")], check=True)
        print(document.relative_to(TOP))
    return 0


if __name__ == "__main__":
    sys.exit(main())
