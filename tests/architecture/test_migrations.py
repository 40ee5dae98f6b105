"""Each migration after the first only adds: the release before goes on with the newer schema, and can be gone back to.

Whatever else a migration does stands in ``ALLOWED`` with the reason why the release before survives it.
"""

import re
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
VERSIONS = TOP / "libs/service_common/src/service_common/db/migrations/versions"
_SHORT = "the indexer alone writes bounties, and waits; readers go on"
_INDEXER = "the indexer alone writes logs, and waits for one look through them; readers go on"
_VERDICTS = "Guardians alone write Verdicts, and wait for one look through the rows; readers go on"
_EMPTY = "no row has the new column yet: the index is empty, and writers wait for one look through the table"
_KEPT = "a writer of the release before keeps the new table without knowing it, and its role may write it"
ALLOWED: dict[tuple[str, str], str] = {
    ("0008_lists", f"CREATE INDEX {name} ON hub_index.bounties ({columns})"): _SHORT
    for name, columns in (
        ("bounties_deadline", "submission_deadline, bounty_id"),
        ("bounties_award", "(escrow_amount - protocol_fee - guardian_fee), bounty_id"),
        ("bounties_judging", "judging_deadline"),
        ("bounties_page", "spec_commitment"),
    )
} | {
    ("0011_growth", "CREATE INDEX verdicts_guardian ON hub_index.verdicts "): _SHORT,
    ("0011_growth", "CREATE INDEX heartbeats_guardian ON hub_index.heartbeats "): _SHORT,
    ("0011_growth", "DROP INDEX hub_index.heartbeats_guardian"): "another one of that name begins with its column",
    ("0011_growth", "CREATE INDEX claims_recipient ON hub_index.claims "): _SHORT,
    ("0011_growth", "CREATE INDEX bounties_roster ON hub_index.bounties "): _SHORT,
    ("0011_growth", "CREATE FUNCTION hub_index.keep_open_bounties() "): _KEPT,
    ("0011_growth", "CREATE TRIGGER keep_open_after_insert AFTER INSERT ON hub_index."): _KEPT,
    ("0011_growth", "CREATE TRIGGER keep_open_after_delete AFTER DELETE ON hub_index."): _KEPT,
    ("0011_growth", "INSERT INTO hub_index.open_bounties SELECT bounty_id FROM hub_index.bounties "): _KEPT,
    ("0012_open_times", "CREATE OR REPLACE FUNCTION hub_index.keep_open_bounties() "): _KEPT,
    ("0012_open_times", "UPDATE hub_index.open_bounties AS kept SET "): "columns that the release before does not read",
    ("0013_pending", "CREATE INDEX submission_envelopes_pending ON app.submission_envelopes "): _EMPTY,
    ("0013_pending", "CREATE INDEX challenge_pages_pending ON app.challenge_pages "): _EMPTY,
    ("0024_search", "CREATE INDEX challenge_summaries_grams ON app.challenge_summaries "): _EMPTY,
    ("0023_tags", "CREATE INDEX challenge_summaries_tags ON app.challenge_summaries "): _EMPTY,
    ("0031_logs_of_no_bounty", "CREATE INDEX logs_of_no_bounty ON hub_index.logs "): _INDEXER,
    ("0032_kept_documents", "CREATE INDEX written_verdicts_guardian ON app.written_verdicts "): _VERDICTS,
    ("0016_retractions", "UPDATE webhooks.deliveries AS d SET sent_block "): "what is up to the change was looked at",
}
"""Migration and how a statement begins, as it stands there with single spaces, to the reason."""
ADDS = (
    r"CREATE SCHEMA [a-z_]+",
    r"CREATE TABLE [a-z_.]+ \(.*\)",
    r"GRANT [A-Z, ]+ ON .* TO .*",
)
COLUMN = re.compile(r"ADD COLUMN [a-z_]+ (?P<rest>.+)")
CONSTRAINT = re.compile(r"\b(REFERENCES|UNIQUE|PRIMARY|CHECK|EXCLUDE|GENERATED)\b", re.IGNORECASE)
MIGRATIONS = sorted(path for path in VERSIONS.iterdir() if path.is_file())


def statements(sql: str) -> list[str]:
    """The statements of a file, each on one line, without comments."""
    plain = re.sub(r"--[^\n]*", "", sql)
    found = re.findall(r"(?:\$\$.*?\$\$|[^;])+", plain, re.DOTALL)
    return [" ".join(each.split()) for each in found if each.strip()]


def adds_only(statement: str, made: set[str]) -> bool:
    """Whether a statement leaves everything as it is for who does not know it; ``made`` are this migration's tables.

    An index on a table that is in use keeps its writers out while it is built.
    """
    if any(re.fullmatch(pattern, statement) for pattern in ADDS):
        return True
    if index := re.fullmatch(r"CREATE (?:UNIQUE )?INDEX [a-z_]+ ON ([a-z_.]+) .*", statement):
        return index[1] in made
    if altered := re.fullmatch(r"ALTER TABLE [a-z_.]+ (.*)", statement):
        return all(is_optional_column(each) for each in re.split(r", (?=[A-Z]+ )", altered[1]))
    return False


def is_optional_column(action: str) -> bool:
    """Whether rows can be written without naming the new column."""
    column = COLUMN.fullmatch(action)
    if column is None or CONSTRAINT.search(column["rest"]):
        return False
    return "NOT NULL" not in column["rest"] or "DEFAULT" in column["rest"]


@pytest.mark.parametrize("migration", MIGRATIONS[1:], ids=lambda path: path.stem)
def test_migration__after_the_first__only_adds(migration: Path) -> None:
    found = statements(migration.read_text(encoding="utf-8"))
    made = {match[1] for each in found if (match := re.match(r"CREATE TABLE ([a-z_.]+)", each))}
    assert found
    refused = [each for each in found if not adds_only(each, made)]
    allowed = tuple(beginning for name, beginning in ALLOWED if name == migration.stem)
    assert [each for each in refused if not each.startswith(allowed)] == []


def test_migrations__as_files__are_sql_alone_and_each_has_a_number_of_its_own() -> None:
    assert [each.name for each in MIGRATIONS if not re.fullmatch(r"[0-9]{4}_[a-z_]+\.sql", each.name)] == []
    numbers = [each.name[:4] for each in MIGRATIONS]
    assert len(set(numbers)) == len(numbers)


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE app.review_charges DROP COLUMN attempt",
        "ALTER TABLE app.review_charges ADD COLUMN attempt text NOT NULL",
        "ALTER TABLE app.review_charges ADD COLUMN a text, ADD COLUMN b text NOT NULL",
        "ALTER TABLE app.review_charges ADD COLUMN a text, DROP COLUMN b",
        "ALTER TABLE app.review_charges ADD COLUMN attempt text UNIQUE",
        "ALTER TABLE app.review_charges ALTER COLUMN attempt TYPE bytea",
        "ALTER TABLE app.review_charges ALTER COLUMN attempt SET NOT NULL",
        "ALTER TABLE app.review_charges RENAME COLUMN attempt TO try",
        "ALTER TABLE app.review_charges RENAME TO charges",
        "CREATE INDEX charges_poster ON app.review_charges (poster)",
        "DROP TABLE app.review_charges",
        "REVOKE SELECT ON app.review_charges FROM service_api",
        "UPDATE app.review_charges SET attempt = ''",
    ],
)
def test_statement__that_the_former_release_would_feel__is_refused(statement: str) -> None:
    assert not adds_only(statement, {"review.paid_calls"})
