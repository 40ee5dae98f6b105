"""The Hub's rules: each accepted history beside its rejected neighbours."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from eth_utils.crypto import keccak
from service_audit.events import HubLog, LogPlace
from service_audit.expected import (
    MOST_COUNTED,
    OF_BOUNTIES,
    OF_THE_DEPLOYMENT,
    account,
    bounty_rows,
    changes,
    deployment_rows,
    log_digest,
)
from service_audit.rules import roster_hash

from tests.audit.logs import (
    BEGIN,
    CHAIN,
    END,
    ESCROW,
    GUARDIANS,
    HUB,
    KEYS,
    NOTHING,
    OTHER,
    OWNER,
    POSTER,
    RECIPIENT,
    REVEAL,
    SHARE,
    SOLVER,
    TOKEN,
    ZERO,
    Written,
)

VECTORS = Path(__file__).parents[1] / "vectors"
NOBODY = {"outcome": 2, "winner": ZERO, "submission_commitment": NOTHING, "award": 0, "protocol_fee": 0}


def awarded() -> Written:
    return Written().deployed().created().submitted().judged(0).judged(1, tx_hash="0xaa").ended(tx_hash="0xaa")


def silent() -> Written:
    return Written().deployed().created().submitted()


def test_award__of_the_documents_example__adds_up() -> None:
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
def test_end__without_a_quorum__is_the_posters(reason: int, history: Written) -> None:
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
        ({"poster": ZERO}, "chain.terms"),
        ({"spec_commitment": NOTHING}, "chain.terms"),
        ({"escrow_amount": 999_999}, "chain.terms"),
        ({"escrow_amount": 2**88}, "chain.terms"),
        ({"submission_deadline": BEGIN, "reveal_at": BEGIN + 5}, "chain.terms"),
        ({"judging_deadline": REVEAL + 4}, "chain.terms"),
    ],
)
def test_creation__with_another_term__is_found(changed: dict[str, object], requirement: str) -> None:
    assert requirement in Written().deployed().created(**changed).broken()


@pytest.mark.parametrize(
    ("history", "requirement"),
    [
        (Written().deployed().submitted(), "chain.events"),
        (Written(Written().deployed().logs[:3]).created(), "chain.terms"),  # without a roster
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
def test_event__against_the_rules__is_found(history: Written, requirement: str) -> None:
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
def test_claim__of_ones_own_part__is_right_once(name: str, account: dict[str, str], amount: int, times: int) -> None:
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


def digest_of(topics: list[str], data: str) -> bytes:
    return keccak(b"".join(bytes.fromhex(topic[2:]) for topic in topics)) + keccak(hexstr=data)


def test_hashes__of_the_vectors__are_the_same() -> None:
    found = json.loads((VECTORS / "abi_hashes.json").read_text())
    roster, members = found["guardian_roster"], found["guardian_roster"]["members"]
    accounts, keys = ([each[name] for each in members] for name in ("guardian_address", "encryption_public_key"))
    hashed = roster_hash(found["chain_id"], found["hub_address"], 1, accounts, keys, roster["quorum"])
    assert hashed == roster["guardian_roster_hash"]
    for digest in json.loads((VECTORS / "commitments.json").read_text())["log_digest"]:
        place = LogPlace(1, "0x", 0, "0x")
        logs = [HubLog("", {}, place, digest_of(each["topics"], each["data"])) for each in digest["logs"]]
        assert log_digest(logs) == digest["log_digest"]


def test_verdict__again__names_the_last_other_choice() -> None:
    history = silent()
    for number, awards in enumerate((True, True, False, False, True)):
        history.judged(0, REVEAL + number, awarded=awards)
    history.judged(1, REVEAL + 5, awarded=False)
    world = history.replay()
    found = bounty_rows("verdict_replacements", world.bounties[1]).values()
    shown = [(each["time"], each["replaced_time"], each["replaced_again_time"]) for each in found]
    at = [REVEAL + number for number in range(5)]
    assert shown == [(at[1], at[0], at[2]), (at[2], at[1], at[3]), (at[3], at[1], at[4]), (at[4], at[3], None)]
    before = [each["replaces"]["time"] for each in changes(world, history.logs) if "replaces" in each]
    assert before == at[:4], "the changes name the one directly before"


def test_rows__of_each_entity__are_the_logs() -> None:
    history = awarded()
    history.add("RefundClaimed", END, {"bounty_id": 1, "poster": POSTER, "amount": SHARE})
    history.add("DeliveryKeyPublished", END, {"key": KEYS[0], "effective_from": END + 5})
    history.add("DeliveryKeyWithdrawn", END + 1, {"key": KEYS[0]})
    world = history.replay()
    found = {entity: set(bounty_rows(entity, world.bounties[1])) for entity in OF_BOUNTIES}
    found |= {entity: set(deployment_rows(entity, world)) for entity in OF_THE_DEPLOYMENT}
    last = len(history.logs)
    assert found == {
        "bounties": {"1"},
        "submissions": {f"1-{SOLVER}"},
        "verdicts": {f"1-{GUARDIANS[0]}", f"1-{GUARDIANS[1]}"},
        "verdict_replacements": set(),
        "claims": {f"{last - 2}-0"},
        "guardian_rosters": {"1"},
        "roster_members": {"1-0", "1-1", "1-2"},
        "delivery_keys": {f"{last - 1}-0"},
        "delivery_key_withdrawals": {f"{last}-0"},
    }
    assert silent().replay().bounties[1].parts() == {}, "nobody is paid before the end"


def test_account__of_many_bounties__has_the_newest() -> None:
    history = Written().deployed()
    for number in range(1, MOST_COUNTED + 1):
        history.created(bounty_id=number)
    assert account(history.replay(), POSTER)["poster"]["posted"] == MOST_COUNTED
    history.created(bounty_id=MOST_COUNTED + 1)
    assert account(history.replay(), POSTER)["poster"]["posted"] == MOST_COUNTED


def roster(**changed: Any) -> dict[str, Any]:
    """The second version of the roster, published 10 seconds after the start, with changes; its hash fits."""
    fields: dict[str, Any] = {"version": 2, "accounts": list(GUARDIANS), "encryption_keys": list(KEYS), "quorum": 2}
    fields |= changed
    hashed = roster_hash(CHAIN, HUB, fields["version"], fields["accounts"], fields["encryption_keys"], fields["quorum"])
    return {"guardian_roster_hash": hashed, "effective_from": BEGIN + 11, **fields}


SOUND: list[tuple[str, dict[str, Any]]] = [
    ("RosterPublished", roster()),
    ("FeePolicyChanged", {"protocol_fee_bps": 1_000, "guardian_fee_bps": 2_000, "recipient": OTHER}),
    ("GuardianHeartbeat", {"guardian": GUARDIANS[2]}),
    ("DeliveryKeyPublished", {"key": KEYS[0], "effective_from": BEGIN + 10}),
    ("OwnershipTransferStarted", {"previous_owner": OWNER, "new_owner": OTHER}),
]
BROKEN: list[tuple[str, dict[str, Any]]] = [
    ("RosterPublished", roster(version=3)),
    ("RosterPublished", roster(accounts=[], encryption_keys=[], quorum=0)),
    ("RosterPublished", roster(accounts=GUARDIANS[::-1])),
    ("RosterPublished", roster(accounts=[ZERO, *GUARDIANS[:2]])),
    ("RosterPublished", roster(encryption_keys=[KEYS[0], *KEYS[:2]])),
    ("RosterPublished", roster(encryption_keys=[*KEYS[:2], NOTHING])),
    ("RosterPublished", roster(encryption_keys=[*KEYS[:2], "0x" + "ff" * 32])),
    ("RosterPublished", roster(quorum=1)),
    ("RosterPublished", roster(quorum=4)),
    ("RosterPublished", roster(effective_from=BEGIN + 10)),
    ("RosterPublished", roster(guardian_roster_hash=NOTHING)),
    ("FeePolicyChanged", {"protocol_fee_bps": 1_001, "guardian_fee_bps": 0, "recipient": OTHER}),
    ("FeePolicyChanged", {"protocol_fee_bps": 0, "guardian_fee_bps": 2_001, "recipient": OTHER}),
    *(
        ("FeePolicyChanged", {"protocol_fee_bps": 0, "guardian_fee_bps": 0, "recipient": each})
        for each in (ZERO, HUB, TOKEN)
    ),
    ("GuardianHeartbeat", {"guardian": OTHER}),
    ("DeliveryKeyPublished", {"key": NOTHING, "effective_from": BEGIN + 10}),
    ("DeliveryKeyPublished", {"key": KEYS[0], "effective_from": BEGIN + 11}),
    ("DeliveryKeyWithdrawn", {"key": KEYS[0]}),
    ("OwnershipTransferStarted", {"previous_owner": OTHER, "new_owner": OTHER}),
    ("OwnershipTransferred", {"previous_owner": OWNER, "new_owner": OTHER}),
    ("Deployed", {"config": [TOKEN, OWNER, 5, 1, 10_000, 5, 10_000, 1_000_000, 1, 250, 300, RECIPIENT]}),
]


@pytest.mark.parametrize(("name", "fields"), SOUND)
def test_owner__within_the_rules__is_no_breach(name: str, fields: dict[str, Any]) -> None:
    assert Written().deployed().add(name, BEGIN + 10, fields).broken() == set()


@pytest.mark.parametrize(("name", "fields"), BROKEN)
def test_owner__against_the_rules__is_found(name: str, fields: dict[str, Any]) -> None:
    assert Written().deployed().add(name, BEGIN + 10, fields).broken() == {"chain.events"}


@pytest.mark.parametrize("place", [2, 3, 4, 5, 6, 7, 8])
def test_deployment__with_a_zero_term__is_found(place: int) -> None:
    history = Written().deployed()
    config = [*history.logs[0].fields["config"]]
    config[place] = 0
    history.logs[0] = replace(history.logs[0], fields={"config": config})
    assert history.broken() >= {"chain.events"}


def test_keys_count_in_turn() -> None:
    history = Written().deployed()
    history.add("DeliveryKeyPublished", BEGIN, {"key": KEYS[0], "effective_from": BEGIN})
    history.add("DeliveryKeyPublished", BEGIN + 5, {"key": KEYS[1], "effective_from": BEGIN + 6})
    assert [history.replay().delivery_key(BEGIN + second) for second in (4, 5, 6)] == [KEYS[0], KEYS[0], KEYS[1]]
    history.add("DeliveryKeyWithdrawn", BEGIN + 7, {"key": KEYS[1]})
    assert history.replay().delivery_key(BEGIN + 7) == NOTHING
    assert history.broken() == set()
    assert history.add("DeliveryKeyWithdrawn", BEGIN + 8, {"key": KEYS[0]}).broken() == {"chain.events"}


def test_fork__goes_on_and_leaves_its_world_alone() -> None:
    history = silent().judged(0)
    world = history.replay()
    fork = world.fork()
    for log in Written().judged(1, tx_hash="0xaa").ended(tx_hash="0xaa").logs:
        fork.apply(log)
    assert (len(fork.bounties[1].verdicts), fork.bounties[1].ending is None) == (2, False)
    assert (len(world.bounties[1].verdicts), world.bounties[1].ending is None) == (1, True)
