"""The public reads that are compared, as requests to the api: what the list, a bounty, the client and the pages ask.

Each shows as much of a small index as of a large one, and each comes in several variants, about other bounties or
accounts, so that not one row is read again and again.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Final

from service_cli.queries.judgeable import BESIDE, MORE_OPEN

from bench.generated.bounties import BOUNTIES_OF_POSTER, GUARDIANS, Population, time_of
from bench.generated.reading import Question

VARIANTS: Final = 12
SHOWN: Final = 10
JUDGED: Final = 5
"""Bounties that a Guardian is shown: a small index has few to be judged."""


def questions(population: Population) -> Iterator[tuple[str, Sequence[Question]]]:
    """Yield each kind of question by its name, with its variants."""
    whole = population.bounties // BOUNTIES_OF_POSTER
    yield "list", [_list("")]
    yield "detail", [Question(f"/api/bounties/{bounty}") for bounty in _open(population)]
    yield "search", [_list(f"search=rare{1 + _spread(whole - 2, variant)}") for variant in range(VARIANTS)]
    judged = {"status": "open", "reveal_at_lte": time_of(population.last_block), "roster_version_in": [1]}
    given = {"open": judged, "first": JUDGED, "beside": BESIDE}
    bodies = [{"query": MORE_OPEN, "variables": given | {"guardian": guardian}} for guardian in GUARDIANS]
    yield "subgraph", [Question("/subgraph", json.dumps(body).encode()) for body in bodies]


def _list(query: str) -> Question:
    return Question(f"/api/bounties?limit={SHOWN}&{query}")


def _spread(whole: int, variant: int) -> int:
    """Numbers of 1 to ``whole``, far from each other."""
    return 1 + (whole * (2 * variant + 1) // (2 * VARIANTS)) % whole


def _open(population: Population) -> list[int]:
    """Return bounties old enough to have their Submissions and no Verdict."""
    return [population.bounties - population.life * 7 // 10 - variant % 5 for variant in range(VARIANTS)]
