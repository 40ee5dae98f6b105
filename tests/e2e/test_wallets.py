"""A whole bounty with no command line: every step done on the pages, by test wallets in a headless browser.

With ``SERVICE_PICTURES=1`` the pictures of docs/pages.md that show wallets are drawn anew.
"""

import io
import json
import math
import os
import re
import tarfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import urllib3
from bounty_protocol.crypto.inert_names import inert_path
from bounty_protocol.crypto.x25519 import Identity
from bounty_protocol.domain.challenge.commitments import spec_commitment
from demo.bounty import Cast, Funded
from demo.examples import artifact, challenge_page
from local_stack.contract import Wallet, wait_for

from tests.cli.lies import lie_at
from tests.cli.servers import Reply, Request, Server
from tests.e2e.wallet_acts import SEND, SIGN, forward, path_of, short_of, work_label
from tests.e2e.wallet_pages import begin_claim, choose_keys, closed, opened, wallet_of
from tests.pages.driver import Browser, Page, TestWallet
from tests.raw_server import raw_server
from tests.safe.wallet import SafeWallet, make_safe
from tests.waiting import wait_until

IDLE_SECONDS = 90
JUDGING_SECONDS = 600
LONG_SECONDS = 3_600
ESCROW = 25_000_000
AWARD = "24 tUSDC"
MONEY = "[data-part=money]"
OFFERED = "Records on the chain that this Guardian is active"
"""Stands on the page of the Guardians only once a wallet is connected and the chain was read; its title always does."""


@dataclass(frozen=True)
class Played:
    """A bounty of a Safe, to which a Solver and another Safe have submitted: all of it on the pages."""

    funded: Funded
    work: Path
    commitment: str
    poster: TestWallet
    solver: TestWallet
    winner: SafeWallet
    """Of the Solver."""
    idle: Funded
    """Another one, of a Poster with a plain account, to which nobody submits."""

    @property
    def path(self) -> str:
        return path_of(self.funded)


