"""What public answers must be, derived from the replay: the forms of docs/interface.md and docs/subgraph.md."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any, Final

from eth_utils.crypto import keccak

from service_audit.chain import Moment
from service_audit.events import ZERO_ADDRESS, ZERO_BYTES32, HubLog, LogPlace
from service_audit.rules import (
    AWARDED,
    NO_SUBMISSIONS,
    OUTCOMES,
    REASONS,
    Bounty,
    HubConfig,
    Roster,
    World,
    award_of,
    choice_of,
    part_of,
)

Json = dict[str, Any]
AMOUNTS: Final = {
    "escrow_amount", "protocol_fee", "guardian_fee", "award", "refund", "guardian_fee_each", "amount", "min_escrow",
}  # fmt: skip
"""Fields that are decimal strings, as ``bounty_id`` is."""
KINDS: Final = {
    "award": "winner_award",
    "refund": "poster_refund",
    "guardian_fee": "guardian_fee",
    "protocol_fee": "protocol_fee",
}
MOST_COUNTED: Final = 1_000
"""Bounties of an account's record in each role: the newest."""

# ---------------------------------------------------------------------- one bounty


def winner_of(bounty: Bounty) -> Json | None:
    """Return the winner of an awarded bounty."""
    ending = bounty.ending
    if ending is None or ending.outcome != AWARDED:
        return None
    return {"solver_address": ending.winner, "submission_commitment": ending.submission}


def outcome_of(bounty: Bounty) -> str | None:
    """Return the outcome's name."""
    return OUTCOMES[bounty.ending.outcome] if bounty.ending else None


def reason_of(bounty: Bounty) -> str | None:
    """Return the name of why it ended."""
    return REASONS[bounty.ending.reason] if bounty.ending else None


def facts(bounty: Bounty, time: int) -> Json:
    """Return ``facts`` at a block's time."""
    return {
        "status": "final" if bounty.ending else "open",
        "accepting": bounty.accepting(time),
        "judgeable": bounty.judgeable(time),
        "poster_address": bounty.poster,
        "spec_commitment": bounty.created.text("spec_commitment"),
        "guardian_roster_hash": bounty.created.text("guardian_roster_hash"),
        **{name: bounty.amount(name) for name in ("submission_deadline", "reveal_at", "judging_deadline")},
        **{name: str(bounty.amount(name)) for name in ("escrow_amount", "protocol_fee", "guardian_fee")},
        "outcome": outcome_of(bounty),
        "settlement_reason": reason_of(bounty),
        "winner": winner_of(bounty),
    }


def block_of(bounty: Bounty) -> Json:
    """Return ``block``: that of the event that set the facts, the creation or the end."""
    place = (bounty.ended or bounty.created).place
    return {"number": place.block_number, "hash": place.block_hash}


def roster(world: World, found: Roster) -> Json:
    """Return ``guardian_roster`` with each member's last sign of life."""
    members = [
        {"guardian_address": account, "encryption_public_key": key, "last_active_at": world.active.get(account)}
        for account, key in zip(found.accounts, found.keys, strict=True)
    ]
    return {
        "version": found.version,
        "guardian_roster_hash": found.hash,
        "quorum": found.quorum,
        "members": members,
    }


def submissions(bounty: Bounty) -> list[Json]:
    """Return ``active_submissions``, by Solver."""
    return [
        {
            "solver_address": solver,
            "submission_commitment": log.text("submission_commitment"),
            "submitted_at": log.place.time,
            "block_number": log.place.block_number,
            "block_hash": log.place.block_hash,
        }
        for solver, log in sorted(bounty.submissions.items())
    ]


def verdict_fields(log: HubLog) -> Json:
    """Return a Verdict as answers have it: null if a no_valid_submission names nothing."""
    kind, solver, submission = choice_of(log)
    return {
        "kind": OUTCOMES.get(kind),
        "solver_address": None if solver == ZERO_ADDRESS else solver,
        "submission_commitment": None if submission == ZERO_BYTES32 else submission,
        "report_commitment": log.text("report_commitment"),
    }


def log_digest(logs: Sequence[HubLog]) -> str:
    """Return the digest of logs (docs/formats.md)."""
    return "0x" + keccak(b"".join(log.digest for log in logs)).hex()


