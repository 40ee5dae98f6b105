"""The scripts of the pages: those that are committed are what their sources make, and small; what needs no browser."""

import gzip
import json
import re
from pathlib import Path

import brotli
import pytest
from bounty_protocol.domain.challenge.page import parse_challenge
from bounty_protocol.domain.lifecycle.states import VerdictKind
from bounty_protocol.domain.verdict import WrittenVerdict, parse_verdict, render_verdict
from bounty_protocol.types import BountyId, Bytes32, ChainId, parse_address
from local_stack.toolbox import ensure_npm_package

from tests.clients.package import PACKAGE, run_node

MOST_BYTES = 125_000
"""Of everything that connecting and acting loads, compressed, without what is loaded on demand."""
FOLDER = PACKAGE.parents[1] / "services/api/src/service_api/pages/static/actions"
MOST_SEALING = 300_000
"""Of what sealing loads beside it, as browsers get it by https: by brotli."""
SEALING = ("work-", "sealer-")
"""What is loaded only by an action that seals or opens."""


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_scripts__as_typescript__have_no_error() -> None:
    run_node(ensure_npm_package(PACKAGE) / "typescript/bin/tsc", "--project", PACKAGE / "actions")


def compressed_sizes() -> tuple[int, int]:
    """Bytes of everything that connecting and acting loads, and of what a page loads until the button is pressed."""
    scripts = {
        name: len(gzip.compress(data, mtime=0)) for name, data in contents(FOLDER).items() if name.endswith("js")
    }
    acting = sum(size for name, size in scripts.items() if not name.startswith(SEALING))
    return acting, next(size for name, size in scripts.items() if name.startswith("connect-"))


def test_scripts__compressed__stay_small() -> None:
    acting, loader = compressed_sizes()
    assert (acting < MOST_BYTES, loader < 1_400) == (True, True)
    demanded = [data for name, data in contents(FOLDER).items() if name.startswith(SEALING)]
    assert sum(len(brotli.compress(data, quality=10)) for data in demanded) < MOST_SEALING


def test_packages_are_listed_with_their_notices() -> None:
    (notices,) = (data.decode() for name, data in contents(FOLDER).items() if name.endswith("txt"))
    headings = re.findall(r"(?m)^-{80}\n\n(\S+) (\S+) \(.*\)$", notices)
    listed = {(path.rpartition("node_modules/")[2], version) for path, version in headings}
    lock = json.loads((PACKAGE / "package-lock.json").read_text(encoding="utf-8"))
    pinned = {(path.rpartition("node_modules/")[2], each["version"]) for path, each in lock["packages"].items()}
    assert listed <= pinned
    names = {name for name, _ in listed}
    assert {"viem", "age-encryption", "tlock-js", "@noble/curves", "openapi-fetch", "libsodium", "hash-wasm"} <= names
    assert all(
        "Permission" in part or "Redistribution" in part or "Apache License" in part
        for part in notices.split("-" * 80)[1:]
    )


@pytest.fixture(scope="module")
def in_node() -> str:
    """What the tests of the parts that need no browser print."""
    ensure_npm_package(PACKAGE)
    return run_node(PACKAGE / "test/actions.mjs")


def test_parts__that_need_no_browser__behave_as_stated(in_node: str) -> None:
    assert "# fail 0" in in_node


def test_written_verdicts_are_the_clients(in_node: str) -> None:
    found = re.search(r"^(?:# )?documents (\[.*\])$", in_node, re.MULTILINE)
    assert found is not None
    hub, guardian, solver = (parse_address(f"0x{digits * 20}") for digits in ("aa", "bb", "cc"))
    for document in json.loads(found.group(1)):
        parsed = parse_verdict(document.encode())
        named = (solver, Bytes32("0x" + "dd" * 32)) if parsed.kind is VerdictKind.AWARDED else (None, None)
        written = WrittenVerdict(
            parsed.kind, ChainId(31337), hub, BountyId(7), guardian, named[0], named[1], parsed.body
        )
        assert render_verdict(written) == document.encode()
    bodies = {parse_verdict(document.encode()).body for document in json.loads(found.group(1))}
    assert bodies == {"Every criterion holds.\n", "# Reasons\n\n---\nkind: awarded\n", "näïve ✓\n"}


def test_page__made_of_fields__is_what_was_filled_in(in_node: str) -> None:
    found = re.search(r"^(?:# )?page (\".*\")$", in_node, re.MULTILINE)
    assert found is not None
    page = parse_challenge(json.loads(found.group(1)).encode())
    assert (page.title, page.summary) == ("A parser: quick, and exact", "Reads dates. Fails on none.")
    assert (page.escrow_amount, page.judging_window_seconds) == (12_500_000, 259_200)
    assert page.acceptance_criteria == ("`make test` exits with 0", 'no "quotes" are lost: # not this\u2028either')
    assert (page.deliverables, page.contact) == (("src/parse.py",), "a@b.example")
    assert page.tags == ("parser", "csv")
