"""``./noxw -s manifests -- staging``: the objects of an overlay as YAML, for ``kubectl apply -f -``.

What is still to be set is listed on stderr, so that the YAML stays what kubectl reads.
"""

import argparse
import sys
from pathlib import Path

import yaml

from kustomization.render import ENTRANCES, RenderError, render
from kustomization.unset import unset

OVERLAYS = Path(__file__).parents[2] / "k8s" / "overlays"


def main() -> int:
    """Print an overlay."""
    known = sorted(path.name for path in OVERLAYS.iterdir() if path.is_dir())
    parser = argparse.ArgumentParser(prog="manifests", description="Render an overlay of deploy/k8s as YAML.")
    parser.add_argument("overlay", choices=known)
    parser.add_argument(
        "--images", metavar="FILE", type=Path, help="a YAML list in the form of a kustomization's images; they win"
    )
    parser.add_argument(
        "--entrance", choices=ENTRANCES, help="how requests come in, in place of the one that the overlay names"
    )
    options = parser.parse_args()
    try:
        images = [] if options.images is None else yaml.safe_load(options.images.read_text(encoding="utf-8"))
        objects = render(OVERLAYS / options.overlay, images, options.entrance)
    except (RenderError, OSError, yaml.YAMLError) as error:
        print(f"manifests: {error}", file=sys.stderr)
        return 1
    for text in unset(objects):
        print(f"manifests: to be set: {text}", file=sys.stderr)
    yaml.safe_dump_all(objects, sys.stdout, sort_keys=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