@pytest.fixture(scope="module")
def played(cast: Cast, browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Played:
    folder = tmp_path_factory.mktemp("played")
    (poster, _), (solver, winner) = safe_wallet(cast), safe_wallet(cast)
    started = time.monotonic()
    idle = fund(cast, browser, folder, "poster", "Nobody comes", IDLE_SECONDS, is_interrupted=True)
    seconds = IDLE_SECONDS // 2 + 4 * math.ceil(time.monotonic() - started)  # a slow machine needs more for the rest
    funded = fund(cast, browser, folder, poster, "Done with wallets alone", seconds)
    submit(cast, browser, funded, "solver-2", artifact(folder / "other", note="Of a plain account."))
    work = artifact(folder, note="Sealed in a browser, for a Safe.")
    commitment = submit(cast, browser, funded, solver, work)
    return Played(funded, work, commitment, poster, solver, winner, idle)


@pytest.fixture(scope="module")
def offered(cast: Cast) -> Funded:
    """A bounty that stays open, once its page has it."""
    funded = cast.fund(submission_seconds=LONG_SECONDS, judging_seconds=JUDGING_SECONDS, title="Open to all")
    wait_until(lambda: b'id="wallet"' in urllib3.request("GET", cast.page_address(funded), timeout=10.0).data)
    return funded


def safe_wallet(cast: Cast) -> tuple[TestWallet, SafeWallet]:
    """A Safe with tokens for an escrow, whose owners sign in the wallet."""
    payer = Wallet()
    cast.stack.anvil.fund(payer.address)
    safe = make_safe(cast.stack.anvil.w3, payer)
    holder = cast.stack.people.settler.wallet  # nobody else uses it here
    cast.stack.hub.token.transact(holder, "transfer", safe.address, ESCROW)
    owners = tuple("0x" + bytes(owner.key).hex() for owner in safe.owners[: safe.threshold])
    return TestWallet(payer.private_key, cast.stack.anvil.url, 31_337, safe.address, owners), safe


def fund(
    cast: Cast,
    browser: Browser,
    folder: Path,
    wallet: TestWallet | str,
    title: str,
    seconds: int,
    *,
    is_interrupted: bool = False,
) -> Funded:
    """Publish and fund the example page; interrupted, the answer to the last transaction is lost."""
    deadline = cast.chain_time() + seconds
    path = challenge_page(folder, submission_deadline=deadline, judging_window_seconds=JUDGING_SECONDS, title=title)
    page = opened(cast, browser, wallet, "/publish")
    page.fill("Page", path.read_text(encoding="utf-8"))
    page.press("Continue")
    page.wait("Publish the page")
    page.press(SIGN)
    shown = page.wait("Sign the escrow")
    assert "lets the contract take 25 tUSDC from you" in shown
    assert f"The winner gets\n{AWARD}" in shown
    page.check()
    page.picture("wallet-escrow")
    page.press(SIGN)
    page.wait("Create the bounty")
    page.wallet(forgets=is_interrupted)
    page.press(SEND)
    if is_interrupted:
        page.wait_alert("The wallet could not do this.")
    else:
        shown = page.wait("will have its page in a moment")
    asked = page.asked()
    assert [each["method"] for each in asked] == ["eth_signTypedData_v4"] * 2 + ["eth_sendTransaction"]
    assert asked[1]["typedData"]["message"]["value"] == str(ESCROW)
    closed(page)
    if is_interrupted:  # another visit finds the draft, and the bounty that was created
        cast.wait_for(cast.chain_time() + 2)
        page = opened(cast, browser, wallet, "/publish")
        page.press("Continue")
        shown = page.wait("will have its page in a moment")
        assert page.asked() == []
        closed(page)
    number = shown.rpartition("Bounty ")[2].split()[0]
    view = cast.stack.hub.hub.call("getBounty", int(number))
    commitment = "0x" + bytes(view[2]).hex()
    assert commitment == spec_commitment(path.read_bytes())
    return Funded(number, commitment, deadline, int(view[4]), int(view[5]))


def to_the_escrow(cast: Cast, page: Page, folder: Path, title: str) -> None:
    """Write the page and have it published; what comes next is the escrow."""
    deadline = cast.chain_time() + LONG_SECONDS
    path = challenge_page(folder, submission_deadline=deadline, judging_window_seconds=JUDGING_SECONDS, title=title)
    page.fill("Page", path.read_text(encoding="utf-8"))
    page.press("Continue")
    page.wait("Publish the page")
    page.press(SIGN)


def test_refused_page_is_seen_before_signing(cast: Cast, browser: Browser, tmp_path: Path) -> None:
    deadline = cast.chain_time() + LONG_SECONDS
    path = challenge_page(tmp_path, submission_deadline=deadline, judging_window_seconds=JUDGING_SECONDS, title="Once")
    text = path.read_text(encoding="utf-8")
    page = opened(cast, browser, "poster", "/publish")
    page.wait("nothing is published before you sign")
    page.fill("Page", f"{text}\nThe format is TBD.\n")
    page.press("Continue")
    page.wait_alert("By the service's rules the page is not ready")
    page.wait_alert("Holds the placeholder 'TBD'")
    assert page.asked() == []
    page.fill("Page", text)
    page.press("Continue")
    page.wait("Publish the page")
    assert page.asked() == []
    closed(page)


@pytest.mark.nightly
def test_safe_that_is_not_there_goes_on_once_it_is(cast: Cast, browser: Browser, tmp_path: Path) -> None:
    payer, holder = Wallet(), cast.stack.people.settler.wallet
    cast.stack.anvil.fund(payer.address)
    safe = make_safe(cast.stack.anvil.w3, payer, created=False)
    cast.stack.hub.token.transact(holder, "transfer", safe.address, ESCROW)
    owners = tuple("0x" + bytes(owner.key).hex() for owner in safe.owners[: safe.threshold])
    wallet = TestWallet(payer.private_key, cast.stack.anvil.url, 31_337, safe.address, owners)
    not_there = replace(wallet, creation=(safe.factory, "0x" + safe.creation.hex()))
    page = opened(cast, browser, not_there, "/publish")
    to_the_escrow(cast, page, tmp_path, "Of a Safe to be")
    page.wait("Sign the escrow")
    page.press(SIGN)
    page.wait_alert("This account is a contract that is not on the chain yet")
    assert {each["method"] for each in page.asked()} == {"eth_signTypedData_v4"}
    closed(page)
    wait_for(cast.stack.anvil.w3, payer.send(cast.stack.anvil.w3, safe.creation, to=safe.factory))
    cast.wait_for(cast.chain_time() + 3)  # the API asks the account's code at a block that may be two seconds old
    page = opened(cast, browser, wallet, "/publish")
    page.press("Continue")  # with the page that was written before
    page.wait("Publish the page")
    page.press(SIGN)
    assert "The signature is valid until" in page.wait("Sign the escrow")
    closed(page)


@pytest.mark.nightly
def test_account_that_confirms_nothing_is_refused(cast: Cast, browser: Browser, tmp_path: Path) -> None:
    person, node = Wallet(), cast.stack.anvil
    node.fund(person.address)
    cast.stack.hub.token.transact(cast.stack.people.settler.wallet, "transfer", person.address, ESCROW)
    node.rpc.call("anvil_setCode", person.address, "0xef0100" + "11" * 20)
    page = opened(cast, browser, TestWallet(person.private_key, node.url, 31_337), "/publish")
    to_the_escrow(cast, page, tmp_path, "Of a delegated account")
    page.wait("Sign the escrow")
    page.press(SIGN)
    page.wait_alert("The token accepts no signature of your account")
    assert {each["method"] for each in page.asked()} == {"eth_signTypedData_v4"}
    closed(page)


def submit(cast: Cast, browser: Browser, funded: Funded, wallet: TestWallet | str, work: Path) -> str:
    """Seal a directory, with a file that looks like a secret, and record it."""
    assert cast.page_shows(funded, "Open for work")
    (work / ".env").write_text("TOKEN=x\n")
    page = opened(cast, browser, wallet, path_of(funded))
    page.begin("Submit work")
    page.wait("Directory with the work")
    page.read_slowly()  # pressed before they were looked through, secrets were sealed unasked
    page.tree("Directory with the work", work)
    page.press("Seal it")
    page.wait_alert("Files that look like secrets would be sealed")
    assert "would read them: .env" in page.wait("What will be sealed")
    page.check()
    page.do("tick", label="Seal these, too")
    page.press("Seal it")
    page.wait("Get an address for the upload")
    page.press(SIGN)
    page.wait("Record the Submission on the chain")
    page.press(SEND)
    page.wait("Your Submission is recorded.")
    assert page.presses() == 4 + 1  # and the second "Seal it", for what looks like a secret
    closed(page)
    page = opened(cast, browser, wallet, path_of(funded))
    page.wait("is recorded. You can replace it until")
    assert not page.do("has", selector="#acting .main button"), "what is done is not what comes next"
    closed(page)
    solver = cast.address(wallet) if isinstance(wallet, str) else wallet.safe
    commitment = "0x" + bytes(cast.stack.hub.hub.call("getSubmission", int(funded.bounty_id), solver)).hex()
    assert int(commitment, 16) > 0
    return commitment


def test_bounty__funded_and_submitted_to__is_on_chain(cast: Cast, played: Played) -> None:
    assert int(played.commitment, 16) > 0
    assert cast.page_shows(played.funded, "Done with wallets alone")


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"submission_deadline": "14"}, "submission_deadline: Leaves"),
        ({"escrow_amount": "1" + "0" * 30}, "escrow_amount: Your account holds"),
        ({"judging_window_seconds": "1"}, "judging_window_seconds: must be 5 to"),
    ],
)
def test_unready_page_names_where_to_change_it(
    cast: Cast, browser: Browser, tmp_path: Path, changes: dict[str, str], text: str
) -> None:
    now = cast.chain_time()
    path = challenge_page(tmp_path, submission_deadline=now + 60, judging_window_seconds=60, title="Not ready")
    content = path.read_text(encoding="utf-8")
    for name, value in changes.items():
        number = now + int(value) if name == "submission_deadline" else value
        content = re.sub(rf"(?m)^{name}: \d+$", f"{name}: {number}", content)
    page = opened(cast, browser, "poster", "/publish")
    page.fill("Page", content)
    page.press("Continue")
    page.wait_alert(text)
    assert not page.asked()
    closed(page)


