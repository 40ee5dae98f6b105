"""Commitments over raw bytes."""

import pytest
from bounty_protocol.domain.commitments import log_digest, report_commitment, spec_commitment, submission_commitment
from bounty_protocol.keccak import keccak256

EMPTY = "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470"
ABC = "4e03657aea45a94fc7d47ba826c8d667c0d1e6e33a64a036ec44f58fa12d6c45"


@pytest.mark.spec(35, 51, 66)
@pytest.mark.parametrize("commit", [spec_commitment, report_commitment, submission_commitment])
def test_commitments_are_the_published_digests(commit) -> None:  # type: ignore[no-untyped-def]
    assert commit(b"") == f"0x{EMPTY}"
    assert commit(b"abc") == f"0x{ABC}"


def test_log_digest_hashes_the_hashes_in_order() -> None:
    first, second = ([b"a" * 32, b"b" * 32], b"data"), ([b"c" * 32], b"")
    by_hand = keccak256(keccak256(b"a" * 32 + b"b" * 32) + keccak256(b"data") + keccak256(b"c" * 32) + keccak256(b""))
    assert log_digest([first, second]) == f"0x{by_hand.hex()}"
    assert log_digest([second, first]) != log_digest([first, second])
