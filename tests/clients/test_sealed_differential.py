"""Drawn capsules, archives and pages, through Python and the TypeScript client: the same result, the same refusals.

A campaign (``SERVICE_CAMPAIGN=full``) draws 7,000 cases, a usual run 130 of them.
"""

import base64
import json
import random
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest
from bounty_protocol.crypto.archive import ArchiveLimits
from bounty_protocol.crypto.archive_read import unpack
from bounty_protocol.crypto.archive_write import ArchiveEntry
from bounty_protocol.crypto.beacon import Beacon
from bounty_protocol.crypto.capsule import open_capsule, seal_capsule
from bounty_protocol.crypto.failures import SealedDataError
from bounty_protocol.domain.challenge import parse_challenge
from bounty_protocol.errors import ServiceError

from tests.campaign import size, source
from tests.clients.package import built, run_node
from tests.clients.test_typescript import altered, write_job
from tests.vectors.samples import (
    BEACON,
    BINDING,
    COMPLETE_PAGE,
    CONTENT,
    GUARDIAN_IDENTITIES,
    ROSTER,
    ROUND,
    seeded,
)

CAPSULES: Final = size(30, 2_000)
MADE: Final = size(10, 500)
"""Capsules that TypeScript seals."""
ARCHIVES: Final = size(50, 2_500)
PAGES: Final = size(50, 2_500)
NAMES: Final = (
    "a",
    "A",
    "b",
    "é",
    "e\u0301",
    "ß",
    "SS",
    "..",
    ".",
    "",
    "con",
    "x:y",
    "a b",
    "-",
    "\u202e",
    "b" * 120,
    "c\n",
)
KINDS: Final = b"0125KLxg7"
"""Types of an entry in tar's header: a file, links, a directory, long names, more about the next one."""
VALUES: Final = (
    *("1", "25000000", "0", "-1", "+1", "01", "1.0", "1e6", "1_000", "'1'", '"25000000"', "[1]", "null", "٣", "9" * 77),
    *(
        "9" * 80,
        " 1",
        "1 ",
        "1\t",
        "1 # one",
        "1893456000",
        "A title",
        "'A title'",
        "A: b",
        "- a",
        "| a",
        "&a 1",
        "*a",
        "",
    ),
)


def capsule_outcome(capsule: bytes) -> str:
    """The public half of the identity in it, or the failure class."""
    try:
        found = open_capsule(
            capsule,
            beacon=Beacon(ROUND, BEACON.signature(ROUND)),
            info=BEACON.info,
            keyring=[GUARDIAN_IDENTITIES[1]],
            roster_size=len(ROSTER.members),
            content_public_key=CONTENT.public_key,
            expected=BINDING,
        )
    except SealedDataError as error:
        return error.code
    return found.public_key


def drawn_archive(draw: random.Random) -> bytes:
    """Entries of any names, some of them of a type, or with a header, that no archive of ours has."""
    data = b""
    for _ in range(draw.randrange(1, 5)):
        name = "/".join(draw.choices(NAMES, k=draw.randrange(1, 4))) or "a"
        length = draw.choice((0, 0, 1, 511, 512, 513))
        is_directory = draw.random() < 0.2
        try:
            header = ArchiveEntry(
                name, 0 if is_directory else length, directory=is_directory, executable=False
            ).header()
        except (SealedDataError, ValueError):
            continue
        if draw.random() < 0.2:
            header = restated(draw, header)
        data += header + bytes(length) + bytes(-length % 512)
    end = bytes(1_024) if draw.random() < 0.9 else bytes(draw.choice((0, 512, 700)))
    return data + end


def restated(draw: random.Random, header: bytes) -> bytes:
    """A header with another type, or a byte of it changed, and the checksum of that in its last block."""
    block = bytearray(header[-512:])
    if draw.random() < 0.5:
        block[156] = draw.choice(KINDS)
    else:
        block[draw.randrange(512)] ^= 1 << draw.randrange(8)
    if draw.random() < 0.8:
        block[148:156] = b" " * 8
        block[148:156] = f"{sum(block):06o}\0 ".encode()
    return header[:-512] + bytes(block)


