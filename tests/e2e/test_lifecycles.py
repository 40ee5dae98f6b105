"""Whole bounties through every part: awarded and delivered, refunded after judgement, settled over a silent roster,
and won by an account that is a contract.

They run side by side on one stack: each is funded and submitted to, then the clock is waited for once.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass

import pytest
from bounty_protocol.chain.blocks import header_at
from bounty_protocol.chain.rpc import RpcRefused
from demo.bounty import Cast, Funded, Submitted
from demo.examples import artifact, same_files
from local_stack.contract import Wallet

from tests.e2e.copied import copy_bytes, copy_commitment
from tests.e2e.delivered import content_key, delivery_key, logs_of
from tests.e2e.memory import family, forms, held
from tests.safe.session import run_with_safe
from tests.safe.wallet import SafeWallet, make_safe
from tests.scraping import Figures, scrape

ESCROW = 25_000_000
SUBMISSION_SECONDS = 25
JUDGING_SECONDS = 300
SILENT_SECONDS = 35
"""Only this one is waited for."""
GUARDIAN_SHARE = ESCROW * 300 // 10_000 // 3


@dataclass(frozen=True, slots=True)
class Stage:
    """Funded bounties with work in them, past their reveal point."""

    awarded: Funded
    refunded: Funded
    silent: Funded
    contract: Funded
    safe: SafeWallet
    payer: Wallet
    work: Submitted
    weak: Submitted
    ignored: Submitted
    contract_work: Submitted
    copies: tuple[Submitted, Submitted]
    """Of ``work``: its commitment recorded by another account afterwards, and its bytes in that account's envelope."""
    early_copier: str
    """Who recorded ``contract_work``'s commitment before its Solver did."""


@pytest.fixture(scope="package")
def stage(cast: Cast) -> Stage:
    payer = Wallet()
    cast.stack.anvil.fund(payer.address)
    safe = make_safe(cast.stack.anvil.w3, payer)

    def fund(
        title: str, judging_seconds: int = JUDGING_SECONDS, submission_seconds: int = SUBMISSION_SECONDS
    ) -> Funded:
        return cast.fund(submission_seconds=submission_seconds, judging_seconds=judging_seconds, title=title)

    # Each is submitted to at once: its own window is all that a slow machine has to keep.
    awarded = fund("To be awarded", submission_seconds=2 * SUBMISSION_SECONDS)
    work = cast.submit(awarded, "solver-1")
    copies = (
        Submitted(copy_commitment(cast, awarded, work.commitment), work.commitment, work.directory),
        copy_bytes(cast, awarded, work),
    )
    refunded = fund("To be refunded")
    weak = cast.submit(refunded, "solver-2", note="Unfinished.")
    contract = fund("To be won by a contract")
    contract_work, early_copier = submit_with_safe(cast, contract, safe, payer)
    silent = fund("To be forgotten", SILENT_SECONDS)
    ignored = cast.submit(silent, "solver-1", note="For nobody.")
    cast.wait_for(max(bounty.reveal_at for bounty in (awarded, refunded, silent, contract)))
    return Stage(
        awarded, refunded, silent, contract, safe, payer, work, weak, ignored, contract_work, copies, early_copier
    )


def submit_with_safe(cast: Cast, bounty: Funded, safe: SafeWallet, payer: Wallet) -> tuple[Submitted, str]:
    """Typed data out, the Safe's signatures in, and the prepared transaction sent by the Safe: after a quick copier."""
    person = cast.person("solver-2")
    directory = artifact(person.home / "work-of-the-safe", note="By two of three.")
    events = run_with_safe(
        person, safe, "solver:submit", "--solver-address", safe.address, bounty.bounty_id, str(directory)
    )
    assert [event["event"] for event in events] == [
        "submit.approval_required",
        "submit.ciphertext_uploaded",
        "submit.approval_required",
        "submit.submission_prepared",
        "submit.transaction_prepared",
    ]
    prepared, commitment = events[-1], str(events[-2]["submission_commitment"])
    copier = copy_commitment(cast, bounty, commitment)
    safe.execute(payer, str(prepared["to"]), bytes.fromhex(str(prepared["data"])[2:]))
    assert (
        "0x" + bytes(cast.stack.hub.hub.call("getSubmission", int(bounty.bounty_id), safe.address)).hex() == commitment
    )
    return Submitted(safe.address, commitment, directory), copier


def record_of(cast: Cast, bounty: Funded) -> dict[str, object]:
    """The VerificationRecord, once its block is final."""
    import time

    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        ran = cast.person("solver-2").run("verification-record", bounty.bounty_id)
        if ran.events[0].name == "verification_record.fetched":
            record = ran.events[0].fields["record"]
            assert isinstance(record, dict)
            return record
        assert ran.events[0].text("code") in {"not_finalized", "bounty_open"}
        time.sleep(0.5)
    raise AssertionError("no record in time")


