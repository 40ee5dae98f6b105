"""Schema ``review``: readiness reviews. Sole writer: the reviewer; the api reads it to join a review.

A review is identified by what it judges (``review_id`` = Poster, page and rubric hashed), so the same work is never
done twice and a lost queue loses nothing.
"""

from typing import Final

from service_common.db.tables import read_tables

SCHEMA = "review"
TABLES: Final = read_tables(SCHEMA)
reviews, paid_calls = TABLES["reviews"], TABLES["paid_calls"]
