"""Keys in this process and wallets outside: what is taken as a signature, and what never is."""

import io
import json
import os
import secrets
import subprocess
import sys

import pytest
from bounty_protocol.chain.deployment import LOCAL_CHAIN_ID
from bounty_protocol.types import Address
from eth_account import Account
from service_cli.chain.outside import ExternalSigner
from service_cli.chain.signer import local_signer, with_integers
from service_cli.config.environment import Environment
from service_cli.config.settings import Settings

from tests.cli.api_twin import ApiTwin
from tests.cli.kill import spawn
from tests.cli.ledger import Ledger
from tests.cli.servers import Params, RpcProxy
from tests.cli.terminal import Ran, Terminal

KEY = secrets.token_hex(32)
STRANGE = "0x" + "11" * 65


@pytest.fixture
def keyless(solver: Terminal) -> Terminal:
    (solver.home / "work").mkdir()
    (solver.home / "work" / "main.py").write_text("print(1)\n")
    return Terminal(solver.home, {k: v for k, v in solver.environment.items() if "PRIVATE_KEY" not in k})


def submit(ledger: Ledger, home: Terminal, bounty: str, answer: str, code: int = 1) -> Ran:
    address, stdin = ledger.people.solvers[0].address, f"{answer}\n{answer}\n".encode()
    return home.run("solver:submit", "--solver-address", address, bounty, "work", stdin=stdin, code=code)


@pytest.mark.parametrize(
    "pasted",
    [KEY, f"0x{KEY}", f"0X{KEY.upper()}", f"  {KEY} "],
    ids=["bare", "with 0x", "in capitals", "between spaces"],
)
def test_answer__that_is_32_bytes__is_refused_unsent_and_never_echoed(
    ledger: Ledger, api: ApiTwin, keyless: Terminal, bounty: str, pasted: str
) -> None:
    ran = submit(ledger, keyless, bounty, pasted)
    assert (ran.last["event"], ran.last["code"]) == ("submit.refused", "signature_malformed")
    assert "private key" in str(ran.last["message"])
    assert KEY not in (ran.stdout + ran.words).lower()
    assert not api.approvals()


@pytest.mark.parametrize("length", [1, 31, 33, 63])
def test_answer__shorter_than_a_signature__is_refused_with_its_length(
    ledger: Ledger, api: ApiTwin, keyless: Terminal, bounty: str, length: int
) -> None:
    ran = submit(ledger, keyless, bounty, "ab" * length)
    assert ran.last["message"] == f"A signature has 64 bytes or more; these are {length}. Nothing was sent."
    assert not api.approvals()


def test_answer__of_another_key__is_named_before_it_is_sent_unless_the_account_is_a_contract(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, keyless: Terminal, bounty: str
) -> None:
    address = ledger.people.solvers[0].address
    assert submit(ledger, keyless, bounty, STRANGE).last["code"] == "signature_mismatch"
    assert not api.approvals()

    def with_code(method: str, params: Params, result: object) -> object:
        return "0x6001" if method == "eth_getCode" and params[0] == address else result

    rpc.after = with_code
    assert submit(ledger, keyless, bounty, STRANGE, code=0).last["event"] == "submit.transaction_prepared"
    assert len(api.approvals()) == 2


def test_answer__of_the_account_s_own_key__is_sent(
    ledger: Ledger, api: ApiTwin, keyless: Terminal, bounty: str
) -> None:
    wallet = ledger.people.solvers[0].wallet
    process = spawn(keyless, "solver:submit", "--solver-address", wallet.address, bounty, "work")
    names = answered(process, wallet.private_key)
    assert names.count("submit.approval_required") == len(api.approvals()) == 2
    assert (names[-1], process.returncode) == ("submit.transaction_prepared", 0)


def answered(process: "subprocess.Popen[bytes]", key: str) -> list[str]:
    """Sign whatever is asked for, as a wallet does."""
    assert process.stdin is not None
    assert process.stdout is not None
    names = []
    for line in process.stdout:
        found = json.loads(line)
        names.append(found["event"])
        if "typed_data" in found:
            signed = Account.sign_typed_data(key, full_message=with_integers(found["typed_data"]))
            process.stdin.write(signed.signature.hex().encode() + b"\n")
            process.stdin.flush()
    process.communicate(timeout=30)
    return names


SIGNING_KEY = "0x" + "42" * 32


@pytest.mark.spec(278)
def test_local_signer__once_it_has_the_key__takes_it_from_the_environment_and_never_shows_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SERVICE_POSTER_PRIVATE_KEY", SIGNING_KEY)
    settings = Settings(Environment(dict(os.environ), {}), LOCAL_CHAIN_ID, None, None)
    signer = local_signer(settings, "SERVICE_POSTER_PRIVATE_KEY")
    assert "SERVICE_POSTER_PRIVATE_KEY" not in os.environ
    assert SIGNING_KEY[2:] not in repr(signer) + str(signer)
    typed = {
        "types": {"EIP712Domain": [{"name": "name", "type": "string"}], "Thing": [{"name": "n", "type": "uint256"}]},
        "primaryType": "Thing",
        "domain": {"name": "Service"},
        "message": {"n": "7"},
    }
    assert len(signer.sign_typed_data(typed, "a thing")) == 65
    assert capsys.readouterr().err == "signing: a thing\n"


def test_external_signer__asked_twice__prints_the_typed_data_each_time_and_reads_one_line_each(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(f" 0x{'AB' * 65} \n{'cd' * 99}\nrest"))
    signer = ExternalSigner(Address("0x" + "11" * 20))
    assert [signer.sign_typed_data({"n": n}, "it") for n in (1, 2)] == [b"\xab" * 65, b"\xcd" * 99]
    assert capsys.readouterr().out.count('"submit.approval_required"') == 2
    assert sys.stdin.read() == "rest"
