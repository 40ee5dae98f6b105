"""The story of ``tests.world`` on a chain in memory: the Hub's rules by their model, its logs on ``FakeChain``.

It needs no process. Its contract test tells the same story to a real node (``tests/indexer/test_story.py``).
"""

import secrets
from collections.abc import Callable
from copy import deepcopy
from typing import Final

from bounty_protocol.chain.abi import hub_abi
from bounty_protocol.chain.events import decode_log
from bounty_protocol.domain.challenge.commitments import spec_commitment
from bounty_protocol.domain.lifecycle.hub_events import HubEvent
from bounty_protocol.types import BlockNumber, BountyId, Bytes32, UnixSeconds, to_bytes
from local_stack.accounts import make_people
from local_stack.contract import Wallet
from local_stack.process import StackError

from tests.contracts.evm import Event
from tests.contracts.model import HubModel
from tests.contracts.values import AWARDED, NO_VALID_SUBMISSION, NO_WORK, ZERO, Config, Refused, Terms
from tests.deployed import TERMS
from tests.fakes.chain import HUB, FakeChain, account
from tests.world import ESCROW, random_commitment

CHAIN_ID: Final = 31_337


class HubInMemory:
    """A Hub of a block a second. ``chain`` is what a follower reads; blocks of its final part stay."""

    def __init__(self) -> None:
        self.people = make_people(solvers=3, guardians=3)
        self.chain = FakeChain(finality_depth=2)
        people, terms = self.people, TERMS
        model = HubModel(
            HUB,
            CHAIN_ID,
            Config(
                token=account(1),
                owner=people.owner.address,
                reveal_delay=terms.reveal_delay,
                min_submission_window=terms.min_submission_window,
                max_submission_window=terms.max_submission_window,
                min_judging_window=terms.min_judging_window,
                max_judging_window=terms.max_judging_window,
                min_escrow=terms.min_escrow,
                publication_delay=terms.publication_delay,
                protocol_fee_bps=terms.protocol_fee_bps,
                guardian_fee_bps=terms.guardian_fee_bps,
                protocol_fee_recipient=people.fee_recipient.address,
            ),
        )
        for person in people.everyone():
            model.balances[person.address] = 1_000 * ESCROW
        guardians = sorted((each.address, each.identity) for each in people.guardians if each.identity)
        keys = [to_bytes(identity.public_key) for _, identity in guardians]
        model.publish_roster(people.owner.address, [address for address, _ in guardians], keys, 2, self.time())
        self._states = [(self.tip(), model)]

    def time(self) -> UnixSeconds:
        """Return the newest block's time."""
        return self.chain.headers_[-1].time

    def tip(self) -> BlockNumber:
        """Return the newest block's number."""
        return self.chain.headers_[-1].number

    def advance_to(self, moment: int) -> None:
        """Mine until a block is at ``moment``."""
        while self.time() < moment:
            self.chain.mine([])

    def finalize(self) -> None:
        """Mine so many blocks that all that happened is final."""
        for _ in range(3):
            self.chain.mine([])

    def reorganize(self, depth: int) -> None:
        """Replace that many of the newest blocks by empty ones; the Hub is as it was before them."""
        self.chain.reorg(depth)
        self._states = [state for state in self._states if state[0] <= self.tip()]
        for _ in range(depth):
            self.chain.mine([])

    def fund(self, page: bytes | None = None, *, seconds: int = 1_000, judging: int = 1_000) -> BountyId:
        """Fund a bounty that accepts Submissions for ``seconds``."""
        model, now = self._next()
        commitment = to_bytes(spec_commitment(page) if page is not None else random_commitment())
        roster = model.roster(now)
        assert roster is not None
        given = (commitment, bytes.fromhex(roster.hash[2:]), ESCROW, self.time() + seconds, judging)
        terms = Terms(*given, max_protocol_fee=ESCROW, max_guardian_fee=ESCROW, salt=secrets.token_bytes(32))
        self._mine(model, lambda: model.create(self.people.poster.address, terms, now))
        return BountyId(len(model.bounties))

    def submit(self, bounty_id: BountyId, solver: Wallet) -> Bytes32:
        """Record a Submission, and return its commitment."""
        model, now = self._next()
        commitment, roster = random_commitment(), bytes.fromhex(model.bounty(bounty_id).roster.hash[2:])
        self._mine(model, lambda: model.submit(solver.address, bounty_id, to_bytes(commitment), roster, now))
        return commitment

    def judge(self, bounty_id: BountyId, guardian: Wallet, winner: Wallet | None) -> None:
        """Record a Verdict: for what the winner submitted last, or that no Submission is valid."""
        model, now = self._next()
        kind, solver = (NO_VALID_SUBMISSION, ZERO) if winner is None else (AWARDED, winner.address)
        work = bytes.fromhex(model.bounty(bounty_id).submissions.get(solver, NO_WORK)[2:])
        report = to_bytes(random_commitment())
        self._mine(model, lambda: model.record_verdict(guardian.address, bounty_id, kind, solver, work, report, now))

    def settle(self, bounty_id: BountyId) -> None:
        """End a bounty that nobody judged in time."""
        model, now = self._next()
        self._mine(model, lambda: model.settle(bounty_id, now))

    def claim(self, bounty_id: BountyId, claimant: Wallet) -> None:
        """Claim what the Hub owes to the Poster, a Guardian, or else a Solver."""
        model, _ = self._next()
        who = claimant.address
        if claimant is self.people.poster.wallet:
            self._mine(model, lambda: model.claim_refund(who, bounty_id))
        elif claimant in [guardian.wallet for guardian in self.people.guardians]:
            self._mine(model, lambda: model.claim_guardian_fee(who, bounty_id))
        else:
            self._mine(model, lambda: model.claim(who, bounty_id, b"", b""))

    def reveal_at(self, bounty_id: BountyId) -> int:
        """Return when Guardians may open the work."""
        return self._states[-1][1].bounty(bounty_id).reveal_at

    def judging_deadline(self, bounty_id: BountyId) -> int:
        """Return when Guardians may judge no longer."""
        return self._states[-1][1].bounty(bounty_id).judging_deadline

    def events(self, bounty_id: BountyId) -> list[HubEvent]:
        """Return what the Hub logged of a bounty, in the order of the chain."""
        found = [decode_log(log) for header in self.chain.headers_ for log in self.chain.logs_[header.hash]]
        return [event for event in found if getattr(event, "bounty_id", None) == bounty_id]

    def solver(self, number: int = 1) -> Wallet:
        """Return a Solver's wallet, counted from 1."""
        return self.people.solvers[number - 1].wallet

    def guardian(self, number: int = 1) -> Wallet:
        """Return a Guardian's wallet, counted from 1."""
        return self.people.guardians[number - 1].wallet

    def _next(self) -> tuple[HubModel, int]:
        """Return a Hub that the next block may change, and that block's time."""
        return deepcopy(self._states[-1][1]), self.time() + 1

    def _mine(self, model: HubModel, call: Callable[[], list[Event]]) -> None:
        """Mine what a call of the Hub logs; a refused one is a block without logs, as on a node."""
        try:
            logged = call()
        except Refused as refusal:
            self.chain.mine([])
            raise StackError(f"the transaction reverted: {refusal.name}") from None
        names = {event.name: [each.name for each in event.inputs] for event in hub_abi().events.values()}
        self.chain.mine([(e.name, {name: e.values[_snake(name)] for name in names[e.name]}) for e in logged])
        self._states.append((self.tip(), model))


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)
