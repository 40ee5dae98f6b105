"""The CustomResourceDefinitions of operators' releases, by ``tools/definitions.toml``.

    python -m tools.definitions [--pin]

``./noxw -s cluster -- --fetch`` fetches what is missing and compares each file with its digest. ``--pin`` writes the
digest of each file that has none into the table; a digest that is there is never written again.
"""

import argparse
import hashlib
import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import urllib3
import yaml

TABLE: Final = Path(__file__).with_suffix(".toml")
FOLDER: Final = TABLE.parent.parent / ".local/definitions"
MOST_BYTES: Final = 32 * 2**20
Get = Callable[[str], bytes]


class Unpinned(Exception):
    """Files have no digest yet; the text names them, with what to do."""


class OtherContent(Exception):
    """A file is not the one that was pinned, or cannot be fetched."""


@dataclass(frozen=True, slots=True)
class DefinitionFile:
    """One file of a release."""

    group: str
    """Of the definitions that are taken from it."""
    version: str
    address: str
    sha256: str

    @property
    def name(self) -> str:
        """Where it is kept: another version is another file."""
        return f"{self.group}-{self.version}.yaml"


def table(path: Path = TABLE) -> list[DefinitionFile]:
    """What is pinned."""
    read = tomllib.loads(path.read_text(encoding="utf-8"))
    return [DefinitionFile(group, **values) for group, values in read.items()]


def fetch(folder: Path, files: Iterable[DefinitionFile] | None = None, get: Get | None = None) -> None:
    """Put the definitions of each file into ``folder``, where they are not.

    ``Unpinned`` where one has no digest, before anything is fetched; ``OtherContent`` where it is another one.
    """
    files, get = table() if files is None else list(files), get or _get
    if unpinned := [f"{each.group} {each.version}" for each in files if not each.sha256]:
        raise Unpinned(f"no digest is known of {', '.join(unpinned)}: python -m tools.definitions --pin, and compare")
    folder.mkdir(parents=True, exist_ok=True)
    for each in files:
        if not (folder / each.name).is_file():
            content = get(each.address)
            if (found := hashlib.sha256(content).hexdigest()) != each.sha256:
                raise OtherContent(f"{each.address} has the digest {found}, not {each.sha256}")
            (folder / each.name).write_text(yaml.safe_dump_all(_of_group(content, each.group)), encoding="utf-8")


def pin(path: Path, get: Get) -> Iterator[str]:
    """Write the digest of each file that has none; a line for each."""
    for each in table(path):
        if not each.sha256:
            digest = hashlib.sha256(get(each.address)).hexdigest()
            text = path.read_text(encoding="utf-8")
            entry = re.compile(rf'(\["{re.escape(each.group)}"\][^\[]*?\nsha256 = )""')
            path.write_text(entry.sub(rf'\g<1>"{digest}"', text), encoding="utf-8")
            yield f"{each.group} {each.version}: {digest}"


def _of_group(content: bytes, group: str) -> list[object]:
    documents = [each for each in yaml.safe_load_all(content) if each]
    found = [
        each for each in documents if each["kind"] == "CustomResourceDefinition" and each["spec"]["group"] == group
    ]
    if not found:
        raise OtherContent(f"the file of {group} has no definition of it")
    return found


def _get(address: str) -> bytes:
    try:
        answer = urllib3.request("GET", address, timeout=60.0, retries=3, preload_content=False)
        content = answer.read(MOST_BYTES + 1)
    except urllib3.exceptions.HTTPError as error:
        raise OtherContent(f"{address} cannot be fetched: {error}") from error
    if answer.status != 200 or len(content) > MOST_BYTES:
        raise OtherContent(f"{address} answered {answer.status} with {len(content)} bytes")
    return content


def main() -> int:
    """Fetch, or write digests."""
    parser = argparse.ArgumentParser(prog="definitions", description=__doc__)
    parser.add_argument("--pin", action="store_true", help="write the digests that are missing")
    options = parser.parse_args()
    try:
        if options.pin:
            print("\n".join(pin(TABLE, _get)))
        else:
            fetch(FOLDER)
    except (Unpinned, OtherContent) as reason:
        print(reason)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
