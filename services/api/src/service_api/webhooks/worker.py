"""Sending facts to webhooks: one loop that decides what is sent, and threads that send.

Each webhook has at most one message on its way, so that it gets its facts in order. What is started has a place in its
lane (``lanes.py``); the rest waits where it is, in the database, and is looked at again when a place is free. What has
happened is written by the loop, many at a time: a killed worker repeats, under the same ids, what it did not write.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from itertools import groupby
from operator import attrgetter
from queue import Empty, SimpleQueue
from typing import Final

from bounty_protocol.clock import Clock
from bounty_protocol.crypto.x25519 import Identity
from bounty_protocol.types import Address, ChainId
from bounty_protocol.wire.changes import Change
from bounty_protocol.wire.values import ChangeNumber, Finality, WebhookId, WebhookState
from service_common.db import hub_index as t
from service_common.db.app import work_notices
from service_common.db.engine import reading, single
from service_common.db.hub_reads import Head, read_head
from service_common.log import get_logger
from sqlalchemy import Engine, bindparam, func, select

from service_api.changes import read_changes
from service_api.webhooks.deliveries import (
    DueWebhook,
    Ended,
    SentFacts,
    admit_new,
    has_due,
    list_asked,
    list_hearing,
    pass_over,
    recount,
    write_ended,
    write_progress,
)
from service_api.webhooks.lanes import Lanes
from service_api.webhooks.messages import (
    MAX_FACTS,
    Message,
    challenge_message,
    facts_message,
    message_of_test,
    missed_message,
    signed,
    work_message,
)
from service_api.webhooks.metrics import ATTEMPTS, SWITCHED_OFF
from service_api.webhooks.notices import NextNotice, SealedWorkNotice, next_notice, read_notices
from service_api.webhooks.receivers import ReceiverRules, parse_receiver
from service_api.webhooks.secrets import CannotOpen, open_sealed
from service_api.webhooks.sending import AttemptEnd, AttemptResult, Sender
from service_api.webhooks.subjects import Concerned, FactsPosition, Heard, concerned_by, select_heard

PAGE: Final = 500
"""Changes that are looked at together."""
GROUPS: Final = 100
"""Webhooks that are equally far are looked at together; the greatest number of groups in one look."""
LOOK_SECONDS: Final = 1.0
"""How often it looks for webhooks that are new, to be tested or to be tried again, where no fact is new."""
PROGRESS_SECONDS: Final = 5.0
"""How often it is written that nothing is left to send."""

_NEWS: Final = select(
    t.head.c.hub_address,
    t.head.c.halted,
    t.head.c.finalized_number,
    t.head.c.block_number,
    select(func.max(t.changes.c.number)).scalar_subquery().label("newest"),
    select(func.max(work_notices.c.number)).scalar_subquery().label("newest_notice"),
).where(t.head.c.chain_id == bindparam("chain_id"))
"""Whether anything may be new: asked once a second and with each notification, ten times a second while something is on
its way."""

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Page:
    """Changes after the cursor of some webhooks, and whom their bounties concern."""

    head: Head
    changes: Sequence[Change]
    notices: Sequence[SealedWorkNotice]
    concerned: Concerned


@dataclass
class Deliverer:
    """Sends what is to be sent, while it is the only one that does."""

    engine: Engine
    chain_id: ChainId
    hub_address: Address
    keyring: tuple[Identity, ...] = field(repr=False)
    rules: ReceiverRules
    sender: Sender
    clock: Clock
    lanes: Lanes = field(default_factory=Lanes)
    _ended: SimpleQueue[Ended] = field(default_factory=SimpleQueue)
    _asked: list[DueWebhook] = field(default_factory=list)
    """Those to be challenged or tested, in their turn."""
    _others: list[DueWebhook] = field(default_factory=list)
    """Those that may have something to hear, and were slow or failed. Of both there may be thousands that wait for a
    place, so they are read once a second."""
    _read_at: float = float("-inf")
    _seen: tuple[int, int, int, int] | None = None
    _looked_at: float = float("-inf")
    _progress_at: float = float("-inf")
    _more: bool = False
    """Whether there are changes that the last look did not come to."""

    @property
    def idle(self) -> bool:
        """Whether nothing is on its way."""
        return self.lanes.idle()

    @property
    def rests(self) -> bool:
        """Whether nothing is on its way, and nothing was left for the next look."""
        return self.idle and not self._more

    def look(self) -> int:
        """Start what is due, where anything may be new; how many messages. ``IndexOfAnotherHub`` where the database is
        not this deployment's."""
        with single(self.engine) as connection:
            news = connection.execute(_NEWS, {"chain_id": self.chain_id}).first()
        if news is None or news.halted is not None:
            return 0
        if news.hub_address != self.hub_address:
            raise IndexOfAnotherHub
        newest = ChangeNumber(news.newest or 0)
        newest_notice = news.newest_notice or 0
        seen = (newest, news.finalized_number, news.block_number, newest_notice)
        if not self._more and seen == self._seen and self.clock.monotonic() - self._looked_at < LOOK_SECONDS:
            return 0
        recounts = self._seen is None or newest < self._seen[0]
        if not recounts and not self._more and not has_due(self.engine, self._now(), newest, newest_notice):
            self._seen, self._looked_at = seen, self.clock.monotonic()
            self._asked, self._others = [], []
            self._write_progress()
            return 0
        admitted = admit_new(self.engine, self._now())
        if admitted or recounts:
            self._count(admitted, recount(self.engine))
        self._seen, self._looked_at = seen, self.clock.monotonic()
        return self._start(newest, newest_notice, is_read_anew=bool(admitted))

    def collect(self, seconds: float) -> int:
        """Wait this long for attempts to end, and write their results; how many."""
        ended = list(self._take(seconds))
        if not ended:
            return 0
        off = write_ended(self.engine, ended, self._now())
        for each in ended:
            self.lanes.ended(each.attempt.due.webhook_id)
            ATTEMPTS.labels(each.outcome.result.value).inc()
        for webhook_id in off:
            SWITCHED_OFF.inc()
            log.info("webhook switched off", webhook_id=webhook_id)
        self._looked_at = float("-inf")  # they may have more to hear
        return len(ended)

    def drain(self, is_time: Callable[[], bool], pause: float) -> None:
        """Let what is on its way end, as long as there is time, waiting for ``pause`` seconds at a time.

        What may take long is not started any more. While it is waited for, proven receivers go on getting their facts.
        """
        long = frozenset({self.lanes.new, self.lanes.others, self.lanes.repeated})
        for closed in (long, long | {self.lanes.proven}):
            self.lanes.closed = closed
            while not self.lanes.idle(*closed) and is_time():
                self.look()
                self.collect(pause)

    def close(self) -> None:
        """Wait for the threads."""
        self.lanes.close()

    def _take(self, seconds: float) -> Iterable[Ended]:
        try:
            yield self._ended.get(timeout=seconds)
            while True:
                yield self._ended.get_nowait()
        except Empty:
            return

    def _count(self, admitted: int, recounted: int) -> None:
        if admitted:
            log.info("webhooks registered", count=admitted)
        if recounted:
            log.warning("webhooks go on in an index that counts anew", count=recounted)

    def _start(self, newest: ChangeNumber, newest_notice: int, *, is_read_anew: bool) -> int:
        now = self._now()
        if is_read_anew or self.clock.monotonic() - self._read_at >= LOOK_SECONDS:
            self._read_at = self.clock.monotonic()
            self._asked = self.lanes.in_turn(self._free(list_asked(self.engine, now)))
            self._others = self._free(list_hearing(self.engine, now, newest, newest_notice, proven=False))
        asked = self._start_asked()
        proven = self._free(list_hearing(self.engine, now, newest, newest_notice, proven=True))
        # One that was slow when those that wait were read may be proven by now.
        listed = {each.webhook_id for each in proven}
        self._others = [each for each in self._others if each.webhook_id not in listed]
        facts = self._start_facts([*proven, *self._others])
        if not facts and not self._more:
            self._write_progress()
        return asked + facts

    def _write_progress(self) -> None:
        """Now and then, where nothing is on its way to receivers that answer."""
        now = self.clock.monotonic()
        if self.lanes.idle(self.lanes.proven) and now - self._progress_at >= PROGRESS_SECONDS:
            self._progress_at = now
            write_progress(self.engine, self.chain_id, self._now())

    def _free(self, listed: Iterable[DueWebhook]) -> list[DueWebhook]:
        """Those to which nothing is on its way."""
        return [each for each in listed if not self.lanes.has(each.webhook_id)]

    def _start_asked(self) -> int:
        """Challenges and tests."""
        waiting = list[DueWebhook]()
        for due in self._free(self._asked):
            if self.lanes.has_place(due):
                make = message_of_test if due.state is WebhookState.ACTIVE else challenge_message
                self._hand_over(due, make(due.webhook_id, self.clock.now()))
            else:
                waiting.append(due)
        started, self._asked = len(self._asked) - len(waiting), waiting
        return started

    def _start_facts(self, to_hear: list[DueWebhook]) -> int:
        """Start the next message of each that gets a place; those that are equally far read the same page."""
        far = attrgetter("finality", "cursor.change")
        ready = sorted(filter(self.lanes.has_place, to_hear), key=far)
        groups = [list(group) for _, group in groupby(ready, key=far)]
        # The proven first; of the others those that waited longest, however far behind the rest is.
        turns = {each.webhook_id: turn for turn, each in enumerate(self.lanes.in_turn(self._others))}
        groups.sort(key=lambda group: min(-1 if each.proven else turns[each.webhook_id] for each in group))
        self._more = len(groups) > GROUPS or any(each.proven and not self.lanes.has_place(each) for each in to_hear)
        started, looked_at = 0, set[WebhookId]()
        for group in groups[:GROUPS]:
            if any(map(self.lanes.has_place, group)):  # still
                started += self._start_group(group)
                looked_at |= {each.webhook_id for each in group}
        self._others = [each for each in self._others if each.webhook_id not in looked_at]
        return started

    def _start_group(self, group: list[DueWebhook]) -> int:
        page = self._read(group)
        self._more |= PAGE in (len(page.changes), len(page.notices))
        started, silent = 0, dict[tuple[FactsPosition, int], list[DueWebhook]]()
        for due in self.lanes.in_turn(group):
            heard = _heard(due, page)
            noticed = next_notice(due.subject, due.after_notice, page.notices, page.concerned)
            if due.missed is None and not heard.changes and noticed.notice is None:
                silent.setdefault((heard.cursor, noticed.after), []).append(due)
            elif self.lanes.has_place(due):
                started += self._hand_over(due, *_next_message(due, page, heard, noticed))
            else:
                self._more |= due.proven
        for (cursor, after_notice), passed in silent.items():
            if cursor != passed[0].cursor or any(after_notice != each.after_notice for each in passed):
                pass_over(self.engine, passed, cursor, after_notice)
        return started

    def _read(self, group: Sequence[DueWebhook]) -> _Page:
        """What comes after these webhooks, which are equally far in the facts."""
        finality, after = group[0].finality, group[0].cursor.change
        subjects = {each.subject for each in group}
        with reading(self.engine) as connection:
            head = read_head(connection, self.chain_id)
            if head is None or head.halted is not None:
                raise IndexGone
            only_final = finality is Finality.FINALIZED
            changes = read_changes(connection, head, after, PAGE, only_final=only_final)
            notices = read_notices(connection, min(each.after_notice for each in group), PAGE)
            named = {each.bounty_id for each in notices}
            return _Page(head, changes, notices, concerned_by(connection, changes, subjects, named))

    def _hand_over(self, due: DueWebhook, message: Message, attempt: SentFacts | None = None) -> int:
        """Give a message to a thread."""
        attempt = attempt or SentFacts(due, message.message_id)
        self.lanes.start(due, partial(self._send, attempt, message))
        return 1

    def _send(self, attempt: SentFacts, message: Message, seconds: float) -> None:
        """In a thread."""
        with ExitStack() as always:
            outcome = AttemptResult(AttemptEnd.UNSENDABLE, None, 0.0)
            always.callback(lambda: self._ended.put(Ended(attempt, outcome)))
            due = attempt.due
            try:
                receiver = parse_receiver(due.url, self.rules)
                keys = self._secrets(due)
            except (ValueError, CannotOpen) as error:
                log.warning("a webhook cannot be sent to", webhook_id=due.webhook_id, reason=type(error).__name__)
                return
            outcome = self.sender.send(receiver, signed(message, keys, self.clock.now()), seconds)

    def _secrets(self, due: DueWebhook) -> list[bytes]:
        """What its messages are signed with: its secret, and the former ones that are valid and open. A rotation is
        the way out where the key of the former ones is lost. ``CannotOpen`` where the present one does not open."""
        present, *former = due.sealed_secrets
        secrets = [open_sealed(present, self.keyring, due.webhook_id)]
        for sealed in former:
            with suppress(CannotOpen):
                secrets.append(open_sealed(sealed, self.keyring, due.webhook_id))
        return secrets

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self.clock.now(), UTC)


def _heard(due: DueWebhook, page: _Page) -> Heard:
    """A webhook's next message; after a failure the same facts as before, as far as they still hold."""
    again = [change for change in page.changes if due.until is not None and change.number <= due.until]
    heard = select_heard(due.subject, due.cursor, again, page.concerned, MAX_FACTS)
    return heard if heard.changes else select_heard(due.subject, due.cursor, page.changes, page.concerned, MAX_FACTS)


def _next_message(due: DueWebhook, page: _Page, heard: Heard, noticed: NextNotice) -> tuple[Message, SentFacts]:
    if due.missed is not None:
        message = missed_message(due.webhook_id, page.head, due.missed, due.cursor.change)
        return message, SentFacts(due, message.message_id, due.cursor, missed=True)
    if not heard.changes and noticed.notice is not None:
        message = work_message(due.webhook_id, page.head, noticed.notice)
        return message, SentFacts(due, message.message_id, after_notice=noticed.after)
    message = facts_message(due.webhook_id, page.head, heard.changes)
    return message, SentFacts(due, message.message_id, heard.cursor)


class IndexGone(Exception):
    """The index was halted or emptied meanwhile."""


class IndexOfAnotherHub(Exception):
    """The index in this database is of another Hub."""