LIES: tuple[tuple[str, str, str, str], ...] = (
    ("artifact-upload-url", "storage_locator", "submissions/x", "storage_locator: the service says submissions/x"),
    ("artifact-upload-url", "upload_url", "https://attacker.example/x", "outside this deployment's storage"),
    ("/prepare", "transaction.data", "0x00", "transaction.data: the service says 0x00"),
    ("/prepare", "submission_commitment", "0x" + "11" * 32, "submission_commitment: the service says"),
)
"""Where the API could be wrong on purpose, what it then states, and how a page refuses it."""


def lie(server: Server, part: str, path: str, value: str) -> None:
    """From now on answers of addresses with this part have another value there."""

    def alter(request: Request, reply: Reply) -> Reply:
        status, body, headers = reply
        if part not in request.path:
            return reply
        return status, json.dumps(lie_at(*path.split("."), value=value)(json.loads(body))).encode(), headers

    server.alter = alter


@pytest.fixture
def api(cast: Cast) -> Iterator[Server]:
    """The API, as a browser reaches it through somebody else's server."""
    with Server(lambda request: forward(cast.stack.api_base_url, request)) as server:
        yield server


def test_lying_api_gets_nothing_on_chain(
    cast: Cast, browser: Browser, offered: Funded, tmp_path: Path, api: Server
) -> None:
    page = opened(cast, browser, "solver-1", path_of(offered), api)
    page.begin("Submit work")
    page.wait("Directory with the work")
    page.tree("Directory with the work", artifact(tmp_path))
    page.press("Seal it")
    for part, path, value, text in LIES:
        lie(api, part, path, value)
        page.press(SIGN)
        page.wait_alert(text)
        assert {each["method"] for each in page.asked()} == {"eth_signTypedData_v4"}
        assert not [request for request in page.requests() if "attacker" in request]
        closed(page)
        page = opened(cast, browser, "solver-1", path_of(offered), api)  # another visit goes on with what was sealed
        page.begin("Submit work")
        page.press("Continue with it")
    assert page.asked() == []
    closed(page)


