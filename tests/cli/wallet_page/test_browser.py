"""``--browser`` in a headless browser with a test wallet: a submission and a claim, and what is refused on the way."""

import json
import os
import pty
import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import Queue
from threading import Event, Thread
from time import sleep
from urllib.parse import unquote, urlsplit

import pytest
from service_cli.errors import CommandFailed
from service_cli.wallet_page import server

from tests.cli.api_twin import ApiTwin
from tests.cli.kill import CLIENT, spawn
from tests.cli.ledger import Ledger
from tests.cli.terminal import Terminal, events_of
from tests.cli.wallet_page.browser import Browser, Wallet, started
from tests.waiting import wait_until

OTHER = "0x" + "ab" * 20


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with started(tmp_path_factory.mktemp("browser")) as found:
        yield found


@pytest.fixture
def keyless(solver: Terminal) -> Terminal:
    """A shell without a key, whose browser is a program that keeps the address it is given."""
    (solver.home / "work").mkdir()
    (solver.home / "work" / "main.py").write_text("print(1)\n")
    opener = solver.home / "open"
    opener.write_text(f'#!/bin/sh\necho "$1" > {solver.home}/address\n')
    opener.chmod(0o700)
    plain = {name: value for name, value in solver.environment.items() if "PRIVATE_KEY" not in name}
    return Terminal(solver.home, {**plain, "BROWSER": f"{opener} %s"})


@contextmanager
def running(shell: Terminal, *words: str) -> Iterator["subprocess.Popen[bytes]"]:
    """A command as a process, which does not outlive the test."""
    with spawn(shell, *words) as process:
        try:
            yield process
        finally:
            process.kill()


def address_of(process: "subprocess.Popen[bytes]") -> str:
    """The private file that leads to the page, as a person opens it."""
    assert process.stderr is not None
    for line in process.stderr:
        if found := re.search(rb"open (/\S+/open\.html) in the browser", line):
            return Path(found[1].decode()).as_uri()
    raise AssertionError(process.communicate())


def ended(process: "subprocess.Popen[bytes]") -> tuple[int, list[str], dict[str, object]]:
    """Exit code, the events' names and the last event."""
    out, _ = process.communicate(timeout=60)
    events = events_of(out.decode())
    return process.returncode, [str(event["event"]) for event in events], dict(events[-1])


def test_submit__by_a_browser_wallet__is_recorded_and_everything_wrong_refused_with_a_sentence(
    ledger: Ledger, api: ApiTwin, browser: Browser, keyless: Terminal, bounty: str
) -> None:
    person = ledger.people.solvers[0].wallet
    wallet = browser.wallet = Wallet(ledger.node.url, person.private_key, chain_id=1, shows=OTHER)
    words = ("solver:submit", "--browser", "--solver-address", person.address, bounty, "work")
    with running(keyless, *words) as process:
        address = address_of(process)
        browser.open("first", address)
        browser.until("first", "Sign: get an upload URL")
        browser.press("first", f"Your wallet shows the account {OTHER}, and this is for {person.address}")
        wallet.shows = ""
        browser.press("first", "Your wallet is on chain 1, and this is for chain 31337")
        assert wallet.asked[-1] == "eth_chainId"
        browser.open("second", address)
        browser.until("second", "opens only once")
        wallet.chain_id, wallet.declines = 31337, True
        browser.press("first", "You declined it in the wallet, and nothing was signed or sent")
        assert (api.approvals(), wallet.sent) == ([], [])
        wallet.declines = False
        browser.press("first", "Sign: prepare Submission")
        text = browser.do("look", "first")["text"]
        assert f"POST /api/bounties/{bounty}" in text
        assert "2 of 3" in text
        assert "fixed by its hash" in text
        assert not {"endpointId", "bodyHash", "audience"} & set(re.findall(r"\w+", text))
        browser.press("first", "Send: record Submission")
        assert ledger.contract.address in browser.do("look", "first")["text"]
        browser.press("first", "Done")
        code, names, last = ended(process)
    assert (code, names[-1]) == (0, "submit.submission_recorded")
    assert not {"submit.approval_required", "submit.transaction_prepared"} & set(names)
    assert wallet.sent == [last["tx_hash"]]
    assert ledger.submission(int(bounty), person.address) == last["submission_commitment"]
    assert len(api.approvals()) == 2
    seen = browser.do("look", "first")
    assert seen["findings"] == []
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", seen["address"])
    assert (keyless.home / "address").read_text().strip() == address
    assert not Path(unquote(urlsplit(address).path)).exists()
    with running(keyless, *words) as again:
        assert ended(again)[1] == ["submit.submission_recorded"]


