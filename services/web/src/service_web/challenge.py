"""Challenge pages as they may be shown: only bytes that hash to what the chain has, checked here and not by the API.

Bytes behind a commitment never change, so what was made of them is kept by commitment.
"""

from collections import OrderedDict
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Final

from bounty_protocol.clock import Clock
from bounty_protocol.domain.challenge import MAX_SUMMARY, MAX_TITLE, ChallengePage, parse_challenge
from bounty_protocol.domain.commitments import spec_commitment
from bounty_protocol.domain.readable import readable_line
from bounty_protocol.domain.tags import MAX_TAGS
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import BountyId, Bytes32
from bounty_protocol.wire.bounties import BountyDetail, BountyItem
from bounty_protocol.wire.values import Tag
from bounty_protocol.wire.withheld import Withheld
from markupsafe import Markup
from service_common.recent import Recent

from service_web.api.answers import Api
from service_web.api.client import ApiAbsent, ApiOverloaded, ApiRefused, ApiUnavailable, current_reader
from service_web.api.rows import BountyRow
from service_web.lookalikes import may_mislead
from service_web.markdown import as_text, render, render_line
from service_web.withheld import WithheldTexts

MAX_KEPT_BYTES: Final = 8 * 1024 * 1024
MAX_TITLES: Final = 20_000
ABSENT_SECONDS: Final = 15.0
"""How long a page that could not be shown is not looked for again, for a list."""
_AT_ONCE: Final = 8


@dataclass(frozen=True)
class Challenge:
    """Verified bytes, and what they say where they are a page. What is drawn of them is drawn once."""

    content: bytes
    commitment: Bytes32
    page: ChallengePage | None
    """None where the bytes are the committed ones and not in the form of a page."""

    @cached_property
    def title(self) -> "Title":
        """For lists."""
        if self.page is None:
            return NO_TITLE
        page = self.page
        return Title(readable_line(page.title), readable_line(page.summary), may_mislead(page.title), page.tags)

    @cached_property
    def body(self) -> Markup:
        """The rendered body; the bytes as text where they are no page."""
        if self.page is None:
            return as_text(self.content)
        return render(self.page.body)

    @cached_property
    def criteria(self) -> tuple[Markup, ...]:
        """Acceptance criteria, rendered."""
        return () if self.page is None else tuple(render_line(each) for each in self.page.acceptance_criteria)

    @cached_property
    def deliverables(self) -> tuple[Markup, ...]:
        """Deliverables, rendered."""
        return () if self.page is None else tuple(render_line(each) for each in self.page.deliverables)


@dataclass(frozen=True, slots=True)
class Title:
    """A bounty in a list. ``title`` None: its page cannot be shown. ``may_mislead``: its letters look like others."""

    title: str | None
    summary: str
    may_mislead: bool
    tags: tuple[str, ...] = ()
    withheld: Withheld | None = None
    """Why there is none, where the operator does not show the page."""


NO_TITLE: Final = Title(None, "", may_mislead=False)
_NOT_NOW: Final = Title(None, "", may_mislead=False)
"""The same, told from it by being another one: the API did not answer."""


def withheld_title(found: Withheld) -> Title:
    """In place of a title that is withheld."""
    return Title(None, "", may_mislead=False, withheld=found)


def stated_title(title: str | None, summary: str | None, tags: tuple[Tag, ...] = ()) -> Title:
    """A title that nobody has checked here, of a page's length at most and harmless to look at."""
    if title is None:
        return NO_TITLE
    stated = title[:MAX_TITLE]
    return Title(
        readable_line(stated), readable_line((summary or "")[:MAX_SUMMARY]), may_mislead(stated), tags[:MAX_TAGS]
    )


