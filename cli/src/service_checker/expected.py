"""What public answers must be, derived from the replay: the forms of docs/interface.md and docs/subgraph.md."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from eth_utils.crypto import keccak

from service_checker.chain import ChainBlock
from service_checker.hub_log import ZERO_ADDRESS, ZERO_BYTES32, HubLog, LogPlace
from service_checker.replay import (
    AWARDED,
    NO_SUBMISSIONS,
    OUTCOMES,
    REASONS,
    ReplayedBounty,
    ReplayedRoster,
    World,
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
CONFIG_NAMES: Final = (
    "token", "owner", "reveal_delay", "min_submission_window", "max_submission_window", "min_judging_window",
    "max_judging_window", "min_escrow", "publication_delay", "protocol_fee_bps", "guardian_fee_bps",
    "protocol_fee_recipient",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Moment:
    """The world after a block."""

    world: World
    block: ChainBlock


def accepting(bounty: ReplayedBounty, time: int) -> bool:
    """Open and before the submission deadline."""
    return bounty.ending is None and time < bounty.amount("submission_deadline")


def judgeable(bounty: ReplayedBounty, time: int) -> bool:
    """Open and within the judging window."""
    return bounty.ending is None and bounty.amount("reveal_at") <= time < bounty.amount("judging_deadline")


def award_of(bounty: ReplayedBounty) -> int:
    """What a winner gets, whoever it is."""
    return bounty.amount("escrow_amount") - bounty.amount("protocol_fee") - bounty.amount("guardian_fee")


def winner_of(bounty: ReplayedBounty) -> Json | None:
    """The winner of an awarded bounty."""
    ending = bounty.ending
    if ending is None or ending.outcome != AWARDED:
        return None
    return {"solver_address": ending.winner, "submission_commitment": ending.submission}


def outcome_of(bounty: ReplayedBounty) -> str | None:
    """The outcome's name."""
    return OUTCOMES[bounty.ending.outcome] if bounty.ending else None


def reason_of(bounty: ReplayedBounty) -> str | None:
    """Why it ended."""
    return REASONS[bounty.ending.reason] if bounty.ending else None


def facts(bounty: ReplayedBounty, time: int) -> Json:
    """``facts`` at a block's time."""
    return {
        "status": "final" if bounty.ending else "open",
        "accepting": accepting(bounty, time),
        "judgeable": judgeable(bounty, time),
        "poster_address": bounty.poster,
        "spec_commitment": bounty.created.text("spec_commitment"),
        "guardian_roster_hash": bounty.created.text("guardian_roster_hash"),
        **{name: bounty.amount(name) for name in ("submission_deadline", "reveal_at", "judging_deadline")},
        **{name: str(bounty.amount(name)) for name in ("escrow_amount", "protocol_fee", "guardian_fee")},
        "outcome": outcome_of(bounty),
        "settlement_reason": reason_of(bounty),
        "winner": winner_of(bounty),
    }


def facts_log(bounty: ReplayedBounty) -> HubLog:
    """The event of the block that set the facts: the creation, or the end."""
    return bounty.ended or bounty.created


def roster(world: World, found: ReplayedRoster) -> Json:
    """``guardian_roster`` with what each member last did."""
    members = [
        {
            "guardian_address": account,
            "encryption_public_key": key,
            "last_active_at": world.active.get(account),
        }
        for account, key in zip(found.accounts, found.keys, strict=True)
    ]
    return {
        "version": found.version,
        "guardian_roster_hash": found.hash,
        "quorum": found.quorum,
        "members": members,
    }


def submissions(bounty: ReplayedBounty) -> list[Json]:
    """``active_submissions``, by Solver."""
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


def log_digest(logs: list[HubLog]) -> str:
    """Of a VerificationRecord: over topics and data of these logs."""
    parts = [
        keccak(b"".join(bytes.fromhex(topic[2:]) for topic in log.topics)) + keccak(bytes.fromhex(log.data[2:]))
        for log in logs
    ]
    return "0x" + keccak(b"".join(parts)).hex()