def record(world: World, bounty: Bounty) -> Json:
    """Return the VerificationRecord of a final bounty."""
    ending, ended = bounty.ending, bounty.ended
    if ending is None or ended is None:
        raise ValueError("an open bounty has no record")
    verdicts, amounts = list[Json](), list[Json]()

    def add(kind: str, recipient: str, amount: int) -> None:
        if amount:
            amounts.append({"recipient": recipient, "amount": str(amount), "kind": kind})

    add("winner_award", ending.winner, ending.award)
    add("poster_refund", bounty.poster, ending.refund)
    for guardian in bounty.roster.accounts:
        verdict = bounty.verdicts.get(guardian)
        if verdict is None:
            names = ("kind", "solver_address", "submission_commitment", "report_commitment")
            verdicts.append(dict.fromkeys(names) | {"guardian_address": guardian, "supported_result": False})
            continue
        supported = choice_of(verdict) == (ending.outcome, ending.winner, ending.submission)
        verdicts.append({"guardian_address": guardian, **verdict_fields(verdict), "supported_result": supported})
        add("guardian_fee", guardian, ending.share)
    add("protocol_fee", bounty.recipient, ending.protocol_fee)
    return {
        "version": 1,
        "chain_id": world.chain_id,
        "hub_address": world.hub,
        "bounty_id": str(bounty.id),
        "status": "final",
        "outcome": outcome_of(bounty),
        "settlement_reason": reason_of(bounty),
        "winner": winner_of(bounty),
        "spec_commitment": bounty.created.text("spec_commitment"),
        "guardian_roster_hash": bounty.roster.hash,
        "verdicts": verdicts,
        "amounts": amounts,
        "settlement": {
            "tx_hash": ended.place.tx_hash,
            "block_number": ended.place.block_number,
            "block_hash": ended.place.block_hash,
        },
        "log_digest": log_digest(bounty.logs[: bounty.logs.index(ended) + 1]),
    }


# ---------------------------------------------------------------------- status and accounts


def totals(moment: Moment) -> Json:
    """Return ``totals`` of the status."""
    bounties, time = list(moment.world.bounties.values()), moment.block.time
    paid = dict.fromkeys(KINDS, 0)
    for bounty in bounties:
        for claim in bounty.claims:
            paid[part_of(claim)[0]] += claim.number("amount")
    return {
        "bounty_count": len(bounties),
        "open_count": sum(bounty.ending is None for bounty in bounties),
        "accepting_count": sum(bounty.accepting(time) for bounty in bounties),
        "judgeable_count": sum(bounty.judgeable(time) for bounty in bounties),
        "awarded_count": sum(outcome_of(bounty) == "awarded" for bounty in bounties),
        "unawarded_count": sum(outcome_of(bounty) == "no_valid_submission" for bounty in bounties),
        "escrow_held": str(moment.world.owed()),
        "awards_paid": str(paid["award"]),
        "refunds_paid": str(paid["refund"]),
        "guardian_fees_paid": str(paid["guardian_fee"]),
        "protocol_fees_paid": str(paid["protocol_fee"]),
    }


def account(world: World, address: str) -> Json:
    """Return an account's record, as far as the documents define its figures."""

    def newest(numbers: Sequence[int]) -> list[Bounty]:
        return [world.bounties[number] for number in sorted(numbers, reverse=True)[:MOST_COUNTED]]

    posted, submitted = newest(world.posted.get(address, ())), newest(world.submitted.get(address, ()))
    won = [bounty.ending for bounty in submitted if bounty.ending and bounty.ending.winner == address]
    ended = [bounty.ending for bounty in posted if bounty.ending]
    awarded = [ending for ending in ended if ending.outcome == AWARDED]
    return {
        "poster": {
            "posted": len(posted),
            "open": len(posted) - len(ended),
            "awarded": len(awarded),
            "awards": str(sum(ending.award for ending in awarded)),
            "without_submissions": sum(ending.reason == NO_SUBMISSIONS for ending in ended),
        },
        "solver": {
            "submitted": len(submitted),
            "open": sum(bounty.ending is None for bounty in submitted),
            "won": len(won),
            "awards": str(sum(ending.award for ending in won)),
        },
    }


# ---------------------------------------------------------------------- changes


def placed(place: LogPlace) -> Json:
    """Return where an event is, as answers have it."""
    return {
        "block_number": place.block_number,
        "block_hash": place.block_hash,
        "tx_hash": place.tx_hash,
        "time": place.time,
    }


def change(log: HubLog, replaced: HubLog | None) -> Json:
    """Return an ``event`` of the changes, but for its finality."""
    found: Json = {
        "name": log.name,
        "fields": _change_fields(log),
        "bounty_id": None if log.bounty_id is None else str(log.bounty_id),
        "log_index": log.place.log_index,
        **placed(log.place),
    }
    if replaced is not None:
        tx_hash, time = replaced.place.tx_hash, replaced.place.time
        found["replaces"] = {**verdict_fields(replaced), "tx_hash": tx_hash, "time": time}
    return found


def _change_fields(log: HubLog) -> Json:
    """Return the ``fields``: amounts and ids as decimal strings, enumerations by their names."""
    if log.name == "Deployed":
        config = asdict(HubConfig(*log.fields["config"]))
        return {"config": {name: _wire(name, value) for name, value in config.items()}}
    found = {name: _wire(name, value) for name, value in log.fields.items()}
    for name, names in (("kind", OUTCOMES), ("outcome", OUTCOMES), ("reason", REASONS)):
        if name in found:
            found[name] = names.get(found[name], found[name])
    return found


def _wire(name: str, value: Any) -> Any:
    return str(value) if name in AMOUNTS or name == "bounty_id" else value


