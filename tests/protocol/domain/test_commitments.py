"""Commitments over raw bytes."""

import subprocess
import sys

import pytest
from bounty_protocol.domain.commitments import log_digest, report_commitment, spec_commitment, submission_commitment
from bounty_protocol.keccak import keccak256

EMPTY = "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470"
ABC = "4e03657aea45a94fc7d47ba826c8d667c0d1e6e33a64a036ec44f58fa12d6c45"


@pytest.mark.spec(35, 51, 66)
@pytest.mark.parametrize("commit", [spec_commitment, report_commitment, submission_commitment])
def test_commitment__published_keccak_inputs__published_digests(commit) -> None:  # type: ignore[no-untyped-def]
    assert commit(b"") == f"0x{EMPTY}"
    assert commit(b"abc") == f"0x{ABC}"


@pytest.mark.spec(51)
def test_commitment__one_byte_more__another_value() -> None:
    assert spec_commitment(b"page\n") != spec_commitment(b"page")


def test_log_digest__two_logs__hash_of_the_hashes_in_order() -> None:
    first, second = ([b"a" * 32, b"b" * 32], b"data"), ([b"c" * 32], b"")
    by_hand = keccak256(keccak256(b"a" * 32 + b"b" * 32) + keccak256(b"data") + keccak256(b"c" * 32) + keccak256(b""))
    assert log_digest([first, second]) == f"0x{by_hand.hex()}"
    assert log_digest([second, first]) != log_digest([first, second])


def test_log_digest__bytes_moved_from_topics_to_data__another_value() -> None:
    assert log_digest([([b"ab"], b"c")]) != log_digest([([b"a"], b"bc")])


def test_commitments__imported_alone__nothing_slow_is_loaded() -> None:
    code = (
        "import sys; import bounty_protocol.domain.commitments as c; c.spec_commitment(b'x');"
        "slow = {'eth_abi', 'cryptography', 'py_arkworks_bls12381', 'yaml', 'urllib3', 'rfc8785', 'nacl'};"
        "sys.exit(','.join(sorted(slow & set(sys.modules))) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
