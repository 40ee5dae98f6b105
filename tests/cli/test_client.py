"""``service_cli.Client``: each act of each role as a call that returns its result, prints nothing and is done once."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from bounty_protocol.domain.lifecycle.states import Outcome
from bounty_protocol.types import Address, BountyId
from service_cli import Client, Failed, ProgressReport, Refused, ToBeSigned
from service_cli.chain import sender

from tests.cli.api_twin import ApiTwin
from tests.cli.ledger import ESCROW, Ledger
from tests.cli.scenes import (
    Case,
    Stage,
    claim,
    fund,
    make_stage,
    seal,
)  # fmt: skip
from tests.cli.servers import RpcProxy

AWARD = ESCROW * 96 // 100


def without_pytests() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}


@pytest.fixture(autouse=True)
def untouched(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[[], None]:
    """No call prints, reads this process's environment or changes it, or looks into the home."""
    for name in [name for name in os.environ if name.startswith("SERVICE_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("SERVICE_CHAIN_ID", "8453")
    monkeypatch.setenv("SERVICE_RPC_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    before = without_pytests()

    def check() -> None:
        assert (capsys.readouterr(), without_pytests()) == (("", ""), before)
        assert not (tmp_path / "home").exists()

    return check


@pytest.fixture
def stage(ledger: Ledger, api: ApiTwin, rpc: RpcProxy, tmp_path: Path) -> Stage:
    return make_stage(ledger, api, rpc, tmp_path)


def client_of(case: Case, **more: object) -> Client:
    """The person's own client, which remembers where the person's command does."""
    return Client(dict(case.home.environment), state_directory=case.home.home / "state/service-cli", **more)  # type: ignore[arg-type]


def number(case: Case) -> BountyId:
    return BountyId(int(case.words[1]))


def transactions(stage: Stage, case: Case) -> int:
    return stage.ledger.nonce(case.account)


def test_client_that_declines_signs_nothing(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    case, asked = fund(stage), list[ToBeSigned]()
    page, before = (case.home.home / "page.md").read_bytes(), transactions(stage, case)

    def refuse(_signing: ToBeSigned) -> None:
        raise Refused("budget_spent", "It is.", next_action="Wait.")

    with pytest.raises(Refused, match=r"It is\."):
        client_of(case, before_signing=refuse).fund(page)
    assert transactions(stage, case) == before
    with monkeypatch.context() as patched:
        patched.setattr(sender, "RECEIPT_SECONDS", 0.0)
        with pytest.raises(Failed):
            client_of(case, before_signing=asked.append).fund(page)
    authorization, transaction = asked
    assert (authorization.nonce, authorization.gas_cost) == (None, 0)
    assert (transaction.nonce, transaction.gas_cost > 0) == (before, True)
    assert client_of(case, before_signing=refuse).fund(page).bounty_id
    assert transactions(stage, case) == before + 1


def test_submit_returns_what_is_recorded(stage: Stage, untouched: Callable[[], None]) -> None:
    case, seen = seal(stage), list[ProgressReport]()
    client = client_of(case, on_progress=seen.append)
    preview = client.preview_submission(number(case), case.home.home / "work")
    done = client.submit(number(case), case.home.home / "work")
    assert (preview.file_count, preview.replaces) == (1, None)
    assert stage.ledger.submission(done.bounty_id, case.account) == done.submission_commitment
    assert client.submit(number(case), case.home.home / "work") == done
    assert seen
    assert all(0 <= each.done <= each.total for each in seen)
    untouched()


def test_claim_is_previewed_and_paid_once(stage: Stage, untouched: Callable[[], None]) -> None:
    case = claim(stage)
    client = client_of(case)
    preview = client.preview_claim(number(case))
    assert (preview.amount, preview.function_name, preview.claimant) == (AWARD, "claim", case.account)
    assert client.claim(number(case)).claimable_amount == AWARD
    with pytest.raises(Refused) as refused:
        client.claim(number(case))
    assert (refused.value.code, refused.value.next_action) == ("award_already_claimed", "Nothing is left to do.")
    with pytest.raises(Refused):
        client.preview_claim(number(case))
    untouched()


def test_reading__without_a_key__is_typed(stage: Stage, untouched: Callable[[], None]) -> None:
    case = claim(stage)
    keyless = {name: value for name, value in case.home.environment.items() if "PRIVATE_KEY" not in name}
    client = Client(keyless, state_directory=case.home.home / "state")
    found = client.bounty(number(case))
    assert (found.facts.outcome, found.facts.escrow_amount) == (Outcome.AWARDED, ESCROW)
    assert len(client.verdicts(number(case))) == 2
    assert client.watch(number(case)).winner == case.account
    assert client.preview_claim(number(case), Address(case.account)).amount == AWARD
    (account,) = client.status([Address(case.account)]).accounts
    assert account.roles == ()
    assert client.deployment().hub_address == stage.ledger.contract.address
    with pytest.raises(Refused) as refused:
        client.claim(number(case))
    assert refused.value.code == "key_missing"
    untouched()
