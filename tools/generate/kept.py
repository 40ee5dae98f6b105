"""docs/operations.md: what can be written, by whom, what bounds it, and when it is deleted.

Every figure is the code's; ``tests/architecture/test_lifetimes.py`` finds a table that has no row.
"""

from collections.abc import Iterator
from dataclasses import astuple, dataclass
from typing import Final

from bounty_protocol.crypto.archive import ArchiveLimits
from bounty_protocol.domain.envelope import MAX_ENVELOPE_BYTES
from bounty_protocol.domain.frontmatter import MAX_DOCUMENT_BYTES
from bounty_protocol.domain.hub_notice import MAX_LIFETIME_SECONDS
from service_api.config import DEFAULT_REVIEW_QUOTA
from service_api.usecases import lifetimes
from service_api.usecases.orphans import ENVELOPE_DAYS
from service_api.usecases.prepare_submission import MAX_UNRECORDED
from service_api.usecases.written_verdicts import MAX_UNRECORDED_VERDICTS
from service_reviewer.record import RECORD_DAYS

from tools.generate.derived import part, table

_KIB: Final = 1024
_PENDING: Final = "`SERVICE_PENDING_MEBIBYTES` together"


@dataclass(frozen=True, slots=True)
class KeptRow:
    """A row: what is kept, who can write it, its bound, and when it is deleted."""

    what: str
    writer: str
    bound: str
    deleted: str


KEPT: Final = (
    KeptRow(
        "`app.challenge_pages`, `app.challenge_summaries`",
        "any key",
        f"pages of {MAX_DOCUMENT_BYTES // _KIB} KiB that passed a review, {DEFAULT_REVIEW_QUOTA} in 24 hours for a"
        f" Poster; those that nobody funded {_PENDING}",
        f"{lifetimes.PAGE_GRACE_DAYS} days after the page's submission deadline, unless funded",
    ),
    KeptRow(
        "`app.processed_approvals`",
        "any key",
        "one row for a reviewed page",
        f"after {lifetimes.APPROVAL_DAYS} days, its block final and past the freshness window",
    ),
    KeptRow(
        "`app.review_charges`, `review.paid_calls`", "any key", "the quota; the cap on paid reviews", "after 48 hours"
    ),
    KeptRow(
        "`app.submission_envelopes`",
        "any key, while the bounty is open",
        f"{MAX_ENVELOPE_BYTES // _KIB} KiB, for bytes that were uploaded; of those that the Hub does not record"
        f" {MAX_UNRECORDED} of a Solver for a bounty, and {_PENDING}",
        "a day after the submission deadline, unless a `submit` recorded it",
    ),
    KeptRow(
        "uploads in the bucket, with `app.verified_objects`",
        "any key, while the bounty is open",
        f"{ArchiveLimits().max_bytes // _KIB**3} GiB each; [budgets](interface.md#budgets) of uploads",
        "a day after the submission deadline, unless a `submit` recorded them, or one of their Solver has no envelope"
        f" here: then {ENVELOPE_DAYS} days after the judging; the row after"
        f" {lifetimes.VERIFIED_DAYS} days where no envelope names it",
    ),
    KeptRow(
        "`app.written_verdicts`",
        "a Guardian of the bounty's roster",
        f"{MAX_DOCUMENT_BYTES // _KIB} KiB; of those that the Hub does not record {MAX_UNRECORDED_VERDICTS}"
        " of a Guardian for a bounty",
        f"{lifetimes.VERDICT_GRACE_DAYS} days after the judging deadline, unless the Hub holds it",
    ),
    KeptRow("`app.verification_records`, `settler.settlements`", "nobody: derived", "one for each bounty", "never"),
    KeptRow(
        "`app.hub_notices`",
        "an account that the Hub's owner names for notices",
        "one each",
        f"with the next one after its end, {MAX_LIFETIME_SECONDS // lifetimes.DAY_SECONDS} days at most",
    ),
    KeptRow(
        "`app.withholdings`", "the operator ([withholding.md](withholding.md))", "one row for each decision", "never"
    ),
    KeptRow(
        "`app.defects`",
        "nobody: the api's own",
        "one for each Submission whose bytes were found to be others",
        "once its bytes are right again",
    ),
    KeptRow("`review.reviews`", "any key", "the quota", f"after {RECORD_DAYS} days"),
    KeptRow(
        "`delivery.wraps`",
        "a Guardian of the bounty's roster",
        "one for each recorded Submission",
        "where another Submission won or none; the winner's never",
    ),
    KeptRow(
        "`hub_index.open_bounties`, `hub_index.changes`, and each other table of facts in `hub_index`"
        " ([indexer.md](indexer.md))",
        "senders of transactions",
        "their gas",
        "only by a reorg",
    ),
    KeptRow(
        "`hub_index.head`, `hub_index.blocks`, `hub_index.proofs`, `hub_index.heartbeats`",
        "nobody: the indexer's own",
        "recent blocks",
        "by the indexer",
    ),
    KeptRow("jobs and counts in Redis", "any key", "budgets", "as they expire; a job's result after 5 minutes"),
)


def _table() -> Iterator[str]:
    rows = (f"| {' | '.join(astuple(each))} |" for each in KEPT)
    yield table("| what | who can write it | bound | deleted |", rows)


KEPT_TABLE: Final = part("docs/operations.md", "kept", _table)
