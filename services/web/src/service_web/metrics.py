"""Metrics of the pages; none names a person, a bounty or an address."""

from enum import StrEnum
from typing import Final

from service_common.counters import counter_by


class ApiAnswer(StrEnum):
    """How a question to the API ended."""

    NEW = "new"
    UNCHANGED = "unchanged"
    ABSENT = "absent"
    REFUSED = "refused"
    SPENT = "spent"
    FAILED = "failed"
    MALFORMED = "malformed"


ANSWERS: Final = counter_by(
    "outcome",
    ApiAnswer,
    "service_web_api_answers_total",
    "Questions of the pages to the API, by how they ended: `spent` is the reader's "
    "budget, `failed` no answer, `malformed` one that cannot be read",
)
