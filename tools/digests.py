"""Images of others by digest: the bases of our own, the databases, the entrance of ``deploy/compose``.

A tag can be moved; a digest cannot. The files that use an image are the only place that names it: ``ARG
PYTHON_IMAGE`` and ``ARG CADDY_IMAGE`` of the Dockerfiles and each ``image:`` of ``deploy/compose``. ``--pin`` asks
each image's registry for its digest, by ``docker buildx imagetools``, and writes it behind the tag, where Dependabot
keeps both current. ``--check`` names what has none and ends with 1; the release workflow begins with it. Standard
library only, since that workflow runs it first.
"""

import argparse
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

TOP: Final = Path(__file__).resolve().parent.parent
DOCKERFILE: Final = Path("deploy/images/Dockerfile")
SITE: Final = Path("deploy/images/site/Dockerfile")
COMPOSE: Final = Path("deploy/compose/compose.yaml")
FILES: Final = (DOCKERFILE, SITE, COMPOSE)
_USED: Final = re.compile(
    r"(?m)^(?:ARG (?:PYTHON|CADDY)_IMAGE=| +image: )(?P<tagged>[a-z0-9][\w./-]*:[\w.-]+)"
    r"(?:@(?P<digest>sha256:[0-9a-f]{64}))?$"
)
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class UsedImage:
    """An image of others as a file names it."""

    file: Path
    tagged: str
    digest: str | None

    def whole(self) -> str:
        """By tag and digest, where it has one."""
        return self.tagged if self.digest is None else f"{self.tagged}@{self.digest}"


def used_images(top: Path = TOP) -> Iterator[UsedImage]:
    """Every image of others that is built from or run, in the order of the files."""
    for file in FILES:
        for found in _USED.finditer((top / file).read_text(encoding="utf-8")):
            yield UsedImage(file, found["tagged"], found["digest"])


def pin(top: Path, ask: Callable[[str], str]) -> list[UsedImage]:
    """Write the digest of each image behind its tag; what is used afterwards.

    ``ask`` answers the digest of a tagged image; ``ValueError`` for an answer that is none, and nothing is written.
    """
    digests = {tagged: ask(tagged) for tagged in dict.fromkeys(each.tagged for each in used_images(top))}
    for tagged, digest in digests.items():
        if _DIGEST.fullmatch(digest) is None:
            raise ValueError(f"{tagged}: the registry's answer is no digest: {digest[:80]!r}")
    for file in FILES:
        text = (top / file).read_text(encoding="utf-8")

        def with_digest(found: re.Match[str]) -> str:
            name = found["tagged"]
            return f"{found[0].partition(name)[0]}{name}@{digests[name]}"

        (top / file).write_text(_USED.sub(with_digest, text), encoding="utf-8")
    return list(used_images(top))


def of_kustomization(images: list[UsedImage]) -> Iterator[str]:
    """The databases in the form of a kustomization's images, so that rendered overlays name them by digest, too."""
    for each in dict.fromkeys((each.tagged.partition(":")[0], each.digest) for each in images if each.file == COMPOSE):
        name, digest = each
        yield f'- {{name: {name}, newName: {name}, digest: "{digest}"}}'


def _ask_registry(tagged: str) -> str:
    command = ["docker", "buildx", "imagetools", "inspect", "--format", "{{.Manifest.Digest}}", tagged]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout.strip()
    except FileNotFoundError:
        sys.exit("digests: docker is needed to ask a registry, with its plugin buildx; nothing was written")
    except subprocess.CalledProcessError as error:
        sys.exit(f"digests: {tagged}: {error.stderr.strip()[:300]}; nothing was written")
    except subprocess.TimeoutExpired:
        sys.exit(f"digests: {tagged}: no answer within two minutes; nothing was written")


def main() -> int:
    """Do what is asked for; the exit code."""
    parser = argparse.ArgumentParser(prog="digests", description=__doc__.partition("\n\n")[0])
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--check", action="store_true", help="name what has no digest, and end with 1 where that is any")
    what.add_argument("--pin", action="store_true", help="ask the registries, and write the digests into the files")
    what.add_argument("--base", action="store_true", help="print the base of our own images")
    what.add_argument("--kustomization", action="store_true", help="print the databases as a kustomization's images")
    options = parser.parse_args()
    images = pin(TOP, _ask_registry) if options.pin else list(used_images())
    if options.base:
        print(next(each.whole() for each in images if each.file == DOCKERFILE))
        return 0
    missing = [each for each in images if each.digest is None]
    if options.kustomization and not missing:
        print("\n".join(of_kustomization(images)))
        return 0
    for each in missing:
        print(f"digests: {each.file}: {each.tagged} has no digest: python tools/digests.py --pin", file=sys.stderr)
    if not missing:
        print(f"digests: {len(images)} images of others, each by digest")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
