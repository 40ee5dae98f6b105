"""Random lives of many bounties, played against the Hub and against the model at once.

Each rule sends one call; the model says beforehand whether it is accepted, which events it logs, or which named error
with which values it answers. The touched bounty, every balance and everybody's claimable amount are compared after
each step; when a history ends, everyone pulls, and the Hub must be left with nothing but unsolicited tokens.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.contracts.evm import CHOSEN, Chain, Done, Event, Refusal, View
from tests.contracts.model import HubModel
from tests.contracts.signing import authorization
from tests.contracts.values import (
    AWARDED,
    NO_VALID_SUBMISSION,
    NO_WORK,
    OPEN,
    ZERO,
    Bounty,
    Config,
    Refused,
    Roster,
    Terms,
    text,
)
from tests.keys import account_of

START = 1_800_000_000
CHAIN_ID = 1
POSTER_KEYS: dict[str, bytes] = {account_of(bytes([number]) * 32): bytes([number]) * 32 for number in (1, 2)}
POSTERS = list(POSTER_KEYS)
SOLVERS = [f"0x{0xB0 + number:040x}" for number in range(3)]
GUARDIANS = [f"0x{0xC0 + number:040x}" for number in range(5)]
RECIPIENTS = [f"0x{0xD0 + number:040x}" for number in range(2)]
OWNERS = [f"0x{0xE0 + number:040x}" for number in range(2)]
EVERYONE = [*POSTERS, *SOLVERS, *GUARDIANS, *RECIPIENTS, *OWNERS]
FORTUNE = 2**96
ISSUER = f"0x{0xF0:040x}"
KEYS = [bytes([9 + number]) + bytes(31) for number in range(5)]
REACHED: Counter[str] = Counter()

seldom = st.sampled_from([False] * 7 + [True])
spoils = st.sampled_from([-1] * 12 + list(range(14)))
posters, solvers, guardians = map(st.sampled_from, (POSTERS, SOLVERS, GUARDIANS))
anyone = st.sampled_from(EVERYONE)
words = st.sampled_from([bytes([number]) * 32 for number in (7, 8, 0, 9, 7, 8, 9)])
backwards = st.integers(0, 5)


class HubMachine(RuleBasedStateMachine):
    evm = CHOSEN

    @initialize(
        protocol_bps=st.sampled_from([250, 0, 1_000]), guardian_bps=st.sampled_from([300, 0, 2_000]),
        members=st.sampled_from([3, 5, 1, 2, 0]), lives=st.integers(0, 3), reveal=st.booleans(),
    )  # fmt: skip
    def begin(self, protocol_bps: int, guardian_bps: int, members: int, lives: int, reveal: bool) -> None:
        """A deployment, perhaps with a roster and some bounties with work, perhaps at their reveal point."""
        self.deploy(protocol_bps, guardian_bps)
        if members == 0:
            return
        self.publish_roster(list(range(members)), 1, -1, OWNERS[0])
        for life in range(lives):
            self.create(POSTERS[0], 10**6 + 370, 500, 2_000, -1, signed=False, salt=bytes(32))
            for solver in SOLVERS[:life]:
                self.submit(solver, ZERO, False, 0, b"\7" * 32, False, False)
        if reveal:
            self.chain.warp(START + 560)

    def deploy(self, protocol_bps: int, guardian_bps: int) -> None:
        self.chain = Chain(START, self.evm)
        self.token = self.chain.deploy_token(ISSUER)
        config = Config(
            self.token.address,
            OWNERS[0],
            60,
            100,
            1_000,
            500,
            2_000,
            1_000,
            50,
            protocol_bps,
            guardian_bps,
            RECIPIENTS[0],
        )
        kinds = "(address,address,uint256,uint256,uint256,uint256,uint256,uint256,uint256,uint256,uint256,address)"
        self.hub = self.chain.deploy("Hub", (kinds, tuple(config)))
        self.model = HubModel(self.hub.address, CHAIN_ID, config)
        self.donated = 0
        self.touched = 0
        for poster in POSTERS:
            self.token.send(ISSUER, "mint", poster, FORTUNE)
            self.token.send(poster, "approve", self.hub.address, 2**256 - 1)
            self.model.balances[poster] = FORTUNE

    # ------------------------------------------------------------ time

    @rule(seconds=st.sampled_from([1, 30, 61, 200]))
    def wait(self, seconds: int) -> None:
        self.chain.warp(self.chain.time + seconds)

    @precondition(lambda self: self.model.bounties)
    @rule(back=backwards, before=st.booleans(), end=seldom)
    def wait_for_edge(self, back: int, before: bool, end: bool) -> None:
        """To the second at which something changes for an open bounty, or the second before."""
        bounty = self.latest(back, lambda b: b.outcome == OPEN)
        edges = [bounty.terms.submission_deadline, bounty.reveal_at, bounty.judging_deadline][: 3 if end else 2]
        for edge in edges:
            if self.chain.time < edge - before and (bounty.submissions or end):
                self.chain.warp(edge - before)
                return

    # ------------------------------------------------------------ owner

    @rule(
        action=st.sampled_from(["roster", "roster", "fees", "fees", "delivery key", "withdraw", "offer", "accept"]),
        members=st.sets(st.integers(0, 4), max_size=5), extra=st.integers(0, 2), spoil=spoils, other=anyone,
        strange=seldom, bps=st.tuples(st.integers(0, 1_010), st.integers(0, 2_020)),
    )  # fmt: skip
    def owner(
        self, action: str, members: set[int], extra: int, spoil: int, other: str, strange: bool, bps: tuple[int, int]
    ) -> None:
        sender = other if strange else self.model.owner
        if action == "roster":
            self.publish_roster(sorted(members), extra, spoil, sender)
        elif action == "fees":
            recipient = {0: self.hub.address, 1: ZERO, 2: self.token.address}.get(spoil, other)
            self.play(sender, "setFeePolicy", [*bps, recipient], self.model.set_fee_policy, *bps, recipient)
        elif action == "delivery key":
            key = {0: bytes(32), 1: b"\xff" * 32}.get(spoil, bytes([extra + 2]) * 32)
            self.play(sender, "publishDeliveryKey", [key], self.model.publish_delivery_key, key, self.chain.time)
        elif action == "withdraw":
            keys = [self.model.delivery_key(self.chain.time), self.model.announced_delivery_key(self.chain.time)[0]]
            key = {0: bytes(32), 1: b"\xff" * 32}.get(spoil, keys[extra % 2])
            self.play(sender, "withdrawDeliveryKey", [key], self.model.withdraw_delivery_key, key, self.chain.time)
        elif action == "offer":
            heir = ZERO if spoil == 0 else OWNERS[extra % 2]
            self.play(sender, "transferOwnership", [heir], self.model.transfer_ownership, heir)
        else:
            self.play(OWNERS[extra % 2], "acceptOwnership", [], self.model.accept_ownership)
            owners = (self.hub.read("owner"), self.hub.read("pendingOwner"))
            assert owners == (self.model.owner, self.model.pending_owner)

    def publish_roster(self, members: list[int], extra: int, spoil: int, sender: str) -> None:
        accounts, keys = [GUARDIANS[number] for number in members], [KEYS[number] for number in members]
        quorum = len(accounts) // 2 + extra
        if spoil == 0:
            accounts.reverse()
        keys = {
            1: keys[:-1],
            2: [KEYS[0]] * len(accounts),
            3: [b"\xec" + b"\xff" * 30 + b"\x7f"] * len(accounts),
            4: [b"\xff" * 32] * len(accounts),
        }.get(spoil, keys)
        arguments = [accounts, keys, quorum]
        self.play(sender, "publishRoster", arguments, self.model.publish_roster, *arguments, self.chain.time)

    # ------------------------------------------------------------ create and submit

    @rule(
        poster=posters, escrow=st.sampled_from([1_000, 1_001, 1_047, 10**6 + 370, 10**12 + 1, 2**88 - 1]),
        until=st.sampled_from([100, 500, 1_000]), window=st.sampled_from([500, 2_000]), spoil=spoils,
        signed=st.booleans(), salt=words,
    )  # fmt: skip
    def create(self, poster: str, escrow: int, until: int, window: int, spoil: int, signed: bool, salt: bytes) -> None:
        now, most = self.chain.time, 2**256 - 1
        current = self.model.roster(now)
        roster = bytes.fromhex(current.hash[2:]) if current else bytes(32)
        newest = b"\6" * 32 if len(self.model.rosters) < 2 else bytes.fromhex(self.model.rosters[-1].hash[2:])
        protocol_fee, guardian_fee = self.fees(escrow)
        terms = Terms(b"\5" * 32, roster, escrow, now + until, window, most, most, salt)
        spoiled: dict[int, dict[str, Any]] = {
            0: {"spec_commitment": bytes(32)}, 1: {"escrow_amount": 999}, 2: {"escrow_amount": 2**88},
            3: {"submission_deadline": now + 99}, 4: {"submission_deadline": now + 1_001}, 5: {"judging_window": 499},
            6: {"judging_window": 2_001}, 7: {"expected_roster_hash": newest},
            8: {"max_protocol_fee": max(protocol_fee - 1, 0)}, 9: {"max_guardian_fee": max(guardian_fee - 1, 0)},
            10: {"max_protocol_fee": protocol_fee, "max_guardian_fee": guardian_fee},
        }  # fmt: skip
        terms = terms._replace(**spoiled.get(spoil, {}))
        sender = current.accounts[0] if spoil == 12 and current else poster
        if signed and sender in POSTER_KEYS:
            self.create_signed(sender, terms, relayer=ZERO if spoil == 13 else None)
        else:
            self.play(sender, "createBounty", [tuple(terms)], self.model.create, terms, now)
        self.touched = len(self.model.bounties)

    def create_signed(self, poster: str, terms: Terms, relayer: str | None) -> None:
        """Anyone relays; the signature is derived here from the model's nonce, not the Hub's."""
        valid = (0, self.chain.time + 3_600)
        signature = authorization(
            POSTER_KEYS[poster], token=self.token.address, chain_id=CHAIN_ID, to=self.hub.address,
            amount=terms.escrow_amount, valid=valid, nonce=self.model.nonce(terms, poster),
        )  # fmt: skip
        named = poster if relayer is None else relayer
        arguments = [tuple(terms), named, *valid, signature]
        if self.spent(terms, poster) and relayer is None:
            return
        self.compare(
            self.hub.send(SOLVERS[0], "createBountyWithAuthorization", *arguments),
            lambda: self.model.create(named, terms, self.chain.time),
        )

    def spent(self, terms: Terms, poster: str) -> bool:
        return bool(self.token.read("authorizationState", poster, self.model.nonce(terms, poster)))

    def fees(self, escrow: int) -> tuple[int, int]:
        policy = self.model.policy
        return escrow * policy.protocol_bps // 10_000, escrow * policy.guardian_bps // 10_000

    @precondition(lambda self: self.model.bounties)
    @rule(sender=solvers, other=anyone, strange=seldom, back=backwards, work=words, spoil=seldom, unknown=seldom)
    def submit(
        self, sender: str, other: str, strange: bool, back: int, work: bytes, spoil: bool, unknown: bool
    ) -> None:
        bounty = self.latest(back, lambda b: self.chain.time < b.terms.submission_deadline)
        bounty_id = len(self.model.bounties) + 1 if unknown else self.number(bounty)
        roster = b"\1" * 32 if spoil else bytes.fromhex(bounty.roster.hash[2:])
        arguments = [bounty_id, work, roster]
        account = other if strange else sender
        self.play(account, "submit", arguments, self.model.submit, *arguments, self.chain.time)

    # ------------------------------------------------------------ judge and settle

    @precondition(lambda self: self.model.bounties)
    @rule(
        member=st.integers(0, 4), others=st.integers(0, 3), other=anyone, strange=seldom, back=backwards,
        named=st.integers(0, 3), spoil=st.sampled_from([-1] * 8 + list(range(4))), report=words,
    )  # fmt: skip
    def record_verdicts(
        self, member: int, others: int, other: str, strange: bool, back: int, named: int, spoil: int, report: bytes
    ) -> None:
        """One Guardian, and perhaps others after it with the same opinion."""
        bounty = self.latest(back, self.is_judgeable)
        for place in range(member, member + others + 1):
            guardian = other if strange else bounty.roster.accounts[place % len(bounty.roster.accounts)]
            self.record_verdict(guardian, bounty, named, spoil, report)

    def record_verdict(self, guardian: str, bounty: Bounty, named: int, spoil: int, report: bytes) -> None:
        submitted = list(bounty.submissions)
        kind, solver, work = NO_VALID_SUBMISSION, ZERO, bytes(32)
        if submitted and named:
            kind, solver = AWARDED, submitted[0 if named < 3 else -1]
            work = bytes.fromhex(bounty.submissions.get(solver, NO_WORK)[2:])
        if spoil == 0:
            kind = 3
        elif spoil == 1:
            work = b"\2" * 32
        elif spoil == 2:
            kind, solver = AWARDED, RECIPIENTS[0]
        elif spoil == 3:
            kind, solver = NO_VALID_SUBMISSION, SOLVERS[0]
        arguments = [self.number(bounty), kind, solver, work, report]
        self.play(guardian, "recordVerdict", arguments, self.model.record_verdict, *arguments, self.chain.time)

    @precondition(lambda self: self.model.bounties)
    @rule(sender=anyone, back=backwards, due=st.booleans())
    def settle(self, sender: str, back: int, due: bool) -> None:
        bounty = self.latest(back, lambda b: not due or (b.outcome == OPEN and self.chain.time >= b.judging_deadline))
        bounty_id = self.number(bounty)
        self.compare(self.hub.send(sender, "settle", bounty_id), lambda: self.model.settle(bounty_id, self.chain.time))
        self.touched = bounty_id

    @rule(sender=guardians, other=anyone, strange=seldom, amount=st.integers(1, 1_000))
    def heartbeat_and_donation(self, sender: str, other: str, strange: bool, amount: int) -> None:
        self.play(other if strange else sender, "heartbeat", [], self.model.heartbeat, self.chain.time)
        self.token.send(ISSUER, "mint", self.hub.address, amount)
        self.donated += amount

    # ------------------------------------------------------------ pull

    @precondition(lambda self: self.model.bounties)
    @rule(
        which=st.integers(0, 3), other=anyone, strange=seldom, back=backwards, member=st.integers(0, 4),
        open_too=seldom, with_data=seldom,
    )  # fmt: skip
    def pull(
        self, which: int, other: str, strange: bool, back: int, member: int, open_too: bool, with_data: bool
    ) -> None:
        bounty = self.latest(back, lambda b: open_too or b.outcome != OPEN)
        party = [bounty.winner, bounty.poster, bounty.roster.accounts[member % len(bounty.roster.accounts)]]
        account = other if strange else [*party, bounty.policy.recipient][which]
        self.pull_as(self.number(bounty), which, account, b"\1" if with_data else b"")

    @precondition(lambda self: self.model.bounties)
    @rule(
        which=st.integers(0, 3), other=anyone, strange=seldom, back=backwards,
        spoil=st.sampled_from([-1] * 9 + list(range(3))),
    )  # fmt: skip
    def pull_many(self, which: int, other: str, strange: bool, back: int, spoil: int) -> None:
        """All that one party of a bounty is owed anywhere; sometimes with a claim that refuses the whole list."""
        bounty = self.latest(back, lambda b: b.outcome != OPEN)
        party = [bounty.winner, bounty.poster, bounty.roster.accounts[0], bounty.policy.recipient]
        account = other if strange else party[which]
        claims = self.owed_to(account)[:32]
        spoiled = [claims[:1], [(5, self.number(bounty))], [(1, 0)] * 33]
        claims += spoiled[spoil] if spoil >= 0 else []
        self.play(account, "claimMany", [claims], self.model.claim_many, claims)
        self.touched = self.number(bounty)

    def owed_to(self, account: str) -> list[tuple[int, int]]:
        """Kind and bounty of each part that an account can pull."""
        final = [(number, bounty) for number, bounty in enumerate(self.model.bounties, 1) if bounty.outcome != OPEN]
        return [
            (kind, number)
            for number, bounty in final
            for kind, role in enumerate(("award", "refund", f"fee of {account}", "protocol fee"), 1)
            for party, amount in [bounty.money().get(role, (account, 0))]
            if party == account and amount > 0 and role not in bounty.paid
        ]

    def pull_as(self, bounty_id: int, which: int, account: str, data: bytes = b"") -> None:
        if which == 0:
            self.play(account, "claim", [bounty_id, data, b""], self.model.claim, bounty_id, data, b"")
            return
        name = ("claimRefund", "claimGuardianFee", "claimProtocolFee")[which - 1]
        rules = (self.model.claim_refund, self.model.claim_guardian_fee, self.model.claim_protocol_fee)
        self.play(account, name, [bounty_id], rules[which - 1], bounty_id)

    # ------------------------------------------------------------ comparing

    def play(
        self, sender: str, function: str, arguments: list[Any], rule_: Callable[..., list[Event]], *values: Any
    ) -> None:
        """Send a call, and let the model say what must come of it."""
        if arguments and isinstance(arguments[0], int) and function != "setFeePolicy":
            self.touched = arguments[0]
        self.compare(self.hub.send(sender, function, *arguments), lambda: rule_(sender, *values))

    def compare(self, answer: Done | Refusal, expectation: Callable[[], list[Event]]) -> None:
        try:
            expected = expectation()
        except Refused as refused:
            assert answer == Refusal(refused.name, refused.values)
            REACHED[refused.name] += 1
            return
        assert isinstance(answer, Done), answer
        assert list(answer.events) == expected
        REACHED.update(event.name for event in expected)
        REACHED.update(f"reason {event.values['reason']}" for event in expected if "reason" in event.values)

    @invariant()
    def everybody_agrees(self) -> None:
        if not hasattr(self, "model"):
            return
        held = self.model.balances.get(self.hub.address, 0) + self.donated
        expected: list[tuple[View, object]] = [(self.token.view("balanceOf", self.hub.address), held)]
        expected += self.published()
        if 1 <= self.touched <= len(self.model.bounties):
            expected += self.facts_of(self.touched)
            self.touched = 0
        self.agree(expected)

    def published(self) -> Iterator[tuple[View, object]]:
        """Which roster and delivery key are current now, and which are announced."""
        now, roster = self.chain.time, self.model.roster(self.chain.time)
        key, time = self.model.announced_delivery_key(now)
        yield self.hub.view("currentRosterVersion"), roster.version if roster else 0
        yield self.hub.view("announcedRoster"), self.model.announced_roster(now)
        yield self.hub.view("deliveryKey"), text(self.model.delivery_key(now))
        yield self.hub.view("announcedDeliveryKey"), (text(key), time)

    def facts_of(self, bounty_id: int) -> Iterator[tuple[View, object]]:
        """All that the Hub shows of a bounty, and what the model says it must be."""
        bounty = self.model.bounty(bounty_id)
        yield self.hub.view("getBounty", bounty_id), self.model.view(bounty_id)
        for account in EVERYONE:
            yield self.hub.view("claimable", bounty_id, account), self.model.claimable(bounty_id, account)
            work = bounty.submissions.get(account, NO_WORK)
            yield self.hub.view("getSubmission", bounty_id, account), work
            verdict = bounty.verdicts.get(account)
            recorded = (verdict.kind, verdict.solver, verdict.work) if verdict else (0, ZERO, NO_WORK)
            yield self.hub.view("getVerdict", bounty_id, account), recorded

    def agree(self, expected: list[tuple[View, object]]) -> None:
        """Every view answers as expected; all are asked at once."""
        answers = self.chain.read([view for view, _ in expected])
        for (view, wanted), answer in zip(expected, answers, strict=True):
            assert answer == wanted, view.function

    def teardown(self) -> None:
        """From wherever the history ended, everyone pulls; every unit leaves."""
        if not hasattr(self, "model"):
            return
        self.chain.warp(self.chain.time + 10_000)
        for bounty_id, bounty in enumerate(self.model.bounties, 1):
            if bounty.outcome == OPEN:
                answer = self.hub.send(SOLVERS[0], "settle", bounty_id)
                self.compare(answer, lambda number=bounty_id: self.model.settle(number, self.chain.time))  # type: ignore[misc]
            for which, parties in enumerate(([bounty.winner], [bounty.poster], bounty.roster.accounts, RECIPIENTS)):
                for party in parties:
                    self.pull_as(bounty_id, which, party)
            self.pull_as(bounty_id, 3, bounty.policy.recipient)
        left = {account: self.model.balances.get(account, 0) for account in EVERYONE} | {self.hub.address: self.donated}
        self.agree([(self.token.view("balanceOf", account), amount) for account, amount in left.items()])
        self.agree([(self.hub.view("getRoster", roster.version), self.shown(roster)) for roster in self.model.rosters])

    def shown(self, roster: Roster) -> tuple[object, ...]:
        """A roster as the Hub shows it, with when each member was last active, and since when it is in effect."""
        active = tuple(self.model.last_active.get(account, 0) for account in roster.accounts)
        since = next((time for time, each in self.model.roster_times if each is roster), 0)
        return roster.hash, roster.quorum, roster.accounts, tuple(map(text, roster.keys)), active, since

    # ------------------------------------------------------------ choosing

    def latest(self, back: int, wanted: Callable[[Bounty], bool]) -> Bounty:
        """One of the last bounties that is as wanted, or any of the last where none is."""
        recent = self.model.bounties[-8:]
        fitting = [bounty for bounty in recent if wanted(bounty)] or recent
        return fitting[-1 - back % len(fitting)]

    def number(self, bounty: Bounty) -> int:
        return next(number for number, other in enumerate(self.model.bounties, 1) if other is bounty)

    def is_judgeable(self, bounty: Bounty) -> bool:
        in_time = bounty.reveal_at <= self.chain.time < bounty.judging_deadline
        return bounty.outcome == OPEN and bool(bounty.submissions) and in_time
