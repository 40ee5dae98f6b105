"""Keys in this process and wallets outside: what is taken as a signature, and what never is."""

import os
import secrets

import pytest
from bounty_protocol.chain.deployment import LOCAL_CHAIN_ID
from service_cli.chain.signer import local_signer
from service_cli.config.environment import Environment
from service_cli.config.settings import Settings

from tests.cli.api_twin import ApiTwin
from tests.cli.ledger import Ledger
from tests.cli.servers import Params, RpcProxy
from tests.cli.terminal import Ran, Terminal

KEY = secrets.token_hex(32)
STRANGE = "0x" + "11" * 65


@pytest.fixture
def keyless(solver: Terminal) -> Terminal:
    (solver.home / "work").mkdir()
    (solver.home / "work" / "main.py").write_text("print(1)\n")
    return solver.without_keys()


def submit(ledger: Ledger, home: Terminal, bounty: str, answer: str, code: int = 1) -> Ran:
    address, stdin = ledger.people.solvers[0].address, f"{answer}\n{answer}\n".encode()
    return home.run("solver:submit", "--solver-address", address, bounty, "work", stdin=stdin, code=code)


@pytest.mark.parametrize("pasted", [KEY, f"  0X{KEY.upper()} "], ids=["bare", "in capitals"])
def test_answer_of_32_bytes_is_refused_unsent(
    ledger: Ledger, api: ApiTwin, keyless: Terminal, bounty: str, pasted: str
) -> None:
    ran = submit(ledger, keyless, bounty, pasted)
    assert (ran.last["event"], ran.last["code"]) == ("submit.refused", "signature_malformed")
    assert "private key" in str(ran.last["message"])
    assert KEY not in (ran.stdout + ran.words).lower()
    assert not api.approvals()


def test_answer_of_another_key_is_named(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, keyless: Terminal, bounty: str
) -> None:
    address = ledger.people.solvers[0].address
    assert submit(ledger, keyless, bounty, STRANGE).last["code"] == "signature_mismatch"
    assert not api.approvals()

    def with_code(method: str, params: Params, result: object) -> object:
        if method == "eth_call" and params[0]["to"] == address:
            return "0x1626ba7e" + "00" * 28  # ERC-1271: it accepts
        return "0x6001" if method == "eth_getCode" and params[0] == address else result

    rpc.after = with_code
    assert submit(ledger, keyless, bounty, STRANGE, code=0).last["event"] == "submit.transaction_prepared"
    assert len(api.approvals()) == 2


SIGNING_KEY = "0x" + "42" * 32


@pytest.mark.spec(278)
def test_local_signer_takes_its_key_and_hides_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SERVICE_POSTER_PRIVATE_KEY", SIGNING_KEY)
    settings = Settings(Environment(dict(os.environ), {}), LOCAL_CHAIN_ID, None, None)
    signer = local_signer(settings, "SERVICE_POSTER_PRIVATE_KEY")
    assert SIGNING_KEY[2:] not in repr(signer) + str(signer)
    typed = {
        "types": {"EIP712Domain": [{"name": "name", "type": "string"}], "Thing": [{"name": "n", "type": "uint256"}]},
        "primaryType": "Thing",
        "domain": {"name": "Service"},
        "message": {"n": "7"},
    }
    assert len(signer.sign_typed_data(typed, "a thing")) == 65
    assert capsys.readouterr().err == "signing: a thing\n"
