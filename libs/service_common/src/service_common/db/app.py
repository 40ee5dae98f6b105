"""Schema ``app``: the bytes and results the api stores. Sole writer: the api and its worker.

Never consulted for authorization: who may do what comes from ``hub_index`` alone. The rows of every table that anyone
can fill are deleted in the end: ``service_api.storage.lifetimes``.
"""

from typing import Final

from service_common.db.tables import read_tables

SCHEMA = "app"
TABLES: Final = read_tables(SCHEMA)
challenge_pages = TABLES["challenge_pages"]
"""``pending_bytes`` is the length of a row while nobody has paid for it; null once the chain has what it belongs to."""
challenge_summaries = TABLES["challenge_summaries"]
"""Summaries of pages for lists and search: written with the page, from bytes that hash to the commitment."""
processed_approvals = TABLES["processed_approvals"]
"""Signed requests that count once: publications by their digest."""
review_charges = TABLES["review_charges"]
submission_envelopes = TABLES["submission_envelopes"]
verified_objects = TABLES["verified_objects"]
written_verdicts = TABLES["written_verdicts"]
verification_records = TABLES["verification_records"]
defects = TABLES["defects"]
"""Sealed work of active Submissions in whose place other bytes were found, until the right ones are."""
withholdings = TABLES["withholdings"]
"""What the operator decided not to show, and why: a row for each decision, which is never deleted. The subject is the
commitment of a bounty's page or of a written Verdict, or an account; ``since`` is when it was first not shown, and
``since_block`` the chain's newest block then."""