def changes(world: World, logs: Sequence[HubLog]) -> list[Json]:
    """Return these events of the world in the form of ``GET /api/changes``."""
    touched = {log.bounty_id for log in logs if log.name == "VerdictRecorded"}
    bounties = [world.bounties[number] for number in touched if number in world.bounties]
    before = {id(each.later): each.before for bounty in bounties for each in bounty.replaced}
    return [change(log, before.get(id(log))) for log in logs]


# ---------------------------------------------------------------------- GraphQL

Rows = dict[str, Json]
"""The rows of an entity by their ids; ``id`` is one of the fields."""
OF_BOUNTIES: Final = ("bounties", "submissions", "verdicts", "verdict_replacements", "claims")
OF_THE_DEPLOYMENT: Final = ("guardian_rosters", "roster_members", "delivery_keys", "delivery_key_withdrawals")


def bounty_rows(entity: str, bounty: Bounty) -> Rows:
    """Return the rows of one bounty in an entity."""
    return {key: {"id": key, **placed(log.place), **values} for key, log, values in _of_bounty(entity, bounty)}


def deployment_rows(entity: str, world: World) -> Rows:
    """Return the rows of an entity that is not about bounties."""
    return {key: {"id": key, **placed(log.place), **values} for key, log, values in _of_deployment(entity, world)}


def _of_bounty(entity: str, bounty: Bounty) -> Iterator[tuple[str, HubLog, Json]]:
    of: Json = {"bounty_id": str(bounty.id)}
    if entity == "bounties":
        yield str(bounty.id), bounty.created, _bounty_row(bounty)
    elif entity == "submissions":
        for solver, log in bounty.submissions.items():
            values = {"solver_address": solver, "submission_commitment": log.text("submission_commitment")}
            yield f"{bounty.id}-{solver}", log, of | values
    elif entity == "verdicts":
        for guardian, log in bounty.verdicts.items():
            yield f"{bounty.id}-{guardian}", log, of | {"guardian_address": guardian} | verdict_fields(log)
    elif entity == "claims":
        for log in bounty.claims:
            kind, recipient = part_of(log)
            values = {"kind": KINDS[kind], "recipient": recipient, "amount": str(log.number("amount"))}
            yield _log_id(log), log, of | values
    else:
        again = {id(each.before): each.later.place.time for each in bounty.replaced}
        for each in bounty.replaced:
            later, compared = each.later, each.compared
            before = {f"replaced_{name}": value for name, value in verdict_fields(compared).items()}
            before |= {"replaced_tx_hash": compared.place.tx_hash, "replaced_time": compared.place.time}
            before["replaced_again_time"] = again.get(id(later))
            values = {"guardian_address": later.text("guardian"), **verdict_fields(later), **before}
            yield _log_id(later), later, of | values


def _of_deployment(entity: str, world: World) -> Iterator[tuple[str, HubLog, Json]]:
    for each in world.rosters.values():
        if entity == "guardian_rosters":
            values: Json = {"version": each.version, "guardian_roster_hash": each.hash, "quorum": each.quorum}
            yield str(each.version), each.log, values | {"effective_from": each.effective_from}
        elif entity == "roster_members":
            for position, (address, key) in enumerate(zip(each.accounts, each.keys, strict=True)):
                member: Json = {"version": each.version, "position": position, "guardian_address": address}
                yield f"{each.version}-{position}", each.log, member | {"encryption_public_key": key}
    for log in world.key_logs:
        values = {"delivery_public_key": log.text("key")}
        if log.name == "DeliveryKeyPublished" and entity == "delivery_keys":
            yield _log_id(log), log, values | {"effective_from": log.number("effective_from")}
        elif log.name == "DeliveryKeyWithdrawn" and entity == "delivery_key_withdrawals":
            yield _log_id(log), log, values


def _log_id(log: HubLog) -> str:
    return f"{log.place.block_number}-{log.place.log_index}"


def _bounty_row(bounty: Bounty) -> Json:
    ending, ended, winner = bounty.ending, bounty.ended, winner_of(bounty) or {}
    created = ("spec_commitment", "guardian_roster_hash", "roster_version", "submission_deadline", "reveal_at")
    return {
        "bounty_id": str(bounty.id),
        "status": "final" if ending else "open",
        "poster_address": bounty.poster,
        **{name: bounty.created.fields[name] for name in (*created, "judging_deadline", "authorization_nonce")},
        **{name: str(bounty.amount(name)) for name in ("escrow_amount", "protocol_fee", "guardian_fee")},
        "award_amount": str(award_of(bounty)),
        "protocol_fee_recipient": bounty.recipient,
        "outcome": outcome_of(bounty),
        "settlement_reason": reason_of(bounty),
        "winner_solver_address": winner.get("solver_address"),
        "winner_submission_commitment": winner.get("submission_commitment"),
        "refund": str(ending.refund) if ending else None,
        "guardian_fee_each": str(ending.share) if ending and ending.count and ending.share else None,
        "settled_at": ended.place.time if ended else None,
        "settlement_tx_hash": ended.place.tx_hash if ended else None,
    }
