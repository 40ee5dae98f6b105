"""Checks that need nothing but a node: money, and the Hub's own views."""

from collections import Counter, deque
from collections.abc import Collection
from typing import Any, Final

from service_checker.asking import NodeRefusal, Unread
from service_checker.chain import Chain, Transfer
from service_checker.hub_log import PAYMENTS, ZERO_ADDRESS, ZERO_BYTES32, HubLog
from service_checker.replay import ReplayedBounty, World, part_of, replayed
from service_checker.report import CheckReport

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


def check_money(
    chain: Chain, world: World, findings: CheckReport, *, every_block: bool, known: dict[int, bool] | None = None
) -> None:
    """Each transfer of the token, and the Hub's balance after blocks.

    A node need not keep the state of old blocks: what it does not give is counted. The newest has to be given.
    ``known`` has the blocks that are not asked about again, whether the balance was right (True) or not given (False).
    """
    known = {} if known is None else known
    until = chain.finalized.number
    transfers = chain.transfers(world.token, until)
    logs = [log for log in chain.logs if log.place.block_number <= until]
    by_transaction(logs, transfers, chain.hub, findings)
    numbers = {each.block_number for each in transfers} | {log.place.block_number for log in logs} | {until}
    if every_block:
        numbers = set(range(min(numbers), until + 1))
    growing, rest, moved = World(world.chain_id, world.hub, CheckReport()), deque(logs), deque(transfers)
    received = escrowed = unread = 0
    unknown: Unread | None = None
    for number in sorted(numbers):
        while rest and rest[0].place.block_number <= number:
            log = rest.popleft()
            growing.apply(log)
            escrowed += log.number("escrow_amount") if log.name == "BountyCreated" else 0
        while moved and moved[0].block_number <= number:
            transfer = moved.popleft()
            received += transfer.amount if transfer.receiver == chain.hub else 0
        where = f"balance after block {number}"
        if number != until and number in known:
            if not known[number]:
                findings.skip("money.conservation", where)
            continue
        try:
            (held,) = chain.call(world.token, "balanceOf(address)", [chain.hub], ["uint256"], number)
        except Unread as error:
            unread += 1
            findings.skip("money.conservation", where)
            refused = isinstance(error, NodeRefusal)
            known |= {number: False} if refused else {}
            unknown = unknown if refused and number != until else error
            continue
        unsolicited = received - escrowed
        if findings.same("money.conservation", where, growing.owed() + unsolicited, held):
            known[number] = True
    if unknown is not None:
        counted = f"{unread} of {len(numbers)} balances were not given: {unknown}"
        findings.add("checked", "the Hub's balance", "the one after the newest finalized block", counted)


def by_transaction(logs: list[HubLog], transfers: list[Transfer], hub: str, findings: CheckReport) -> None:
    """In each transaction the escrows of its bounties came in, and its claims went out, account by account."""
    escrows, incoming = Counter[str](), Counter[str]()
    claims, outgoing = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for log in logs:
        if log.name == "BountyCreated":
            escrows[log.place.tx_hash] += log.number("escrow_amount")
        elif log.name in PAYMENTS:
            claims[log.place.tx_hash, part_of(log)[1]] += log.number("amount")
    for each in transfers:
        if each.receiver == hub:
            incoming[each.tx_hash] += each.amount
        if each.sender == hub:
            outgoing[each.tx_hash, each.receiver] += each.amount
    for tx_hash, escrow in escrows.items():
        enough = incoming[tx_hash] >= escrow
        findings.holds("money.transfers", f"transaction {tx_hash}", f"{escrow} in", enough, incoming[tx_hash])
    for tx_hash, account in claims | outgoing:
        where = f"transaction {tx_hash} to {account}"
        findings.same("money.transfers", where, claims[tx_hash, account], outgoing[tx_hash, account])


