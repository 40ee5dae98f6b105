"""``service_cli.Client``: each act of each role as a call that returns its result, prints nothing and is done once."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from bounty_protocol.domain.lifecycle import Outcome, VerdictKind
from bounty_protocol.types import Address, BountyId, Bytes32
from service_cli import Client, Failed, ProgressReport, Refused, ToBeSigned
from service_cli.chain import sender
from service_cli.ui.event import Event

from tests.cli.api_twin import ApiTwin
from tests.cli.ledger import ESCROW, Ledger
from tests.cli.scenes import (
    Case,
    Stage,
    claim,
    claim_all,
    claim_fee,
    deliver,
    fund,
    heartbeat,
    judge,
    make_stage,
    receive,
    seal,
)  # fmt: skip
from tests.cli.servers import RpcProxy
from tests.cli.submitted import files_below

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


def test_client__that_asks_before_it_signs__signs_nothing_against_that_and_goes_on_with_what_is_signed(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_fund__of_a_page__returns_the_bounty_and_again_the_same(stage: Stage, untouched: Callable[[], None]) -> None:
    case = fund(stage)
    page = (case.home.home / "page.md").read_bytes()
    before, events = transactions(stage, case), list[Event]()
    client = client_of(case, on_event=events.append)
    preview = client.preview_funding(page)
    done = client.fund(page)
    assert (preview.escrow_amount, preview.spec_commitment) == (ESCROW, done.spec_commitment)
    assert client.bounty(done.bounty_id).facts.poster_address == case.account
    assert client_of(case).fund(page) == done
    assert transactions(stage, case) == before + 1
    assert "publish_fund.bounty_created" in [event.name_of_event() for event in events]
    untouched()


def test_submit__of_a_directory__returns_what_is_recorded_and_reports_its_progress(
    stage: Stage, untouched: Callable[[], None]
) -> None:
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


def test_verdict__of_work_that_was_not_opened__is_refused_and_after_opening_recorded(
    stage: Stage, untouched: Callable[[], None]
) -> None:
    case = judge(stage)
    done = client_of(case).record_verdict(number(case), "None holds: the tests fail.\n", None, unopened=True)
    assert (done.kind, done.guardian) == (VerdictKind.NO_VALID_SUBMISSION, case.account)
    solver = Address(stage.ledger.people.solvers[0].address)
    winner = solver, Bytes32(stage.ledger.submission(number(case), solver))
    with pytest.raises(Refused) as refused:
        client_of(case).record_verdict(number(case), "It holds: the tests pass.\n", winner, replace=True)
    assert refused.value.code == "work_not_opened"
    untouched()


def test_delivery__of_the_winning_key__lets_the_poster_open_it(stage: Stage, untouched: Callable[[], None]) -> None:
    case = deliver(stage)
    assert client_of(case).deliver_key(number(case)).created
    poster = receive(stage)
    opened = client_of(poster).open_winning_work(number(poster), poster.home.home / "out")
    assert (opened.file_count, files_below(poster.home.home / "out")) == (len(stage.awarded.files), stage.awarded.files)
    untouched()


def test_claim__of_an_award__is_previewed_paid_once_and_then_refused(
    stage: Stage, untouched: Callable[[], None]
) -> None:
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


def test_claims__of_everything_and_of_a_fee_and_a_sign_of_life__return_what_was_paid(stage: Stage) -> None:
    case = claim_all(stage)
    total = client_of(case).claim_all()
    assert (total.parts, total.amount) == (2, 2 * AWARD)
    share = claim_fee(stage)
    assert client_of(share).claim_fee(number(share)).guardian == share.account
    sign = heartbeat(stage)
    assert client_of(sign).heartbeat().guardian == sign.account


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