def test_heartbeat__by_a_guardian__is_on_chain(cast: Cast, browser: Browser) -> None:
    page = browser.open(f"{cast.stack.pages_url}/guardians", wallet_of(cast, "guardian-1"))
    page.do("settings", changes={"explorerUrl": "https://explorer.example"})
    page.connect()
    page.press("Show that you are active")
    shown = page.wait("All details")
    assert cast.stack.hub.hub.address in shown
    assert cast.address("guardian-1") in shown
    page.press(SEND)
    page.wait("Recorded.")
    assert page.text(".stage a[href^='https://explorer.example/tx/0x']").startswith("0x")
    page.check()
    closed(page)


def test_connection__without_a_wallet__says_so(cast: Cast, browser: Browser) -> None:
    page = browser.open(f"{cast.stack.pages_url}/guardians")
    assert not [each for each in page.requests() if "start-" in each], "nothing is loaded before the button is pressed"
    page.press("Connect a wallet")
    page.wait("No wallet was found in this browser")
    page.wait("A wallet is a program that keeps the keys of your account")
    page.check()
    closed(page)


@pytest.mark.skipif("SERVICE_FIREFOX" in os.environ, reason="NOT RUN: no driver turns scripts off in Firefox")
def test_page_without_scripts_shows_all_but_the_button(cast: Cast, browser: Browser) -> None:
    page = browser.open(f"{cast.stack.pages_url}/guardians", scripts=False)
    assert "The current roster" in page.text()
    assert "Connect a wallet" not in page.text()
    closed(page)


def test_wallet_on_another_chain_is_refused(cast: Cast, browser: Browser) -> None:
    page = browser.open(f"{cast.stack.pages_url}/guardians", wallet_of(cast, "guardian-3", chain_id=1))
    page.connect()
    page.wait_alert("The wallet is on chain 1; this page acts on chain 31337 only.")
    page.press("Switch the wallet to chain 31337")
    page.wait(OFFERED)
    page.press("Show that you are active")
    page.wait("All details")
    page.wallet(chainId=1)
    page.wait("The wallet's account or chain changed.")
    page.wallet(chainId=31_337)  # what was read in between may be the other chain's
    page.press(SEND)
    page.wait_alert("The wallet has changed its chain since this page read it.")
    assert page.asked() == []
    page.press("Connect again")
    page.press("Show that you are active")
    page.wait("All details")
    closed(page)


