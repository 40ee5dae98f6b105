"""Who may be sent to at the same time: lanes by what a receiver has proven, and everybody's share of each.

A receiver that answered soon the last time shares nothing with one that did not, or that nobody knows yet; first
challenges share nothing with repetitions. In each lane one account, and one site as far as names show it, has a share,
and of those that wait the one goes first before which the fewest of its account and site wait: thousands that are
registered at once hold up each other, and nobody else.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final

from bounty_protocol.wire.values import WebhookId, WebhookState

from service_api.webhooks.deliveries import DueWebhook


@dataclass(frozen=True, slots=True)
class Lane:
    """Attempts at a time, seconds of each, and threads; and the share of one account and of one site.

    More places than threads: those that wait for a thread are about to be sent to, since the others are fast.
    """

    name: str
    threads: int
    places: int
    seconds: float
    of_account: int
    of_site: int


PROVEN: Final = Lane("proven", threads=64, places=256, seconds=5.0, of_account=16, of_site=256)
NEW: Final = Lane("new", threads=64, places=64, seconds=10.0, of_account=4, of_site=8)
"""The first challenge of a registration, and what a subscriber requests itself."""
OTHERS: Final = Lane("others", threads=32, places=32, seconds=10.0, of_account=4, of_site=8)
"""Receivers that were slow or failed."""
REPEATED: Final = Lane("repeated", threads=16, places=16, seconds=10.0, of_account=2, of_site=4)
"""Challenges that were not answered before."""


@dataclass
class Lanes:
    """Attempts under way."""

    proven: Lane = PROVEN
    new: Lane = NEW
    others: Lane = OTHERS
    repeated: Lane = REPEATED
    closed: frozenset[Lane] = frozenset()
    """Nothing more is started there."""
    _threads: dict[Lane, ThreadPoolExecutor] = field(init=False)
    _on_their_way: dict[WebhookId, tuple[Lane, DueWebhook]] = field(default_factory=dict)
    _taken: Counter[tuple[Lane, str]] = field(default_factory=Counter)
    """Places of each lane, and of each account and site in it."""

    def __post_init__(self) -> None:
        self._threads = {
            lane: ThreadPoolExecutor(lane.threads, f"webhooks-{lane.name}")
            for lane in (self.proven, self.new, self.others, self.repeated)
        }

    def of(self, due: DueWebhook) -> Lane:
        """Where the next attempt at this receiver belongs."""
        if due.proven:
            return self.proven
        if due.test_requested_at is not None:
            return self.new
        if due.state is WebhookState.ACTIVE:
            return self.others
        return self.repeated if due.failure_count else self.new

    def __len__(self) -> int:
        return len(self._on_their_way)

    def has(self, webhook_id: WebhookId) -> bool:
        """Whether something is on its way to it."""
        return webhook_id in self._on_their_way

    def idle(self, *lanes: Lane) -> bool:
        """Whether nothing is on its way, in these lanes or in all."""
        return not any(self._taken[lane, ""] for lane in lanes or self._threads)

    def has_place(self, due: DueWebhook) -> bool:
        """Whether this one can be sent to now."""
        lane = self.of(due)
        if lane in self.closed:
            return False
        bounds = (lane.places, lane.of_account, lane.of_site)
        return all(self._taken[key] < most for key, most in zip(_keys(lane, due), bounds, strict=True))

    def start(self, due: DueWebhook, attempt: Callable[[float], None]) -> None:
        """Make an attempt, given its seconds, in a thread of its lane, which has a place."""
        lane = self.of(due)
        self._on_their_way[due.webhook_id] = lane, due
        self._taken.update(_keys(lane, due))
        self._threads[lane].submit(attempt, lane.seconds)

    def ended(self, webhook_id: WebhookId) -> None:
        """Its attempt has ended."""
        lane, due = self._on_their_way.pop(webhook_id)
        self._taken.subtract(_keys(lane, due))
        for key in _keys(lane, due):
            if not self._taken[key]:
                del self._taken[key]

    def in_turn(self, waiting: Iterable[DueWebhook]) -> list[DueWebhook]:
        """Those that wait, in the order in which they get a place: fewest before them of their account or site."""
        before: Counter[tuple[Lane, str]] = Counter()
        ranked = []
        for place, due in enumerate(waiting):
            _, of_account, of_site = _keys(self.of(due), due)
            rank = max(before[of_account] + self._taken[of_account], before[of_site] + self._taken[of_site])
            before.update((of_account, of_site))
            ranked.append((rank, place, due))
        return [due for _, _, due in sorted(ranked, key=lambda each: each[:2])]

    def close(self) -> None:
        """Wait for the threads."""
        for threads in self._threads.values():
            threads.shutdown()


def _keys(lane: Lane, due: DueWebhook) -> tuple[tuple[Lane, str], ...]:
    """The lane as a whole, an account's share and a site's share of it."""
    return (lane, ""), (lane, due.subscriber), (lane, due.site)
