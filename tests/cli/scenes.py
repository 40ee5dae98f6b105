"""Every command that changes or opens something, each ready to be run once on one stage; for campaigns."""

import secrets
from dataclasses import dataclass, replace
from pathlib import Path

from bounty_protocol.types import Bytes32

from tests.cli.api_twin import ApiTwin
from tests.cli.conftest import person
from tests.cli.ledger import Ledger
from tests.cli.servers import RpcProxy
from tests.cli.submitted import Submitted, load, submit
from tests.cli.terminal import Terminal


@dataclass(frozen=True, slots=True)
class Case:
    """One command that has not run yet: where, what, how it ends, and whose it is."""

    home: Terminal
    words: tuple[str, ...]
    event: str
    account: str


@dataclass
class Stage:
    """What every case starts from."""

    ledger: Ledger
    api: ApiTwin
    rpc: RpcProxy
    folder: Path
    awarded: Submitted

    def home(self, name: str) -> Terminal:
        return person(self.ledger, self.api, self.rpc, self.folder / secrets.token_hex(4), name)

    def bounty(self) -> str:
        bounty, page = self.ledger.fund(seconds=1_000, judging=20 * 86_400)
        self.api.keep_page(page)
        return str(bounty)

    def decided(self) -> str:
        """A bounty awarded to the second Solver by two Guardians."""
        bounty, wallet = self.bounty(), self.ledger.people.solvers[1].wallet
        commitment = self.ledger.submit(int(bounty), wallet)
        self.ledger.reveal(int(bounty))
        self.ledger.award(int(bounty), wallet.address, commitment)
        return bounty


def fund(stage: Stage) -> Case:
    home = stage.home("poster")
    (home.home / "page.md").write_bytes(stage.ledger.page())
    words = ("poster:publish-fund", "page.md")
    return Case(home, words, "publish_fund.bounty_created", stage.ledger.people.poster.address)


def seal(stage: Stage) -> Case:
    home, bounty = stage.home("solver-1"), stage.bounty()
    (home.home / "work").mkdir()
    (home.home / "work" / "main.py").write_text("print(1)\n")
    words = ("solver:submit", bounty, "work")
    return Case(home, words, "submit.submission_recorded", stage.ledger.people.solvers[0].address)


def replace_by_wallet(stage: Stage) -> Case:
    """The same, prepared for a wallet: the first is mined, the second only shown."""
    case, solver = seal(stage), stage.ledger.people.solvers[0]
    keyless = {name: value for name, value in case.home.environment.items() if "PRIVATE_KEY" not in name}
    bounty, home = case.words[1], replace(case.home, environment=keyless)
    words = ("solver:submit", "--replace", "--without-api", "--solver-address", solver.address, bounty, "work")
    shown = home.run(*words).last["args"]
    assert isinstance(shown, list)
    stage.ledger.submit(int(bounty), solver.wallet, Bytes32(str(shown[1])))
    (case.home.home / "work" / "main.py").write_text("print(2)\n")
    return replace(case, home=home, words=words, event="submit.transaction_prepared")


def judge(stage: Stage) -> Case:
    home, bounty = stage.home("guardian-3"), stage.bounty()
    stage.ledger.submit(int(bounty), stage.ledger.people.solvers[0].wallet)
    stage.ledger.reveal(int(bounty))
    (home.home / "body.md").write_text("None holds.\n")
    words = ("guardian:verdict", bounty, "no_valid_submission", "--unopened", "body.md")
    return Case(home, words, "guardian_verdict.recorded", stage.ledger.people.guardians[2].address)


def heartbeat(stage: Stage) -> Case:
    account = stage.ledger.people.guardians[1].address
    return Case(stage.home("guardian-2"), ("guardian:heartbeat",), "guardian_heartbeat.recorded", account)


def claim(stage: Stage) -> Case:
    account = stage.ledger.people.solvers[1].address
    return Case(stage.home("solver-2"), ("claim", stage.decided()), "claim.claimed", account)


def claim_all(stage: Stage) -> Case:
    """Two awards by one transaction; what earlier runs left is claimed before."""
    stage.home("solver-2").run("claim", "--all")
    case = claim(stage)
    stage.decided()
    return replace(case, words=("claim", "--all"), event="claim.total")


def claim_fee(stage: Stage) -> Case:
    account, words = stage.ledger.people.guardians[0].address, ("guardian:claim-fee", stage.decided())
    return Case(stage.home("guardian-1"), words, "guardian_claim_fee.claimed", account)


def open_work(stage: Stage) -> Case:
    home = stage.home("guardian-1")
    words = ("guardian:open", *stage.awarded.names, "out")
    account = stage.ledger.people.guardians[0].address
    return Case(home, words, "guardian_open.artifact_opened", account)


def deliver(stage: Stage) -> Case:
    stage.api.wraps.clear()
    words = ("guardian:deliver-key", *stage.awarded.names)
    account = stage.ledger.people.guardians[0].address
    return Case(stage.home("guardian-1"), words, "guardian_deliver_key.stored", account)


def receive(stage: Stage) -> Case:
    if not stage.api.wraps:
        stage.home("guardian-2").run("guardian:deliver-key", *stage.awarded.names)
    home, account = stage.home("poster"), stage.ledger.people.poster.address
    words = ("poster:open-winning-submission", stage.awarded.bounty, "out")
    return Case(home, words, "open_winning_submission.artifact_opened", account)


def make_stage(ledger: Ledger, api: ApiTwin, rpc: RpcProxy, folder: Path) -> Stage:
    """With one awarded bounty, whose work the twin holds."""
    awarded = submit(ledger, folder / "first")
    ledger.award(int(awarded.bounty), awarded.solver, awarded.commitment)
    ledger.node.mine(3)
    load(api, awarded)
    return Stage(ledger, api, rpc, folder, awarded)
