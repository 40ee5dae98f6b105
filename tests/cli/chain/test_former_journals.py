"""Journals of the former release: read, and written again in the same form, so that either release goes on."""

import json
from pathlib import Path

import pytest
from service_cli.chain.journal import Journal, JournalEntry
from service_cli.chain.transactions import TransactionStep
from service_cli.claimant.claim import FUNCTION
from service_cli.errors import CommandRefused
from service_cli.guardian.verdict import RECORDED
from service_cli.poster.funding import AUTHORIZATION, CREATE, FUNDED, NONCES, PATH, TERMS, FundingPath
from service_cli.solver.sealing import CONTENT, PREPARED, SEALED, SEALED_AT, SHOWN, UPLOADED

FORMER = json.loads((Path(__file__).parent / "former_journals.json").read_text(encoding="utf-8"))
SALT = JournalEntry.of("salt", str)
"""Not read any more."""
RECORD = TransactionStep(next(name for name in FORMER["submit"] if name.startswith("submit_")))
VERDICT = TransactionStep("verdict_transaction")
ENTRIES: dict[str, list[JournalEntry[object]]] = {
    "publish": [PATH, SALT, TERMS, NONCES, AUTHORIZATION, CREATE.attempt, FUNDED],  # type: ignore[list-item]
    "submit": [SEALED_AT, SEALED, CONTENT, UPLOADED, PREPARED, SHOWN, RECORD.attempt],  # type: ignore[list-item]
    "verdict": [VERDICT.attempt, VERDICT.given_up, RECORDED],  # type: ignore[list-item]
    "verdict_on_nothing": [RECORDED],  # type: ignore[list-item]
    "claim": [FUNCTION, TransactionStep("claim_transaction").attempt],  # type: ignore[list-item]
}
"""Every entry of each kind of journal."""


def journal(folder: Path, content: object) -> Journal:
    (folder / "journal.json").write_text(json.dumps(content))
    return Journal(folder)


@pytest.mark.parametrize("kind", FORMER)
def test_former_journal__read_and_written_again__is_the_same(kind: str, tmp_path: Path) -> None:
    assert {entry.name for entry in ENTRIES[kind]} == set(FORMER[kind])
    former = journal(tmp_path, FORMER[kind])
    for entry in ENTRIES[kind]:
        value = former.get(entry)
        assert value is not None
        former.note(entry, value)
    assert json.loads((tmp_path / "journal.json").read_text()) == FORMER[kind]


def test_former_journal__of_a_funded_page__has_terms_nonces_and_bounty(tmp_path: Path) -> None:
    former = journal(tmp_path, FORMER["publish"])
    terms, authorization, funded = former.get(TERMS), former.get(AUTHORIZATION), former.get(FUNDED)
    assert terms is not None
    assert authorization is not None
    assert funded is not None
    assert former.get(PATH) is FundingPath.AUTHORIZATION
    assert authorization.terms == terms
    assert terms.spec_commitment == funded.spec_commitment
    assert len(authorization.signature) == 65
    assert list((former.get(NONCES) or {}).values()) == [13]
    assert CREATE.was_attempted(former)


def test_former_journal__of_a_transaction__names_the_same_hashes(tmp_path: Path) -> None:
    former = journal(tmp_path, FORMER["publish"])
    attempt, funded = former.get(CREATE.attempt), former.get(FUNDED)
    assert attempt is not None
    assert funded is not None
    assert attempt.hashes == (funded.tx_hash,)


@pytest.mark.parametrize(
    ("kind", "name", "field"),
    [
        ("publish", "authorization", "valid_before"),
        ("publish", "create_transaction", "raws"),
        ("publish", "bounty_created", "tx_hash"),
        ("submit", RECORD.name, "nonce"),
        ("verdict", "recorded", "report_commitment"),
    ],
)
def test_former_journal__that_lost_a_field__is_refused_and_never_guessed(
    kind: str, name: str, field: str, tmp_path: Path
) -> None:
    damaged = {**FORMER[kind], name: {key: value for key, value in FORMER[kind][name].items() if key != field}}
    (entry,) = [entry for entry in ENTRIES[kind] if entry.name == name]
    with pytest.raises(CommandRefused) as refused:
        journal(tmp_path, damaged).get(entry)
    assert refused.value.code == "journal_unreadable"
    assert journal(tmp_path, damaged).get(JournalEntry.of("nothing of that name", str)) is None