def archive_outcome(tar: bytes) -> int | str:
    """How many files are in it, or the failure class."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            return unpack(iter([tar]), Path(folder), ArchiveLimits()).file_count
        except SealedDataError as error:
            return error.code


def drawn_page(draw: random.Random) -> str:
    """The sample page with a line of its frontmatter changed, left out, twice, or ended otherwise."""
    lines = COMPLETE_PAGE.decode().split("\n")
    fields = [
        at for at, line in enumerate(lines) if line.startswith(("title:", "escrow_amount:", "submission_", "judging_"))
    ]
    for _ in range(draw.randrange(3)):
        at = draw.choice(fields)
        name = lines[at].partition(":")[0]
        value = draw.choice(VALUES)
        lines[at] = draw.choice(
            (
                f"{name}: {value}",
                f"{name}:{value}",
                f"{name}:  {value}",
                f" {name}: {value}",
                f'"{name}": {value}',
                lines[at] + "\r",
            )
        )
        if draw.random() < 0.1:
            lines.insert(at, lines[at])
        if draw.random() < 0.05:
            lines[at] = ""
    return "\n".join(lines)


def page_outcome(page: str) -> list[str] | str:
    """The terms in it, or the code."""
    try:
        found = parse_challenge(page.encode())
    except ServiceError as error:
        return error.code
    return [found.title, *map(str, (found.escrow_amount, found.submission_deadline, found.judging_window_seconds))]


@pytest.fixture(scope="module")
def drawn() -> Mapping[str, Sequence[Any]]:
    """The cases, by kind."""
    draw = source("sealed differential")
    keys, random_bytes = ROSTER.encryption_public_keys, seeded("capsules")
    sealed = seal_capsule(CONTENT, BINDING, keys, ROUND, BEACON.info, random_bytes)
    return {
        "capsules": [sealed, *(altered(sealed, draw) for _ in range(CAPSULES - 1))],
        "archives": [drawn_archive(draw) for _ in range(ARCHIVES)],
        "pages": [drawn_page(draw) for _ in range(PAGES)],
    }


@pytest.fixture(scope="module")
def found(drawn: Mapping[str, Sequence[Any]], tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, list[Any]]:
    """What Node made of them."""

    def in_base64(kind: str) -> list[str]:
        return [base64.b64encode(each).decode() for each in drawn[kind]]

    job = {
        "capsules": in_base64("capsules"),
        "archives": in_base64("archives"),
        "pages": drawn["pages"],
        "made": MADE,
        "round": ROUND,
    }
    path = write_job(tmp_path_factory.mktemp("sealed"), job)
    answer: Mapping[str, list[Any]] = json.loads(run_node(built() / "test/sealed.mjs", path, timeout=1_200))
    return answer


def test_altered_capsules_end_alike(drawn: Mapping[str, Sequence[Any]], found: Mapping[str, list[Any]]) -> None:
    expected = [capsule_outcome(each) for each in drawn["capsules"]]
    assert [pair for pair in zip(expected, found["capsules"], strict=True) if pair[0] != pair[1]][:3] == []
    assert expected[0] == CONTENT.public_key
    assert len(set(expected)) > 3  # several ways to be refused


def test_capsules_of_typescript_open_in_python(found: Mapping[str, list[Any]]) -> None:
    made = [base64.b64decode(each) for each in found["made"]]
    assert [capsule_outcome(each) for each in made] == [CONTENT.public_key] * MADE


def test_archives_end_alike(drawn: Mapping[str, Sequence[Any]], found: Mapping[str, list[Any]]) -> None:
    expected = [archive_outcome(each) for each in drawn["archives"]]
    assert [pair for pair in zip(expected, found["archives"], strict=True) if pair[0] != pair[1]][:3] == []
    read = sum(isinstance(each, int) for each in expected)
    assert ARCHIVES / 20 < read < ARCHIVES * 19 / 20


def test_pages_have_the_same_terms(drawn: Mapping[str, Sequence[Any]], found: Mapping[str, list[Any]]) -> None:
    expected = [page_outcome(each) for each in drawn["pages"]]
    pairs = [pair for pair in zip(expected, found["pages"], strict=True) if isinstance(pair[0], list)]
    assert [
        (repr(page), one)
        for page, one, two in zip(drawn["pages"], expected, found["pages"], strict=True)
        if isinstance(one, list) and one != two
    ][:30] == []  # the rest is for the service to refuse
    assert PAGES / 10 < len(pairs) < PAGES * 9 / 10
