"""docs/hub.md: who might do what with the Hub, why it fails, and the test that tries it.

A forge test says it in a comment above: ``/// @custom:attack actor | move | why it fails``.
"""

import re
from collections.abc import Iterator
from typing import Final

from tools.generate.derived import TOP, part, table

_TESTS: Final = "contracts/test"
_STATED: Final = re.compile(r"(?m)^ +/// @custom:attack ((?:.*\n +/// ?(?!@))*.*)\n(?:^ +///.*\n)*? +function (\w+)\(")
_ACTORS: Final = (
    "anyone",
    "relayer",
    "Poster",
    "Solver",
    "Guardian",
    "Guardians",
    "owner's thief",
    "owner",
    "receiver",
)
_BOOKS: Final = (
    "| anyone | pulls twice, from another's bounty, or as somebody else | per-bounty books after every call of random"
    " histories | `invariant_books_and_bounties_agree` |"
)
"""The one that is not stated in its file, of which evidence is kept."""


def _table() -> Iterator[str]:
    found: dict[str, list[str]] = {actor: [] for actor in _ACTORS}
    for path in sorted((TOP / _TESTS).glob("*.t.sol")):
        for stated, test in _STATED.findall(path.read_text(encoding="utf-8")):
            actor, move, why = " ".join(re.sub(r"(?m)^ +///", "", stated).split()).split(" | ")
            found.setdefault(actor, []).append(f"| {actor} | {move} | {why} | `{test}` |")
    rows = [row for each in found.values() for row in each]
    yield table("| actor | move | why it fails | test |", [*rows, _BOOKS])


HUB_ATTACKS: Final = part("docs/hub.md", "hub-attacks", _table)
