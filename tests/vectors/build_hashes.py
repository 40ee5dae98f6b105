"""Vectors of commitments, ABI hashes, locators and rounds."""

from typing import Final

from bounty_protocol.crypto.beacon_info import QUICKNET, QUICKNET_GROUP_HASH, QUICKNET_ID, info_json
from bounty_protocol.domain.challenge.commitments import log_digest, spec_commitment
from bounty_protocol.domain.envelope.locator import storage_locator
from bounty_protocol.domain.envelope.reveal import round_at
from bounty_protocol.domain.money.abi_hashes import AUTHORIZATION_TYPE, SALT_TYPE, authorization_nonce, funding_salt
from bounty_protocol.keccak import keccak256
from bounty_protocol.shapes import to_json

from tests.vectors.samples import BOUNTY_ID, CHAIN_ID, HUB, PAGE, POSTER, ROSTER, SOLVER, TERMS, word


def commitments() -> dict[str, object]:
    """keccak256 over exact bytes."""
    texts = ["", "abc", "page\n", "page", "page\r\n", "\u00e9\n", "e\u0301\n", PAGE.decode()]
    logs: list[dict[str, object]] = [
        {"topics": [word("topic 0"), word("topic 1")], "data": "0x" + "ab" * 33},
        {"topics": [word("topic 2")], "data": "0x"},
    ]
    return {
        "about": (
            "commitment = keccak256 of the UTF-8 bytes of text, for spec_commitment, report_commitment and, over "
            "canonical JSON, submission_commitment. log_digest: keccak256 of, for each log, keccak256(topics joined) "
            "|| keccak256(data)."
        ),
        "commitments": [{"text": text, "commitment": spec_commitment(text.encode())} for text in texts],
        "log_digest": [_logs(logs), _logs(logs[::-1]), _logs([])],
    }


def _logs(logs: list[dict[str, object]]) -> dict[str, object]:
    pairs = []
    for log in logs:
        topics, data = log["topics"], log["data"]
        assert isinstance(topics, list)
        assert isinstance(data, str)
        pairs.append(([bytes.fromhex(topic[2:]) for topic in topics], bytes.fromhex(data[2:])))
    return {"logs": logs, "log_digest": log_digest(pairs)}


def abi_hashes() -> dict[str, object]:
    """Hashes over abi.encode."""
    return {
        "about": (
            "guardian_roster_hash, recipients_commitment and authorization_nonce as the Hub computes them, and the "
            "salt that clients give the terms of a Poster's number-th bounty on a page."
        ),
        "chain_id": CHAIN_ID,
        "hub_address": HUB,
        "guardian_roster": to_json(ROSTER),
        "recipients_commitment": ROSTER.recipients_commitment,
        "authorization": {
            "type": AUTHORIZATION_TYPE,
            "type_hash": "0x" + keccak256(AUTHORIZATION_TYPE.encode()).hex(),
            "poster_address": POSTER,
            "terms": TERMS.to_args(),
            "nonce": authorization_nonce(CHAIN_ID, HUB, POSTER, TERMS),
        },
        "funding_salt": {
            "type": SALT_TYPE,
            "type_hash": "0x" + keccak256(SALT_TYPE.encode()).hex(),
            "poster_address": POSTER,
            "spec_commitment": TERMS.spec_commitment,
            "salts": [
                {"number": str(number), "salt": funding_salt(CHAIN_ID, HUB, POSTER, TERMS.spec_commitment, number)}
                for number in (1, 2, 2**64)
            ],
        },
    }


def reveal() -> dict[str, object]:
    """Locators, rounds and chain information."""
    genesis, period = QUICKNET.genesis_time, QUICKNET.period_seconds
    times = [0, genesis - 1, genesis, genesis + 1, genesis + 3, genesis + 4, genesis + 6, 1_900_003_600]
    return {
        "about": (
            "round = ceil((reveal_at - genesis) / period) + 1, and 1 before genesis. chain_hash = SHA-256 of period "
            "(uint32 BE) || genesis_time (int64 BE) || public_key || groupHash || beaconID. The signatures are "
            "quicknet's own."
        ),
        "storage_locator": {
            "chain_id": CHAIN_ID,
            "hub_address": HUB,
            "bounty_id": str(BOUNTY_ID),
            "solver_address": SOLVER,
            "sha256": word("ciphertext"),
            "locator": storage_locator(CHAIN_ID, HUB, BOUNTY_ID, SOLVER, word("ciphertext")),
        },
        "quicknet": info_json(QUICKNET, QUICKNET_GROUP_HASH, QUICKNET_ID),
        "rounds": [{"reveal_at": at, "round": round_at(at, genesis, period)} for at in times],
        "signatures": [
            {
                "round": 1,
                "signature": "b55e7cb2d5c613ee0b2e28d6750aabbb78c39dcc96bd9d38c2c2e12198df9557"
                "1de8e8e402a0cc48871c7089a2b3af4b",
                "valid": True,
            },
            {
                "round": 123,
                "signature": "b75c69d0b72a5d906e854e808ba7e2accb1542ac355ae486d591aa9d43765482"
                "e26cd02df835d3546d23c4b13e0dfc92",
                "valid": True,
            },
            {
                "round": 2,
                "signature": "b55e7cb2d5c613ee0b2e28d6750aabbb78c39dcc96bd9d38c2c2e12198df9557"
                "1de8e8e402a0cc48871c7089a2b3af4b",
                "valid": False,
                "reason": "the signature of another round",
            },
            {"round": 1, "signature": "c0" + "00" * 47, "valid": False, "reason": "infinity"},
            {"round": 1, "signature": "e0" + "00" * 47, "valid": False, "reason": "infinity, not canonical"},
        ],
    }


FILES: Final = {"commitments.json": commitments, "abi_hashes.json": abi_hashes, "reveal.json": reveal}
