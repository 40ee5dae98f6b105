"""web3 over our own client: what it asks, and that our exceptions pass through it."""

import subprocess
import sys
from collections.abc import Sequence

import pytest
from bounty_protocol.chain.reverts import explain
from bounty_protocol.chain.rpc import Call, ChainUnavailable, Rpc, RpcRefused
from bounty_protocol.keccak import keccak256
from service_indexer.web3_provider import Web3, make_web3, usable_answers

CALL = {"to": Web3.to_checksum_address("0x" + "22" * 20), "data": "0x"}
OFFCHAIN_LOOKUP = keccak256(b"OffchainLookup(address,string[],bytes,bytes4,bytes)")[:4]


class Answers:
    """An endpoint that answers what it was given, in order, and keeps what it was asked."""

    def __init__(self, *answers: object) -> None:
        self._answers = list(answers)
        self.asked: list[Sequence[Call]] = []

    def __call__(self, calls: Sequence[Call]) -> list[object]:
        self.asked.append(calls)
        taken, self._answers = self._answers[: len(calls)], self._answers[len(calls) :]
        return taken


def test_refusal_reaches_the_caller_with_its_data() -> None:
    revert = keccak256(b"Reentered()")[:4]
    w3 = make_web3(Answers(RpcRefused(3, "execution reverted", revert)))
    with pytest.raises(RpcRefused) as refused:
        w3.eth.call(CALL)  # type: ignore[arg-type]
    assert explain(refused.value).code == "reentered"


def test_refusal_with_an_address_is_a_refusal() -> None:
    chain = Answers(RpcRefused(3, "execution reverted", OFFCHAIN_LOOKUP + bytes(320)))
    with pytest.raises(RpcRefused):
        make_web3(chain).eth.call(CALL)  # type: ignore[arg-type]
    assert len(chain.asked) == 1


def test_silence_names_no_address() -> None:
    w3 = make_web3(Rpc(["http://127.0.0.1:1/v1/secret-key", "http://127.0.0.1:2/v1/secret-key"]).batch)
    with pytest.raises(ChainUnavailable) as silent:
        w3.eth.send_raw_transaction(b"\x02")
    assert "secret" not in str(silent.value)
    assert silent.value.__context__ is None


def test_answer_web3_cannot_read_is_unusable() -> None:
    w3 = make_web3(Answers(None))
    with pytest.raises(ChainUnavailable), usable_answers():
        w3.eth.get_transaction(w3.keccak(b""))


def test_recursion_limit_is_pythons_own() -> None:
    program = "import sys; import service_indexer.web3_provider; print('web3' in sys.modules, sys.getrecursionlimit())"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == ["True", "1000"]


def test_no_other_process_of_the_indexer_loads_web3() -> None:
    program = "import sys; import service_indexer.main, service_indexer.jobs; print('web3' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == ["False"]