def test_submit__by_a_wallet_that_signs_with_another_key__is_refused_and_sends_nothing(
    ledger: Ledger, api: ApiTwin, browser: Browser, keyless: Terminal, bounty: str
) -> None:
    account, other = ledger.people.solvers[0].wallet.address, ledger.people.solvers[1].wallet
    browser.wallet = Wallet(ledger.node.url, other.private_key, chain_id=31337, shows=account)
    with running(keyless, "solver:submit", "--browser", "--solver-address", account, bounty, "work") as process:
        browser.open("other", address_of(process))
        browser.until("other", "Sign: get an upload URL")
        browser.press("other", "service-cli has stopped")
        code, _, last = ended(process)
    assert (code, last["code"], api.approvals()) == (1, "signature_mismatch", [])
    assert str(last["message"]) in browser.do("look", "other")["text"]


def test_claim__by_a_browser_wallet__pays_and_a_page_that_is_closed_is_no_end(
    ledger: Ledger, browser: Browser, keyless: Terminal
) -> None:
    number, person = str(ledger.ended_in_silence()), ledger.people.poster.wallet
    wallet = browser.wallet = Wallet(ledger.node.url, person.private_key, chain_id=31337)
    words = ("claim", "--browser", "--claimant-address", person.address, number)
    with running(keyless, *words) as process:
        browser.open("closed", address_of(process))
        browser.until("closed", "Send: claim the refund of 25 tUSDC")
        browser.do("close", "closed")
        code, _, last = ended(process)
    assert (code, last["code"], wallet.sent) == (1, "page_closed", [])
    with running(keyless, *words) as process:
        browser.open("claim", address_of(process))
        browser.until("claim", "You were asked for this before")
        browser.press("claim", "Done")
        code, names, last = ended(process)
    assert (code, names) == (0, ["claim.prepared", "claim.claimed"])
    assert wallet.sent == [last["tx_hash"]]
    assert json.dumps(browser.do("look", "claim")["findings"]) == "[]"


def test_page__interrupted_by_ctrl_c__ends_and_says_so(ledger: Ledger, browser: Browser, keyless: Terminal) -> None:
    number, person = str(ledger.ended_in_silence()), ledger.people.poster.wallet
    browser.wallet = Wallet(ledger.node.url, person.private_key, chain_id=31337)
    with running(keyless, "claim", "--browser", "--claimant-address", person.address, number) as process:
        browser.open("stopped", address_of(process))
        browser.until("stopped", "Send: claim the refund")
        process.send_signal(signal.SIGINT)
        _, words = process.communicate(timeout=60)
        assert process.returncode == 130
        assert b"run the command again to continue" in words
        browser.until("stopped", "service-cli is not reached")


@dataclass
class _Locked(Wallet):
    """Shows no account until its person unlocks it."""

    unlocked: Event = field(default_factory=Event)

    def answer(self, method: str, params: list[object]) -> dict[str, object]:
        if method == "eth_requestAccounts":
            self.unlocked.wait(timeout=60)
        return super().answer(method, params)