@pytest.mark.nightly
def test_wallet_without_the_chain_is_given_it(cast: Cast, browser: Browser) -> None:
    page = browser.open(f"{cast.stack.pages_url}/guardians", wallet_of(cast, "guardian-3", chain_id=1))
    page.wallet(knows=[1])
    page.do("settings", changes={"deployment": {"chainId": 84_532, "hubAddress": cast.stack.hub.hub.address}})
    page.connect()
    page.press("Switch the wallet to chain 84532")
    page.wait_alert("The wallet's node does not answer")  # it is the local chain's, which has no Multicall3
    (asked,) = page.asked()
    assert (asked["method"], asked["chain"]["chainId"]) == ("wallet_addEthereumChain", "0x14a34")
    assert asked["chain"]["rpcUrls"] == ["https://sepolia.base.org"]
    closed(page)


@pytest.mark.nightly
def test_wallet_without_a_private_chain_is_told(cast: Cast, browser: Browser) -> None:
    page = browser.open(f"{cast.stack.pages_url}/guardians", wallet_of(cast, "guardian-3", chain_id=1))
    page.wallet(knows=[1])
    page.connect()
    page.press("Switch the wallet to chain 31337")
    page.wait_alert("Add the chain and a node's address")
    assert page.asked() == []
    closed(page)


def test_locked_wallet_is_named(cast: Cast, browser: Browser) -> None:
    page = browser.open(f"{cast.stack.pages_url}/guardians", wallet_of(cast, "guardian-3"))
    page.wallet(locked=True)
    page.connect()
    page.wait("It may be locked")
    page.check()
    page.wallet(locked=False)
    assert "It may be locked" not in page.wait(OFFERED)
    closed(page)


def test_other_account_is_asked_for_nothing(cast: Cast, browser: Browser) -> None:
    page = opened(cast, browser, "guardian-3", "/guardians")
    page.press("Show that you are active")
    page.wait("All details")
    page.wallet(shown=cast.address("guardian-2"))
    page.press(SEND)
    page.wait_alert("The wallet has switched to another account")
    assert page.asked() == []
    closed(page)


def test_wallet__that_declines__leaves_nothing_behind(cast: Cast, browser: Browser) -> None:
    page = opened(cast, browser, "guardian-3", "/guardians")
    page.press("Show that you are active")
    page.wait("All details")
    page.wallet(declines_to_send=True)
    page.press(SEND)
    declined = "You declined in the wallet. Nothing was signed or sent."
    for _ in range(2):
        page.wait_alert(declined)
        page.press("Try again")
    page.wait_alert(declined)
    page.wallet(declines_to_send=False)
    page.press("Try again")
    page.wait("Recorded.")
    assert page.presses() == 3 + 3  # one more for each time
    closed(page)


@pytest.mark.nightly
def test_silent_api_holds_up_nothing_else(cast: Cast, browser: Browser) -> None:
    with raw_server(lambda: ()) as silent:
        through = (cast.stack.api_base_url, silent.url.removesuffix("/v1/secret-key"))
        page = browser.open(f"{cast.stack.pages_url}/guardians", wallet_of(cast, "guardian-1"), api=through)
        page.connect()
        page.do("wait", text=OFFERED, seconds=30)  # a request of the pages may take a minute
        page.close()


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"escrow_amount": "26000000"}, "escrow: the service says 26000000"),
        ({"reveal_at": 1}, "reveal point: the service"),
    ],
)
def test_page_that_differs_offers_nothing(
    cast: Cast, browser: Browser, offered: Funded, changes: dict[str, object], text: str
) -> None:
    page = browser.open(f"{cast.stack.pages_url}{path_of(offered)}", wallet_of(cast, "solver-1"))
    page.do("state", changes=changes)
    page.connect()
    page.wait_alert("The service's answer differs from what this page derived itself.")
    page.wait_alert(text)
    assert "Directory with the work" not in page.text("#acting")
    closed(page)


def test_browser__that_keeps_no_files__is_refused(cast: Cast, browser: Browser, offered: Funded) -> None:
    page = opened(cast, browser, "solver-1", path_of(offered))
    page.do("no_files")
    page.begin("Submit work")
    page.wait_alert("This browser lets no page keep files, as in a private window")
    assert page.asked() == []
    closed(page)


def test_node__that_does_not_have_the_hub__is_refused(cast: Cast, browser: Browser, offered: Funded) -> None:
    page = browser.open(f"{cast.stack.pages_url}{path_of(offered)}", wallet_of(cast, "solver-1"))
    page.wallet(lies={"eth_call": "0x"})
    page.connect()
    page.wait_alert("There is no contract at")
    assert page.asked() == []
    closed(page)


