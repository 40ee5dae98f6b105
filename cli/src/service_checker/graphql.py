"""Every entity of /subgraph, row by row and filter by filter."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from service_checker.expected import ENTITIES, Json, Moment, rows
from service_checker.reading import AnswerCheck
from service_checker.report import alike

PAGE: Final = 500
MOST_ROWS: Final = 1_000
"""Of one list in one query (docs/subgraph.md)."""
MOST_SKIPPED: Final = 5_000
"""Rows before a page, at most: of longer lists the oldest and the newest are read, and those between are not."""
FILTERS: Final = {
    "bounties": ("Bounty_filter", ("bounty_id", "status", "outcome", "poster_address", "escrow_amount",
                                   "submission_deadline", "judging_deadline", "settled_at", "block_number")),
    "submissions": ("Submission_filter", ("bounty_id", "solver_address", "time")),
    "verdicts": ("Verdict_filter", ("bounty_id", "kind", "guardian_address", "block_number")),
    "claims": ("Claim_filter", ("kind", "recipient", "amount", "time")),
}  # fmt: skip
"""The fields of which filters are tried."""
NUMBERS: Final = {"bounty_id", "escrow_amount", "amount"}
"""Decimal strings that are compared as numbers."""
META: Final = "_meta { deployment finalized_block_number hasIndexingErrors block { number hash timestamp } }"


def check_graphql(reading: AnswerCheck) -> None:
    """All rows, then filters on values that the rows have."""
    for entity in ENTITIES:
        with reading.findings.reading("graphql.rows", f"/subgraph {entity}"):
            _check_rows(reading, entity)
        with reading.findings.reading("graphql.order", f"/subgraph {entity}"):
            _check_order(reading, entity)
    for entity, (kind, names) in FILTERS.items():
        for name in names:
            with reading.findings.reading("graphql.filters", f"/subgraph {entity} {name}"):
                _check_filters(reading, entity, kind, name)


def _asked(reading: AnswerCheck, query: str, variables: Mapping[str, object], where: str) -> tuple[Any, list[Moment]]:
    data = reading.api.graphql(query, variables)
    meta, findings = data["_meta"], reading.findings
    number = meta["block"]["number"]
    reading.is_recent(number, where)
    findings.same("graphql.rows", "/subgraph hasIndexingErrors", False, meta["hasIndexingErrors"])
    moments = reading.moments(number)
    findings.same("api.index", f"{where} block hash", moments[0].block.hash, meta["block"]["hash"])
    name = f"eip155:{moments[0].world.chain_id}:{moments[0].world.hub}"
    findings.same("api.deployment", "/subgraph deployment", name, meta["deployment"])
    return data["rows"], moments


def _check_rows(reading: AnswerCheck, entity: str) -> None:
    names, begin = _names(reading, entity), reading.api.received
    seen, moments, is_whole = _read_rows(reading, entity, names, "asc", begin)
    if not is_whole:
        newest, moments, _ = _read_rows(reading, entity, names, "desc", begin)
        seen |= newest
    expected = [rows(moment.world)[entity] for moment in moments]
    closest = min(expected, key=lambda each: _distance(each, seen), default={})
    for key in closest.keys() | seen.keys():
        where = f"/subgraph {entity} {key}"
        if key not in seen and not is_whole:
            reading.findings.skip("graphql.rows", where)
        elif key not in seen:
            reading.findings.add("graphql.rows", where, "a row", "nothing")
        elif key not in closest:
            reading.findings.add("graphql.rows", where, "no row", seen[key])
        else:
            for name, value in closest[key].items():
                reading.findings.same("graphql.rows", f"{where} {name}", value, seen[key].get(name, "nothing"))


def _read_rows(
    reading: AnswerCheck, entity: str, names: str, direction: str, begin: int
) -> tuple[dict[str, Any], list[Moment], bool]:
    """The rows that pages reach in this direction, what the chain was at the last page, and whether these are all."""
    seen, moments, skip = dict[str, Any](), list[Moment](), 0
    while skip <= MOST_SKIPPED:
        part = f"first: {PAGE}, skip: {skip}, orderBy: block_number, orderDirection: {direction}"
        query = f"{{ {META} rows: {entity}({part}) {{ {names} }} }}"
        page, moments = _asked(reading, query, {}, f"/subgraph {entity}")
        reading.api.bound_part(begin)
        for row in page:
            twice = row["id"] in seen
            reading.findings.holds("graphql.rows", f"/subgraph {entity} {row['id']}", "one row", not twice, "two")
            seen[row["id"]] = row
        if len(page) < PAGE:
            return seen, moments, True
        skip += PAGE
    return seen, moments, False


def _check_order(reading: AnswerCheck, entity: str) -> None:
    """Both directions, and a part from the second row on; rows of one block have no order among themselves."""
    for direction in ("asc", "desc"):
        for first, skip in ((MOST_ROWS, 0), (2, 1)):
            part = f"first: {first}, skip: {skip}, orderBy: block_number, orderDirection: {direction}"
            where = f"/subgraph {entity} {part}"
            found, moments = _asked(reading, f"{{ {META} rows: {entity}({part}) {{ block_number }} }}", {}, where)
            wanted = _blocks(entity, direction == "desc", slice(skip, skip + first))
            reading.value("graphql.order", where, moments, wanted, [row["block_number"] for row in found])


def _blocks(entity: str, descending: bool, part: slice) -> Callable[[Moment], list[int]]:
    return lambda moment: sorted(
        (row["block_number"] for row in rows(moment.world)[entity].values()), reverse=descending
    )[part]


def _names(reading: AnswerCheck, entity: str) -> str:
    """The fields that are compared: those of any row that the chain has."""
    world = reading.moment(reading.chain.head.number).world
    found = next(iter(rows(world)[entity].values()), {"id": ""})
    return " ".join(sorted(found))


def _distance(expected: Mapping[str, Json], seen: Mapping[str, Any]) -> int:
    keys = expected.keys() | seen.keys()
    return sum(not alike(expected.get(key), seen.get(key)) for key in keys)


def _check_filters(reading: AnswerCheck, entity: str, kind: str, name: str) -> None:
    world = reading.moment(reading.chain.head.number).world
    values = sorted({row[name] for row in rows(world)[entity].values() if row[name] is not None}, key=_key(name))
    if not values:
        return
    middle = values[len(values) // 2]
    tried: list[tuple[str, Any]] = [("", middle), ("_not", middle), ("_in", [middle]), ("_not_in", [middle])]
    if isinstance(middle, int) or name in NUMBERS:
        tried += [(each, middle) for each in ("_gt", "_gte", "_lt", "_lte")]
    for operation, value in tried:
        query = f"query($where: {kind}) {{ {META} rows: {entity}(first: {MOST_ROWS}, where: $where) {{ id }} }}"
        where = f"/subgraph {entity} {name}{operation} {value}"
        found, moments = _asked(reading, query, {"where": {f"{name}{operation}": value}}, where)
        shown = sorted(row["id"] for row in found)
        chosen = _chosen(entity, _chooser(name, operation, value), shown)
        reading.value("graphql.filters", where, moments, chosen, shown)


def _chosen(entity: str, chosen: Callable[[Json], bool], shown: list[str]) -> Callable[[Moment], list[str]]:
    """The rows that a filter leaves; where these are more than an answer has, any full answer of them is right."""

    def ids(moment: Moment) -> list[str]:
        every = sorted(row["id"] for row in rows(moment.world)[entity].values() if chosen(row))
        is_part = len(set(shown)) == len(shown) == MOST_ROWS < len(every) and set(shown) <= set(every)
        return shown if is_part else every

    return ids


def _key(name: str) -> Callable[[Any], Any]:
    return int if name in NUMBERS else lambda value: value


def _chooser(name: str, operation: str, value: Any) -> Callable[[Json], bool]:
    key = _key(name)

    def holds(row: Json) -> bool:
        found = row[name]
        if operation in {"", "_in"}:
            return bool(found is not None and found in (value if operation else [value]))
        if operation in {"_not", "_not_in"}:
            return bool(found is not None and found not in (value if operation == "_not_in" else [value]))
        if found is None:
            return False
        one, other = key(found), key(value)
        return bool({"_gt": one > other, "_gte": one >= other, "_lt": one < other, "_lte": one <= other}[operation])

    return holds
