"""The Hub's own views at the newest final block, held against the replay."""

from collections.abc import Sequence
from typing import Any, Final

from service_audit.answers import AnswerCheck
from service_audit.chain import Chain, View
from service_audit.events import ZERO_ADDRESS, ZERO_BYTES32
from service_audit.http import Unread
from service_audit.report import Report
from service_audit.rules import MAX_GUARDIAN_BPS, MAX_PROTOCOL_BPS, Bounty, World

BOUNTY_VIEW: Final = (
    ("poster", "address"), ("escrow_amount", "uint256"), ("spec_commitment", "bytes32"),
    ("submission_deadline", "uint256"), ("reveal_at", "uint256"), ("judging_deadline", "uint256"),
    ("roster_version", "uint256"), ("guardian_roster_hash", "bytes32"), ("protocol_fee", "uint256"),
    ("guardian_fee", "uint256"), ("protocol_fee_recipient", "address"), ("has_submissions", "bool"),
    ("verdict_count", "uint256"), ("outcome", "uint8"), ("reason", "uint8"), ("winner", "address"),
    ("winning_submission", "bytes32"), ("award_due", "uint256"), ("refund_due", "uint256"),
    ("protocol_fee_due", "uint256"), ("guardian_fees_due", "uint256"), ("award_claimed", "bool"),
    ("refund_claimed", "bool"), ("protocol_fee_claimed", "bool"),
)  # fmt: skip
"""``BountyView``: its fields are all static, so that its words follow each other."""
Expected = tuple[View, list[Any]]
"""A view, and the values that it must have."""


def check_bounty_views(reading: AnswerCheck, number: int) -> None:
    """Compare every view of one bounty."""
    chain, report = reading.chain, reading.report
    bounty = chain.world_at(chain.finalized.number).bounties.get(number)
    if bounty is None:  # created after the final block
        return
    view = View(chain.hub, "getBounty(uint256)", (number,), tuple(kind for _, kind in BOUNTY_VIEW))
    words = chain.view(view, chain.finalized.number)
    seen = dict(zip((name for name, _ in BOUNTY_VIEW), words, strict=True))
    for name, expected in bounty_view(bounty).items():
        report.same("hub.views", f"getBounty({number}).{name}", expected, seen[name])
    _compare(chain, report, _of_parties(chain.hub, bounty))


def check_deployment_views(reading: AnswerCheck) -> None:
    """Compare every view that is not about one bounty."""
    chain = reading.chain
    world, time = chain.world_at(chain.finalized.number), chain.finalized.time
    rosters = list[Expected]()
    for roster in world.rosters.values():
        active = [world.active.get(account, 0) for account in roster.accounts]
        effective = 0 if world.is_replaced(roster) else roster.effective_from
        shown = [roster.hash, roster.quorum, list(roster.accounts), list(roster.keys), active, effective]
        returns = ("(bytes32,uint256,address[],bytes32[],uint256[],uint256)",)
        rosters.append((View(chain.hub, "getRoster(uint256)", (roster.version,), returns), [shown]))
    _compare(chain, reading.report, rosters + _of_the_hub(chain.hub, world, time))


def _compare(chain: Chain, report: Report, expected: Sequence[Expected]) -> None:
    answers = chain.views([view for view, _ in expected], chain.finalized.number)
    for (view, values), seen in zip(expected, answers, strict=True):
        where = view.function.partition("(")[0] + f"({', '.join(map(str, view.arguments))})"
        if isinstance(seen, Unread):
            report.add("read", where, "an answer", str(seen))
        else:
            report.same("hub.views", where, values, seen)