@pytest.mark.spec(3, 5, 6, 7, 9, 10, 11, 12, 24, 235, 250, 251, 278, 285)
def test_awarded_bounty_pays_delivers_and_opens(cast: Cast, stage: Stage) -> None:
    bounty, work = stage.awarded, stage.work
    earlier = {name: figures(cast, name) for name in ("api", "delivery")}
    listed = cast.person("guardian-1").run("guardian:judgeable", "--guardian-address", cast.address("guardian-1"))
    assert bounty.bounty_id in {event.fields.get("bounty_id") for event in listed.events}
    pair = (bounty.bounty_id, work.solver, work.commitment)
    cast.person("guardian-1").run("guardian:open", *pair, "opened")
    for copy, code in zip(stage.copies, ("envelope_refused", "sealed_for_another"), strict=True):
        words = ("guardian:open", bounty.bounty_id, copy.solver, copy.commitment, "copied")
        assert cast.person("guardian-1").run(*words, code=1).event("guardian_open.refused").text("code") == code
    assert same_files(cast.person("guardian-1").home / "opened", work.directory)
    for guardian in ("guardian-1", "guardian-2"):
        cast.award(bounty, guardian, work, "All criteria hold.\n", opened=False)
    too_late = cast.person("guardian-3").run(
        "guardian:verdict", bounty.bounty_id, "no_valid_submission", "-", stdin=b"No.\n", code=1
    )
    assert too_late.event("guardian_verdict.refused").text("code") == "bounty_final"
    before = cast.token_balance(work.solver)
    cast.person("solver-1").run("claim", bounty.bounty_id)
    assert cast.token_balance(work.solver) - before == ESCROW * 96 // 100
    not_yet = cast.person("poster").run("poster:open-winning-submission", bounty.bounty_id, "early", code=1)
    assert not_yet.event("open_winning_submission.refused").text("code") == "winning_solution_key_not_found"
    owed = cast.person("guardian-1").run("guardian:judgeable", "--guardian-address", cast.address("guardian-1"))
    waiting = {event.text("bounty_id") for event in owed.events if event.name == "guardian_judgeable.delivery_owed"}
    assert bounty.bounty_id in waiting
    first = cast.person("guardian-1").run("guardian:deliver-key", *pair)
    again = cast.person("guardian-2").run("guardian:deliver-key", *pair)
    created = [ran.event("guardian_deliver_key.stored").fields["created"] for ran in (first, again)]
    assert created == [True, False]
    opened = cast.person("poster").run("poster:open-winning-submission", bounty.bounty_id)
    folder = cast.person("poster").home / opened.event("open_winning_submission.artifact_opened").text("output_dir")
    assert same_files(folder, work.directory)
    assert folder.parts[-3:] == ("winning-submission", bounty.bounty_id, work.commitment)
    assert_won(record_of(cast, bounty), work)
    audited(cast, bounty)
    assert_secrets_stayed(cast, bounty, work)
    assert_told(cast, earlier)


def assert_won(record: dict[str, object], work: Submitted) -> None:
    """The record names the author, whoever else recorded the same commitment or handed in the same bytes."""
    assert record["outcome"] == "awarded"
    assert record["winner"] == {"solver_address": work.solver, "submission_commitment": work.commitment}


def audited(cast: Cast, bounty: Funded) -> None:
    """Somebody without a key holds everything that is said of a bounty against the chain."""
    finished = cast.person("solver-2").audit(bounty.bounty_id).event("audit.finished")
    assert (finished.fields["differences"], finished.fields["unread"]) == (0, 0)


def figures(cast: Cast, name: str) -> Figures:
    return scrape(cast.stack.services[name].internal_port)


def assert_told(cast: Cast, earlier: Mapping[str, Figures]) -> None:
    """What was done is told to a scraper by the process that did it; the script does the same beside."""
    api, delivery = figures(cast, "api"), figures(cast, "delivery")
    assert api.rise(earlier["api"], "service_written_verdicts_total") >= 2
    for event in ("stored", "retrieved"):
        assert delivery.rise(earlier["delivery"], "service_delivery_wraps_total", event=event) >= 1
    submissions = api.value("service_ciphertexts_total", result="matches")
    assert submissions is not None
    assert submissions >= 4
    assert (api.value("service_ciphertext_bytes_total") or 0) > 100 * submissions
    published = api.value("service_publications_total", outcome="ready")
    assert published is not None
    assert published >= 4
    assert (api.value("service_publication_review_seconds_count") or 0) >= published
    worker = figures(cast, "reviewer-worker")
    reviewed = worker.value("service_reviews_total", outcome="ready")
    assert reviewed is not None
    assert 4 <= reviewed <= published  # a page that is published again has its review already
    assert (worker.value("service_job_seconds_count", queue="reviews") or 0) >= reviewed


