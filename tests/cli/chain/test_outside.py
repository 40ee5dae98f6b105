"""Wallets outside this process: a Safe that executes later, a transaction that fails, and files that are in the way."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from bounty_protocol.chain.deployment import LOCAL_CHAIN_ID
from bounty_protocol.domain.hub_events import RefundClaimed
from bounty_protocol.shapes import to_json
from bounty_protocol.types import BlockNumber, BountyId, Bytes32, parse_address
from local_stack.contract import Wallet
from service_cli.chain import outside
from service_cli.chain.journal import open_journal
from service_cli.chain.outside import GIVEN, ExternalSigner, Given, done_by_wallet, give_to_wallet
from service_cli.chain.receipts import ExpectedEvent, account_topic, bounty_topic
from service_cli.chain.session import ChainClient
from service_cli.chain.transactions import HubCall
from service_cli.config.environment import Environment
from service_cli.config.settings import Settings
from service_cli.errors import CommandFailed, CommandRefused

from tests.cli.api_twin import ApiTwin
from tests.cli.kill import spawn, wait_until_mined
from tests.cli.ledger import Ledger
from tests.cli.servers import Params, RpcProxy
from tests.cli.terminal import Ran, Terminal, events_of
from tests.cli.wallet_page.browser import Wallet as BrowserWallet
from tests.safe.wallet import SafeWallet, make_safe


@pytest.fixture(scope="module")
def safe(ledger: Ledger) -> SafeWallet:
    ledger.people.owner.wallet.forget_nonce()
    return make_safe(ledger.node.w3, ledger.people.owner.wallet)


@pytest.fixture
def keyless(solver: Terminal) -> Terminal:
    (solver.home / "work").mkdir()
    (solver.home / "work" / "main.py").write_text("print(1)\n")
    return Terminal(solver.home, {k: v for k, v in solver.environment.items() if "PRIVATE_KEY" not in k})


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


def executed(ledger: Ledger, safe: SafeWallet, file: Path) -> None:
    """What the Safe's owners do with the file: load it, sign it, and have somebody execute it."""
    batch = json.loads(file.read_text())
    assert (batch["chainId"], batch["meta"]["createdFromSafeAddress"].lower()) == ("31337", safe.address)
    (call,) = batch["transactions"]
    ledger.people.owner.wallet.forget_nonce()
    safe.execute(ledger.people.owner.wallet, call["to"], bytes.fromhex(call["data"][2:]))


def test_safe__that_submits_and_claims__loads_the_files_and_is_found_once_it_has_executed(
    ledger: Ledger, api: ApiTwin, keyless: Terminal, safe: SafeWallet
) -> None:
    number, page = ledger.fund(seconds=100)
    api.keep_page(page)
    bounty = str(number)
    submit = ("solver:submit", "--solver-address", safe.address, "--safe", "submit.json", bounty, "work")
    ran = signed(keyless, safe, *submit)
    assert ran.names[-1] == "submit.transaction_prepared"
    assert "load it in the transaction builder" in ran.words
    again = signed(keyless, safe, *submit)
    assert again.last == ran.last  # nothing was executed yet: the same call, and the file is left as it is
    executed(ledger, safe, keyless.home / "submit.json")
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
    claim = ("claim", "--claimant-address", safe.address, "--safe", "claim.json", bounty)
    (keyless.home / "other.json").write_text((keyless.home / "submit.json").read_text())
    in_the_way = keyless.run(*claim[:4], "other.json", bounty, code=1)
    assert (in_the_way.names, in_the_way.last["code"]) == (["claim.prepared", "claim.refused"], "file_exists")
    assert (keyless.home / "other.json").read_text() == (keyless.home / "submit.json").read_text()
    assert keyless.run(*claim).names == ["claim.prepared", "claim.transaction_prepared"]
    before = ledger.token.call("balanceOf", safe.address)
    executed(ledger, safe, keyless.home / "claim.json")
    claimed = keyless.run(*claim)
    assert claimed.names == ["claim.claimed"]
    assert ledger.token.call("balanceOf", safe.address) - before == int(str(claimed.last["claimable_amount"])) > 0
    assert keyless.run(*claim, code=1).last["code"] == "award_already_claimed"


def test_safe_file__of_an_account_that_is_no_contract__is_refused_and_not_written(
    ledger: Ledger, keyless: Terminal
) -> None:
    bounty, poster = str(ledger.ended_in_silence()), ledger.people.poster.address
    words = ("claim", "--claimant-address", poster, bounty, "--safe")
    assert keyless.run(*words, "claim.json", code=1).last["code"] == "not_a_safe"
    assert not (keyless.home / "claim.json").exists()