def record(world: World, bounty: ReplayedBounty) -> Json:
    """The VerificationRecord of a final bounty."""
    ending, ended = bounty.ending, bounty.ended
    if ending is None or ended is None:
        raise ValueError("an open bounty has no record")
    until_the_end = bounty.logs[: bounty.logs.index(ended) + 1]
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
        named = (ending.outcome, ending.winner, ending.submission)
        verdicts.append(
            {"guardian_address": guardian, **verdict_fields(verdict), "supported_result": choice_of(verdict) == named}
        )
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
        "log_digest": log_digest(until_the_end),
    }


def verdict_fields(log: HubLog) -> Json:
    """A Verdict as answers have it: null where a no_valid_submission names nothing."""
    kind, solver, submission = choice_of(log)
    return {
        "kind": OUTCOMES.get(kind),
        "solver_address": None if solver == ZERO_ADDRESS else solver,
        "submission_commitment": None if submission == ZERO_BYTES32 else submission,
        "report_commitment": log.text("report_commitment"),
    }


# ---------------------------------------------------------------------- status and accounts


def totals(moment: Moment) -> Json:
    """``totals`` of the status."""
    bounties = list(moment.world.bounties.values())
    time = moment.block.time

    def paid(kind: str) -> str:
        claims = [claim for bounty in bounties for claim in bounty.claims]
        return str(sum(claim.number("amount") for claim in claims if part_of(claim)[0] == kind))

    return {
        "bounty_count": len(bounties),
        "open_count": sum(bounty.ending is None for bounty in bounties),
        "accepting_count": sum(accepting(bounty, time) for bounty in bounties),
        "judgeable_count": sum(judgeable(bounty, time) for bounty in bounties),
        "awarded_count": sum(outcome_of(bounty) == "awarded" for bounty in bounties),
        "unawarded_count": sum(outcome_of(bounty) == "no_valid_submission" for bounty in bounties),
        "escrow_held": str(moment.world.owed()),
        "awards_paid": paid("award"),
        "refunds_paid": paid("refund"),
        "guardian_fees_paid": paid("guardian_fee"),
        "protocol_fees_paid": paid("protocol_fee"),
    }


MOST_COUNTED: Final = 1_000
"""Bounties of an account's record in each role: the newest."""


def account(world: World, address: str) -> Json:
    """An account's record, as far as the documents define its figures."""
    bounties = sorted(world.bounties.values(), key=lambda bounty: -bounty.id)
    posted = [bounty for bounty in bounties if bounty.poster == address][:MOST_COUNTED]
    submitted = [bounty for bounty in bounties if address in bounty.submissions][:MOST_COUNTED]
    won = [bounty for bounty in submitted if bounty.ending and bounty.ending.winner == address]
    awarded = [bounty for bounty in posted if bounty.ending and bounty.ending.outcome == AWARDED]
    return {
        "poster": {
            "posted": len(posted),
            "open": sum(bounty.ending is None for bounty in posted),
            "awarded": len(awarded),
            "awards": str(sum(bounty.ending.award for bounty in awarded if bounty.ending)),
            "without_submissions": sum(
                bounty.ending is not None and bounty.ending.reason == NO_SUBMISSIONS for bounty in posted
            ),
        },
        "solver": {
            "submitted": len(submitted),
            "open": sum(bounty.ending is None for bounty in submitted),
            "won": len(won),
            "awards": str(sum(bounty.ending.award for bounty in won if bounty.ending)),
        },
    }


# ---------------------------------------------------------------------- changes


def change_fields(log: HubLog) -> Json:
    """The ``fields`` of an event: amounts and ids as decimal strings, enumerations by their names."""
    if log.name == "Deployed":
        config = dict(zip(CONFIG_NAMES, log.fields["config"], strict=True))
        return {"config": {name: _wire(name, value) for name, value in config.items()}}
    found = {name: _wire(name, value) for name, value in log.fields.items()}
    for name, names in (("kind", OUTCOMES), ("outcome", OUTCOMES), ("reason", REASONS)):
        if name in found:
            found[name] = names.get(found[name], found[name])
    return found


def _wire(name: str, value: Any) -> Any:
    return str(value) if name in AMOUNTS or name == "bounty_id" else value


