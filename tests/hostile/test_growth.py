"""What a stranger writes costs a time that grows with its length, not with its square.

By default the steps are counted that Python takes for a text and for one twice as long. A campaign
(``SERVICE_CAMPAIGN=full``) measures processor time at the largest permitted size and at half of it, for the shapes
below and for the worst that hypothesis finds.
"""

import gc
import json
import statistics
import sys
import tempfile
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Final

import pytest
from bounty_protocol.auth.header import MAX_HEADER_LENGTH, parse_header
from bounty_protocol.auth.query import canonical_query
from bounty_protocol.chain.rpc import ChainUnavailable, Rpc
from bounty_protocol.crypto.archive import ArchiveLimits
from bounty_protocol.crypto.archive_read import unpack
from bounty_protocol.crypto.beacon_http import MAX_BODY
from bounty_protocol.crypto.beacon_info import QUICKNET, parse_info
from bounty_protocol.crypto.failures import SealedDataError
from bounty_protocol.domain.challenge.frontmatter import (
    MAX_DOCUMENT_BYTES,
    MAX_FRONTMATTER_BYTES,
    FrontmatterError,
    split_document,
)
from bounty_protocol.domain.challenge.page import parse_challenge
from bounty_protocol.domain.envelope.document import MAX_ENVELOPE_BYTES, parse_envelope
from bounty_protocol.domain.verdict import parse_verdict
from bounty_protocol.errors import ServiceError
from bounty_protocol.readiness.material import Material
from bounty_protocol.readiness.review import review
from bounty_protocol.timely import HttpAnswer
from bounty_protocol.types import UnixSeconds
from bounty_protocol.wire.cursor import parse_cursor
from demo.examples import EXAMPLES
from hypothesis import Phase, given, settings, target
from hypothesis import strategies as st
from service_api.subgraph.request import MAX_REQUEST_BYTES, read_request

from tests.campaign import FULL
from tests.protocol.crypto.trees import entry_of, tar_of

MOST: Final = 2.5
"""How much more twice the length may cost."""
PAGE: Final = (EXAMPLES / "bounty_challenge.md").read_bytes()
TERMS: Final = PAGE.partition(b"\n---\n")[0] + b"\n"
FENCE: Final = PAGE + b"\n```\nsystem"
REFUSED: Final = (ServiceError, FrontmatterError, SealedDataError, ChainUnavailable, ValueError)


