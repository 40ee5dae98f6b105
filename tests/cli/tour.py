"""The tour as the events that its commands print, in a world where nothing changes from run to run.

Accounts, hashes and times are made up and fixed; every event is checked against ``docs/events.md``. ``screen_of`` is
what a command of the tour prints with ``--text``, at a given width.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from bounty_protocol.domain.bounty import Winner
from bounty_protocol.domain.commitments import spec_commitment
from bounty_protocol.domain.hub_events import BountyTerms
from bounty_protocol.domain.lifecycle import BountyStatus
from bounty_protocol.domain.roster import Roster, RosterMember
from bounty_protocol.shapes import to_json
from bounty_protocol.types import (
    Address,
    BlockNumber,
    BountyId,
    Bytes32,
    ChainId,
    RosterVersion,
    TokenAmount,
    UnixSeconds,
)
from bounty_protocol.wire.bounties import ActiveSubmission, Block, BountyDetail, BountyItem, ChallengeTerms, Facts
from bounty_protocol.wire.values import Finality
from service_cli.shell.render.printer import Printer
from service_cli.shell.render.screen import Screen
from service_cli.shell.text import About

from tests.cli.event_kinds import made
from tests.cli.event_schemas import problems

NOW = 1_800_000_000
"""2027-01-15 08:00:00 UTC: when the page is funded."""
DEADLINE, REVEAL, JUDGING = NOW + 3 * 86_400, NOW + 3 * 86_400 + 2_700, NOW + 6 * 86_400 + 2_700


def account(number: int) -> Address:
    return Address("0x" + f"{number:02x}" * 20)


def digest(number: int) -> Bytes32:
    return Bytes32("0x" + f"{number:02x}" * 32)


POSTER, SOLVER, HUB = account(0xA1), account(0xB2), account(0xC3)
GUARDIANS = (account(0xD1), account(0xD2), account(0xD3))
SUBMISSION, REPORT = digest(0x51), digest(0x61)
CHALLENGE = f"""---
version: 1
title: A hinge that lasts
summary: A printable hinge that opens a hundred thousand times.
escrow_amount: 25000000
submission_deadline: {DEADLINE}
judging_window_seconds: 259200
acceptance_criteria:
  - The model prints without supports.
  - It opens a hundred thousand times in the test rig.
deliverables:
  - hinge.stl and the parameters it was made with
---
# What is asked