def change(log: HubLog, replaced: HubLog | None) -> Json:
    """An ``event`` of the changes, but for its finality."""
    found: Json = {
        "name": log.name,
        "fields": change_fields(log),
        "bounty_id": None if log.bounty_id is None else str(log.bounty_id),
        "log_index": log.place.log_index,
        **placed(log.place),
    }
    if replaced is not None:
        tx_hash, time = replaced.place.tx_hash, replaced.place.time
        found["replaces"] = {**verdict_fields(replaced), "tx_hash": tx_hash, "time": time}
    return found


def changes(world: World) -> list[Json]:
    """Every event of the world in the form of ``GET /api/changes``."""
    before = {id(each.later): each.before for bounty in world.bounties.values() for each in bounty.replaced}
    return [change(log, before.get(id(log))) for log in world.logs]


def placed(place: LogPlace) -> Json:
    """Where an event is, in answers."""
    return {
        "block_number": place.block_number,
        "block_hash": place.block_hash,
        "tx_hash": place.tx_hash,
        "time": place.time,
    }


# ---------------------------------------------------------------------- GraphQL


def rows(world: World) -> Mapping[str, dict[str, Json]]:
    """The rows of every entity of GraphQL by their ids; ``id`` is one of the fields."""
    found: dict[str, dict[str, Json]] = {name: {} for name in ENTITIES}
    for entity, key, log, values in (*_rows_of_bounties(world), *_rows_of_the_deployment(world)):
        found[entity][key] = {"id": key, **placed(log.place), **values}
    return found


Row = tuple[str, str, HubLog, Json]
"""Entity, id, the event that it is of, and its own values."""


def _rows_of_bounties(world: World) -> Iterator[Row]:
    for bounty in world.bounties.values():
        of: Json = {"bounty_id": str(bounty.id)}
        yield "bounties", str(bounty.id), bounty.created, _bounty_row(bounty)
        for solver, log in bounty.submissions.items():
            commitment = log.text("submission_commitment")
            values = {"solver_address": solver, "submission_commitment": commitment}
            yield "submissions", f"{bounty.id}-{solver}", log, of | values
        for guardian, log in bounty.verdicts.items():
            yield "verdicts", f"{bounty.id}-{guardian}", log, of | {"guardian_address": guardian} | verdict_fields(log)
        again = {id(each.before): each.later.place.time for each in bounty.replaced}
        for each in bounty.replaced:
            later, compared = each.later, each.compared
            before = {f"replaced_{name}": value for name, value in verdict_fields(compared).items()}
            before |= {"replaced_tx_hash": compared.place.tx_hash, "replaced_time": compared.place.time}
            before["replaced_again_time"] = again.get(id(later))
            values = {"guardian_address": later.text("guardian"), **verdict_fields(later), **before}
            yield "verdict_replacements", _log_id(later), later, of | values
        for log in bounty.claims:
            kind, recipient = part_of(log)
            values = {"kind": KINDS[kind], "recipient": recipient, "amount": str(log.number("amount"))}
            yield "claims", _log_id(log), log, of | values


def _rows_of_the_deployment(world: World) -> Iterator[Row]:
    for each in world.rosters.values():
        values: Json = {"version": each.version, "guardian_roster_hash": each.hash, "quorum": each.quorum}
        yield "guardian_rosters", str(each.version), each.log, values | {"effective_from": each.effective_from}
        for position, (address, key) in enumerate(zip(each.accounts, each.keys, strict=True)):
            member: Json = {"version": each.version, "position": position, "guardian_address": address}
            yield "roster_members", f"{each.version}-{position}", each.log, member | {"encryption_public_key": key}
    for log in world.key_logs:
        values = {"delivery_public_key": log.text("key")}
        if log.name == "DeliveryKeyPublished":
            yield "delivery_keys", _log_id(log), log, values | {"effective_from": log.number("effective_from")}
        else:
            yield "delivery_key_withdrawals", _log_id(log), log, values


ENTITIES: Final = (
    "bounties", "submissions", "verdicts", "verdict_replacements", "guardian_rosters", "roster_members", "claims",
    "delivery_keys", "delivery_key_withdrawals",
)  # fmt: skip


def _log_id(log: HubLog) -> str:
    return f"{log.place.block_number}-{log.place.log_index}"


def _bounty_row(bounty: ReplayedBounty) -> Json:
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
