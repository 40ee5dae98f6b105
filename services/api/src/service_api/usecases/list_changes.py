"""The feed of changes: what the index took in and took back, in the order in which it did."""

from bounty_protocol.errors import Issue, ServiceError
from bounty_protocol.wire.changes import ChangeList, ChangeQuery
from bounty_protocol.wire.values import ChangeNumber
from service_common.db.hub_facts import HubFacts

from service_api.changes import newest_change, read_changes
from service_api.dependencies import Dependencies


def list_changes(deps: Dependencies, query: ChangeQuery) -> ChangeList:
    """The body of ``GET /api/changes``."""
    with deps.facts.open() as facts:
        found = read_changes(facts.connection, facts.head, query.after, query.limit + 1)
        if not found:
            _require_issued(facts, query.after)
    shown = tuple(found[: query.limit])
    return ChangeList(shown, shown[-1].number if shown else query.after, len(found) > query.limit)


def _require_issued(facts: HubFacts, after: ChangeNumber) -> None:
    """A number that was never issued comes from an index that was since restored from a backup."""
    if after > newest_change(facts.connection):
        issue = Issue("after", "is beyond the newest change of this index; start again at 0")
        raise ServiceError("invalid_request", "The index has not come that far.", issues=[issue])