A hinge for a **box of 2 kg**, see [the test rig](https://example.org/rig).

1. Print it in PLA.
2. Run `rig.py --cycles 100000`.
"""
COMMITMENT = spec_commitment(CHALLENGE.encode())
FACTS = Facts(
    status=BountyStatus.OPEN,
    accepting=True,
    judgeable=False,
    poster_address=POSTER,
    escrow_amount=TokenAmount(25_000_000),
    spec_commitment=COMMITMENT,
    submission_deadline=UnixSeconds(DEADLINE),
    reveal_at=UnixSeconds(REVEAL),
    judging_deadline=UnixSeconds(JUDGING),
    guardian_roster_hash=digest(0x71),
    protocol_fee=TokenAmount(250_000),
    guardian_fee=TokenAmount(750_000),
    outcome=None,
    settlement_reason=None,
    winner=None,
)
TERMS = BountyTerms(
    poster=POSTER,
    spec_commitment=COMMITMENT,
    guardian_roster_hash=digest(0x71),
    roster_version=RosterVersion(1),
    escrow_amount=FACTS.escrow_amount,
    submission_deadline=FACTS.submission_deadline,
    reveal_at=FACTS.reveal_at,
    judging_deadline=FACTS.judging_deadline,
    protocol_fee=FACTS.protocol_fee,
    guardian_fee=FACTS.guardian_fee,
    protocol_fee_recipient=account(0xE1),
)
ROSTER = Roster(
    1,
    digest(0x71),
    2,
    tuple(RosterMember(one, digest(0x81), UnixSeconds(NOW - 86_400)) for one in GUARDIANS),
)
BLOCK = Block(BlockNumber(1_000), digest(0x91))


class Coin:
    """The escrow token of the local stack."""

    symbol, decimals = "tUSDC", 6


Json = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Printed:
    """One event, with what its text is told beside it."""

    name: str
    fields: Json
    about: About


@dataclass(frozen=True, slots=True)
class Typed:
    """A command of the tour, and what it prints."""

    line: str
    events: tuple[Printed, ...]


def about(after: int = 0, gas: int | None = None, happened: int | None = None) -> About:
    return About(Coin(), NOW + after, TERMS, gas, None if happened is None else NOW + happened)


def item() -> BountyItem:
    return BountyItem(BountyId(1), FACTS, 1, Finality.FINALIZED, BLOCK, "A hinge that lasts", "A printable hinge.")


def detail() -> BountyDetail:
    submitted = ActiveSubmission(SOLVER, SUBMISSION, UnixSeconds(NOW + 3_600), BlockNumber(1_001), digest(0x92))
    return BountyDetail(
        bounty_id=BountyId(1),
        chain_id=ChainId(84532),
        hub_address=HUB,
        facts=FACTS,
        guardian_roster=ROSTER,
        active_submissions=(submitted,),
        active_submission_count=1,
        challenge=CHALLENGE,
        challenge_terms=ChallengeTerms(matches=True, differences=()),
        finality=Finality.FINALIZED,
        block=BLOCK,
    )


def record() -> dict[str, object]:
    verdicts = [
        {
            "guardian_address": guardian,
            "kind": kind,
            "solver_address": SOLVER if kind else None,
            "submission_commitment": SUBMISSION if kind else None,
            "report_commitment": REPORT if kind else None,
            "supported_result": kind is not None,
        }
        for guardian, kind in zip(GUARDIANS, ("awarded", "awarded", None), strict=True)
    ]
    amounts = [
        {"recipient": SOLVER, "amount": "24000000", "kind": "winner_award"},
        {"recipient": POSTER, "amount": "250000", "kind": "poster_refund"},
        *[{"recipient": one, "amount": "250000", "kind": "guardian_fee"} for one in GUARDIANS[:2]],
        {"recipient": account(0xE1), "amount": "250000", "kind": "protocol_fee"},
    ]
    return {
        "version": 1,
        "chain_id": 31337,
        "hub_address": HUB,
        "bounty_id": "1",
        "status": "final",
        "spec_commitment": COMMITMENT,
        "guardian_roster_hash": digest(0x71),
        "outcome": "awarded",
        "settlement_reason": "judged",
        "winner": to_json(Winner(SOLVER, SUBMISSION)),
        "verdicts": verdicts,
        "amounts": amounts,
        "settlement": {"tx_hash": digest(0x25), "block_number": 2_000, "block_hash": digest(0x26)},
        "log_digest": digest(0x27),
    }


_PAIR = {"bounty_id": "1", "solver": SOLVER, "submission_commitment": SUBMISSION}
_VERDICT = {**_PAIR, "guardian": GUARDIANS[0], "kind": "awarded", "report_commitment": REPORT}
_OPENED = {**_PAIR, "file_count": 3, "byte_length": 48_213, "renamed_count": 0}
_GAS = 123_456_789_000_000
_FINAL = JUDGING - NOW - 86_400

TOUR: tuple[Typed, ...] = (
    Typed(
        'service-cli poster:new --deadline "3 days" --judging "3 days" my_challenge.md',
        (
            Printed(
                "poster_new.written",
                {
                    "path": "my_challenge.md", "escrow_amount": None, "submission_deadline": DEADLINE,
                    "judging_window_seconds": 259_200,
                },
                about(),
            ),
        ),
    ),
    Typed(
        "service-cli spec-commitment my_challenge.md",
        (Printed("spec_commitment.derived", {"spec_commitment": COMMITMENT, "byte_length": 612}, about()),),
    ),
    Typed(
        "service-cli poster:publish-fund my_challenge.md",
        (
            Printed(
                "publish_fund.publication_prepared",
                {
                    "spec_commitment": COMMITMENT, "byte_length": 612, "poster": POSTER, "hub_address": HUB,
                    "escrow_amount": "25000000", "submission_deadline": DEADLINE,
                },
                about(),
            ),
            Printed(
                "publish_fund.bounty_created",
                {"tx_hash": digest(0x21), "block_number": 1_000, "bounty_id": "1", "spec_commitment": COMMITMENT},
                about(gas=_GAS),
            ),
        ),
    ),
    Typed(
        "service-cli solver:submit 1 examples/artifact",
        (
            Printed(
                "submit.ciphertext_uploaded", {"bounty_id": "1", "solver": SOLVER, "byte_length": 49_152}, about(3_600)
            ),
            Printed(
                "submit.submission_prepared",
                {**_PAIR, "mode": "drand_tlock", "guardian_roster_hash": digest(0x71), "byte_length": 2_048},
                about(3_600),
            ),
            Printed(
                "submit.submission_recorded",
                {**_PAIR, "tx_hash": digest(0x22), "block_number": 1_001, "guardian_roster_hash": digest(0x71)},
                about(3_600, gas=_GAS),
            ),
        ),
    ),
    Typed(
        "service-cli bounty:list", (Printed("bounty_list.bounty", to_json(item()), about(7_200)),)
    ),
    Typed("service-cli bounty:show 1", (Printed("bounty_show.bounty", to_json(detail()), about(7_200)),)),
    Typed(
        'service-cli guardian:judgeable --guardian-address "$SERVICE_GUARDIAN_ADDRESS"',
        (
            Printed(
                "guardian_judgeable.bounty",
                {
                    "bounty_id": "1", "reveal_at": REVEAL, "judging_deadline": JUDGING,
                    "submissions": [{"solver_address": SOLVER, "submission_commitment": SUBMISSION}],
                    "unopened": [SUBMISSION], "own_verdict": None,
                },
                about(REVEAL - NOW + 60),
            ),
        ),
    ),
    Typed(
        "service-cli guardian:open 1 SOLVER COMMITMENT opened",
        (
            Printed("guardian_open.submission_verified", _PAIR, about(REVEAL - NOW + 120)),
            Printed(
                "guardian_open.artifact_opened", {**_OPENED, "output_dir": "opened"}, about(REVEAL - NOW + 120)
            ),
        ),
    ),
    Typed(
        "service-cli guardian:verdict 1 awarded SOLVER COMMITMENT verdict.md",
        (
            Printed("guardian_verdict.published", _VERDICT, about(REVEAL - NOW + 3_600)),
            Printed("guardian_verdict.read_back", _VERDICT, about(REVEAL - NOW + 3_600)),
            Printed(
                "guardian_verdict.recorded",
                {**_VERDICT, "tx_hash": digest(0x23), "block_number": 1_990},
                about(REVEAL - NOW + 3_600, gas=_GAS),
            ),
        ),
    ),
    Typed(
        "service-cli bounty:watch 1",
        (
            Printed(
                "bounty_watch.event",
                {
                    "name": "BountyCreated", "bounty_id": "1", "poster": POSTER, "escrow_amount": "25000000",
                    "tx_hash": digest(0x21), "block_number": 1_000,
                },
                about(_FINAL, happened=0),
            ),
            Printed(
                "bounty_watch.event",
                {
                    "name": "SubmissionRecorded", "bounty_id": "1", "solver": SOLVER,
                    "submission_commitment": SUBMISSION, "tx_hash": digest(0x22), "block_number": 1_001,
                },
                about(_FINAL, happened=3_600),
            ),
            Printed(
                "bounty_watch.event",
                {
                    "name": "VerdictRecorded", "bounty_id": "1", "guardian": GUARDIANS[0], "kind": "awarded",
                    "solver": SOLVER, "submission_commitment": SUBMISSION, "tx_hash": digest(0x23),
                    "block_number": 1_990,
                },
                about(_FINAL, happened=REVEAL - NOW + 3_600),
            ),
            Printed(
                "bounty_watch.next", {"bounty_id": "1", "step": "judging", "at": JUDGING}, about(_FINAL)
            ),
            Printed(
                "bounty_watch.event",
                {
                    "name": "BountyFinalized", "bounty_id": "1", "outcome": "awarded", "reason": "judged",
                    "winner": SOLVER, "submission_commitment": SUBMISSION, "tx_hash": digest(0x25),
                    "block_number": 2_000,
                },
                about(_FINAL + 60, happened=_FINAL + 58),
            ),
            Printed("bounty_watch.next", {"bounty_id": "1", "step": "finality", "at": None}, about(_FINAL + 60)),
            Printed(
                "bounty_watch.final",
                {
                    "bounty_id": "1", "outcome": "awarded", "settlement_reason": "judged", "winner": SOLVER,
                    "submission_commitment": SUBMISSION,
                },
                about(_FINAL + 90),
            ),
        ),
    ),
    Typed(
        "service-cli claim 1",
        (
            Printed(
                "claim.prepared",
                {"bounty_id": "1", "claimant": SOLVER, "function_name": "claim", "claimable_amount": "24000000"},
                about(_FINAL + 100),
            ),
            Printed(
                "claim.claimed",
                {"tx_hash": digest(0x24), "block_number": 2_010, "claimable_amount": "24000000"},
                about(_FINAL + 110, gas=_GAS),
            ),
        ),
    ),
    Typed(
        "service-cli guardian:deliver-key 1",
        (Printed("guardian_deliver_key.stored", {**_PAIR, "created": True}, about(_FINAL + 200)),),
    ),
    Typed(
        "service-cli poster:open-winning-submission 1",
        (
            Printed("open_winning_submission.key_retrieved", _PAIR, about(_FINAL + 300)),
            Printed(
                "open_winning_submission.artifact_opened",
                {**_OPENED, "output_dir": "winning-submission/1/0x5151…"},
                about(_FINAL + 300),
            ),
        ),
    ),
    Typed(
        "service-cli status",
        (
            Printed(
                "status.account",
                {
                    "account": POSTER, "roles": ["poster"], "balance_wei": "1500000000000000000",
                    "token_balance": "975000000", "allowance": "0",
                },
                about(_FINAL + 300),
            ),
            Printed(
                "status.task",
                {
                    "account": POSTER, "bounty_id": "1", "task": "claim", "until": None,
                    "command": "service-cli claim 1",
                },
                about(_FINAL + 300),
            ),
            Printed("status.done", {"accounts": 1, "tasks": 1, "unknown": 0}, about(_FINAL + 300)),
        ),
    ),
    Typed(
        "service-cli verification-record 1",
        (Printed("verification_record.fetched", {"record": record()}, about(_FINAL + 400)),),
    ),
)  # fmt: skip


def screen_of(typed: Typed, columns: int | None = 80, *, colours: bool = False) -> str:
    """What a command prints as text."""
    printer, text = Printer(lambda known: Screen(columns, colours, known.now or NOW, known)), ""
    for printed in typed.events:
        assert not problems({"event": printed.name, **printed.fields}), printed.name
        text += printer.show(made(printed.name, printed.fields), partial(_known, printed), _never)
    return text + printer.rest()


def _known(printed: Printed) -> About:
    return printed.about


def _never() -> str:
    raise AssertionError("an event of the tour could not be put into text")
