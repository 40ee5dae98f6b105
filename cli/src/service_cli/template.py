"""The template of a challenge page.

Promises: a written template has the frontmatter's exact fields; what must be filled in stands in angle brackets, which
the readiness review does not let through.
"""

import os
from pathlib import Path
from typing import Final

from service_cli.outcome import Refused

_SUBMISSION_SECONDS: Final = 14 * 86_400
_JUDGING_SECONDS: Final = 3 * 86_400
_TEMPLATE: Final = """---
version: 1
title: <what is to be made, in one line>
summary: <what it does and for whom, in two or three sentences>
escrow_amount: 25000000
submission_deadline: {deadline}
judging_window_seconds: {judging}
acceptance_criteria:
  - "<a check that two people would decide the same way: a command and what it prints>"
  - "<another>"
deliverables:
  - "<a file that the Submission contains, by name>"
language: en
---
# <title>

<What is asked, what exists already, and what a Guardian does to check each criterion.>

escrow_amount is in the smallest units of the escrow token (25000000 is 25 USDC); submission_deadline is in seconds
since 1970 (as written here: in two weeks). Remove this paragraph.
"""


def write_template(path: Path, now: int) -> None:
    """Write it where nothing is yet."""
    text = _TEMPLATE.format(deadline=now + _SUBMISSION_SECONDS, judging=_JUDGING_SECONDS)
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644), "w", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        message = f"{path} exists already."
        raise Refused("file_exists", message, next_action="Name another path, or move it away.") from None
    except OSError as error:
        message = f"{path} cannot be written: {error.strerror}."
        raise Refused("file_unwritable", message, next_action="Check the path.") from None