def check_views(chain: Chain, findings: CheckReport, chosen: Collection[int] | None = None) -> set[int]:
    """Every view of the Hub at the finalized block; of its bounties those that are ``chosen``, without that all.

    Returns the bounties of which a view differs, or was not given.
    """
    at, differ = chain.finalized, set[int]()
    world = replayed_until(chain, at.number)
    for bounty in world.bounties.values():
        if chosen is not None and bounty.id not in chosen:
            continue
        before = findings.count
        with findings.reading("hub.views", f"getBounty({bounty.id})"):
            _check_terms(chain, bounty, at.number, findings)
            _check_parties(chain, bounty, at.number, findings)
        if findings.count != before:
            differ.add(bounty.id)
    for roster in world.rosters.values():
        active = [world.active.get(account, 0) for account in roster.accounts]
        effective = 0 if world.replaced_early(roster) else roster.effective_from
        expected_roster = [roster.hash, roster.quorum, list(roster.accounts), list(roster.keys), active, effective]
        returns = ["(bytes32,uint256,address[],bytes32[],uint256[],uint256)"]
        with findings.reading("hub.views", f"getRoster({roster.version})"):
            (seen,) = chain.call(chain.hub, "getRoster(uint256)", [roster.version], returns, at.number)
            findings.same("hub.views", f"getRoster({roster.version})", expected_roster, seen)
    current = world.current_roster(at.time)
    views: tuple[tuple[str, list[str], list[Any]], ...] = (
        ("currentRosterVersion()", ["uint256"], [current.version if current else 0]),
        ("feePolicy()", ["uint256", "uint256", "address"], list(world.fees)),
        ("owner()", ["address"], [world.owner]),
        ("pendingOwner()", ["address"], [world.pending_owner]),
        ("deliveryKey()", ["bytes32"], [world.delivery_key(at.time)]),
        ("token()", ["address"], [world.token]),
        ("revealDelay()", ["uint256"], [world.reveal_delay]),
        ("publicationDelay()", ["uint256"], [world.publication_delay]),
        ("minEscrow()", ["uint256"], [world.config[7]]),
    )
    for function, returns, expected in views:
        with findings.reading("hub.views", function):
            seen = chain.call(chain.hub, function, [], returns, at.number)
            findings.same("hub.views", function, expected, seen)
    return differ


def replayed_until(chain: Chain, number: int, findings: CheckReport | None = None) -> World:
    """The world after a block."""
    logs = (log for log in chain.logs if log.place.block_number <= number)
    return replayed(chain.chain_id, chain.hub, logs, findings)


def view_of(bounty: ReplayedBounty) -> dict[str, object]:
    """``BountyView`` of a bounty."""
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


def _check_terms(chain: Chain, bounty: ReplayedBounty, at: int, findings: CheckReport) -> None:
    kinds = [kind for _, kind in BOUNTY_VIEW]
    words = chain.call(chain.hub, "getBounty(uint256)", [bounty.id], kinds, at)
    shown = dict(zip((name for name, _ in BOUNTY_VIEW), words, strict=True))
    for name, expected in view_of(bounty).items():
        findings.same("hub.views", f"getBounty({bounty.id}).{name}", expected, shown[name])


def _check_parties(chain: Chain, bounty: ReplayedBounty, at: int, findings: CheckReport) -> None:
    for solver, log in bounty.submissions.items():
        seen = chain.call(chain.hub, "getSubmission(uint256,address)", [bounty.id, solver], ["bytes32"], at)
        where = f"getSubmission({bounty.id}, {solver})"
        findings.same("hub.views", where, [log.text("submission_commitment")], seen)
    for guardian in bounty.roster.accounts:
        verdict = bounty.verdicts.get(guardian)
        names = ("kind", "solver", "submission_commitment")
        expected = [verdict.fields[name] for name in names] if verdict else [0, ZERO_ADDRESS, ZERO_BYTES32]
        returns = ["uint8", "address", "bytes32"]
        seen = chain.call(chain.hub, "getVerdict(uint256,address)", [bounty.id, guardian], returns, at)
        findings.same("hub.views", f"getVerdict({bounty.id}, {guardian})", expected, seen)
    parts, paid = bounty.parts(), bounty.paid()
    accounts = {bounty.poster, bounty.recipient, *bounty.roster.accounts, *bounty.submissions}
    for account in sorted(accounts):
        due = sum(amount - paid.get(key, 0) for key, amount in parts.items() if key[1] == account)
        seen = chain.call(chain.hub, "claimable(uint256,address)", [bounty.id, account], ["uint256"], at)
        findings.same("hub.views", f"claimable({bounty.id}, {account})", [due], seen)
