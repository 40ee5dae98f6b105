"""Each question that a page has, as a method with a typed answer.

An answer is what the API states. What can be checked here is checked: bytes against their commitment, rosters against
the hash that the bounty pinned. What does not hold is not returned as if it did.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar
from urllib.parse import urlencode

from bounty_protocol.domain.commitments import report_commitment
from bounty_protocol.domain.lifecycle import BountyStatus
from bounty_protocol.foreign_json import read_object
from bounty_protocol.types import Address, BountyId, Bytes32
from bounty_protocol.wire.accounts import AccountRecord
from bounty_protocol.wire.bounties import MAX_LIMIT, BountyDetail, BountyItem, BountyList
from bounty_protocol.wire.delivery import DeliveryKey
from bounty_protocol.wire.deployment import Deployment, DeploymentStatus
from bounty_protocol.wire.reading import read
from bounty_protocol.wire.withheld import MAX_LIMIT as MOST_WITHHELD
from bounty_protocol.wire.withheld import WithheldList

from service_web.api import rows
from service_web.api.client import ApiReader, ApiRefused, ApiUnavailable, KeptAnswer, Question
from service_web.api.rows import HEAD, IndexHead, read_rows

T = TypeVar("T")
PAGE_LENGTH: Final = 20
MOST_ROWS: Final = 1_000
"""Rows of a list field that the API returns at once."""
FEED_LENGTH: Final = 50
MOST_OF_PERSON: Final = 500
"""Rows of each kind of an account, the newest."""
_IDS_AT_ONCE: Final = 500


@dataclass(frozen=True, slots=True)
class PersonRows:
    """An account's events, the newest first."""

    posted: tuple[rows.BountyRow, ...]
    submitted: tuple[rows.SubmissionRow, ...]
    judged: tuple[rows.VerdictRow, ...]
    claimed: tuple[rows.ClaimRow, ...]
    rosters: tuple[rows.MemberRow, ...]

    @property
    def named(self) -> frozenset[BountyId]:
        """What it submitted to, judged or was paid for."""
        submitted = frozenset(row.bounty_id for row in self.submitted)
        return submitted | {row.bounty_id for row in self.judged} | {row.bounty_id for row in self.claimed}


@dataclass(frozen=True, slots=True)
class RecentRows:
    """The newest of what happened, for feeds. ``decided`` are the bounties that ended last, whenever they were created;
    nobody judged or claimed some of them."""

    created: tuple[rows.BountyRow, ...]
    decided: tuple[rows.BountyRow, ...]
    verdicts: tuple[rows.VerdictRow, ...]
    claims: tuple[rows.ClaimRow, ...]


