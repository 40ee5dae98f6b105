"""A whole bounty on the pages by accounts without ether, and what a person sees where nobody pays for them.

Each account's own code is a smart account (EIP-7702), a bundler sends its operations, and a paymaster service that the
operator names pays.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from demo.bounty import Cast, Funded
from demo.examples import artifact, challenge_page
from local_stack.contract import Wallet

from tests.e2e.smart_accounts.bundler import start_bundler
from tests.e2e.smart_accounts.contracts import AccountContracts, deploy_contracts
from tests.e2e.smart_accounts.delegation import delegate, deploy_code
from tests.e2e.smart_accounts.paymaster import Behaviour, PaymasterService, start_paymaster
from tests.e2e.wallet_acts import SEND, SIGN, path_of
from tests.e2e.wallet_pages import begin_claim, closed
from tests.pages.driver import Browser, Page, TestWallet

ESCROW = 25_000_000
SPONSORED = "Send without a fee"
ACTS = ("create", "submit", "verdict", "claim", "settle", "heartbeat")
SECONDS = 90
"""Until the deadline of what is submitted to; operations are mined in blocks of a second."""


@dataclass(frozen=True)
class Market:
    """A stack with EntryPoint, bundler, paymaster and the code of smart accounts."""

    cast: Cast
    browser: Browser
    contracts: AccountContracts
    bundler_url: str
    paymaster: PaymasterService
    code: str
    gas: dict[str, int] = field(default_factory=dict)
    """What the transaction of each sponsored act took."""

    def without_ether(self, key: str, address: str) -> TestWallet:
        """The wallet of an account that loses its ether and becomes a smart account."""
        node = self.cast.stack.anvil
        delegate(node, address, self.code)
        node.rpc.call("anvil_setBalance", address, "0x0")
        return TestWallet(key, node.url, 31_337, bundler=self.bundler_url)

    def person(self, name: str) -> TestWallet:
        """Somebody of the stack."""
        wallet = self.cast.stack.people.by_name()[name].wallet
        return self.without_ether(wallet.private_key, wallet.address)

    def newcomer(self) -> tuple[TestWallet, str]:
        """Somebody with tokens for an escrow and nothing else."""
        wallet, holder = Wallet(), self.cast.stack.people.settler.wallet
        self.cast.stack.hub.token.transact(holder, "transfer", wallet.address, ESCROW)
        return self.without_ether(wallet.private_key, wallet.address), wallet.address

    def opened(self, wallet: TestWallet, path: str, acts: tuple[str, ...] = ACTS) -> Page:
        """A page of an operator who names the paymaster service for these acts."""
        page = self.browser.open(f"{self.cast.stack.pages_url}{path}", wallet)
        sponsor = {"url": self.paymaster.url, "context": {"policyId": "bounties"}, "acts": list(acts)}
        page.do("settings", changes={"sponsor": sponsor})
        page.connect()
        return page

    def ether(self, address: str) -> int:
        """In wei."""
        w3 = self.cast.stack.anvil.w3
        return int(w3.eth.get_balance(w3.to_checksum_address(address)))

    def sends(self, page: Page, act: str, done: str) -> str:
        """Send without a fee, and note the gas; the page's text at the end."""
        before = self.contracts.deposit()
        assert "no ether is needed. Else nothing is sent" in page.text("#acting")
        page.press(SPONSORED)
        shown = page.wait(done)
        assert "The network's fee was paid by the paymaster 0x" in shown
        assert self.contracts.deposit() < before
        (sent,) = re.findall(r"transaction (0x[0-9a-f]{64})", page.text("#acting"))
        self.gas[act] = self.cast.stack.anvil.w3.eth.get_transaction_receipt(sent)["gasUsed"]
        return shown


@pytest.fixture(scope="module")
def market(cast: Cast, browser: Browser) -> Iterator[Market]:
    node = cast.stack.anvil
    contracts = deploy_contracts(node)
    with start_bundler(node, cast.stack.runtime) as bundler, start_paymaster(contracts) as paymaster:
        yield Market(cast, browser, contracts, bundler.url, paymaster, deploy_code(node))


