"""The Hub's rules, applied to its log: what each bounty is, what it owes, and where an event breaks a rule.

The rules are those of docs/hub.md. Nothing here knows what the Hub's views or anybody's index show.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

import eth_abi
from eth_utils.crypto import keccak

from service_checker.hub_log import PAYMENTS, ZERO_ADDRESS, ZERO_BYTES32, HubLog
from service_checker.report import CheckReport

AWARDED: Final = 1
NO_VALID: Final = 2
OUTCOMES: Final = {AWARDED: "awarded", NO_VALID: "no_valid_submission"}
JUDGED, NO_SUBMISSIONS, SILENT, NO_QUORUM = 1, 2, 3, 4
REASONS: Final = {
    JUDGED: "judged",
    NO_SUBMISSIONS: "no_submissions",
    SILENT: "guardians_silent",
    NO_QUORUM: "quorum_not_reached",
}
PROTOCOL_CAP, GUARDIAN_CAP, WHOLE = 1_000, 2_000, 10_000
"""Basis points: the caps of both fees, and all of the escrow."""


@dataclass(frozen=True, slots=True)
class ReplayedRoster:
    """A published version: members in roster order."""

    version: int
    hash: str
    accounts: tuple[str, ...]
    keys: tuple[str, ...]
    quorum: int
    effective_from: int
    log: HubLog


@dataclass(frozen=True, slots=True)
class Ending:
    """How a bounty ends, and what each party gets, in base units."""

    outcome: int
    reason: int
    winner: str
    submission: str
    award: int
    refund: int
    protocol_fee: int
    share: int
    count: int


@dataclass(frozen=True, slots=True)
class Replacement:
    """A Verdict in the place of an earlier one of the same Guardian."""

    later: HubLog
    before: HubLog
    """The one directly before."""
    compared: HubLog
    """The Guardian's latest earlier one that decided otherwise; where none did, the one directly before."""


@dataclass(slots=True)
class ReplayedBounty:
    """One bounty: its terms, and everything that happened to it."""

    created: HubLog
    roster: ReplayedRoster
    logs: list[HubLog]
    submissions: dict[str, HubLog] = field(default_factory=dict)
    verdicts: dict[str, HubLog] = field(default_factory=dict)
    replaced: list[Replacement] = field(default_factory=list)
    """Of all Guardians, in the order of the chain."""
    ending: Ending | None = None
    ended: HubLog | None = None
    claims: list[HubLog] = field(default_factory=list)
    decided: Ending | None = None
    """What a quorum agrees on."""

    @property
    def id(self) -> int:
        """Its number."""
        return self.created.number("bounty_id")

    def amount(self, name: str) -> int:
        """A number that was fixed at its creation."""
        return self.created.number(name)

    @property
    def poster(self) -> str:
        """Who funded it."""
        return self.created.text("poster")

    @property
    def recipient(self) -> str:
        """Who gets the protocol fee."""
        return self.created.text("protocol_fee_recipient")

    def parts(self) -> dict[tuple[str, str], int]:
        """What each party is entitled to once it is final, paid or not: by kind and account."""
        ending = self.ending
        if ending is None:
            return {}
        found = {
            ("award", ending.winner): ending.award,
            ("refund", self.poster): ending.refund,
            ("protocol_fee", self.recipient): ending.protocol_fee,
            **{("guardian_fee", account): ending.share for account in self.verdicts},
        }
        return {key: amount for key, amount in found.items() if amount}

    def paid(self) -> dict[tuple[str, str], int]:
        """What was claimed of these parts."""
        found = dict[tuple[str, str], int]()
        for claim in self.claims:
            key = part_of(claim)
            found[key] = found.get(key, 0) + claim.number("amount")
        return found

    def owed(self) -> int:
        """What the Hub holds for it."""
        whole = self.amount("escrow_amount") if self.ending is None else sum(self.parts().values())
        return whole - sum(self.paid().values())

    def last_change(self) -> HubLog:
        """The event that last changed what it is: claims change nothing of it."""
        return next(log for log in reversed(self.logs) if log.name not in PAYMENTS)


def part_of(claim: HubLog) -> tuple[str, str]:
    """Of a claim: kind and account."""
    kind, account = PAYMENTS[claim.name]
    return kind, claim.text(account)


