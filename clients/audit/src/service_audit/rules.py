"""The Hub's rules (docs/hub.md), applied to its log: what each bounty is, what it owes, and where an event breaks one.

This is the one place that has them. Nothing here knows what the Hub's views or anybody's index show.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Final

import eth_abi
from eth_utils.crypto import keccak

from service_audit.events import ZERO_ADDRESS, ZERO_BYTES32, HubLog

AWARDED, NO_VALID = 1, 2
OUTCOMES: Final = {AWARDED: "awarded", NO_VALID: "no_valid_submission"}
JUDGED, NO_SUBMISSIONS, SILENT, NO_QUORUM = 1, 2, 3, 4
REASONS: Final = {
    JUDGED: "judged",
    NO_SUBMISSIONS: "no_submissions",
    SILENT: "guardians_silent",
    NO_QUORUM: "quorum_not_reached",
}
MAX_PROTOCOL_BPS, MAX_GUARDIAN_BPS, WHOLE_BPS = 1_000, 2_000, 10_000
MAX_MEMBERS: Final = 15
MAX_ESCROW: Final = 2**88 - 1
MAX_SECONDS: Final = 365 * 86_400
"""The longest delay or window of a deployment."""
PAYMENTS: Final = {
    "AwardClaimed": ("award", "solver"),
    "RefundClaimed": ("refund", "poster"),
    "GuardianFeeClaimed": ("guardian_fee", "guardian"),
    "ProtocolFeeClaimed": ("protocol_fee", "recipient"),
}
"""Events of a claim: whose part it is, and the field that names the account that got it."""
FIELD_PRIME: Final = 2**255 - 19
LOW_ORDER: Final = {
    0,
    1,
    325606250916557431795983626356110631294008115727848805560023387167927233504,
    39382357235489614581723060781553021112529911719440698176882885853963445705823,
    FIELD_PRIME - 1,
}
"""The canonical u-coordinates of Curve25519 that make every shared secret zero."""


@dataclass(frozen=True, slots=True)
class Breach:
    """An event that breaks a rule: the requirement, the place, what the rule says and what the log has."""

    requirement: str
    where: str
    expected: object
    seen: object


@dataclass(frozen=True, slots=True)
class HubConfig:
    """What the constructor fixed, and the fees that it began with."""

    token: str
    owner: str
    reveal_delay: int
    min_submission_window: int
    max_submission_window: int
    min_judging_window: int
    max_judging_window: int
    min_escrow: int
    publication_delay: int
    protocol_fee_bps: int
    guardian_fee_bps: int
    protocol_fee_recipient: str

    @property
    def is_within_bounds(self) -> bool:
        """Whether a Hub takes these times, this escrow and these fees."""
        return (
            1 <= self.min_submission_window <= self.max_submission_window <= MAX_SECONDS
            and 1 <= self.min_judging_window <= self.max_judging_window <= MAX_SECONDS
            and 1 <= self.min_escrow <= MAX_ESCROW
            and 1 <= self.reveal_delay <= MAX_SECONDS
            and 1 <= self.publication_delay <= MAX_SECONDS
            and self.protocol_fee_bps <= MAX_PROTOCOL_BPS
            and self.guardian_fee_bps <= MAX_GUARDIAN_BPS
        )


@dataclass(frozen=True, slots=True)
class Roster:
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
class Bounty:
    """One bounty: its terms, and everything that happened to it."""

    created: HubLog
    roster: Roster
    logs: list[HubLog]
    submissions: dict[str, HubLog] = field(default_factory=dict)
    verdicts: dict[str, HubLog] = field(default_factory=dict)
    replaced: list[Replacement] = field(default_factory=list)
    """Of all Guardians, in the order of the chain."""
    ending: Ending | None = None
    ended: HubLog | None = None
    claims: list[HubLog] = field(default_factory=list)
    decided: Ending | None = None
    """What a quorum agrees on, until the Hub says so in the same transaction."""

    def copy(self) -> "Bounty":
        """Return a copy that may change."""
        return replace(
            self,
            logs=list(self.logs),
            submissions=dict(self.submissions),
            verdicts=dict(self.verdicts),
            replaced=list(self.replaced),
            claims=list(self.claims),
        )

    @property
    def id(self) -> int:
        """Its number."""
        return self.created.number("bounty_id")

    @property
    def poster(self) -> str:
        """Who funded it."""
        return self.created.text("poster")

    @property
    def recipient(self) -> str:
        """Who gets the protocol fee."""
        return self.created.text("protocol_fee_recipient")

    def amount(self, name: str) -> int:
        """Return a number that was fixed at its creation."""
        return self.created.number(name)

    def accepting(self, time: int) -> bool:
        """Return whether it is open and before the submission deadline."""
        return self.ending is None and time < self.amount("submission_deadline")

    def judgeable(self, time: int) -> bool:
        """Return whether it is open and within the judging window."""
        return self.ending is None and self.amount("reveal_at") <= time < self.amount("judging_deadline")

    def settles_at(self) -> int:
        """Return from when anybody may end it without a quorum."""
        return self.amount("judging_deadline" if self.submissions else "submission_deadline")

    def parts(self) -> dict[tuple[str, str], int]:
        """Return what each party is entitled to once it is final, paid or not: by kind and account."""
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
        """Return what was claimed of these parts."""
        found = Counter[tuple[str, str]]()
        for claim in self.claims:
            found[part_of(claim)] += claim.number("amount")
        return dict(found)

    def owed(self) -> int:
        """Return what the Hub holds for it."""
        whole = self.amount("escrow_amount") if self.ending is None else sum(self.parts().values())
        return whole - sum(claim.number("amount") for claim in self.claims)


def part_of(claim: HubLog) -> tuple[str, str]:
    """Return the kind and the account of a claim."""
    kind, account = PAYMENTS[claim.name]
    return kind, claim.text(account)


def choice_of(verdict: HubLog) -> tuple[int, str, str]:
    """Return what a Verdict names: kind, Solver, Submission."""
    return verdict.number("kind"), verdict.text("solver"), verdict.text("submission_commitment")


@dataclass(slots=True)
class World:
    """Everything that a Hub's log comes to, up to a block. A fork goes on from here without changing this one."""

    chain_id: int
    hub: str
    config: HubConfig | None = None
    bounties: dict[int, Bounty] = field(default_factory=dict)
    rosters: dict[int, Roster] = field(default_factory=dict)
    active: dict[str, int] = field(default_factory=dict)
    """When an account last showed that it is there."""
    fees: tuple[int, int, str] = (0, 0, ZERO_ADDRESS)
    owner: str = ZERO_ADDRESS
    pending_owner: str = ZERO_ADDRESS
    keys: tuple[tuple[str, int], ...] = ()
    """The delivery key in force and the announced one, each with the moment from which it counts."""
    key_logs: tuple[HubLog, ...] = ()
    posted: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """The bounties of each Poster."""
    submitted: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """The bounties of each Solver."""
    count: int = 0
    """How many events it comes from."""
    breaches: list[Breach] = field(default_factory=list)
    compared: Counter[str] = field(default_factory=Counter)
    """How often each requirement was looked at."""
    _own: set[int] | None = None
    """In a fork the bounties that are its own copies; None if all are."""

    def fork(self) -> "World":
        """Return a world that goes on from this one."""
        return replace(
            self,
            bounties=dict(self.bounties),
            rosters=dict(self.rosters),
            active=dict(self.active),
            posted=dict(self.posted),
            submitted=dict(self.submitted),
            breaches=list(self.breaches),
            compared=Counter(self.compared),
            _own=set(),
        )

    # ------------------------------------------------------------------ what follows from the log

    @property
    def terms(self) -> HubConfig:
        """What the constructor fixed, of a Hub that was deployed."""
        if self.config is None:
            raise ValueError("no Hub was deployed")
        return self.config

    def current_roster(self, time: int) -> Roster | None:
        """Return the version that a bounty created at this time pins."""
        found = [each for each in self.rosters.values() if each.effective_from <= time and not self.is_replaced(each)]
        return found[-1] if found else None

    def is_replaced(self, roster: Roster) -> bool:
        """Return whether another version was published before this one took effect, which it then never does."""
        later = self.rosters.get(roster.version + 1)
        return later is not None and later.log.place.time < roster.effective_from

    def delivery_key(self, time: int) -> str:
        """Return the key in force, or zero."""
        found = [key for key, effective_from in self.keys if effective_from <= time]
        return found[-1] if found else ZERO_BYTES32

    def owed(self) -> int:
        """Return what the Hub holds for all bounties."""
        return sum(bounty.owed() for bounty in self.bounties.values())

    def undecided(self) -> list[Breach]:
        """Return the bounties of which a quorum agrees and that did not end in its transaction."""
        return [
            Breach("chain.outcome", f"bounty {bounty.id}", "an end by its quorum", "still open")
            for bounty in self.bounties.values()
            if bounty.decided is not None
        ]

    # ------------------------------------------------------------------ events

    def apply(self, log: HubLog) -> None:
        """Take one event in, and note where it breaks a rule."""
        self.count += 1
        if log.bounty_id is None:
            self._of_the_deployment(log)
        elif log.name == "BountyCreated":
            self._create(log)
        elif self._rule("chain.events", log, "a bounty that exists", log.bounty_id in self.bounties, log.bounty_id):
            self._of_a_bounty(self._changing(log.bounty_id), log)

    def _changing(self, number: int) -> Bounty:
        """Return a bounty that this world may change."""
        if self._own is not None and number not in self._own:
            self.bounties[number] = self.bounties[number].copy()
            self._own.add(number)
        return self.bounties[number]

    def _of_a_bounty(self, bounty: Bounty, log: HubLog) -> None:
        bounty.logs.append(log)
        if log.name == "SubmissionRecorded":
            self._submit(bounty, log)
        elif log.name == "VerdictRecorded":
            self._judge(bounty, log)
        elif log.name == "BountyFinalized":
            self._finish(bounty, log)
        else:
            self._claim(bounty, log)

    def _rule(self, requirement: str, log: HubLog, expected: str, holds: bool, seen: object) -> bool:
        self.compared[requirement] += 1
        if not holds:
            self.breaches.append(Breach(requirement, _where(log), expected, seen))
        return holds

    def _same(self, requirement: str, log: HubLog, name: str, expected: object) -> None:
        self.compared[requirement] += 1
        if log.fields[name] != expected:
            self.breaches.append(Breach(requirement, f"{_where(log)} {name}", expected, log.fields[name]))

    # ------------------------------------------------------------------ the owner, and the Guardians' signs of life

    def _of_the_deployment(self, log: HubLog) -> None:
        if log.name == "Deployed":
            self._deploy(log)
        elif log.name == "RosterPublished":
            self._publish_roster(log)
        elif log.name == "GuardianHeartbeat":
            account = log.text("guardian")
            known = any(account in roster.accounts for roster in self.rosters.values())
            self._rule("chain.events", log, "an account that was ever on a roster", known, account)
            self.active[account] = log.place.time
        elif log.name == "FeePolicyChanged":
            self._set_fees(log)
        elif log.name == "OwnershipTransferStarted":
            self._same("chain.events", log, "previous_owner", self.owner)
            self.pending_owner = log.text("new_owner")
        elif log.name == "OwnershipTransferred":
            first = self.config is not None and self.owner == ZERO_ADDRESS
            self._same("chain.events", log, "previous_owner", self.owner)
            self._same("chain.events", log, "new_owner", self.terms.owner if first else self.pending_owner)
            self.owner, self.pending_owner = log.text("new_owner"), ZERO_ADDRESS
        elif log.name == "DeliveryKeyPublished":
            self._publish_key(log)
        else:  # the other event without a bounty: DeliveryKeyWithdrawn
            key = log.text("key")
            known = any(key == each for each, _ in self._keys_that_count(log.place.time))
            self._rule("chain.events", log, "the delivery key in force, or the announced one", known, key)
            self.keys = tuple(each for each in self._keys_that_count(log.place.time) if each[0] != key)
            self.key_logs += (log,)

    def _deploy(self, log: HubLog) -> None:
        self._rule("chain.events", log, "the Hub's first event", self.count == 1, self.count)
        self.config = HubConfig(*log.fields["config"])
        self._rule(
            "chain.events",
            log,
            "times, escrow and fees that a Hub takes",
            self.config.is_within_bounds,
            log.fields["config"],
        )

    def _set_fees(self, log: HubLog) -> None:
        protocol, guardian, recipient = (log.fields[n] for n in ("protocol_fee_bps", "guardian_fee_bps", "recipient"))
        capped = protocol <= MAX_PROTOCOL_BPS and guardian <= MAX_GUARDIAN_BPS
        self._rule("chain.events", log, "fees within their caps", capped, [protocol, guardian])
        apart = recipient not in {ZERO_ADDRESS, self.hub, self.terms.token}
        self._rule("chain.events", log, "a recipient other than zero, Hub and token", apart, recipient)
        self.fees = (protocol, guardian, recipient)

    def _publish_roster(self, log: HubLog) -> None:
        time, version, quorum = log.place.time, log.number("version"), log.number("quorum")
        accounts, keys = tuple(log.fields["accounts"]), tuple(log.fields["encryption_keys"])
        size = len(accounts)
        self._same("chain.events", log, "version", len(self.rosters) + 1)
        self._rule("chain.events", log, "one to fifteen members", 1 <= size <= MAX_MEMBERS, size)
        ascending = accounts == tuple(sorted(set(accounts))) and ZERO_ADDRESS not in accounts
        self._rule("chain.events", log, "accounts that ascend", ascending, accounts)
        sound = len(set(keys)) == len(keys) == size and all(map(_is_sound_key, keys))
        self._rule("chain.events", log, "one sound key for each member, none twice", sound, keys)
        self._rule("chain.events", log, "a quorum of more than half", quorum <= size < 2 * quorum, quorum)
        hashed = roster_hash(self.chain_id, self.hub, version, accounts, keys, quorum)
        self._same("chain.events", log, "guardian_roster_hash", hashed)
        delay = self.terms.publication_delay if self.rosters else 0
        self._same("chain.events", log, "effective_from", time + delay)
        self.rosters[version] = Roster(
            version,
            log.text("guardian_roster_hash"),
            accounts,
            keys,
            quorum,
            log.number("effective_from"),
            log,
        )

    def _publish_key(self, log: HubLog) -> None:
        time, key = log.place.time, log.text("key")
        self._rule("chain.events", log, "a sound key", _is_sound_key(key), key)
        is_first = not any(each.name == "DeliveryKeyPublished" for each in self.key_logs)
        self._same("chain.events", log, "effective_from", time + (0 if is_first else self.terms.publication_delay))
        in_force = tuple(
            each for each in self._keys_that_count(time) if each[1] <= time
        )  # an announced one is replaced
        self.keys = (*in_force, (key, log.number("effective_from")))
        self.key_logs += (log,)

    def _keys_that_count(self, time: int) -> tuple[tuple[str, int], ...]:
        """Return the key in force and the announced one: an older key does not come back."""
        in_force = tuple(each for each in self.keys if each[1] <= time)
        return in_force[-1:] + tuple(each for each in self.keys if each[1] > time)

    # ------------------------------------------------------------------ one bounty

    def _create(self, log: HubLog) -> None:
        """Take in a creation, which pins what was current."""
        time, escrow, terms = log.place.time, log.number("escrow_amount"), self.terms
        self._same("chain.events", log, "bounty_id", len(self.bounties) + 1)
        roster = self.current_roster(time)
        if not self._rule("chain.terms", log, "a roster in force", roster is not None, None) or roster is None:
            return
        self._same("chain.terms", log, "roster_version", roster.version)
        self._same("chain.terms", log, "guardian_roster_hash", roster.hash)
        self._same("chain.terms", log, "protocol_fee", escrow * self.fees[0] // WHOLE_BPS)
        self._same("chain.terms", log, "guardian_fee", escrow * self.fees[1] // WHOLE_BPS)
        self._same("chain.terms", log, "protocol_fee_recipient", self.fees[2])
        self._same("chain.terms", log, "reveal_at", log.number("submission_deadline") + terms.reveal_delay)
        self._rule("chain.terms", log, "an escrow in bounds", terms.min_escrow <= escrow <= MAX_ESCROW, escrow)
        submitting = log.number("submission_deadline") - time
        in_bounds = terms.min_submission_window <= submitting <= terms.max_submission_window
        self._rule("chain.terms", log, "a submission deadline in bounds", in_bounds, submitting)
        judging = log.number("judging_deadline") - log.number("reveal_at")
        in_bounds = terms.min_judging_window <= judging <= terms.max_judging_window
        self._rule("chain.terms", log, "a judging window in bounds", in_bounds, judging)
        poster = log.text("poster")
        apart = poster != ZERO_ADDRESS and poster not in roster.accounts
        self._rule("chain.terms", log, "a Poster who does not judge", apart, poster)
        self._rule("chain.terms", log, "a page's commitment", log.text("spec_commitment") != ZERO_BYTES32, "zero")
        number = log.number("bounty_id")
        self.bounties[number] = Bounty(log, roster, [log])
        self.posted[poster] = (*self.posted.get(poster, ()), number)
        if self._own is not None:
            self._own.add(number)

    def _submit(self, bounty: Bounty, log: HubLog) -> None:
        solver, time = log.text("solver"), log.place.time
        self._rule("chain.events", log, "a Submission before the deadline", bounty.accepting(time), time)
        apart = solver != bounty.poster and solver not in bounty.roster.accounts
        self._rule("chain.events", log, "a Solver who neither pays nor judges", apart, solver)
        named = log.text("submission_commitment") != ZERO_BYTES32
        self._rule("chain.events", log, "a Submission's commitment", named, "zero")
        if solver not in bounty.submissions:
            self.submitted[solver] = (*self.submitted.get(solver, ()), bounty.id)
        bounty.submissions[solver] = log

    def _judge(self, bounty: Bounty, log: HubLog) -> None:
        """Take in a Verdict; with a quorum for one choice the bounty is decided."""
        guardian, time = log.text("guardian"), log.place.time
        self._rule("chain.events", log, "a Guardian of the roster", guardian in bounty.roster.accounts, guardian)
        self._rule("chain.events", log, "a Verdict within the judging window", bounty.judgeable(time), time)
        kind, solver, named = choice_of(log)
        active = bounty.submissions.get(solver)
        names_work = active is not None and active.text("submission_commitment") == named
        names_nothing = (solver, named) == (ZERO_ADDRESS, ZERO_BYTES32) and bool(bounty.submissions)
        right = (kind == AWARDED and names_work) or (kind == NO_VALID and names_nothing)
        self._rule("chain.events", log, "a Verdict on active work", right, [kind, solver, named])
        reported = log.text("report_commitment") != ZERO_BYTES32
        self._rule("chain.events", log, "a report's commitment", reported, "zero")
        if guardian in bounty.verdicts:
            bounty.replaced.append(_replacement(bounty, log))
        bounty.verdicts[guardian] = log
        self.active[guardian] = time
        alike = sum(choice_of(each) == (kind, solver, named) for each in bounty.verdicts.values())
        if alike >= bounty.roster.quorum:
            bounty.decided = ending_of(bounty, kind, JUDGED, solver, named)

    def _finish(self, bounty: Bounty, log: HubLog) -> None:
        """Take in an end, which its quorum or its times give."""
        time = log.place.time
        self._rule("chain.outcome", log, "a bounty that was open", bounty.ending is None, "final before")
        expected = bounty.decided
        if expected is not None:
            deciding = next(each for each in reversed(bounty.logs) if each.name == "VerdictRecorded")
            in_one = deciding.place.tx_hash == log.place.tx_hash
            self._rule("chain.outcome", log, "the transaction of the deciding Verdict", in_one, log.place.tx_hash)
        else:
            reason = NO_SUBMISSIONS if not bounty.submissions else NO_QUORUM if bounty.verdicts else SILENT
            due = bounty.settles_at()
            self._rule("chain.outcome", log, f"an end without a quorum not before {due}", time >= due, time)
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

    def _claim(self, bounty: Bounty, log: HubLog) -> None:
        key, amount = part_of(log), log.number("amount")
        left = bounty.parts().get(key, 0) - bounty.paid().get(key, 0)
        self._rule("money.claims", log, f"a payment of {left} to {key[1]} as {key[0]}", 0 < amount == left, amount)
        bounty.claims.append(log)


def _where(log: HubLog) -> str:
    about = "" if log.bounty_id is None else f" of bounty {log.bounty_id}"
    return f"block {log.place.block_number} {log.name}{about}"


def _replacement(bounty: Bounty, later: HubLog) -> Replacement:
    """Return what a Verdict replaces, of a Guardian whose Verdict is there."""
    before = bounty.verdicts[later.text("guardian")]
    if choice_of(before) != choice_of(later):
        return Replacement(later, before, before)
    # The one before decided the same, so that what it was compared with is what this one is compared with.
    same = next((each for each in reversed(bounty.replaced) if each.later is before), None)
    decided_otherwise = same is not None and choice_of(same.compared) != choice_of(later)
    return Replacement(later, before, same.compared if same is not None and decided_otherwise else before)


def ending_of(bounty: Bounty, outcome: int, reason: int, winner: str, submission: str) -> Ending:
    """Return the row of the money table for the Verdicts that are there now."""
    escrow, protocol = bounty.amount("escrow_amount"), bounty.amount("protocol_fee")
    guardians, count = bounty.amount("guardian_fee"), len(bounty.verdicts)
    share = guardians // len(bounty.roster.accounts)
    if outcome == AWARDED:
        award, refund, fee = escrow - protocol - guardians, guardians - count * share, protocol
    else:
        award, refund, fee = 0, escrow - count * share, 0
    return Ending(outcome, reason, winner, submission, award, refund, fee, share, count)


def award_of(bounty: Bounty) -> int:
    """Return what a winner gets, no matter who it is."""
    return bounty.amount("escrow_amount") - bounty.amount("protocol_fee") - bounty.amount("guardian_fee")


def _is_sound_key(key: str) -> bool:
    """Return whether an X25519 key is canonical and not of low order."""
    number = int.from_bytes(bytes.fromhex(key[2:]), "little")
    return number < FIELD_PRIME and number not in LOW_ORDER


def roster_hash(
    chain_id: int, hub: str, version: int, accounts: Iterable[str], keys: Iterable[str], quorum: int
) -> str:
    """Return the ``guardian_roster_hash`` of docs/formats.md."""
    kinds = ["uint256", "address", "uint256", "address[]", "bytes32[]", "uint256"]
    members = [bytes.fromhex(key[2:]) for key in keys]
    values: list[Any] = [chain_id, hub, version, list(accounts), members, quorum]
    return "0x" + keccak(eth_abi.abi.encode(kinds, values)).hex()
