"""``./noxw -s sbom``: what each image holds, as a CycloneDX document in ``.local/sbom/``.

    python tools/sbom.py [--base FILE]

FILE lists the packages of the base image, as ``dpkg-query --show`` prints them in it; they are then listed, too.
The environment of each image is made by the script that the Dockerfile runs, and listed as it is: names, versions,
licences, nothing of the machine it was made on; and the npm packages in the scripts of the pages.
"""

import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final
from urllib.parse import quote

from tools.image_folders import FOLDERS, TOP

LISTER: Final = TOP / ".local/venv-assurance/bin/cyclonedx-py"


def main() -> int:
    """Write one document for each image."""
    parser = argparse.ArgumentParser(prog="sbom", description=__doc__)
    parser.add_argument("--base", type=Path, metavar="FILE", help="lines of a package's name, a tab, its version")
    base = parser.parse_args().base
    of_base = [] if base is None else [_debian(line) for line in base.read_text(encoding="utf-8").splitlines()]
    target = TOP / ".local/sbom"
    target.mkdir(parents=True, exist_ok=True)
    path = f"{TOP / '.noxw/bin'}{os.pathsep}{os.environ['PATH']}"
    for service, folder in FOLDERS.items():
        prefix, document = target / service, target / f"service-{service}.cdx.json"
        environment = {**os.environ, "PATH": path, "PYTHON": sys.executable}
        command = [str(TOP / "deploy/images/install.sh"), folder, str(prefix)]
        subprocess.run(command, cwd=TOP, env=environment, check=True)
        options = ["--output-reproducible", "--of", "JSON", "-o", str(document)]
        subprocess.run([str(LISTER), "environment", *options, str(prefix / "bin/python")], check=True)
        content = json.loads(document.read_text(encoding="utf-8"))
        content["components"] += of_base
        for notices in prefix.glob("lib/*/site-packages/*/static/actions/licenses-*.txt"):
            content["components"] += bundled(notices.read_text(encoding="utf-8"))
        document.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
        print(document.relative_to(TOP))
    return 0


def bundled(notices: str) -> list[dict[str, str]]:
    """Return the npm packages in the scripts of the pages, as the file beside them names them."""
    components = {}
    for path, version in re.findall(r"^-{80}\n\n(\S+) (\S+) \(.*\)$", notices, re.MULTILINE):
        name = path.rpartition("node_modules/")[2]
        url = f"pkg:npm/{quote(name, safe='/')}@{version}"
        components[url] = {"type": "library", "name": name, "version": version, "purl": url, "bom-ref": url}
    return list(components.values())


def _debian(line: str) -> dict[str, str]:
    """Return a package of Debian as a component, named as package URLs name it."""
    name, version = line.split("\t")
    name = name.partition(":")[0]
    url = f"pkg:deb/debian/{name}@{quote(version, safe='')}"
    return {"type": "library", "name": name, "version": version, "purl": url, "bom-ref": url}


if __name__ == "__main__":
    sys.exit(main())