@dataclass(slots=True)
class World:
    """Everything that a Hub's log comes to, up to a block."""

    chain_id: int
    hub: str
    findings: CheckReport
    config: list[object] = field(default_factory=list)
    """Of the constructor: token, owner, reveal delay, windows, least escrow, publication delay, fees, recipient."""
    bounties: dict[int, ReplayedBounty] = field(default_factory=dict)
    rosters: dict[int, ReplayedRoster] = field(default_factory=dict)
    active: dict[str, int] = field(default_factory=dict)
    """When an account last showed that it is there."""
    fees: tuple[int, int, str] = (0, 0, ZERO_ADDRESS)
    owner: str = ZERO_ADDRESS
    pending_owner: str = ZERO_ADDRESS
    keys: list[tuple[str, int]] = field(default_factory=list)
    """Delivery keys and the moment from which each counts; what was withdrawn or replaced before is gone."""
    key_logs: list[HubLog] = field(default_factory=list)
    logs: list[HubLog] = field(default_factory=list)

    @property
    def token(self) -> str:
        """The escrow token."""
        return str(self.config[0])

    def config_number(self, place: int) -> int:
        """A number of the constructor."""
        found = self.config[place]
        assert isinstance(found, int)  # noqa: S101 - decoded as uint256
        return found

    @property
    def reveal_delay(self) -> int:
        """Seconds from the submission deadline to the reveal point."""
        return self.config_number(2)

    @property
    def publication_delay(self) -> int:
        """Seconds until what the owner announces takes effect."""
        return self.config_number(8)

    def current_roster(self, time: int) -> ReplayedRoster | None:
        """The version that a bounty created at this time pins."""
        found = None
        for roster in self.rosters.values():
            if roster.effective_from <= time and not self.replaced_early(roster):
                found = roster
        return found

    def replaced_early(self, roster: ReplayedRoster) -> bool:
        """Whether another version was published before this one took effect."""
        later = self.rosters.get(roster.version + 1)
        return later is not None and later.log.place.time < roster.effective_from

    def owed(self) -> int:
        """What the Hub holds for all bounties."""
        return sum(bounty.owed() for bounty in self.bounties.values())

    # ------------------------------------------------------------------ events

    def apply(self, log: HubLog) -> None:
        """Take one event in, and report where it breaks a rule."""
        self.logs.append(log)
        if log.bounty_id is None:
            self._of_the_deployment(log)
            return
        bounty = self.bounties.get(log.bounty_id)
        if log.name == "BountyCreated":
            self._create(log)
        elif self._holds("chain.events", log, "a bounty that exists", bounty is not None, log.bounty_id) and bounty:
            bounty.logs.append(log)
            if log.name == "SubmissionRecorded":
                self._submit(bounty, log)
            elif log.name == "VerdictRecorded":
                self._judge(bounty, log)
            elif log.name == "BountyFinalized":
                self._finish(bounty, log)
            else:
                self._claim(bounty, log)

    def _holds(self, requirement: str, log: HubLog, expected: str, holds: bool, seen: object) -> bool:
        return self.findings.holds(requirement, self._where(log), expected, holds, seen)

    def _same(self, requirement: str, log: HubLog, name: str, expected: object) -> None:
        self.findings.same(requirement, f"{self._where(log)} {name}", expected, log.fields[name])

    @staticmethod
    def _where(log: HubLog) -> str:
        about = "" if log.bounty_id is None else f" of bounty {log.bounty_id}"
        return f"block {log.place.block_number} {log.name}{about}"

    def _of_the_deployment(self, log: HubLog) -> None:
        time = log.place.time
        if log.name == "Deployed":
            config = log.fields["config"]
            self.config, self.fees = config, (config[9], config[10], config[11])
        elif log.name == "RosterPublished":
            self._publish_roster(log)
        elif log.name == "GuardianHeartbeat":
            account = log.text("guardian")
            known = any(account in roster.accounts for roster in self.rosters.values())
            self._holds("chain.events", log, "an account that was ever on a roster", known, account)
            self.active[account] = time
        elif log.name == "FeePolicyChanged":
            self.fees = (log.number("protocol_fee_bps"), log.number("guardian_fee_bps"), log.text("recipient"))
            capped = self.fees[0] <= PROTOCOL_CAP and self.fees[1] <= GUARDIAN_CAP
            self._holds("chain.events", log, "fees within their caps", capped, self.fees)
        elif log.name == "OwnershipTransferStarted":
            self.pending_owner = log.text("new_owner")
        elif log.name == "OwnershipTransferred":
            self.owner, self.pending_owner = log.text("new_owner"), ZERO_ADDRESS
        elif log.name == "DeliveryKeyPublished":
            self.key_logs.append(log)
            self.keys = [each for each in self.keys if each[1] <= time]  # an announced one is replaced
            self.keys.append((log.text("key"), log.number("effective_from")))
        elif log.name == "DeliveryKeyWithdrawn":
            self.key_logs.append(log)
            self.keys = [each for each in self._keys_that_count(time) if each[0] != log.text("key")]

    def _keys_that_count(self, time: int) -> list[tuple[str, int]]:
        """The key in force and the announced one: an older key does not come back."""
        in_force = [each for each in self.keys if each[1] <= time]
        return in_force[-1:] + [each for each in self.keys if each[1] > time]

    def delivery_key(self, time: int) -> str:
        """The key in force, or zero."""
        found = [key for key, effective_from in self.keys if effective_from <= time]
        return found[-1] if found else ZERO_BYTES32

    def _publish_roster(self, log: HubLog) -> None:
        time, version = log.place.time, log.number("version")
        accounts, keys = tuple(log.fields["accounts"]), tuple(log.fields["encryption_keys"])
        quorum = log.number("quorum")
        self._same("chain.events", log, "version", len(self.rosters) + 1)
        hashed = roster_hash(self.chain_id, self.hub, version, accounts, keys, quorum)
        self._same("chain.events", log, "guardian_roster_hash", hashed)
        self._same("chain.events", log, "effective_from", time + self.publication_delay if self.rosters else time)
        size = len(accounts)
        sound = 1 <= size <= 15 and len(keys) == size == len(set(keys)) and list(accounts) == sorted(set(accounts))
        self._holds("chain.events", log, "ascending accounts with a key each", sound, [accounts, keys])
        self._holds("chain.events", log, "a quorum of more than half", size // 2 < quorum <= size, quorum)
        self.rosters[version] = ReplayedRoster(
            version, hashed, accounts, keys, quorum, log.number("effective_from"), log
        )

    def _create(self, log: HubLog) -> None:
        time, escrow = log.place.time, log.number("escrow_amount")
        self._same("chain.events", log, "bounty_id", len(self.bounties) + 1)
        roster = self.current_roster(time)
        if not self._holds("chain.terms", log, "a roster in effect", roster is not None, time) or roster is None:
            return
        self._same("chain.terms", log, "roster_version", roster.version)
        self._same("chain.terms", log, "guardian_roster_hash", roster.hash)
        self._same("chain.terms", log, "protocol_fee", escrow * self.fees[0] // WHOLE)
        self._same("chain.terms", log, "guardian_fee", escrow * self.fees[1] // WHOLE)
        self._same("chain.terms", log, "protocol_fee_recipient", self.fees[2])
        self._same("chain.terms", log, "reveal_at", log.number("submission_deadline") + self.reveal_delay)
        window = log.number("judging_deadline") - log.number("reveal_at")
        until_deadline = log.number("submission_deadline") - time
        bounds = (
            self.config_number(3) <= until_deadline <= self.config_number(4)
            and self.config_number(5) <= window <= self.config_number(6)
            and escrow >= self.config_number(7)
        )
        self._holds("chain.terms", log, "times and escrow within the Hub's bounds", bounds, dict(log.fields))
        self._holds("chain.terms", log, "a Poster who does not judge", log.text("poster") not in roster.accounts, "")
        self._holds("chain.terms", log, "a page's commitment", log.text("spec_commitment") != ZERO_BYTES32, "zero")
        self.bounties[log.number("bounty_id")] = ReplayedBounty(log, roster, [log])

    def _submit(self, bounty: ReplayedBounty, log: HubLog) -> None:
        solver, time = log.text("solver"), log.place.time
        accepting = bounty.ending is None and time < bounty.amount("submission_deadline")
        self._holds("chain.events", log, "a Submission before the deadline", accepting, time)
        apart = solver != bounty.poster and solver not in bounty.roster.accounts
        self._holds("chain.events", log, "a Solver who neither pays nor judges", apart, solver)
        bounty.submissions[solver] = log

    def _judge(self, bounty: ReplayedBounty, log: HubLog) -> None:
        guardian, time = log.text("guardian"), log.place.time
        self._holds("chain.events", log, "a Guardian of the roster", guardian in bounty.roster.accounts, guardian)
        judgeable = bounty.ending is None and bounty.amount("reveal_at") <= time < bounty.amount("judging_deadline")
        self._holds("chain.events", log, "a Verdict within the judging window", judgeable, time)
        kind, solver, named = choice_of(log)
        active = bounty.submissions.get(solver)
        names_work = active is not None and active.text("submission_commitment") == named
        names_nothing = (solver, named) == (ZERO_ADDRESS, ZERO_BYTES32) and bool(bounty.submissions)
        right = (kind == AWARDED and names_work) or (kind == NO_VALID and names_nothing)
        self._holds("chain.events", log, "a Verdict on active work", right, [kind, solver, named])
        if guardian in bounty.verdicts:
            bounty.replaced.append(_replacement(bounty, log))
        bounty.verdicts[guardian] = log
        self.active[guardian] = time
        alike = sum(choice_of(each) == (kind, solver, named) for each in bounty.verdicts.values())
        if alike >= bounty.roster.quorum:
            bounty.decided = ending_of(bounty, kind, JUDGED, solver, named)

    def _finish(self, bounty: ReplayedBounty, log: HubLog) -> None:
        time = log.place.time
        self._holds("chain.outcome", log, "a bounty that was open", bounty.ending is None, "final before")
        expected = bounty.decided
        if expected is not None:
            deciding = next(each for each in reversed(bounty.logs) if each.name == "VerdictRecorded")
            in_one = deciding.place.tx_hash == log.place.tx_hash
            self._holds("chain.outcome", log, "the transaction of the deciding Verdict", in_one, log.place.tx_hash)
        else:
            reason = SILENT if not bounty.verdicts else NO_QUORUM
            reason = reason if bounty.submissions else NO_SUBMISSIONS
            due = bounty.amount("judging_deadline" if bounty.submissions else "submission_deadline")
            self._holds("chain.outcome", log, f"an end without a quorum not before {due}", time >= due, time)
            expected = ending_of(bounty, NO_VALID, reason, ZERO_ADDRESS, ZERO_BYTES32)
        for name in ("outcome", "reason", "winner"):
            self._same("chain.outcome", log, name, getattr(expected, name))
        self._same("chain.outcome", log, "submission_commitment", expected.submission)
        for name in ("award", "refund", "protocol_fee"):
            self._same("money.split", log, name, getattr(expected, name))
        self._same("money.split", log, "guardian_fee_count", expected.count)
        if expected.count:
            self._same("money.split", log, "guardian_fee_each", expected.share)
        bounty.ending, bounty.ended, bounty.decided = expected, log, None

    def _claim(self, bounty: ReplayedBounty, log: HubLog) -> None:
        key, amount = part_of(log), log.number("amount")
        left = bounty.parts().get(key, 0) - bounty.paid().get(key, 0)
        self._holds("money.claims", log, f"a payment of {left} to {key[1]} as {key[0]}", 0 < amount == left, amount)
        bounty.claims.append(log)

    def undecided(self) -> None:
        """Report bounties of which a quorum agrees and that did not end."""
        for bounty in self.bounties.values():
            if bounty.decided is not None:
                self.findings.add("chain.outcome", f"bounty {bounty.id}", "an end by its quorum", "still open")


def choice_of(verdict: HubLog) -> tuple[int, str, str]:
    """What a Verdict names: kind, Solver, Submission."""
    return verdict.number("kind"), verdict.text("solver"), verdict.text("submission_commitment")


def _replacement(bounty: ReplayedBounty, later: HubLog) -> Replacement:
    """What a Verdict replaces, of a Guardian whose Verdict is there."""
    before = bounty.verdicts[later.text("guardian")]
    if choice_of(before) != choice_of(later):
        return Replacement(later, before, before)
    # The one before decided the same, so that what it was compared with is what this one is compared with.
    same = next((each for each in reversed(bounty.replaced) if each.later is before), None)
    decided_otherwise = same is not None and choice_of(same.compared) != choice_of(later)
    return Replacement(later, before, same.compared if same is not None and decided_otherwise else before)


def ending_of(bounty: ReplayedBounty, outcome: int, reason: int, winner: str, submission: str) -> Ending:
    """The row of the table of docs/hub.md, for the Verdicts that are there now."""
    escrow, protocol = bounty.amount("escrow_amount"), bounty.amount("protocol_fee")
    guardians, count = bounty.amount("guardian_fee"), len(bounty.verdicts)
    share = guardians // len(bounty.roster.accounts)
    if outcome == AWARDED:
        award, refund, fee = escrow - protocol - guardians, guardians - count * share, protocol
    else:
        award, refund, fee = 0, escrow - count * share, 0
    return Ending(outcome, reason, winner, submission, award, refund, fee, share, count)


def roster_hash(
    chain_id: int, hub: str, version: int, accounts: Iterable[str], keys: Iterable[str], quorum: int
) -> str:
    """``guardian_roster_hash`` of docs/formats.md."""
    kinds = ["uint256", "address", "uint256", "address[]", "bytes32[]", "uint256"]
    members = [bytes.fromhex(key[2:]) for key in keys]
    return "0x" + keccak(eth_abi.abi.encode(kinds, [chain_id, hub, version, list(accounts), members, quorum])).hex()


def replayed(chain_id: int, hub: str, logs: Iterable[HubLog], findings: CheckReport | None = None) -> World:
    """The world after these logs; without findings, what breaks a rule is reported to nobody."""
    world = World(chain_id, hub, findings if findings is not None else CheckReport())
    for log in logs:
        world.apply(log)
    return world
