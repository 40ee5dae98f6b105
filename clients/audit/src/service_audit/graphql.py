"""The rows of ``/subgraph``, by ranges of bounties, and those of the deployment."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from service_audit.answers import AnswerCheck
from service_audit.chain import Moment
from service_audit.expected import OF_BOUNTIES, OF_THE_DEPLOYMENT, Rows, bounty_rows, deployment_rows
from service_audit.report import alike
from service_audit.rules import World

PAGE: Final = 500
MOST_SKIPPED: Final = 5_000
"""Rows before a page, at most: what lies behind is not reached in this range (docs/subgraph.md)."""
RANGE_ROWS: Final = 400
"""Rows that a range of bounties is expected to have."""
META: Final = "_meta { deployment finalized_block_number hasIndexingErrors block { number hash timestamp } }"
FIELDS: Final = {
    "bounties": (
        "bounty_id status poster_address spec_commitment guardian_roster_hash roster_version submission_deadline"
        " reveal_at judging_deadline authorization_nonce escrow_amount protocol_fee guardian_fee award_amount"
        " protocol_fee_recipient outcome settlement_reason winner_solver_address winner_submission_commitment refund"
        " guardian_fee_each settled_at settlement_tx_hash"
    ),
    "submissions": "bounty_id solver_address submission_commitment",
    "verdicts": "bounty_id guardian_address kind solver_address submission_commitment report_commitment",
    "verdict_replacements": (
        "bounty_id guardian_address kind solver_address submission_commitment report_commitment replaced_kind"
        " replaced_solver_address replaced_submission_commitment replaced_report_commitment replaced_tx_hash"
        " replaced_time replaced_again_time"
    ),
    "claims": "bounty_id kind recipient amount",
    "guardian_rosters": "version guardian_roster_hash quorum effective_from",
    "roster_members": "version position guardian_address encryption_public_key",
    "delivery_keys": "delivery_public_key effective_from",
    "delivery_key_withdrawals": "delivery_public_key",
}
_BY_BLOCK: Final = "orderBy: block_number, "
PLACED: Final = "id block_number block_hash tx_hash time"
Expected = Callable[[World], Rows]


def check_bounty_rows(reading: AnswerCheck, first: int, last: int | None) -> None:
    """Compare the rows of bounties ``first`` to ``last``; None for all that follow."""
    where = f'bounty_id_gte: "{first}"' + ("" if last is None else f', bounty_id_lte: "{last}"')
    for entity in OF_BOUNTIES:

        def expected(world: World, entity: str = entity) -> Rows:
            end = len(world.bounties) if last is None else last
            wanted = (world.bounties[number] for number in range(first, end + 1) if number in world.bounties)
            return {key: row for bounty in wanted for key, row in bounty_rows(entity, bounty).items()}

        # By the number that filters them: without an end, another order would have the API read a whole table.
        order = "orderBy: bounty_id, " if last is None else _BY_BLOCK
        _check_rows(reading, entity, f"where: {{{where}}}, {order}", expected)


def check_deployment_rows(reading: AnswerCheck) -> None:
    """Compare the rows that are not about bounties."""
    for entity in OF_THE_DEPLOYMENT:
        _check_rows(reading, entity, _BY_BLOCK, lambda world, entity=entity: deployment_rows(entity, world))  # type: ignore[misc]


def ranges(world: World, numbers: Sequence[int] | None) -> Iterator[tuple[int, int | None]]:
    """Yield ranges of bounties that have about ``RANGE_ROWS`` rows; without numbers they cover all, and what follows.

    With numbers each is a range of its own.
    """
    if numbers is not None:
        yield from ((number, number) for number in numbers)
        return
    begin = end = 1
    rows = 0
    for number, bounty in sorted(world.bounties.items()):
        size = 1 + len(bounty.logs)
        if rows and rows + size > RANGE_ROWS:
            yield begin, end
            begin, rows = number, 0
        rows, end = rows + size, number
    yield begin, None


def _check_rows(reading: AnswerCheck, entity: str, where: str, expected: Expected) -> None:
    """Compare all rows of a list by their ids, at the moment to which they fit best."""
    seen, moments, is_whole = _read_rows(reading, entity, where)
    closest = min(
        (expected(world) for world in {id(each.world): each.world for each in moments}.values()),
        key=lambda rows: sum(not alike(rows.get(key), seen.get(key)) for key in rows.keys() | seen.keys()),
        default={},
    )
    for key in closest.keys() | seen.keys():
        place = f"/subgraph {entity} {key}"
        if key not in seen and not is_whole:
            reading.report.pass_over("graphql.rows", place)
        elif key not in seen:
            reading.report.add("graphql.rows", place, "a row", "nothing")
        elif key not in closest:
            reading.report.add("graphql.rows", place, "no row", seen[key])
        else:
            for name, value in closest[key].items():
                reading.report.same("graphql.rows", f"{place} {name}", value, seen[key].get(name, "nothing"))


def _read_rows(reading: AnswerCheck, entity: str, where: str) -> tuple[dict[str, Any], list[Moment], bool]:
    """Return the rows that pages reach, what the chain was at the last page, and whether these are all."""
    seen, moments, skip, begin = dict[str, Any](), list[Moment](), 0, reading.api.received
    while skip <= MOST_SKIPPED:
        part = f"{where}first: {PAGE}, skip: {skip}"
        query = f"{{ {META} rows: {entity}({part}) {{ {PLACED} {FIELDS[entity]} }} }}"
        data = reading.api.graphql(query)
        reading.api.bound_list(begin)
        moments = _moments_of(reading, data["_meta"], f"/subgraph {entity}")
        for row in data["rows"]:
            once = row["id"] not in seen
            reading.report.holds("graphql.rows", f"/subgraph {entity} {row['id']}", "one row", once, "two")
            seen[row["id"]] = row
        if len(data["rows"]) < PAGE:
            return seen, moments, True
        skip += PAGE
    return seen, moments, False


def _moments_of(reading: AnswerCheck, meta: Any, where: str) -> list[Moment]:
    report, chain = reading.report, reading.chain
    report.same("graphql.rows", "/subgraph hasIndexingErrors", False, meta["hasIndexingErrors"])
    moments = chain.moments(int(meta["block"]["number"]))
    reading.is_recent(moments[0].block, where)
    report.same("api.index", f"{where} block hash", moments[0].block.hash, meta["block"]["hash"])
    name = f"eip155:{chain.chain_id}:{chain.hub}"
    report.same("api.deployment", "/subgraph deployment", name, meta["deployment"])
    return moments