def to_the_bounty(market: Market, wallet: TestWallet, folder: Path, title: str, seconds: int) -> tuple[Page, int]:
    """Publish a page; what comes next is the bounty. Gives its deadline, too."""
    deadline = market.cast.chain_time() + seconds
    path = challenge_page(folder, submission_deadline=deadline, judging_window_seconds=600, title=title)
    page = market.opened(wallet, "/publish")
    page.fill("Page", path.read_text(encoding="utf-8"))
    page.press("Go on")
    page.wait("Publish the page")
    page.press(SIGN)
    page.wait("Sign the escrow")
    page.press(SIGN)
    page.wait("Create the bounty")
    return page, deadline


def funded_by(market: Market, shown: str, deadline: int) -> Funded:
    number = shown.rpartition("Bounty ")[2].split()[0]
    view = market.cast.stack.hub.hub.call("getBounty", int(number))
    return Funded(number, "0x" + bytes(view[2]).hex(), deadline, int(view[4]), int(view[5]))


def submitted(market: Market, wallet: TestWallet, address: str, funded: Funded, work: Path) -> str:
    """Seal and record work; gives its commitment."""
    assert market.cast.page_shows(funded, "Open for work")
    page = market.opened(wallet, path_of(funded))
    page.begin("Submit work")
    page.wait("Directory with the work")
    page.tree("Directory with the work", work)
    page.wait("What will be sealed")
    page.press("Seal it")
    page.wait("Get an address for the upload")
    page.press(SIGN)
    page.wait("Record the Submission on the chain")
    market.sends(page, "submit", "Your Submission is recorded.")
    closed(page)
    return "0x" + bytes(market.cast.stack.hub.hub.call("getSubmission", int(funded.bounty_id), address)).hex()


def judged(market: Market, wallet: TestWallet, funded: Funded, commitment: str) -> None:
    page = market.opened(wallet, path_of(funded))
    page.begin("Judge")
    page.wait("Your Verdict")
    page.fill("Reasons", "# Reasons\n\nEvery criterion holds.")
    page.do("tick", title=commitment)
    page.press("Go on")
    page.wait("was never opened in this browser")
    page.press("Go on")
    page.wait_alert("Open the work first")
    page.fill("Your words", "opened elsewhere")
    page.press("Go on")
    page.wait("Publish your reasons")
    page.press(SIGN)
    page.wait("Record the Verdict on the chain")
    market.sends(page, "verdict", "Your Verdict is recorded")
    closed(page)


def claimed(market: Market, wallet: TestWallet, funded: Funded, act: str, what: str) -> None:
    page = market.opened(wallet, path_of(funded))
    page.wait(what)
    begin_claim(market.cast, page)
    market.sends(page, act, "Paid: ")
    closed(page)


def test_bounty__funded_submitted_judged_and_claimed__by_accounts_without_ether(market: Market, tmp_path: Path) -> None:
    cast = market.cast
    poster, poster_address = market.newcomer()
    page, deadline = to_the_bounty(market, poster, tmp_path, "Without ether", SECONDS)
    funded = funded_by(market, market.sends(page, "create", "has its page in a moment"), deadline)
    closed(page)
    solver_wallet = Wallet()
    solver = market.without_ether(solver_wallet.private_key, solver_wallet.address)
    commitment = submitted(market, solver, solver_wallet.address, funded, artifact(tmp_path, note="Without ether."))
    guardians = {name: market.person(name) for name in ("guardian-1", "guardian-2")}
    cast.wait_for(funded.reveal_at)
    for wallet in guardians.values():
        judged(market, wallet, funded, commitment)
    assert cast.page_shows(funded, "Awarded")
    claimed(market, solver, funded, "claim", "Claim the award")
    for name, wallet in guardians.items():
        claimed(market, wallet, funded, f"claim of {name}", "Claim a Guardian's share")
    addresses = [poster_address, solver_wallet.address, *(cast.address(name) for name in guardians)]
    assert [market.ether(address) for address in addresses] == [0] * 4
    assert cast.token_balance(solver_wallet.address) > 0
    print("gas of the sponsored transactions:", market.gas)