def test_bounty_is_judged_claimed_and_opened(cast: Cast, browser: Browser, played: Played, tmp_path: Path) -> None:
    cast.wait_for(played.funded.reveal_at)
    open_work(cast, browser, played, tmp_path)
    for name in ("guardian-1", "guardian-2"):
        judge(cast, browser, played, name)
    claim(cast, browser, played)
    page = opened(cast, browser, played.poster, played.path)
    page.begin("Get the work")
    page.wait("No Guardian has delivered the key of the winning work yet.")
    deliver(cast, browser, played, tmp_path)
    shown = page.wait("Get the key of the winning work")  # without a reload
    assert "downloads a sealed Submission" in shown  # the second request, explained with the first
    page.press(SIGN)
    page.wait("Save the work")
    assert page.presses() == 3
    assert len(page.asked()) == 2
    assert_same_files(page.saved("Save the work"), played.work)
    closed(page)
    audited = cast.person("poster").audit(played.funded.bounty_id)
    assert audited.code == 0


def judge(cast: Cast, browser: Browser, played: Played, name: str) -> None:
    page = opened(cast, browser, name, played.path)
    page.begin("Judge")
    page.wait("Your Verdict")
    page.check()
    page.fill("Reasons", f"# Reasons of {name}\n\nEvery criterion holds.")
    page.press("Continue")
    page.wait_alert("Choose your Verdict; none is preselected.")
    closed(page)
    page = opened(cast, browser, name, played.path)  # the reasons were kept as they were typed
    page.begin("Judge")
    page.wait("Your Verdict")
    page.do("tick", label=work_label(cast, 2, played.winner.address))
    page.press("Continue")
    if name != "guardian-1":
        page.wait("Never opened in this browser")
    assert f"# Reasons of {name}\n\nEvery criterion holds." in page.wait("Publish your reasons")
    page.press(SIGN)
    shown = page.wait("Record the Verdict on the chain")
    assert f"awards {work_label(cast, 2, played.winner.address)}" in shown
    page.press(SEND)
    page.wait("Your Verdict is recorded")
    if name != "guardian-1":  # it decided: what can be done since is offered without a reload
        page.wait("It decided the bounty.")
        page.wait("Deliver the key")
        page.wait("Claim 0.25 tUSDC")
        assert "Judge this bounty" not in page.text("#acting")
    assert page.presses() == 4
    closed(page)
    if name == "guardian-1":  # a reorg may take it, and another one may take its place
        page = opened(cast, browser, name, played.path)
        page.wait("Your Verdict is recorded. You can replace it until")
        assert not page.do("has", selector="#acting .main button")
        page.begin("Judge")
        page.wait("Your earlier Verdict")
        assert page.do("value", label="Reasons") == f"# Reasons of {name}\n\nEvery criterion holds."
        closed(page)


def claim(cast: Cast, browser: Browser, played: Played) -> None:
    """The winning Safe claims as any wallet; another account can do nothing."""
    before = cast.token_balance(played.winner.address)
    assert cast.page_shows(played.funded, "Awarded")
    page = opened(cast, browser, "solver-1", played.path)
    page.wait(
        "This account has nothing to do here at the moment. "
        "The bounty is over, and its award belongs to another account."
    )
    assert page.do("has", selector="#chip a[href^='/people/0x']")
    closed(page)
    page = opened(cast, browser, played.solver, played.path)
    begin_claim(cast, page)
    page.check()
    page.press(SEND)
    page.wait(f"Paid: {AWARD}")
    closed(page)
    assert cast.token_balance(played.winner.address) - before == 24_000_000


def keys_file(cast: Cast, name: str, folder: Path) -> Path:
    """The file with a Guardian's keys."""
    identity = cast.stack.people.by_name()[name].identity
    assert identity is not None
    keys = folder / f"{name}.txt"
    keys.write_text(f"# created: today\n{identity.to_text()}\n")
    return keys