def test_page__of_a_command_that_ended_while_the_wallet_was_locked__asks_for_nothing_once_it_is_not(
    ledger: Ledger, browser: Browser, keyless: Terminal
) -> None:
    number, person = str(ledger.ended_in_silence()), ledger.people.poster.wallet
    browser.wallet = wallet = _Locked(ledger.node.url, person.private_key, chain_id=31337)
    with running(keyless, "claim", "--browser", "--claimant-address", person.address, number) as process:
        browser.open("locked", address_of(process))
        browser.until("locked", "Send: claim the refund")
        browser.press("locked", "Look at your wallet.")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    browser.until("locked", "service-cli is not reached")
    wallet.unlocked.set()
    wait_until(lambda: "eth_chainId" in wallet.asked)
    for _ in range(3):
        assert "service-cli is not reached" in browser.do("look", "locked")["text"]
    assert "eth_sendTransaction" not in wallet.asked


@dataclass
class _Outliving(Wallet):
    """Sends what its person confirms after the command has ended."""

    command: "subprocess.Popen[bytes] | None" = None

    def answer(self, method: str, params: list[object]) -> dict[str, object]:
        if method == "eth_sendTransaction" and self.command is not None:
            self.command.kill()
            self.command.wait(timeout=60)
        return super().answer(method, params)


def test_page__whose_wallet_sends_after_the_command_ended__says_that_it_did(
    ledger: Ledger, browser: Browser, keyless: Terminal
) -> None:
    number, person = str(ledger.ended_in_silence()), ledger.people.poster.wallet
    browser.wallet = wallet = _Outliving(ledger.node.url, person.private_key, chain_id=31337)
    words = ("claim", "--browser", "--claimant-address", person.address, number)
    with running(keyless, *words) as process:
        wallet.command = process
        browser.open("late", address_of(process))
        browser.until("late", "Send: claim the refund")
        browser.press("late", "service-cli has not heard of it")
        assert "It did not work" not in browser.do("look", "late")["text"]
    with running(keyless, *words) as again:
        assert ended(again)[1] == ["claim.claimed"]
    assert len(wallet.sent) == 1


def test_page__of_a_command_at_a_terminal__opens_for_the_code_that_is_shown_there(
    ledger: Ledger, browser: Browser, keyless: Terminal
) -> None:
    number, person = str(ledger.ended_in_silence()), ledger.people.poster.wallet
    wallet = browser.wallet = Wallet(ledger.node.url, person.private_key, chain_id=31337)
    ours, theirs = pty.openpty()
    words = ("claim", "--browser", "--claimant-address", person.address, number)
    with subprocess.Popen(
        [CLIENT, *words], cwd=keyless.home, env=keyless.variables(TERM="dumb"), stdout=subprocess.PIPE, stderr=theirs
    ) as process:
        os.close(theirs)
        with os.fdopen(ours, "rb", buffering=0) as screen:
            shown = b""
            while (found := re.search(rb"open (http://\S+/) in .*: ([0-9A-Z]{4}-[0-9A-Z]{4})\r\n", shown)) is None:
                shown += screen.read(1_000)
            browser.open("typed", found[1].decode())
            browser.until("typed", "Type the code that your terminal shows")
            assert browser.do("check", "typed")["found"] == []
            browser.do("type", "typed", text="0000-0000")
            browser.until("typed", "This is not the code")
            browser.do("type", "typed", text=found[2].decode().lower())
            browser.until("typed", "Send: claim the refund")
            browser.press("typed", "Done")
            out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert found[2] not in out
    assert (keyless.home / "address").read_text().strip() == found[1].decode()
    assert len(wallet.sent) == 1


@pytest.mark.parametrize(
    ("has", "told"),
    [
        ("none", "No wallet is installed in this browser"),
        ("old", "Your wallet shows the account none"),
        ("two", "Your wallet shows the account none"),
    ],
)
def test_page__with_whatever_wallets_the_browser_has__is_accessible_and_uses_the_chosen_one(
    browser: Browser, addresses: Queue[str], has: str, told: str
) -> None:
    browser.wallet = Wallet("", "0x" + "11" * 32, chain_id=1, accounts=[])
    task = server.WalletTask(
        OTHER, 1, f"Sign: <i>it</i> {'9' * 66}", [("Name", "<img src=x>")], "Sign", "personal_sign", ["<b>"]
    )
    with server.WalletPage({}) as page:
        Thread(target=suppressing(page.ask), args=(task,), daemon=True).start()
        browser.open(has, addresses.get(timeout=10), has)
        browser.until(has, "Sign: <i>it</i>")
        assert ("No wallet is installed" in browser.do("look", has)["text"]) == (
            has == "none"
        )  # before anything is pressed
        browser.press(has, told)
        seen = browser.do("look", has)
        assert "<img src=x>" in seen["text"]
        assert seen["wide"] <= 0
        assert ("Another wallet" in seen["text"]) is (has == "two")
        assert browser.do("check", has)["found"] == []
        assert seen["findings"] == []
        browser.do("close", has)


