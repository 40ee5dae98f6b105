"""The public reads that are compared, as requests to the api: what the list, a bounty, the client and the pages ask.

Each shows as much of a small index as of a large one, and each comes in several variants, about other bounties or
accounts, so that not one row is read again and again.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Final

from service_cli.queries import judgeable as client

from bench.generated.bounties import BOUNTIES_OF_POSTER, GUARDIANS, Population, time_of
from bench.generated.reading import Question

VARIANTS: Final = 12
SHOWN: Final = 10
JUDGED: Final = 5
"""Bounties that a Guardian is shown: a small index has few to be judged."""


def questions(population: Population, newest_change: int) -> Iterator[tuple[str, Sequence[Question]]]:
    """Each kind of question by its name, with its variants."""
    yield from _lists(population)
    yield from _searches(population)
    yield "detail_open", [Question(f"/api/bounties/{bounty}") for bounty in _open(population)]
    yield "detail_decided", [Question(f"/api/bounties/{bounty}") for bounty in _decided(population)]
    yield from _pages(population)
    yield from _client(population)
    places = [newest_change - 50 - 10 * variant for variant in range(VARIANTS)]
    yield "changes", [Question(f"/api/changes?after={place}&limit=50") for place in places]
    yield "status", [Question("/api/status")]


def _lists(population: Population) -> Iterator[tuple[str, Sequence[Question]]]:
    some = [_spread(population.bounties, variant) for variant in range(VARIANTS)]
    yield "list", [_list("")]
    yield "list_final", [_list("status=final")]
    yield "list_by_award", [_list("sort=award")]
    yield "list_by_deadline", [_list("sort=deadline")]
    yield "list_of_poster", [_list(f"poster_address={population.poster(bounty)}") for bounty in some]
    yield "list_of_solver", [_list(f"solver_address={population.solver(bounty, 0)}") for bounty in some]
    yield "list_of_guardian", [_list(f"guardian_address={guardian}") for guardian in GUARDIANS]
    yield "list_open", [_list("status=open")]
    yield "list_open_by_award", [_list("status=open&sort=award")]
    yield "list_open_by_deadline", [_list("status=open&sort=deadline")]
    yield "list_accepting", [_list("accepting=true")]
    yield "list_judgeable", [_list("judgeable=true")]


def _searches(population: Population) -> Iterator[tuple[str, Sequence[Question]]]:
    whole = population.bounties // BOUNTIES_OF_POSTER
    rare = [f"rare{1 + _spread(whole - 2, variant)}" for variant in range(VARIANTS)]
    yield "search_rare", [_list(f"search={word}") for word in rare]
    yield "search_frequent", [_list("search=parser")]
    yield "search_nothing", [_list("search=nothing-of-it")]


def _pages(population: Population) -> Iterator[tuple[str, Sequence[Question]]]:
    """Pages and feeds, without those that show hundreds of rows: a small index has too few."""
    some = [_spread(population.bounties, variant) for variant in range(VARIANTS)]
    yield "page_list", [Question("/")]
    yield "page_open", [Question(f"/bounties/{each}") for each in _open(population)]
    yield "page_decided", [Question(f"/bounties/{each}") for each in _decided(population)]
    yield "page_person", [Question(f"/people/{population.poster(each)}") for each in some]
    yield "page_deployment", [Question("/deployment")]
    yield "feed", [Question("/feed.atom")]


def _client(population: Population) -> Iterator[tuple[str, Sequence[Question]]]:
    """The questions of a Guardian's client for its next bounties."""
    given: dict[str, object] = {"time": time_of(population.last_block), "skip": 0, "first": JUDGED}
    given |= {"versions": [1], "from": "1"}
    for name, query in (("judgeable", client.JUDGEABLE), ("owed", client.OWED)):
        named = {key: value for key, value in given.items() if f"${key}:" in query}
        guardians = [{"guardian": guardian} if "$guardian:" in query else {} for guardian in GUARDIANS]
        bodies = [{"query": query, "variables": named | guardian} for guardian in guardians]
        yield f"subgraph_{name}", [Question("/subgraph", json.dumps(body).encode()) for body in bodies]


def _list(query: str) -> Question:
    return Question(f"/api/bounties?limit={SHOWN}&{query}")


def _spread(whole: int, variant: int) -> int:
    """Numbers of 1 to ``whole``, far from each other."""
    return 1 + (whole * (2 * variant + 1) // (2 * VARIANTS)) % whole


def _open(population: Population) -> list[int]:
    """Bounties old enough to have their Submissions and no Verdict."""
    return [population.bounties - population.life * 7 // 10 - variant % 5 for variant in range(VARIANTS)]


def _decided(population: Population) -> list[int]:
    """Awarded ones, everything claimed."""
    decided = population.bounties - population.life - 10
    return [each if each % 10 else each + 1 for each in (_spread(decided, variant) for variant in range(VARIANTS))]
