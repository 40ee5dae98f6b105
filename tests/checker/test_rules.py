"""The checker's own rules: each accepted history beside its rejected neighbours."""

import json
from pathlib import Path
from typing import Any

import pytest
from service_checker.expected import (
    MOST_COUNTED,
    account,
    changes,
    log_digest,
    rows,
)
from service_checker.hub_log import HubLog, LogPlace
from service_checker.replay import roster_hash

from tests.checker.logs import (
    END,
    ESCROW,
    GUARDIANS,
    NOTHING,
    OTHER,
    POSTER,
    RECIPIENT,
    REVEAL,
    SHARE,
    SOLVER,
    ZERO,
    Written,
)

VECTORS = Path(__file__).parents[1] / "vectors"
NOBODY = {"outcome": 2, "winner": ZERO, "submission_commitment": NOTHING, "award": 0, "protocol_fee": 0}


def awarded() -> Written:
    return Written().deployed().created().submitted().judged(0).judged(1, tx_hash="0xaa").ended(tx_hash="0xaa")


def silent() -> Written:
    return Written().deployed().created().submitted()


def test_award__of_the_example_in_the_document__adds_up() -> None:
    history = awarded()
    assert history.broken() == set()
    bounty = history.replay().bounties[1]
    assert sum(bounty.parts().values()) == ESCROW == bounty.owed()
    assert bounty.parts()["refund", POSTER] == SHARE


@pytest.mark.parametrize(
    ("reason", "history"),
    [
        (2, Written().deployed().created()),
        (3, silent()),
        (4, silent().judged(0).judged(1, awarded=False)),
    ],
    ids=["nothing submitted", "silent", "no quorum"],
)
def test_end__without_a_quorum__gives_the_poster_all_but_the_shares(reason: int, history: Written) -> None:
    count = 2 if reason == 4 else 0
    ended: dict[str, Any] = {**NOBODY, "reason": reason, "refund": ESCROW - count * SHARE, "guardian_fee_count": count}
    assert Written(list(history.logs)).ended(END, **ended).broken() == set()
    assert Written(list(history.logs)).ended(END, **{**ended, "reason": 1}).broken() == {"chain.outcome"}
    assert Written(list(history.logs)).ended(END, **{**ended, "refund": ESCROW + 1}).broken() == {"money.split"}


@pytest.mark.parametrize(
    ("changed", "requirement"),
    [
        ({"protocol_fee": 25_009_251}, "chain.terms"),  # rounded up
        ({"guardian_fee": 30_011_101}, "chain.terms"),
        ({"reveal_at": REVEAL + 1}, "chain.terms"),
        ({"protocol_fee_recipient": OTHER}, "chain.terms"),
        ({"roster_version": 2}, "chain.terms"),
        ({"poster": GUARDIANS[0]}, "chain.terms"),
        ({"bounty_id": 2}, "chain.events"),
    ],
)
def test_creation__with_another_term__is_found(changed: dict[str, object], requirement: str) -> None:
    assert requirement in Written().deployed().created(**changed).broken()


@pytest.mark.parametrize(
    ("history", "requirement"),
    [
        (silent().judged(0, REVEAL - 1), "chain.events"),
        (silent().judged(0, END), "chain.events"),
        (silent().submitted(GUARDIANS[0]), "chain.events"),
        (silent().submitted(OTHER, 1_100), "chain.events"),
        (silent().judged(0).judged(1), "chain.outcome"),  # a quorum, and no end
        (silent().judged(0).ended(), "chain.outcome"),  # an end without a quorum
        (silent().judged(0).judged(1, tx_hash="0xaa").ended(tx_hash="0xbb"), "chain.outcome"),
        (silent().judged(0).judged(1, tx_hash="0xaa").ended(tx_hash="0xaa", winner=OTHER), "chain.outcome"),
        (Written(awarded().logs).ended(), "chain.outcome"),
    ],
)
def test_event__that_the_rules_do_not_allow__is_found(history: Written, requirement: str) -> None:
    assert requirement in history.broken()


@pytest.mark.parametrize(
    ("name", "account", "amount", "times"),
    [
        ("AwardClaimed", {"solver": SOLVER}, 945_349_650, 1),
        ("RefundClaimed", {"poster": POSTER}, SHARE, 1),
        ("GuardianFeeClaimed", {"guardian": GUARDIANS[1]}, SHARE, 1),
        ("ProtocolFeeClaimed", {"recipient": RECIPIENT}, 25_009_250, 1),
    ],
)
def test_claim__of_ones_own_part_once__is_right_and_nothing_else(
    name: str, account: dict[str, str], amount: int, times: int
) -> None:
    def claimed(count: int, **changed: object) -> Written:
        history = awarded()
        for _ in range(count):
            history.add(name, END, {"bounty_id": 1, "amount": amount, **account, **changed})
        return history

    assert claimed(times).broken() == set()
    assert claimed(times).replay().owed() == ESCROW - amount
    assert claimed(2).broken() == {"money.claims"}
    assert claimed(1, amount=amount + 1).broken() == {"money.claims"}
    assert claimed(1, **dict.fromkeys(account, OTHER)).broken() == {"money.claims"}


def test_hashes__of_the_vectors__are_those_of_the_checker() -> None:
    found = json.loads((VECTORS / "abi_hashes.json").read_text())
    roster, members = found["guardian_roster"], found["guardian_roster"]["members"]
    accounts, keys = ([each[name] for each in members] for name in ("guardian_address", "encryption_public_key"))
    hashed = roster_hash(found["chain_id"], found["hub_address"], 1, accounts, keys, roster["quorum"])
    assert hashed == roster["guardian_roster_hash"]
    for digest in json.loads((VECTORS / "commitments.json").read_text())["log_digest"]:
        place = LogPlace(1, "0x", 0, "0x")
        logs = [HubLog("", {}, place, tuple(each["topics"]), each["data"]) for each in digest["logs"]]
        assert log_digest(logs) == digest["log_digest"]


def test_verdict__put_in_the_place_of_others__is_compared_with_the_last_that_decided_otherwise() -> None:
    history = silent()
    for number, awards in enumerate((True, True, False, False, True)):
        history.judged(0, REVEAL + number, awarded=awards)
    history.judged(1, REVEAL + 5, awarded=False)
    found = rows(history.replay())["verdict_replacements"].values()
    shown = [(each["time"], each["replaced_time"], each["replaced_again_time"]) for each in found]
    at = [REVEAL + number for number in range(5)]
    assert shown == [(at[1], at[0], at[2]), (at[2], at[1], at[3]), (at[3], at[1], at[4]), (at[4], at[3], None)]
    before = [each["replaces"]["time"] for each in changes(history.replay()) if "replaces" in each]
    assert before == at[:4], "the changes name the one directly before"


def test_account__of_more_bounties_than_are_counted__has_the_newest() -> None:
    history = Written().deployed()
    for number in range(1, MOST_COUNTED + 1):
        history.created(bounty_id=number)
    assert account(history.replay(), POSTER)["poster"]["posted"] == MOST_COUNTED
    history.created(bounty_id=MOST_COUNTED + 1)
    assert account(history.replay(), POSTER)["poster"]["posted"] == MOST_COUNTED