@pytest.fixture
def addresses(monkeypatch: pytest.MonkeyPatch) -> Queue[str]:
    """Of pages that this process opens."""
    found: Queue[str] = Queue()
    monkeypatch.setattr(server, "open_browser", lambda address, _environment: found.put(address))
    monkeypatch.setattr(server, "FAREWELL_SECONDS", 0.0)
    monkeypatch.setattr(server, "ASK_SECONDS", 60.0)
    return found


def signing(title: str) -> server.WalletTask:
    return server.WalletTask(OTHER, 1, title, [], "Sign", "personal_sign", [])


def test_page__whose_requests_break_off_for_a_moment__goes_on_with_the_next_task(
    browser: Browser, monkeypatch: pytest.MonkeyPatch, addresses: Queue[str]
) -> None:
    asked_after: list[int] = []
    lost, unheard = iter([False, True, True]), iter([True])
    ask_next, take = server._State.next, server._State.answer

    def after(state: server._State, seen: int) -> dict[str, object]:
        asked_after.append(seen)
        if next(lost, False):
            raise ConnectionResetError
        return ask_next(state, seen)

    def answered(state: server._State, number: object, result: object) -> bool:
        is_taken = take(state, number, result)
        if next(unheard, False):
            raise ConnectionResetError
        return is_taken

    monkeypatch.setattr(server, "POLL_SECONDS", 0.05)
    monkeypatch.setattr(server._State, "next", after)
    monkeypatch.setattr(server._State, "answer", answered)
    browser.wallet = Wallet("", "0x" + "11" * 32, chain_id=1, shows=OTHER, answers="0x")
    with server.WalletPage({}) as page, ThreadPoolExecutor() as pool:
        first = pool.submit(page.ask, signing("Sign: the first"))
        browser.open("lost", addresses.get(timeout=10))
        browser.until("lost", "Sign: the first")
        browser.do("press", "lost")
        assert first.result(timeout=20) == "0x"
        count = len(asked_after)
        while len(asked_after) < count + 3:  # while nothing is asked
            sleep(0.01)
        second = pool.submit(page.ask, signing("Sign: the second"))
        browser.until("lost", "Sign: the second")
        browser.do("close", "lost")
        with pytest.raises(CommandFailed, match="was closed"):
            second.result(timeout=20)
    assert asked_after == sorted(asked_after)


def test_page__that_does_not_reach_the_command__ends_it_when_it_is_closed(
    browser: Browser, monkeypatch: pytest.MonkeyPatch, addresses: Queue[str]
) -> None:
    def lose(_state: server._State, _seen: int) -> dict[str, object]:
        raise ConnectionResetError

    monkeypatch.setattr(server._State, "next", lose)
    with server.WalletPage({}) as page, ThreadPoolExecutor() as pool:
        asking = pool.submit(page.ask, signing("Sign"))
        browser.open("unreached", addresses.get(timeout=10))
        browser.until("unreached", "it ends when you close this page")
        browser.do("close", "unreached")
        with pytest.raises(CommandFailed, match="was closed"):
            asking.result(timeout=20)


def suppressing(ask: Callable[[server.WalletTask], str]) -> Callable[[server.WalletTask], None]:
    """The same for a thread, which nobody hears."""

    def run(task: server.WalletTask) -> None:
        with suppress(CommandFailed):
            ask(task)

    return run
