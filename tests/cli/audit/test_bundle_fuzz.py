"""Random changes to a bundle: whatever is in it, an audit ends in a line, and never with anything unexpected.

An altered answer of the service or an altered document is always told; of the chain's evidence, whatever the record's
digest covers.
"""

import json
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests import campaign
from tests.cli.audit.test_bundle import Entries, bundle, entries_of, pack
from tests.cli.audited import Audited
from tests.cli.terminal import Terminal

__all__ = ["bundle"]
Container = dict[object, object] | list[object]
VALUES: tuple[object, ...] = (None, 0, -1, 2**64, 2**300, "", [], {}, "0x", True, 1.5, "\ud800", [[]] * 3, "9" * 100)


def changed(chance: random.Random, truth: Entries) -> tuple[str, Entries]:
    """One leaf of an entry, or one byte of a document, that is another one now; and which entry."""
    name = chance.choice(sorted(truth))
    if name.endswith(".md") or "envelopes" in name:
        content = bytearray(truth[name])
        content[chance.randrange(len(content))] ^= chance.randrange(1, 256)
        return name, truth | {name: bytes(content)}
    tree: Container = json.loads(truth[name])
    place, key = chance.choice(places(tree))
    old = place[key]  # type: ignore[call-overload]  # a key of this very container
    others = [value for value in (*VALUES, *like(chance, old)) if repr(value) != repr(old)]
    place[key] = chance.choice(others)  # type: ignore[call-overload]
    return name, truth | {name: json.dumps(tree).encode()}


def places(tree: Container) -> list[tuple[Container, object]]:
    """Every container of a JSON tree with a key of it that holds a leaf."""
    found: list[tuple[Container, object]] = []
    for key, value in list(tree.items() if isinstance(tree, dict) else enumerate(tree)):
        inner = places(value) if isinstance(value, dict | list) else []
        found += inner or [(tree, key)]
    return found


def like(chance: random.Random, old: object) -> Sequence[object]:
    """Values that look like the old one; most of what is tried."""
    if isinstance(old, str) and old.startswith("0x") and len(old) > 2:
        at = chance.randrange(2, len(old))
        return [old[:at] + chance.choice("0123456789abcdef") + old[at + 1 :]] * 20 + [old[:at], old + old[2:]]
    return [old + 1, old - 1] * 5 if isinstance(old, int) else []


def test_bundle__changed_anywhere__ends_in_a_line_and_is_told_where_it_can_be(
    bundle: Path, shell: Terminal, audited: Audited, monkeypatch: pytest.MonkeyPatch
) -> None:
    truth, chance = entries_of(bundle), campaign.source("bundles")
    for _ in range(campaign.size(60, 5_000)):
        name, entries = changed(chance, truth)
        pack(shell.home / "changed.zip", entries, honest=name != "manifest.json")
        ran = shell.audit_any("--from", "changed.zip")
        assert ran.last.get("code") in {None, "audit_differs", "bundle_refused", "log_incomplete"}, (name, ran.last)
        if name.startswith("service/"):
            assert ran.last["code"] == "audit_differs", name