def read_challenge(text: str | None, commitment: Bytes32) -> Challenge | None:
    """The challenge of a bounty, where these bytes are the committed ones."""
    if text is None:
        return None
    try:
        content = text.encode()
    except UnicodeEncodeError:  # JSON can name halves of characters, which no bytes are
        return None
    if spec_commitment(content) != commitment:
        return None
    try:
        return Challenge(content, commitment, parse_challenge(content))
    except ServiceError:
        return Challenge(content, commitment, None)


class Challenges:
    """The verified pages of one process, by commitment. Thread-safe."""

    def __init__(self, api: Api, withheld: WithheldTexts, clock: Clock) -> None:
        self._api, self._withheld = api, withheld
        self._lock = Lock()
        self._kept: OrderedDict[Bytes32, Challenge] = OrderedDict()
        self._bytes = 0
        self._titles: OrderedDict[Bytes32, Title] = OrderedDict()
        self._looked: Recent[tuple[BountyId, Bytes32], Title] = Recent(ABSENT_SECONDS / 2, MAX_TITLES, clock)
        self._pool = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="titles")

    def of(self, detail: BountyDetail) -> Challenge | None:
        """The challenge of a bounty. None where it is withheld, or where what was answered is missing or others and the
        bytes are not known."""
        if detail.withheld is not None:
            return None
        commitment = detail.facts.spec_commitment
        with self._lock:
            found = self._kept.get(commitment)
            if found is not None:
                self._kept.move_to_end(commitment)
                return found
        made = read_challenge(detail.challenge, commitment)
        if made is not None:
            self._keep(made)
        return made

    def listed_title(self, item: BountyItem) -> Title:
        """The title of a page whose bytes were verified before, or as the list states it."""
        if item.withheld is not None:
            return withheld_title(item.withheld)
        known = self._known_title(item.facts.spec_commitment)
        return known or stated_title(item.title, item.summary, item.tags)

    def _known_title(self, commitment: Bytes32) -> Title | None:
        with self._lock:
            return self._titles.get(commitment)

    def titles(self, bounties: Iterable[BountyRow]) -> dict[BountyId, Title]:
        """The titles of these bounties, by their commitments; those not known yet are asked for side by side."""
        rows = {row.bounty_id: row for row in bounties}
        notices = {each: self._withheld.page(row.spec_commitment, row.poster_address) for each, row in rows.items()}
        found = {each: withheld_title(notice) for each, notice in notices.items() if notice is not None}
        wanted = {each: row.spec_commitment for each, row in rows.items() if each not in found}
        with self._lock:
            found |= {each: self._titles[at] for each, at in wanted.items() if at in self._titles}
        unknown = [each for each in wanted if each not in found]
        asked = {each: self._pool.submit(copy_context().run, self._look, each, wanted[each]) for each in unknown}
        return found | {each: answer.result() for each, answer in asked.items()}

    def _look(self, bounty_id: BountyId, commitment: Bytes32) -> Title:
        def ask() -> Title:
            try:
                detail = self._api.bounty(bounty_id).value
            except ApiOverloaded:
                raise
            except (ApiAbsent, ApiRefused):
                return NO_TITLE
            except ApiUnavailable:
                return _NOT_NOW
            if detail.withheld is not None:
                return withheld_title(detail.withheld)
            made = self.of(detail) if detail.facts.spec_commitment == commitment else None
            return NO_TITLE if made is None else made.title

        try:
            found = self._looked.get((bounty_id, commitment), ask)
        except ApiOverloaded:  # for one reader: nothing is remembered of it
            return NO_TITLE
        if found is _NOT_NOW:  # perhaps on behalf of another reader
            current_reader().is_lacking = True
        return found

    def _keep(self, made: Challenge) -> None:
        with self._lock:
            if made.commitment not in self._kept:
                self._kept[made.commitment] = made
                self._bytes += len(made.content)
            self._titles[made.commitment] = made.title
            while self._bytes > MAX_KEPT_BYTES:
                _, oldest = self._kept.popitem(last=False)
                self._bytes -= len(oldest.content)
            while len(self._titles) > MAX_TITLES:
                self._titles.popitem(last=False)
