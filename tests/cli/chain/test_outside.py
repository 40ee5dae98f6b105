"""Wallets outside this process: a Safe that executes later, and a transaction that is found by its event."""

import json
import secrets
from collections.abc import Mapping

import pytest
from bounty_protocol.auth.eip712 import typed_data_digest
from bounty_protocol.auth.signature import account_of_key, sign_digest
from bounty_protocol.types import Address
from service_cli.chain.outside import standard_form
from service_cli.errors import CommandRefused

from tests.cli.api_twin import ApiTwin
from tests.cli.kill import spawn
from tests.cli.ledger import Ledger
from tests.cli.terminal import Ran, Terminal, events_of
from tests.safe.wallet import SafeWallet, make_safe


@pytest.fixture(scope="module")
def safe(ledger: Ledger) -> SafeWallet:
    ledger.people.owner.wallet.forget_nonce()
    return make_safe(ledger.node.w3, ledger.people.owner.wallet)


@pytest.fixture
def keyless(solver: Terminal) -> Terminal:
    (solver.home / "work").mkdir()
    (solver.home / "work" / "main.py").write_text("print(1)\n")
    return solver.without_keys()


def signed(keyless: Terminal, safe: SafeWallet, *words: str) -> Ran:
    """Run a command whose typed data the Safe's owners sign."""
    with spawn(keyless, *words) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            lines.append(line.decode())
            if (typed := json.loads(line).get("typed_data")) is not None:
                process.stdin.write(safe.sign_typed_data(typed).hex().encode() + b"\n")
                process.stdin.flush()
        _, stderr = process.communicate(timeout=60)
    assert process.returncode == 0, (lines, stderr)
    return Ran(0, events_of("".join(lines)), "".join(lines), stderr.decode())


def executed(ledger: Ledger, safe: SafeWallet, shown: Ran) -> None:
    """What the Safe's owners do with the printed call: sign it, and have somebody execute it."""
    call = shown.last
    assert (call["chain_id"], call["value"]) == (31337, "0")
    ledger.people.owner.wallet.forget_nonce()
    safe.execute(ledger.people.owner.wallet, str(call["to"]), bytes.fromhex(str(call["data"])[2:]))


@pytest.mark.nightly
def test_safe_submits_and_claims(ledger: Ledger, api: ApiTwin, keyless: Terminal, safe: SafeWallet) -> None:
    number, page = ledger.fund(seconds=100)
    api.keep_page(page)
    bounty = str(number)
    submit = ("solver:submit", "--solver-address", safe.address, bounty, "work")
    ran = signed(keyless, safe, *submit)
    assert ran.names[-1] == "submit.transaction_prepared"
    assert signed(keyless, safe, *submit).last == ran.last  # nothing was executed yet: the same call
    executed(ledger, safe, ran)
    recorded = keyless.run(*submit).event("submit.submission_recorded")
    assert recorded["submission_commitment"] == ledger.submission(number, safe.address)
    other, roster = b"\x42" * 32, bytes.fromhex(ledger.hub.roster_hash[2:])
    ledger.people.owner.wallet.forget_nonce()
    for commitment in (other, bytes.fromhex(str(recorded["submission_commitment"])[2:])):  # elsewhere, and back
        call = ledger.contract.encode("submit", number, commitment, roster)
        assert signed(keyless, safe, *submit, "--replace").last["event"] == (
            "submit.submission_recorded" if commitment is other else "submit.transaction_prepared"
        )
        safe.execute(ledger.people.owner.wallet, ledger.contract.address, call)
    ledger.reveal(number)
    ledger.award(number, safe.address, str(recorded["submission_commitment"]))
    claim = ("claim", "--claimant-address", safe.address, bounty)
    shown = keyless.run(*claim)
    assert shown.names == ["claim.prepared", "claim.transaction_prepared"]
    before = ledger.token.call("balanceOf", safe.address)
    executed(ledger, safe, shown)
    claimed = keyless.run(*claim)
    assert claimed.names == ["claim.claimed"]
    assert ledger.token.call("balanceOf", safe.address) - before == int(str(claimed.last["claimable_amount"])) > 0
    assert keyless.run(*claim, code=1).last["code"] == "award_already_claimed"


def typed(account: Address) -> Mapping[str, object]:
    """Something that a wallet signs."""
    return {
        "types": {
            "EIP712Domain": [{"name": "name", "type": "string"}],
            "Note": [{"name": "account", "type": "address"}],
        },
        "primaryType": "Note",
        "domain": {"name": "test"},
        "message": {"account": account},
    }


def test_signature_of_any_form_becomes_ours() -> None:
    for _ in range(8):  # of either parity
        key = secrets.token_bytes(32)
        account = account_of_key(key)
        signed = sign_digest(typed_data_digest(typed(account)), key)
        parity = signed[64] - 27
        compact = signed[:32] + (int.from_bytes(signed[32:64], "big") | parity << 255).to_bytes(32, "big")
        for given in (signed, signed[:64] + bytes([parity]), compact):
            assert standard_form(given, typed(account), account) == signed


def test_signature_that_no_key_made_stays_as_it_is() -> None:
    account = account_of_key(secrets.token_bytes(32))
    approved_hash = bytes(12) + bytes.fromhex(account[2:]) + bytes(32) + b"\1"  # of a Safe with one owner
    assert standard_form(approved_hash, typed(account), account) == approved_hash
    with pytest.raises(CommandRefused):
        standard_form(secrets.token_bytes(64), typed(account), account)