@contextmanager
def behaving(market: Market, behaviour: Behaviour) -> Iterator[None]:
    market.paymaster.behave(behaviour)
    try:
        yield
    finally:
        market.paymaster.behave(Behaviour.OK)


@pytest.mark.parametrize("behaviour", [each for each in Behaviour if each is not Behaviour.OK])
def test_paymaster__that_does_not_pay__leaves_the_ordinary_transaction(market: Market, behaviour: Behaviour) -> None:
    node, address = market.cast.stack.anvil, market.cast.address("guardian-3")
    market.cast.wait_for(market.cast.chain_time() + 1)  # a former sign may be in the newest block: it would be found
    page = market.opened(market.person("guardian-3"), "/guardians")
    page.press("Show that you are there")
    shown = page.wait("Record that you are there")
    assert "Ether of this account\nnone, so that it cannot pay." in shown
    with behaving(market, behaviour):
        page.press(SPONSORED)
        shown = page.wait("did not pay for it: the wallet has begun nothing")
    assert f"Before you send\n{market.paymaster.url.split('//')[1].split('/')[0]} did not pay" in shown
    assert "The wallet says: " in shown
    node.fund(address)
    page.press(SEND)
    shown = page.wait("Recorded.")
    assert "This account itself paid the network's fee." in shown
    assert [each["method"] for each in page.asked()] == ["wallet_sendCalls", "eth_sendTransaction"]
    closed(page)


def test_sponsor__of_other_acts__is_not_offered(market: Market) -> None:
    page = market.opened(market.person("guardian-3"), "/guardians", ("claim",))
    page.press("Show that you are there")
    assert "Who pays the fee" not in page.wait("Record that you are there")
    assert SPONSORED not in page.text("#acting")
    closed(page)


def test_wallet__that_asks_no_paymaster__is_offered_none(market: Market) -> None:
    poor, node = market.person("guardian-3"), market.cast.stack.anvil
    page = market.opened(TestWallet(poor.key, node.url, 31_337), "/guardians")
    page.press("Show that you are there")
    page.wait("Record that you are there")
    assert SPONSORED not in page.text("#acting")
    closed(page)


def test_wallet__that_pays_itself_although_it_was_to_be_paid_for__is_seen(market: Market) -> None:
    """A wallet, or a paymaster, that does less than it said."""
    address = market.cast.address("guardian-3")
    wallet = market.person("guardian-3")
    market.cast.stack.anvil.fund(address)
    page = market.opened(wallet, "/guardians")
    page.press("Show that you are there")
    page.wait("Record that you are there")
    page.wallet(drops_sponsors=True)
    page.press(SPONSORED)
    assert "This account itself paid the network's fee." in page.wait("Recorded.")
    closed(page)


def recorded(market: Market, page: Page) -> str:
    """A sign of life that somebody else pays for; its transaction."""
    page.press("Show that you are there")
    page.wait("Record that you are there")
    page.press(SPONSORED)
    page.wait("Recorded.")
    return str(page.do("title", selector=".stage .hash"))


def test_step__that_is_done_again__is_sent_again(market: Market) -> None:
    page = market.opened(market.person("guardian-3"), "/guardians")
    first = recorded(market, page)
    market.cast.wait_for(market.cast.chain_time() + 2)
    assert recorded(market, page) != first
    assert [each["method"] for each in page.asked()] == ["wallet_sendCalls"] * 2
    closed(page)


def test_operation__whose_answer_was_lost__is_found_on_the_chain_and_not_sent_again(market: Market) -> None:
    """The wallet says that it knows nothing of it, and the bundler has it."""
    page = market.opened(market.person("guardian-3"), "/guardians")
    page.press("Show that you are there")
    page.wait("Record that you are there")
    page.wallet(forgets=True)
    page.press(SPONSORED)
    shown = page.do("wait_any", texts=["Recorded.", "did not pay for it: the wallet has begun nothing"])
    if "Recorded." not in shown:
        market.cast.wait_for(market.cast.chain_time() + 3)
        market.cast.stack.anvil.fund(market.cast.address("guardian-3"))
        page.press(SEND)
        page.wait("Recorded.")
    assert [each["method"] for each in page.asked()] == ["wallet_sendCalls"]
    closed(page)