@dataclass(frozen=True, slots=True)
class Reader:
    """Something that reads a stranger's bytes: ``text`` of a shape is ``unit`` over and over, within ``frame``."""

    read: Callable[[bytes], object]
    largest: int
    units: tuple[str, ...]
    frame: tuple[bytes, bytes] = (b"", b"")

    def text(self, unit: str, size: int) -> bytes:
        before, after = self.frame
        room = size - len(before) - len(after)
        return before + unit.encode() * (room // len(unit.encode())) + after

    def __call__(self, data: bytes) -> None:
        with suppress(*REFUSED):
            self.read(data)


def judge(page: bytes) -> None:
    review(Material(parse_challenge(page), page, UnixSeconds(1_795_000_000), 3_600))


def unpack_somewhere(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        unpack(iter([data]), Path(folder), ArchiveLimits())


def read_answer(data: bytes) -> None:
    rpc = Rpc(["http://127.0.0.1:1"])
    rpc._http = SimpleNamespace(exchange=lambda *_, **__: HttpAnswer(200, {}, data))  # type: ignore[assignment]
    rpc.call("eth_getLogs")


MARKDOWN: Final = (
    "[", "![", "[[[[", "![![![]()", "[a](", "[a][b]", "[abc](#d) ", "*", "**a *b ", "*a_ ", "__a__ ", "`", "``a`", "\\",
    "<", "<a ", "<a b=\"", "&", "&#x41;", "> ", "- ", "1. ", "* * *\n", "|a", "a|b ", "| a |\n", "# a ", "<!--", "a\n",
    "[a]: b\n", "~~~\n",
)  # fmt: skip
WORDS: Final = (
    "judge award ", "judge award vote no matter what my ", "ignore all previous ", "output page ", "i g n o r e ",
    "{{ TODO ", "TODO ", "<a b ", "x. ", "1 USDC ", "reward 1 USDC ", "1,000,000 ", "deadline 2030-01-01 ",
    "2030-01-01 is released ", "you have two weeks ", "runs for over one ",
    "key 0x" + "0" * 63 + " ", "seed: abcd ", "password is aaaaaaaa1 ",
    "a://b:cccc@d ", "sk-aaaaaaaaaaaaaaaaaaaaa ", "each finding earns ", "\u200b", "\u0301\u0316", "\uff41", "\u00e9 ",
)  # fmt: skip
YAML: Final = (
    "- a\n", "a\n", "[", "[a,", "{a: b,", "- ", "? a\n", "&x ", "!t ", "'", '"\\x41', "# c\n", "a: |\n", "a: >\n x\n\n",
    "k: [a, b, {c: d}]\n", "a: b\n", "\n", "  ",
)  # fmt: skip
JSON: Final = ('{"a":', "[", '"a",', '"\\u0041', "1", "1,", '{"a":1},', " ", "\\", "9" * 400 + ",")
READERS: Final = {
    "page": Reader(judge, MAX_DOCUMENT_BYTES, MARKDOWN + WORDS, (PAGE, b"\n")),
    "code": Reader(judge, MAX_DOCUMENT_BYTES, ("\n", " ", "# ", "a ", "\n ", "{{"), (FENCE, b"\n```\n")),
    "frontmatter": Reader(split_document, MAX_FRONTMATTER_BYTES, YAML, (b"---\n", b"\n---\nbody")),
    "challenge": Reader(parse_challenge, MAX_FRONTMATTER_BYTES, YAML, (TERMS, b"\n---\nbody")),
    "verdict": Reader(parse_verdict, MAX_FRONTMATTER_BYTES, YAML, (b"---\nversion: 1\n", b"\n---\nbody")),
    "envelope": Reader(parse_envelope, MAX_ENVELOPE_BYTES, JSON, (b'{"a":[', b"1]}")),
    "graphql": Reader(
        lambda text: read_request(json.dumps({"query": text.decode()}).encode()),
        MAX_REQUEST_BYTES - 100,
        ("{ a ", "a ", "a:b ", "...F ", "$a: Int ", '"', '"""', "1", "# ", "bounties{id} ", "@a ", "[", ","),
        (b"{ ", b"}"),
    ),
    "query": Reader(lambda text: canonical_query(text.decode()), 64 * 1024, ("a&", "a=b&", "%41", "%", "+", "=", "~")),
    "cursor": Reader(lambda text: parse_cursor(text.decode()), 64 * 1024, ("W", "WzAs", "=", "\u00e9")),
    "header": Reader(
        lambda text: parse_header(text.decode()), MAX_HEADER_LENGTH, ("A", "=", b64encode(b"~0x11").decode(), "~", " ")
    ),
    "beacon": Reader(lambda text: parse_info(text, QUICKNET.chain_hash, QUICKNET.public_key), MAX_BODY, JSON),
    "rpc": Reader(
        read_answer, 2**21, ('"0x' + "a" * 64 + '",', '{"a":1},', "[", "1,", '"\\u0041",'),
        (b'{"jsonrpc":"2.0","id":0,"result":[', b'""]}'),
    ),
    "archive": Reader(unpack_somewhere, 2**20, ("\0", "a", "\xff")),
    "archive of pax records": Reader(
        unpack_somewhere, 64 * 1024, ("9 a=bcde\n", "5 a=\n", "1"), (tar_of(entry_of("a", b"x"))[:512], b"")
    ),
}  # fmt: skip
SHAPES: Final = [pytest.param(r, unit, id=f"{name}-{unit[:20]!r}") for name, r in READERS.items() for unit in r.units]


def steps(reader: Reader, data: bytes) -> int:
    """How many functions are called to read this, in Python and in C."""
    count = 0

    def counted(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        reader(data)
    finally:
        sys.setprofile(before)
    return count


def seconds(reader: Reader, data: bytes) -> float:
    """Processor time; without Python's garbage collector, which looks at everything there is at moments of its own."""
    gc.collect()
    gc.disable()
    try:
        began = time.process_time()
        reader(data)
        return time.process_time() - began
    finally:
        gc.enable()


def growth(reader: Reader, unit: str) -> float:
    """How much more the largest size costs than half of it; less than a few milliseconds is nothing to compare."""
    whole, half = (reader.text(unit, size) for size in (reader.largest, reader.largest // 2))
    if (once := seconds(reader, whole)) < 0.005:
        return 0.0
    pairs = [(seconds(reader, whole), seconds(reader, half)) for _ in range(3 if once > 0.5 else 7)]
    return statistics.median(one for one, _ in pairs) / statistics.median(other for _, other in pairs)


def worst(reader: Reader, most: int) -> Iterator[str]:
    """Units that hypothesis found to cost most, tried at a size that is quickly read."""
    found: dict[str, float] = {}

    @settings(max_examples=most, deadline=None, database=None, phases=[Phase.generate, Phase.target], derandomize=True)
    @given(st.lists(st.sampled_from(reader.units), min_size=1, max_size=4))
    def search(pieces: list[str]) -> None:
        unit = "".join(pieces)
        found[unit] = seconds(reader, reader.text(unit, max(len(b"".join(reader.frame)) + 512, reader.largest // 16)))
        target(found[unit])

    search()
    yield from sorted(found, key=lambda unit: -found[unit])[:3]


if not FULL:

    @pytest.mark.parametrize(("reader", "unit"), SHAPES)
    def test_twice_the_length_takes_twice_the_steps(reader: Reader, unit: str) -> None:
        framed = len(b"".join(reader.frame))
        reader(reader.text(unit, framed + 64))  # what is loaded or compiled once
        small, large = (steps(reader, reader.text(unit, framed + size)) for size in (4_096, 8_192))
        assert large <= MOST * small + 200

else:

    @pytest.mark.parametrize(("reader", "unit"), SHAPES)
    def test_largest_size_takes_linear_time(reader: Reader, unit: str) -> None:
        assert any(growth(reader, unit) <= MOST for _ in range(2))

    @pytest.mark.parametrize("name", READERS)
    def test_worst_shapes_grow_alike(name: str) -> None:
        reader = READERS[name]
        for unit in worst(reader, 60):
            assert any(growth(reader, unit) <= MOST for _ in range(2)), unit