def test_safe__of_an_account_that_is_no_contract__is_refused_before_the_first_signature(
    ledger: Ledger, api: ApiTwin, keyless: Terminal, bounty: str
) -> None:
    account = ledger.people.solvers[0].address
    words = ("solver:submit", "--solver-address", account, "--safe", "submit.json")
    for check in ((), ("--check",)):
        ran = keyless.run(*words, *check, bounty, "work", code=1)
        assert (ran.names, ran.last["code"]) == (["submit.refused"], "not_a_safe")
    assert not (keyless.home / "submit.json").exists()
    assert not api.approvals()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("claim", "1", "--browser"), "needs --claimant-address"),
        (("claim", "1", "--safe", "x"), "needs --claimant-address"),
        (("claim", "1", "--claimant-address", "0x" + "11" * 20, "--browser", "--safe", "x"), "without --safe"),
        (("claim", "1", "--claimant-address", "0x" + "11" * 20, "--safe", ""), "it is empty"),
        (("solver:submit", "--browser", "1", "."), "needs --solver-address"),
        (("solver:submit", "--safe", "x", "1", "."), "needs --solver-address"),
    ],
)
def test_wallet_options__that_do_not_go_together__are_a_usage_error(
    shell: Terminal, words: tuple[str, ...], told: str
) -> None:
    assert told in " ".join(shell.run(*words, code=2).words.split())


class Page:
    """A page whose wallet does what a test says."""

    def __init__(self, answer: str) -> None:
        self.answer, self.asked = answer, list[tuple[str, str]]()
        self.params: object = None

    def ask(self, task: object) -> str:
        self.params = task.params  # type: ignore[attr-defined]
        self.asked.append((task.method, " ".join(value for _, value in task.lines)))  # type: ignore[attr-defined]
        return self.answer


@pytest.fixture
def chain(ledger: Ledger, rpc: RpcProxy) -> ChainClient:
    values = {**ledger.variables(), "SERVICE_RPC_URL": rpc.url}
    return ChainClient(Settings(Environment(values, {}), LOCAL_CHAIN_ID, None, None))


