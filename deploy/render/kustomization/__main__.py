"""``./noxw -s manifests -- staging``: the objects of an overlay as YAML, for ``kubectl apply -f -``."""

import argparse
import sys
from pathlib import Path

import yaml

from kustomization.render import RenderError, render

OVERLAYS = Path(__file__).parents[2] / "k8s" / "overlays"


def main() -> int:
    """Print an overlay."""
    known = sorted(path.name for path in OVERLAYS.iterdir() if path.is_dir())
    parser = argparse.ArgumentParser(prog="manifests", description="Render an overlay of deploy/k8s as YAML.")
    parser.add_argument("overlay", choices=known)
    try:
        objects = render(OVERLAYS / parser.parse_args().overlay)
    except RenderError as error:
        print(f"manifests: {error}", file=sys.stderr)
        return 1
    yaml.safe_dump_all(objects, sys.stdout, sort_keys=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
