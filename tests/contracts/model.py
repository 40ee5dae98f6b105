"""The rules of the Hub, told a second time in Python from the interface's text and not from the Solidity.

Each method either changes the model and returns the events that the Hub must log, or raises ``Refused`` with
the name and the values of the error that the Hub must answer, and changes nothing. Token movements are kept in
``balances``; nothing here knows about words, bits or ballots.
"""

from typing import TypeVar

from eth_abi.abi import encode

from tests.contracts.evm import Event
from tests.contracts.values import (
    AWARDED,
    GUARDIANS_SILENT,
    JUDGED,
    NO_SUBMISSIONS,
    NO_VALID_SUBMISSION,
    NO_WORK,
    OPEN,
    QUORUM_NOT_REACHED,
    ROSTER_TYPES,
    TERMS_TYPE,
    TERMS_TYPES,
    ZERO,
    Bounty,
    Config,
    FeePolicy,
    Refused,
    Roster,
    Terms,
    Verdict,
    check_key,
    keccak,
    text,
)

Dated = TypeVar("Dated", Roster, bytes)


class HubModel:
    def __init__(self, address: str, chain_id: int, config: Config) -> None:
        self.address, self.chain_id, self.config = address, chain_id, config
        self.owner, self.pending_owner = config.owner, ZERO
        self.rosters: list[Roster] = []
        self.roster_times: list[tuple[int, Roster]] = []  # from when each is current, without those that never will be
        self.policy = FeePolicy(config.protocol_fee_bps, config.guardian_fee_bps, config.protocol_fee_recipient)
        self.key_times: list[tuple[int, bytes]] = []  # the same of delivery keys; zeros where there is none
        self.last_active: dict[str, int] = {}
        self.bounties: list[Bounty] = []
        self.balances: dict[str, int] = {}

    # ------------------------------------------------------------ owner

    def publish_roster(self, sender: str, accounts: list[str], keys: list[bytes], quorum: int, now: int) -> list[Event]:
        self._only_owner(sender)
        if not 1 <= len(accounts) <= 15:
            raise Refused("RosterSizeInvalid", len(accounts), 15)
        if len(accounts) != len(keys):
            raise Refused("RosterLengthsDiffer", len(accounts), len(keys))
        if not len(accounts) < 2 * quorum <= 2 * len(accounts):
            raise Refused("RosterQuorumInvalid", quorum, len(accounts))
        for index, (previous, account) in enumerate(zip([ZERO, *accounts], accounts, strict=False)):
            if int(account, 16) <= int(previous, 16):
                raise Refused("RosterAccountsNotAscending", index, previous, account)
            check_key(keys[index])
            if keys[index] in keys[:index]:
                raise Refused("EncryptionKeyRepeated", text(keys[index]))
        version = len(self.rosters) + 1
        values = [self.chain_id, self.address, version, accounts, keys, quorum]
        roster = Roster(version, tuple(accounts), tuple(keys), quorum, keccak(encode(ROSTER_TYPES, values)))
        effective = now + self.config.publication_delay if self.rosters else now
        self.rosters.append(roster)
        self.roster_times = [*since(self.roster_times, now), (effective, roster)]
        for account in accounts:
            self.last_active.setdefault(account, 0)
        return [
            event(
                "RosterPublished",
                version=version,
                guardian_roster_hash=roster.hash,
                accounts=tuple(accounts),
                encryption_keys=tuple(map(text, keys)),
                quorum=quorum,
                effective_from=effective,
            )
        ]

    def roster(self, now: int) -> Roster | None:
        """The one that a bounty created now pins."""
        past = since(self.roster_times, now)
        return past[-1][1] if past else None

    def announced_roster(self, now: int) -> tuple[int, int]:
        return next(((roster.version, time) for time, roster in self.roster_times if time > now), (0, 0))

    def set_fee_policy(self, sender: str, protocol_bps: int, guardian_bps: int, recipient: str) -> list[Event]:
        self._only_owner(sender)
        for bps, cap in ((protocol_bps, 1_000), (guardian_bps, 2_000)):
            if bps > cap:
                raise Refused("FeeAboveCap", bps, cap)
        if recipient in {ZERO, self.address, self.config.token}:
            raise Refused("FeeRecipientInvalid", recipient)
        self.policy = FeePolicy(protocol_bps, guardian_bps, recipient)
        return [
            event("FeePolicyChanged", protocol_fee_bps=protocol_bps, guardian_fee_bps=guardian_bps, recipient=recipient)
        ]

    def publish_delivery_key(self, sender: str, key: bytes, now: int) -> list[Event]:
        self._only_owner(sender)
        check_key(key)
        effective = now + self.config.publication_delay if self.key_times else now
        self.key_times = [*since(self.key_times, now), (effective, key)]
        return [event("DeliveryKeyPublished", key=text(key), effective_from=effective)]

    def withdraw_delivery_key(self, sender: str, key: bytes, now: int) -> list[Event]:
        self._only_owner(sender)
        if key == bytes(32) or key not in {self.delivery_key(now), self.announced_delivery_key(now)[0]}:
            raise Refused("DeliveryKeyNotPublished", text(key))
        past, later = since(self.key_times, now), [(time, other) for time, other in self.key_times if time > now]
        if self.delivery_key(now) == key:
            past.append((now, bytes(32)))
        self.key_times = past + [(time, other) for time, other in later if other != key]
        return [event("DeliveryKeyWithdrawn", key=text(key))]

    def delivery_key(self, now: int) -> bytes:
        past = since(self.key_times, now)
        return past[-1][1] if past else bytes(32)

    def announced_delivery_key(self, now: int) -> tuple[bytes, int]:
        return next(((key, time) for time, key in self.key_times if time > now), (bytes(32), 0))

    def transfer_ownership(self, sender: str, new_owner: str) -> list[Event]:
        self._only_owner(sender)
        self.pending_owner = new_owner
        return [event("OwnershipTransferStarted", previous_owner=self.owner, new_owner=new_owner)]

    def accept_ownership(self, sender: str) -> list[Event]:
        if sender != self.pending_owner:
            raise Refused("NotPendingOwner", sender, self.pending_owner)
        previous, self.owner, self.pending_owner = self.owner, sender, ZERO
        return [event("OwnershipTransferred", previous_owner=previous, new_owner=sender)]

    def heartbeat(self, sender: str, now: int) -> list[Event]:
        if sender not in self.last_active:
            raise Refused("NeverOnRoster", sender)
        self.last_active[sender] = now
        return [event("GuardianHeartbeat", guardian=sender)]

    # ------------------------------------------------------------ create

    def nonce(self, terms: Terms, poster: str) -> bytes:
        types = ["bytes32", "uint256", "address", "address", *TERMS_TYPES]
        head = [bytes.fromhex(keccak(TERMS_TYPE.encode())[2:]), self.chain_id, self.address, poster]
        return bytes.fromhex(keccak(encode(types, [*head, *terms]))[2:])

    def create(self, poster: str, terms: Terms, now: int) -> list[Event]:
        """Both ways of paying; that the token moved the money is the caller's to know."""
        self._check_bounds(poster, terms, now)
        roster = self.roster(now)
        if roster is None:
            raise Refused("NoRosterPublished")
        if text(terms.expected_roster_hash) != roster.hash:
            raise Refused("RosterHashMismatch", text(terms.expected_roster_hash), roster.hash)
        if poster in roster.accounts:
            raise Refused("PosterOnRoster", poster, roster.version)
        reveal_at = terms.submission_deadline + self.config.reveal_delay
        bounty = Bounty(poster, terms, roster, self.policy, reveal_at, reveal_at + terms.judging_window)
        if bounty.protocol_fee > terms.max_protocol_fee:
            raise Refused("ProtocolFeeAboveMaximum", bounty.protocol_fee, terms.max_protocol_fee)
        if bounty.guardian_fee > terms.max_guardian_fee:
            raise Refused("GuardianFeeAboveMaximum", bounty.guardian_fee, terms.max_guardian_fee)
        self._move(poster, self.address, terms.escrow_amount)
        self.bounties.append(bounty)
        return [
            event(
                "BountyCreated",
                bounty_id=len(self.bounties),
                poster=poster,
                spec_commitment=text(terms.spec_commitment),
                guardian_roster_hash=roster.hash,
                roster_version=roster.version,
                escrow_amount=terms.escrow_amount,
                submission_deadline=terms.submission_deadline,
                reveal_at=bounty.reveal_at,
                judging_deadline=bounty.judging_deadline,
                protocol_fee=bounty.protocol_fee,
                guardian_fee=bounty.guardian_fee,
                protocol_fee_recipient=bounty.policy.recipient,
                authorization_nonce=text(self.nonce(terms, poster)),
            )
        ]

    def _check_bounds(self, poster: str, terms: Terms, now: int) -> None:
        config = self.config
        if poster == ZERO:
            raise Refused("PosterZero")
        if terms.spec_commitment == bytes(32):
            raise Refused("SpecCommitmentZero")
        if terms.escrow_amount < config.min_escrow:
            raise Refused("EscrowTooSmall", terms.escrow_amount, config.min_escrow)
        if terms.escrow_amount >= 2**88:
            raise Refused("EscrowTooLarge", terms.escrow_amount, 2**88 - 1)
        earliest, latest = now + config.min_submission_window, now + config.max_submission_window
        if not earliest <= terms.submission_deadline <= latest:
            raise Refused("SubmissionDeadlineOutOfRange", terms.submission_deadline, earliest, latest)
        shortest, longest = config.min_judging_window, config.max_judging_window
        if not shortest <= terms.judging_window <= longest:
            raise Refused("JudgingWindowOutOfRange", terms.judging_window, shortest, longest)

    # ------------------------------------------------------------ submit, judge, settle

    def submit(self, sender: str, bounty_id: int, work: bytes, roster_hash: bytes, now: int) -> list[Event]:
        bounty = self.bounty(bounty_id)
        if now >= bounty.terms.submission_deadline:
            raise Refused("SubmissionsClosed", bounty_id, bounty.terms.submission_deadline, now)
        if work == bytes(32):
            raise Refused("SubmissionCommitmentZero", bounty_id)
        if text(roster_hash) != bounty.roster.hash:
            raise Refused("RosterHashMismatch", text(roster_hash), bounty.roster.hash)
        if sender == bounty.poster:
            raise Refused("SolverIsPoster", bounty_id, sender)
        if sender in bounty.roster.accounts:
            raise Refused("SolverOnRoster", bounty_id, sender)
        bounty.submissions[sender] = text(work)
        return [event("SubmissionRecorded", bounty_id=bounty_id, solver=sender, submission_commitment=text(work))]

    def record_verdict(
        self, sender: str, bounty_id: int, kind: int, solver: str, work: bytes, report: bytes, now: int
    ) -> list[Event]:
        bounty = self._open(bounty_id)
        if sender not in bounty.roster.accounts:
            raise Refused("NotGuardian", bounty_id, sender)
        if now < bounty.reveal_at:
            raise Refused("JudgingNotStarted", bounty_id, bounty.reveal_at, now)
        if now >= bounty.judging_deadline:
            raise Refused("JudgingEnded", bounty_id, bounty.judging_deadline, now)
        if not bounty.submissions:
            raise Refused("NothingToJudge", bounty_id)
        if report == bytes(32):
            raise Refused("ReportCommitmentZero", bounty_id)
        self._check_named(bounty_id, kind, solver, work)
        verdict = Verdict(kind, solver, text(work))
        bounty.verdicts[sender] = verdict
        self.last_active[sender] = now
        recorded = event(
            "VerdictRecorded",
            bounty_id=bounty_id,
            guardian=sender,
            kind=kind,
            solver=solver,
            submission_commitment=text(work),
            report_commitment=text(report),
        )
        if list(bounty.verdicts.values()).count(verdict) < bounty.roster.quorum:
            return [recorded]
        return [recorded, self._close(bounty_id, kind, JUDGED, solver)]

    def _check_named(self, bounty_id: int, kind: int, solver: str, work: bytes) -> None:
        if kind == NO_VALID_SUBMISSION:
            if solver != ZERO or work != bytes(32):
                raise Refused("VerdictNamesSubmission", bounty_id, solver, text(work))
            return
        if kind != AWARDED:
            raise Refused("VerdictKindInvalid", kind)
        active = self.bounty(bounty_id).submissions.get(solver, NO_WORK)
        if active == NO_WORK or text(work) != active:
            raise Refused("SubmissionNotActive", bounty_id, solver, text(work), active)

    def settle(self, bounty_id: int, now: int) -> list[Event]:
        bounty = self._open(bounty_id)
        possible = bounty.judging_deadline if bounty.submissions else bounty.terms.submission_deadline
        if now < possible:
            raise Refused("SettlementTooEarly", bounty_id, possible, now)
        reason = QUORUM_NOT_REACHED if bounty.verdicts else GUARDIANS_SILENT
        return [self._close(bounty_id, NO_VALID_SUBMISSION, reason if bounty.submissions else NO_SUBMISSIONS, ZERO)]

    def _close(self, bounty_id: int, outcome: int, reason: int, winner: str) -> Event:
        bounty = self.bounty(bounty_id)
        bounty.outcome, bounty.reason, bounty.winner = outcome, reason, winner
        money = bounty.money()
        return event(
            "BountyFinalized",
            bounty_id=bounty_id,
            outcome=outcome,
            reason=reason,
            winner=winner,
            submission_commitment=bounty.winning_work,
            award=money["award"][1],
            refund=money["refund"][1],
            protocol_fee=money["protocol fee"][1],
            guardian_fee_each=bounty.share,
            guardian_fee_count=len(bounty.verdicts),
        )

    # ------------------------------------------------------------ pull

    def claim(self, sender: str, bounty_id: int, payout_data: bytes, proof: bytes) -> list[Event]:
        bounty = self._final(bounty_id)
        if payout_data or proof:
            raise Refused("PayoutDataNotEmpty", len(payout_data), len(proof))
        if bounty.outcome != AWARDED:
            raise Refused("NoAward", bounty_id, bounty.outcome)
        if sender != bounty.winner:
            raise Refused("NotWinner", bounty_id, sender, bounty.winner)
        return [event("AwardClaimed", bounty_id=bounty_id, solver=sender, amount=self._pay(bounty_id, "award", sender))]

    def claim_refund(self, sender: str, bounty_id: int) -> list[Event]:
        bounty = self._final(bounty_id)
        if sender != bounty.poster:
            raise Refused("NotPoster", bounty_id, sender, bounty.poster)
        amount = self._pay(bounty_id, "refund", sender)
        return [event("RefundClaimed", bounty_id=bounty_id, poster=sender, amount=amount)]

    def claim_guardian_fee(self, sender: str, bounty_id: int) -> list[Event]:
        bounty = self._final(bounty_id)
        if sender not in bounty.roster.accounts:
            raise Refused("NotGuardian", bounty_id, sender)
        amount = self._pay(bounty_id, f"fee of {sender}", sender)
        return [event("GuardianFeeClaimed", bounty_id=bounty_id, guardian=sender, amount=amount)]

    def claim_protocol_fee(self, sender: str, bounty_id: int) -> list[Event]:
        bounty = self._final(bounty_id)
        if sender != bounty.policy.recipient:
            raise Refused("NotFeeRecipient", bounty_id, sender, bounty.policy.recipient)
        amount = self._pay(bounty_id, "protocol fee", sender)
        return [event("ProtocolFeeClaimed", bounty_id=bounty_id, recipient=sender, amount=amount)]

    def claim_many(self, sender: str, claims: list[tuple[int, int]]) -> list[Event]:
        """All of the caller's claims, or none."""
        if not 1 <= len(claims) <= 32:
            raise Refused("ClaimCountInvalid", len(claims), 32)
        before, paid = dict(self.balances), [set(bounty.paid) for bounty in self.bounties]
        try:
            return [event for kind, bounty_id in claims for event in self._claim_one(sender, kind, bounty_id)]
        except Refused:
            self.balances = before
            for bounty, marks in zip(self.bounties, paid, strict=True):
                bounty.paid = marks
            raise

    def _claim_one(self, sender: str, kind: int, bounty_id: int) -> list[Event]:
        match kind:
            case 1:
                return self.claim(sender, bounty_id, b"", b"")
            case 2:
                return self.claim_refund(sender, bounty_id)
            case 3:
                return self.claim_guardian_fee(sender, bounty_id)
            case 4:
                return self.claim_protocol_fee(sender, bounty_id)
        raise Refused("ClaimKindInvalid", kind)

    def _pay(self, bounty_id: int, role: str, account: str) -> int:
        bounty = self.bounty(bounty_id)
        if role in bounty.paid:
            raise Refused("AlreadyClaimed", bounty_id, account)
        amount = bounty.money().get(role, (account, 0))[1]
        if amount == 0:
            raise Refused("NothingDue", bounty_id, account)
        bounty.paid.add(role)
        self._move(self.address, account, amount)
        return amount

    # ------------------------------------------------------------ what can be read

    def claimable(self, bounty_id: int, account: str) -> int:
        bounty = self.bounty(bounty_id)
        if bounty.outcome == OPEN:
            return 0
        due = [who_and_amount for role, who_and_amount in bounty.money().items() if role not in bounty.paid]
        return sum(amount for who, amount in due if who == account)

    def bounty(self, bounty_id: int) -> Bounty:
        if not 1 <= bounty_id <= len(self.bounties):
            raise Refused("BountyNotFound", bounty_id)
        return self.bounties[bounty_id - 1]

    def view(self, bounty_id: int) -> tuple[object, ...]:
        """``getBounty``, field by field."""
        bounty = self.bounty(bounty_id)
        money = bounty.money() if bounty.outcome != OPEN else {}
        due = {role: amount for role, (_, amount) in money.items() if role not in bounty.paid}
        fees = sum(amount for role, amount in due.items() if role.startswith("fee of"))
        return (
            bounty.poster,
            bounty.terms.escrow_amount,
            text(bounty.terms.spec_commitment),
            bounty.terms.submission_deadline,
            bounty.reveal_at,
            bounty.judging_deadline,
            bounty.roster.version,
            bounty.roster.hash,
            bounty.protocol_fee,
            bounty.guardian_fee,
            bounty.policy.recipient,
            bool(bounty.submissions),
            len(bounty.verdicts),
            bounty.outcome,
            bounty.reason,
            bounty.winner,
            bounty.winning_work,
            due.get("award", 0),
            due.get("refund", 0),
            due.get("protocol fee", 0),
            fees,
            "award" in bounty.paid,
            "refund" in bounty.paid,
            "protocol fee" in bounty.paid,
        )

    # ------------------------------------------------------------ inside

    def _only_owner(self, sender: str) -> None:
        if sender != self.owner:
            raise Refused("NotOwner", sender, self.owner)

    def _open(self, bounty_id: int) -> Bounty:
        bounty = self.bounty(bounty_id)
        if bounty.outcome != OPEN:
            raise Refused("BountyFinal", bounty_id, bounty.outcome)
        return bounty

    def _final(self, bounty_id: int) -> Bounty:
        bounty = self.bounty(bounty_id)
        if bounty.outcome == OPEN:
            raise Refused("BountyOpen", bounty_id)
        return bounty

    def _move(self, source: str, target: str, amount: int) -> None:
        self.balances[source] = self.balances.get(source, 0) - amount
        self.balances[target] = self.balances.get(target, 0) + amount


def event(name: str, **values: object) -> Event:
    return Event(name, values)


def since(times: list[tuple[int, Dated]], now: int) -> list[tuple[int, Dated]]:
    """What has begun; what was announced and is replaced now never does."""
    return [(time, what) for time, what in times if time <= now]