@pytest.fixture
def refund(ledger: Ledger, chain: ChainClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> "Refund":
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(outside, "_POLL_SECONDS", 0.01)
    return Refund(ledger, chain, BountyId(ledger.ended_in_silence()))


class Refund:
    """A refund that a Poster claims by a wallet."""

    def __init__(self, ledger: Ledger, chain: ChainClient, bounty: BountyId) -> None:
        self.poster: Wallet = ledger.people.poster.wallet
        self.account = parse_address(self.poster.address)
        self.ledger, self.chain, self.bounty = ledger, chain, bounty
        self.call = HubCall("claimRefund", [bounty], "claim it")
        self.proof = ExpectedEvent(RefundClaimed, [bounty_topic(bounty), account_topic(self.account)])

    def give(self, answer: str) -> object:
        """Give it to a wallet that answers so; the transaction of the receipt."""
        page = Page(answer)
        self.asked = page.asked
        signer = ExternalSigner(self.account, page)  # type: ignore[arg-type]
        with open_journal(self.chain.chain_id, self.chain.hub.address, "claim", str(self.bounty)) as journal:
            receipt = give_to_wallet(self.chain, signer, self.call, self.proof, journal, lambda: None)
        assert receipt is not None
        transaction = {"from": self.account, "to": self.chain.hub.address, "value": "0x0", "data": self.call.data}
        assert page.params == [{**transaction, "chainId": "0x7a69"}]  # a wallet that was switched refuses it
        return receipt.tx_hash

    def sent_by(self, then: Callable[[], None]) -> str:
        """The transaction that a wallet sends when it is asked, after which ``then`` is called."""
        hashes: list[str] = []

        class Sending(Page):
            def ask(page, task: object) -> str:  # noqa: N805
                hashes.append(self.sent())
                then()
                return hashes[0]

        signer = ExternalSigner(self.account, Sending(""))  # type: ignore[arg-type]
        with open_journal(self.chain.chain_id, self.chain.hub.address, "claim", str(self.bounty)) as journal:
            receipt = give_to_wallet(self.chain, signer, self.call, self.proof, journal, lambda: None)
        assert receipt is not None
        assert [receipt.tx_hash] == hashes
        return hashes[0]

    def look(self) -> object:
        """What a later run finds."""
        with open_journal(self.chain.chain_id, self.chain.hub.address, "claim", str(self.bounty)) as journal:
            receipt = done_by_wallet(self.chain, self.proof, journal)
        return None if receipt is None else receipt.tx_hash

    def sent(self) -> str:
        """The wallet really sends it."""
        wallet = BrowserWallet(self.ledger.node.url, self.poster.private_key, 31337)
        hub = self.chain.hub.address
        answer = wallet.answer(
            "eth_sendTransaction", [{"from": self.account, "to": hub, "value": "0x0", "data": self.call.data}]
        )
        wait_until_mined(self.ledger.node.url, answer["result"])
        return str(answer["result"])


ELSE = "0x" + "42" * 32


def test_wallet__that_names_another_transaction__is_believed_the_event_alone(refund: Refund) -> None:
    sent = refund.sent()
    assert refund.give(ELSE) != ELSE  # a wallet of several owners names a transaction of its own
    assert refund.look() == sent
    assert refund.asked[0][0] == "eth_sendTransaction"


def test_wallet__whose_transaction_is_in_no_block__fails_and_the_next_run_finds_it(
    refund: Refund, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service_cli.chain.sender.RECEIPT_SECONDS", 0.05)
    with pytest.raises(CommandFailed) as failed:
        refund.give(ELSE)
    assert failed.value.code == "transaction_pending"
    assert refund.look() is None
    with pytest.raises(CommandFailed):
        refund.give(ELSE)
    assert "do not send it again" in refund.asked[0][1]
    sent = refund.sent()
    assert refund.look() == sent


def test_wallet__whose_transaction_waits_in_the_pool__is_not_asked_again(
    refund: Refund, rpc: RpcProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service_cli.chain.sender.RECEIPT_SECONDS", 0.05)

    def pooled(method: str, _params: Params, result: object) -> object:
        return {"blockNumber": None} if method == "eth_getTransactionByHash" else result

    with pytest.raises(CommandFailed):
        refund.give(ELSE)
    rpc.after = pooled
    with pytest.raises(CommandFailed) as failed:
        refund.look()
    assert failed.value.code == "transaction_pending"


def test_wallet__whose_command_is_killed_before_it_hears_of_the_transaction__is_not_asked_again(
    refund: Refund, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[str] = []

    def killed(_page: Page, _task: object) -> str:
        sent.append(refund.sent())
        raise KeyboardInterrupt

    monkeypatch.setattr(Page, "ask", killed)
    with pytest.raises(KeyboardInterrupt):
        refund.give("")
    assert [refund.look()] == sent


def test_wallet__while_the_endpoint_is_silent__is_waited_for_all_the_same(
    refund: Refund, rpc: RpcProxy, capsys: pytest.CaptureFixture[str]
) -> None:
    silent: dict[str, object] = {"error": {"code": -32000, "message": "try again"}}
    calls: list[str] = []

    def before(method: str, _params: Params) -> dict[str, object] | None:
        calls.extend([method] if method == "eth_getLogs" else [])
        return silent if method == "eth_getLogs" and len(calls) < 4 else None

    sent = refund.sent_by(lambda: setattr(rpc, "before", before))
    assert sent in capsys.readouterr().err
    assert calls.count("eth_getLogs") >= 4


def test_wallet__whose_transaction_reverted__is_refused(refund: Refund) -> None:
    wallet = BrowserWallet(refund.ledger.node.url, refund.poster.private_key, 31337)
    hub = refund.chain.hub.address
    wrong = HubCall("claimRefund", [BountyId(2**40)], "")
    answer = wallet.answer("eth_sendTransaction", [{"to": hub, "value": "0x0", "data": wrong.data}])
    with pytest.raises(CommandRefused) as refused:
        refund.give(str(answer["result"]))
    assert refused.value.code == "transaction_reverted"


@pytest.mark.parametrize("answer", ["", "null", "0x12", "0x" + "zz" * 32, ELSE + "00"])
def test_wallet__that_answers_no_hash__is_refused(refund: Refund, answer: str) -> None:
    with pytest.raises(CommandFailed) as failed:
        refund.give(answer)
    assert failed.value.code == "wallet_answer_malformed"


def test_given__as_it_is_kept__is_read_again() -> None:
    given = Given("0x12", BlockNumber(7), (Bytes32(ELSE),))
    assert GIVEN.read(json.loads(json.dumps(GIVEN.write(given)))) == given
    wrong: object
    for wrong in ({}, {**to_json(given), "hashes": ["0x12"]}, {**to_json(given), "from_block": None}, []):
        with pytest.raises(ValueError):
            GIVEN.read(wrong)
