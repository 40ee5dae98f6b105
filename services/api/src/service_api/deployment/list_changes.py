"""The feed of changes: what the index took in and took back, in the order in which it did."""

from bounty_protocol.errors import Issue, ServiceError
from bounty_protocol.wire.changes import ChangeList, ChangeQuery
from bounty_protocol.wire.values import ChangeNumber
from service_common.db.hub_facts import FactSource, HubFacts

from service_api.deployment.changes import newest_change, read_changes
from service_api.read_answer import ReadAnswer


def list_changes(source: FactSource, query: ChangeQuery) -> ReadAnswer[ChangeList]:
    """Return the body of ``GET /api/changes``."""
    with source.open() as facts:
        found = read_changes(facts.connection, facts.head, query.after, query.limit + 1)
        if not found:
            _require_issued(facts, query.after)
    shown = tuple(found[: query.limit])
    following = shown[-1].number if shown else query.after
    return ReadAnswer(ChangeList(shown, following, len(found) > query.limit), facts.head)


def _require_issued(facts: HubFacts, after: ChangeNumber) -> None:
    """Refuse a number that was never issued: it comes from before the index was restored from a backup."""
    if after > newest_change(facts.connection):
        issue = Issue("after", "is beyond the newest change of this index; start again at 0")
        raise ServiceError("invalid_request", "The index has not reached that change.", issues=[issue])
