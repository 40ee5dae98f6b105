"""``./noxw -s manifests -- staging``: the objects of an overlay as YAML, for ``kubectl apply -f -``.

What is still to be set is listed on stderr, so that the YAML stays what kubectl reads.
"""

import argparse
import sys
from pathlib import Path

import yaml

from kustomization.answers import NONE, AnswersError, read_answers, settle, template, values_of
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
    parser.add_argument(
        "--answers", metavar="FILE", type=Path, help="your settings as KEY=value lines; nothing may be left to be set"
    )
    parser.add_argument("--questions", action="store_true", help="print a file of answers to fill in, and end")
    options = parser.parse_args()
    folder, answers = OVERLAYS / options.overlay, dict[str, str]()
    try:
        images = [] if options.images is None else yaml.safe_load(options.images.read_text(encoding="utf-8"))
        objects = render(folder, images, options.entrance)
        if options.questions:
            print(template(options.overlay, objects), end="")
            return 0
        if options.answers is not None:
            answers = read_answers(options.answers, objects)
            objects = render(folder, images, options.entrance, values_of(answers))
            settle(objects, answers)
    except (RenderError, AnswersError, OSError, yaml.YAMLError) as error:
        for line in str(error).splitlines():
            print(f"manifests: {line}", file=sys.stderr)
        return 1
    without = {key for key, value in answers.items() if value == NONE}
    left = [text for text in unset(objects) if text.split()[0] not in without]
    for text in left:
        print(f"manifests: to be set: {text}", file=sys.stderr)
    if left and options.answers is not None:
        print(f"manifests: nothing is printed, since {options.answers} leaves that open", file=sys.stderr)
        return 1
    yaml.safe_dump_all(objects, sys.stdout, sort_keys=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