def assert_secrets_stayed(cast: Cast, bounty: Funded, work: Submitted) -> None:
    """Neither the delivery key nor the delivered content key was ever in the api's memory, or in any log."""
    canaries = {
        f"{name} as {form}": secret
        for name, key in (("delivery key", delivery_key(cast)), ("content key", content_key(cast, bounty, work)))
        for form, secret in forms(key).items()
    }
    assert held(os.getpid(), canaries), "the search finds what is there: this very process has them"
    for name, service in cast.stack.services.items():
        for pid in family(service.child.pid) if service.child and name.startswith("api") else ():
            assert held(pid, canaries) == set(), name
    written = logs_of(cast, *cast.stack.services)
    assert b'"answered"' in written
    assert {name for name, secret in canaries.items() if secret in written} == set()
    guardian = cast.address("guardian-1").lower().encode()[2:]
    assert guardian not in logs_of(cast, "delivery", "api").lower()


@pytest.mark.spec(8, 12, 72, 95, 231, 266)
def test_refunded_bounty_returns_the_escrow(cast: Cast, stage: Stage) -> None:
    bounty = stage.refunded
    for guardian in ("guardian-2", "guardian-3"):
        recorded = cast.reject(bounty, guardian, "The second criterion fails.\n").event("guardian_verdict.recorded")
        assert recorded.fields["solver"] is None
    loser = cast.person("solver-2").run("claim", bounty.bounty_id, code=1)
    assert loser.event("claim.refused").text("code") == "not_entitled"
    before = cast.token_balance(cast.address("poster"))
    claimed = cast.person("poster").run("claim", bounty.bounty_id).event("claim.claimed")
    refund = ESCROW - 2 * GUARDIAN_SHARE
    assert cast.token_balance(cast.address("poster")) - before == refund == int(claimed.text("claimable_amount"))
    none = cast.person("poster").run("poster:open-winning-submission", bounty.bounty_id, code=1)
    assert none.event("open_winning_submission.refused").text("code") == "not_awarded"
    record = record_of(cast, bounty)
    assert (record["outcome"], record["settlement_reason"], record["winner"]) == ("no_valid_submission", "judged", None)
    audited(cast, bounty)


def test_bounty_won_by_a_safe_pays_the_safe(cast: Cast, stage: Stage) -> None:
    bounty, work, safe = stage.contract, stage.contract_work, stage.safe
    opened = cast.person("guardian-3").run(
        "guardian:open", bounty.bounty_id, work.solver, work.commitment, "opened-of-the-safe"
    )
    assert opened.event("guardian_open.artifact_opened").text("solver") == safe.address
    words = ("guardian:open", bounty.bounty_id, stage.early_copier, work.commitment, "copied")
    copied = cast.person("guardian-3").run(*words, code=1).event("guardian_open.refused")
    assert copied.text("code") == "envelope_refused"
    assert same_files(cast.person("guardian-3").home / "opened-of-the-safe", work.directory)
    for guardian in ("guardian-1", "guardian-2"):
        cast.award(bounty, guardian, work, "All criteria hold.\n", opened=False)
    events = run_with_safe(cast.person("solver-2"), safe, "claim", "--claimant-address", safe.address, bounty.bounty_id)
    prepared = events[-1]
    assert prepared["event"] == "claim.transaction_prepared"
    safe.execute(stage.payer, str(prepared["to"]), bytes.fromhex(str(prepared["data"])[2:]))
    assert cast.token_balance(safe.address) == ESCROW * 96 // 100
    assert_won(record_of(cast, bounty), work)
    audited(cast, bounty)


@pytest.mark.spec(8, 24, 95)
def test_silent_roster_is_settled_by_anyone(cast: Cast, stage: Stage) -> None:
    bounty = stage.silent
    early = cast.person("poster").run("claim", bounty.bounty_id, code=1)
    assert early.event("claim.refused").text("code") == "bounty_open"
    cast.wait_for(bounty.judging_deadline)
    listed = cast.person("guardian-1").run("guardian:judgeable", "--guardian-address", cast.address("guardian-1"))
    assert bounty.bounty_id in {event.fields.get("bounty_id") for event in listed.events}
    anyone = Wallet()
    cast.stack.anvil.fund(anyone.address)
    cast.stack.hub.hub.transact(anyone, "settle", int(bounty.bounty_id))
    before = cast.token_balance(cast.address("poster"))
    cast.person("poster").run("claim", bounty.bounty_id)
    assert cast.token_balance(cast.address("poster")) - before == ESCROW
    record = record_of(cast, bounty)
    assert (record["outcome"], record["settlement_reason"]) == ("no_valid_submission", "guardians_silent")
    audited(cast, bounty)


@pytest.mark.usefixtures("stage")
def test_chain_keeps_the_states_that_are_read(cast: Cast) -> None:
    """Each state has the hash of every block: 600 of them took 2 GB of this machine in an hour."""
    rpc = cast.stack.anvil.rpc
    head, final = (header_at(rpc, tag).number for tag in ("latest", "finalized"))
    assert rpc.call("eth_getBalance", cast.address("poster"), hex(final - 20)) != "0x0"
    with pytest.raises(RpcRefused):
        rpc.call("eth_getBalance", cast.address("poster"), hex(head - 150))
