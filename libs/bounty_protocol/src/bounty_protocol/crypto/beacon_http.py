"""The one GET the beacon client needs, over urllib3: bounded, without redirects, without retries.

At most ``MAX_BODY`` bytes are read, for at most ``ANSWER_SECONDS``, whatever the status, and no relay can redirect us.
Raises ``OSError`` where there is no usable answer, so that the caller turns to the next relay.
"""

from typing import Final

import urllib3

from bounty_protocol.crypto.beacon import RelayAnswer
from bounty_protocol.timely import AnswerRefused, TimelyHttp

MAX_BODY: Final = 16 * 1024
"""A round has less than one KiB, the beacon's description less than two."""
ANSWER_SECONDS: Final = 10.0


class Urllib3Get:
    """``HttpGet`` with connection reuse; safe to share between threads."""

    def __init__(self, answer_seconds: float = ANSWER_SECONDS) -> None:
        self._http = TimelyHttp(answer_seconds, num_pools=8, maxsize=4, headers={"Accept": "application/json"})

    def get(self, url: str, timeout: float) -> RelayAnswer:
        """Send one GET. ``timeout`` seconds limit connecting and each further wait."""
        try:
            answer = self._http.exchange("GET", url, most_bytes=MAX_BODY, timeout=timeout)
        except AnswerRefused as error:
            raise OSError(str(error)) from error
        except urllib3.exceptions.HTTPError as error:
            raise OSError("no answer") from error
        return RelayAnswer(answer.status, answer.body)