def _of_the_hub(hub: str, world: World, time: int) -> list[Expected]:
    current, terms = world.current_roster(time), world.terms
    announced = next((each for each in [*world.rosters.values()][-1:] if each.effective_from > time), None)
    key = next((each for each in world.keys if each[1] > time), (ZERO_BYTES32, 0))
    values: tuple[tuple[str, tuple[str, ...], list[Any]], ...] = (
        ("currentRosterVersion()", ("uint256",), [current.version if current else 0]),
        (
            "announcedRoster()",
            ("uint256", "uint256"),
            [announced.version, announced.effective_from] if announced else [0, 0],
        ),
        ("feePolicy()", ("uint256", "uint256", "address"), list(world.fees)),
        ("owner()", ("address",), [world.owner]),
        ("pendingOwner()", ("address",), [world.pending_owner]),
        ("deliveryKey()", ("bytes32",), [world.delivery_key(time)]),
        ("announcedDeliveryKey()", ("bytes32", "uint256"), list(key)),
        ("token()", ("address",), [terms.token]),
        ("publicationDelay()", ("uint256",), [terms.publication_delay]),
        ("revealDelay()", ("uint256",), [terms.reveal_delay]),
        ("minSubmissionWindow()", ("uint256",), [terms.min_submission_window]),
        ("maxSubmissionWindow()", ("uint256",), [terms.max_submission_window]),
        ("minJudgingWindow()", ("uint256",), [terms.min_judging_window]),
        ("maxJudgingWindow()", ("uint256",), [terms.max_judging_window]),
        ("minEscrow()", ("uint256",), [terms.min_escrow]),
        ("maxProtocolFeeBps()", ("uint256",), [MAX_PROTOCOL_BPS]),
        ("maxGuardianFeeBps()", ("uint256",), [MAX_GUARDIAN_BPS]),
    )
    return [(View(hub, function, (), returns), expected) for function, returns, expected in values]


def _of_parties(hub: str, bounty: Bounty) -> list[Expected]:
    """Return each Solver's Submission, each Guardian's Verdict, and what each account may claim."""
    found = list[Expected]()
    for solver, log in bounty.submissions.items():
        view = View(hub, "getSubmission(uint256,address)", (bounty.id, solver), ("bytes32",))
        found.append((view, [log.text("submission_commitment")]))
    for guardian in bounty.roster.accounts:
        verdict = bounty.verdicts.get(guardian)
        names = ("kind", "solver", "submission_commitment")
        values = [verdict.fields[name] for name in names] if verdict else [0, ZERO_ADDRESS, ZERO_BYTES32]
        view = View(hub, "getVerdict(uint256,address)", (bounty.id, guardian), ("uint8", "address", "bytes32"))
        found.append((view, values))
    parts, paid = bounty.parts(), bounty.paid()
    for account in sorted({bounty.poster, bounty.recipient, *bounty.roster.accounts, *bounty.submissions}):
        due = sum(amount - paid.get(key, 0) for key, amount in parts.items() if key[1] == account)
        found.append((View(hub, "claimable(uint256,address)", (bounty.id, account), ("uint256",)), [due]))
    return found


def bounty_view(bounty: Bounty) -> dict[str, object]:
    """Return the fields of ``getBounty``."""
    ending, paid, parts = bounty.ending, bounty.paid(), bounty.parts()
    winner = ending.winner if ending else ZERO_ADDRESS

    def due(kind: str) -> int:
        whole = sum(amount for (each, _), amount in parts.items() if each == kind)
        return whole - sum(amount for (each, _), amount in paid.items() if each == kind)

    fixed = {name: bounty.created.fields[name] for name, _ in BOUNTY_VIEW if name in bounty.created.fields}
    return {
        **fixed,
        "has_submissions": bool(bounty.submissions),
        "verdict_count": len(bounty.verdicts),
        "outcome": ending.outcome if ending else 0,
        "reason": ending.reason if ending else 0,
        "winner": winner,
        "winning_submission": ending.submission if ending else ZERO_BYTES32,
        "award_due": due("award"),
        "refund_due": due("refund"),
        "protocol_fee_due": due("protocol_fee"),
        "guardian_fees_due": due("guardian_fee"),
        "award_claimed": ("award", winner) in paid,
        "refund_claimed": ("refund", bounty.poster) in paid,
        "protocol_fee_claimed": ("protocol_fee", bounty.recipient) in paid,
    }