def open_work(cast: Cast, browser: Browser, played: Played, folder: Path) -> None:
    """A Guardian opens a Submission; the keys of another one open nothing."""
    page = opened(cast, browser, "guardian-1", played.path)
    page.begin("Judge")
    page.wait("File with your encryption keys")
    page.upload("File with your encryption keys", keys_file(cast, "guardian-1", folder))
    page.do("press_row", row=work_label(cast, 2, played.winner.address), text="Open")
    page.wait("Read the sealed work")
    page.press(SIGN)
    page.wait("Save the work")
    page.wait("opened here")
    assert page.presses() == 3
    assert_same_files(page.saved("Save the work"), played.work)
    (folder / "foreign.txt").write_text(Identity.generate().to_text())
    page.upload("File with your encryption keys", folder / "foreign.txt")
    page.do("press_row", row=work_label(cast, 2, played.winner.address), text="Open")
    page.wait("Read the sealed work")
    page.press(SIGN)
    page.wait_alert("no key in this keyring opens what was sealed for the Guardians")
    closed(page)


def deliver(cast: Cast, browser: Browser, played: Played, folder: Path) -> None:
    page = opened(cast, browser, "guardian-2", played.path)
    page.press("Deliver the key")
    keys = keys_file(cast, "guardian-2", folder)
    choose_keys(page, keys)
    secret = keys.read_text().split("\n")[1]
    shown = page.wait("Read the sealed work")
    assert "as on chain" in shown  # what the second signature is over
    page.press(SIGN)
    page.wait("The key of the winning work is delivered")
    assert page.presses() == 4
    assert len(page.asked()) == 2
    assert not [request for request in page.requests() if secret in request]
    closed(page)


def assert_same_files(archive: bytes, directory: Path) -> None:
    """The directory's files, under the names that no tool obeys."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        found = {}
        for member in tar.getmembers():
            if (file := tar.extractfile(member)) is not None:
                found[member.name] = file.read()
    paths = {str(path.relative_to(directory)): path for path in directory.rglob("*") if path.is_file()}
    assert found == {inert_path(name, directory=False): path.read_bytes() for name, path in paths.items()}
    assert "inert_.env_" in found


def test_bounty_without_work_is_refunded(cast: Cast, browser: Browser, played: Played) -> None:
    funded = played.idle
    cast.wait_for(funded.submission_deadline)
    assert cast.page_shows(funded, "Time is up")
    page = opened(cast, browser, "solver-1", path_of(funded))
    page.press("Settle it")
    assert "you receive nothing" in page.wait("All details")
    page.press(SEND)
    page.wait("Settled.")
    assert page.presses() == 3
    assert "Settled." in page.text(".stage :focus")  # who acted is led to what came of it
    assert "can claim its part on this page" in page.text("#acting")
    page.wait("Not awarded")  # without a reload
    closed(page)
    assert cast.page_shows(funded, "Not claimed yet")  # the record follows the state
    before = cast.token_balance(cast.address("poster"))
    page = opened(cast, browser, "poster", path_of(funded))
    begin_claim(cast, page)
    assert "You receive\n25 tUSDC" in page.text("#acting")
    assert "Not claimed yet" in page.text(MONEY)
    page.press(SEND)
    page.wait("Paid: 25 tUSDC")
    wait_until(lambda: "Not claimed yet" not in page.text(MONEY), IDLE_SECONDS)  # without a reload
    assert "Paid" in page.text(MONEY)
    assert cast.token_balance(cast.address("poster")) - before == 25_000_000
    closed(page)


@pytest.mark.nightly
def test_earlier_wallet_is_connected_again(cast: Cast, browser: Browser) -> None:
    url, wallet = f"{cast.stack.pages_url}/guardians", wallet_of(cast, "guardian-3")
    page = browser.open(url, wallet, fresh=True, remembers=True)
    assert "Connect a wallet" in page.text("#chip")
    page.connect()
    page.wait(OFFERED)
    closed(page)
    page = browser.open(url, wallet, remembers=True)
    page.wait(OFFERED)
    assert "Connect a wallet" not in page.text("#chip")
    assert page.asked() == []
    page.do("expand", text=short_of(cast.address("guardian-3")))
    page.press("Disconnect")
    closed(page)
    page = browser.open(url, wallet, remembers=True)
    assert page.text("#acting") == ""
    page.connect()
    page.wait(OFFERED)
    page.wallet(hidden=True)
    page.goto(url)  # a locked wallet shows no account, and is asked for none
    page.do("idle")
    assert "Connect a wallet" in page.text("#chip")
    assert page.text("#acting") == ""
    closed(page)
