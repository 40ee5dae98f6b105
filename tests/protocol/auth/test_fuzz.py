"""Mutated requests against the verifier: whatever an attacker changes, nobody is verified."""

from collections import Counter

from bounty_protocol.auth.verify import verify_request
from bounty_protocol.errors import ServiceError

from tests import campaign
from tests.protocol.auth.mutations import mutate, same
from tests.protocol.auth.signing import AUTHORITY, PLAIN_KEYS, REQUEST, Chain, Key, header_for, received

KEY = Key(b"\x07" * 32)
GOOD = received(header_for(KEY))


def test_mutated_requests_verify_only_if_they_agree() -> None:
    chance, outcomes = campaign.source("verifier"), Counter[str]()
    for _ in range(campaign.size(5_000, 100_000)):
        request = mutate(chance, GOOD)
        try:
            verified = verify_request(request, AUTHORITY, Chain(), PLAIN_KEYS)
        except ServiceError as error:
            assert (error.code, error.status) == ("unauthorized", 401)
            assert request != GOOD
            outcomes[error.message] += 1
        else:
            assert same(request, GOOD), request
            assert (verified.signer, verified.body) == (KEY.address, REQUEST.body)
            outcomes["accepted"] += 1
    assert len(outcomes) >= 6, outcomes  # every step of the verification has refused something
    assert outcomes["accepted"] < sum(outcomes.values()) / 20