class Api:
    """The public API, as one process of the pages reads it. Thread-safe."""

    def __init__(self, client: ApiReader) -> None:
        self._client = client

    def deployment(self) -> KeptAnswer[Deployment]:
        """Chain, Hub, token, fees, roster, limits."""
        return self._client.ask(Question("/api/deployment"), _shape(Deployment))

    def status(self) -> KeptAnswer[DeploymentStatus]:
        """How far the index is, and what all bounties come to, as the API states it."""
        return self._client.ask(Question("/api/status"), _shape(DeploymentStatus))

    def delivery_key(self) -> KeptAnswer[DeliveryKey]:
        """The deployment's delivery key, as its holder states it."""
        return self._client.ask(Question("/api/deployment/delivery-key"), _shape(DeliveryKey))

    def bounties(
        self, filters: Mapping[str, str], cursor: str | None, limit: int = PAGE_LENGTH
    ) -> KeptAnswer[BountyList]:
        """A page of the list."""
        query = {**filters, "limit": str(limit)} | ({} if cursor is None else {"cursor": cursor})
        return self._client.ask(Question(f"/api/bounties?{urlencode(query)}"), _shape(BountyList))

    def listed(self, filters: Mapping[str, str], most: int) -> tuple[tuple[BountyItem, ...], bool]:
        """The first bounties of the list, at most ``most``, and whether it has more."""
        found: tuple[BountyItem, ...] = ()
        cursor = None
        while len(found) < most:
            page = self.bounties(filters, cursor, MAX_LIMIT).value
            found, cursor = found + page.items, page.next_cursor
            if cursor is None:
                return found, False
        return found, True

    def bounty(self, bounty_id: BountyId) -> KeptAnswer[BountyDetail]:
        """One bounty; its roster hashes to what it pinned."""

        def parse(body: bytes) -> BountyDetail:
            found = read(BountyDetail, _object(body))
            roster = found.guardian_roster
            computed = roster.compute_hash(found.chain_id, found.hub_address)
            if not (found.bounty_id == bounty_id and computed == found.facts.guardian_roster_hash):
                raise ValueError("another bounty, or a roster that is not the pinned one")
            return found

        return self._client.ask(Question(f"/api/bounties/{bounty_id}"), parse)

    def written_verdict(self, commitment: Bytes32) -> bytes:
        """The exact bytes behind a report commitment; ``ApiMalformed`` where others came."""

        def parse(body: bytes) -> bytes:
            if report_commitment(body) != commitment:
                raise ValueError("bytes that do not hash to the report commitment")
            return body

        return self._client.ask(Question(f"/api/written-verdicts/{commitment}"), parse).value

    def withheld(self, after: int, limit: int = MOST_WITHHELD) -> KeptAnswer[WithheldList]:
        """A page of what the operator does not show; ``ApiAbsent`` of an API of an earlier release."""
        return self._client.ask(Question(f"/api/withheld?after={after}&limit={limit}"), _shape(WithheldList))

    def head(self) -> KeptAnswer[IndexHead]:
        """How far the index is."""
        return self._ask_rows(rows.question(**{HEAD: ("", IndexHead)}), lambda data: read(IndexHead, data[HEAD]))

    def history(self, bounty_id: BountyId) -> KeptAnswer[rows.BountyActivity]:
        """Submissions, Verdicts and claims of one bounty."""
        question = rows.question(bounty=(f"(id: {rows.text(str(bounty_id))})", rows.BountyActivity))
        return self._ask_rows(question, lambda data: read(rows.BountyActivity, data["bounty"]))

    def replacements(self, ids: frozenset[BountyId]) -> tuple[rows.ReplacementRow, ...]:
        """Verdicts of these bounties that replaced earlier ones, the latest of each Guardian, the newest first, at most
        a hundred; none of an API of an earlier release, which has no such list."""
        if not ids:
            return ()
        listed = ", ".join(rows.text(str(each)) for each in sorted(ids, reverse=True)[:500])
        latest = f"where: {{bounty_id_in: [{listed}], replaced_again_time: null}}"
        arguments = f"({latest}, orderBy: block_number, orderDirection: desc, first: 100)"
        question = rows.question(verdict_replacements=(arguments, rows.ReplacementRow))
        try:
            return self._ask_rows(
                question, lambda data: read_rows(data, "verdict_replacements", rows.ReplacementRow)
            ).value
        except ApiRefused:
            return ()

    def lost_of(self, bounty_id: BountyId) -> tuple[rows.LostRow, ...]:
        """Submissions to a bounty whose sealed bytes the storage has no longer, at most a hundred."""
        return self._lost(f"bounty_id: {rows.text(str(bounty_id))}")

    def lost_by(self, account: Address) -> tuple[rows.LostRow, ...]:
        """The same of a Solver."""
        return self._lost(f"solver_address: {rows.text(account)}")

    def _lost(self, condition: str) -> tuple[rows.LostRow, ...]:
        """None of an API of an earlier release, which does not state it."""
        question = rows.question(submissions=(f"(where: {{{condition}, lost_since_gt: 0}}, first: 100)", rows.LostRow))
        try:
            return self._ask_rows(question, lambda data: read_rows(data, "submissions", rows.LostRow)).value
        except ApiRefused:
            return ()

    def person(self, account: Address) -> KeptAnswer[PersonRows]:
        """Everything of one account, of each kind the newest ``MOST_OF_PERSON``."""

        def newest(field: str) -> str:
            where = f"where: {{{field}: {rows.text(account)}}}"
            return f"({where}, orderBy: block_number, orderDirection: desc, first: {MOST_OF_PERSON})"

        question = rows.question(
            bounties=(newest("poster_address"), rows.BountyRow),
            submissions=(newest("solver_address"), rows.SubmissionRow),
            verdicts=(newest("guardian_address"), rows.VerdictRow),
            claims=(newest("recipient"), rows.ClaimRow),
            roster_members=(newest("guardian_address"), rows.MemberRow),
        )
        return self._ask_rows(
            question,
            lambda data: PersonRows(
                read_rows(data, "bounties", rows.BountyRow),
                read_rows(data, "submissions", rows.SubmissionRow),
                read_rows(data, "verdicts", rows.VerdictRow),
                read_rows(data, "claims", rows.ClaimRow),
                read_rows(data, "roster_members", rows.MemberRow),
            ),
        )

    def record(self, account: Address) -> KeptAnswer[AccountRecord]:
        """An account's record; ``ApiAbsent`` of an API of an earlier release."""
        return self._client.ask(Question(f"/api/accounts/{account}"), _shape(AccountRecord))

    def awarded(self) -> KeptAnswer[tuple[rows.BountyRow, ...]]:
        """The newest awarded bounties, at most a hundred."""
        arguments = '(where: {outcome: "awarded"}, orderBy: block_number, orderDirection: desc, first: 100)'
        question = rows.question(bounties=(arguments, rows.BountyRow))
        return self._ask_rows(question, lambda data: read_rows(data, "bounties", rows.BountyRow))

    def bounty_rows(self, ids: frozenset[BountyId]) -> Mapping[BountyId, rows.BountyRow]:
        """Bounties by their ids, 500 to a question."""
        wanted, found = sorted(ids, reverse=True), dict[BountyId, rows.BountyRow]()
        for start in range(0, len(wanted), _IDS_AT_ONCE):
            listed = ", ".join(rows.text(str(each)) for each in wanted[start : start + _IDS_AT_ONCE])
            arguments = f"(where: {{bounty_id_in: [{listed}]}}, first: {_IDS_AT_ONCE})"
            question = rows.question(bounties=(arguments, rows.BountyRow))
            answer = self._ask_rows(question, lambda data: read_rows(data, "bounties", rows.BountyRow))
            found |= {row.bounty_id: row for row in answer.value}
        return found

    def rosters(self) -> KeptAnswer[tuple[rows.RosterRow, ...]]:
        """Every published roster version, the newest first, at most a hundred."""
        question = rows.question(
            guardian_rosters=("(orderBy: version, orderDirection: desc, first: 100)", rows.RosterRow)
        )
        return self._ask_rows(question, lambda data: read_rows(data, "guardian_rosters", rows.RosterRow))

    def decided(self) -> KeptAnswer[tuple[rows.BountyRow, ...]]:
        """The newest decided bounties, at most a thousand."""
        arguments = f'(where: {{status: "final"}}, orderBy: block_number, orderDirection: desc, first: {MOST_ROWS})'
        question = rows.question(bounties=(arguments, rows.BountyRow))
        return self._ask_rows(question, lambda data: read_rows(data, "bounties", rows.BountyRow))

    def verdicts(self) -> KeptAnswer[tuple[rows.VerdictRow, ...]]:
        """The newest Verdicts, at most a thousand."""
        arguments = f"(orderBy: block_number, orderDirection: desc, first: {MOST_ROWS})"
        question = rows.question(verdicts=(arguments, rows.VerdictRow))
        return self._ask_rows(question, lambda data: read_rows(data, "verdicts", rows.VerdictRow))

    def recent(self) -> KeptAnswer[RecentRows]:
        """The latest event."""
        newest = f"orderDirection: desc, first: {FEED_LENGTH}"
        events = f"(orderBy: block_number, {newest})"
        last_decided = f'(where: {{status: "final"}}, orderBy: settled_at, {newest})'
        question = rows.question(
            bounties=(events, rows.BountyRow),
            verdicts=(events, rows.VerdictRow),
            claims=(events, rows.ClaimRow),
            **{"decided: bounties": (last_decided, rows.BountyRow)},
        )
        return self._ask_rows(
            question,
            lambda data: replace(_recent_rows(data), decided=read_rows(data, "decided", rows.BountyRow)),
        )

    def followed(self, filters: Mapping[str, str]) -> RecentRows:
        """The newest open and final bounties that match, and what happened in them, the latest first."""
        found = [self.bounties({**filters, "status": each.value}, None, MAX_LIMIT).value for each in BountyStatus]
        ids = sorted((item.bounty_id for page in found for item in page.items), reverse=True)
        if not ids:
            return RecentRows((), (), (), ())
        listed = ", ".join(rows.text(str(each)) for each in ids)
        among = f"where: {{bounty_id_in: [{listed}]}}"
        newest = f"({among}, orderBy: block_number, orderDirection: desc, first: {MAX_LIMIT})"
        question = rows.question(
            bounties=(f"({among}, first: {len(ids)})", rows.BountyRow),
            verdicts=(newest, rows.VerdictRow),
            claims=(newest, rows.ClaimRow),
        )
        return self._ask_rows(question, _recent_rows).value

    def _ask_rows(self, question: Question, parse: Callable[[Mapping[str, Any]], T]) -> KeptAnswer[T]:
        def take(body: bytes) -> T:
            data = _object(body).get("data")
            if not isinstance(data, dict):
                raise ValueError("an answer without data")
            try:
                return parse(data)
            except (KeyError, TypeError) as error:
                raise ValueError("an answer of another form") from error

        return self._client.ask(question, take)


def _recent_rows(data: Mapping[str, Any]) -> RecentRows:
    return RecentRows(
        created=read_rows(data, "bounties", rows.BountyRow),
        decided=(),
        verdicts=read_rows(data, "verdicts", rows.VerdictRow),
        claims=read_rows(data, "claims", rows.ClaimRow),
    )


def _object(body: bytes) -> dict[str, Any]:
    """One title that is no text hides no list: ``hostile`` shows halves of pairs as such."""
    return read_object(body, with_half_pairs=True)


def _shape(shape: type[T]) -> Callable[[bytes], T]:
    return lambda body: read(shape, _object(body))


__all__ = ["Api", "ApiUnavailable", "PersonRows", "RecentRows"]
