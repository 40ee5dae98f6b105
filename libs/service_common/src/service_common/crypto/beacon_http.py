"""The one GET the beacon client needs, over urllib3: bounded, without redirects, without retries.

At most ``MAX_BODY`` bytes are read, for at most ``ANSWER_SECONDS``, whatever the status, and no relay can redirect us.
Raises ``OSError`` where there is no usable answer, so that the caller turns to the next relay.
"""

from contextlib import closing
from typing import Final

import urllib3

from service_common.crypto.beacon import HttpAnswer
from service_common.timely import timely_pools

MAX_BODY: Final = 64 * 1024
ANSWER_SECONDS: Final = 10.0


class Urllib3Get:
    """``HttpGet`` with connection reuse; safe to share between threads."""

    def __init__(self, answer_seconds: float = ANSWER_SECONDS) -> None:
        self._pool = timely_pools(answer_seconds, num_pools=8, maxsize=4, headers={"Accept": "application/json"})

    def get(self, url: str, timeout: float) -> HttpAnswer:
        """One GET within ``timeout`` seconds for connecting, and for each wait until something more comes."""
        try:
            answer = self._pool.request(
                "GET", url, timeout=timeout, retries=False, redirect=False, preload_content=False
            )
        except urllib3.exceptions.HTTPError as error:
            raise OSError("no answer") from error
        with closing(answer):  # one that was read to its end has given its connection back
            try:
                body = answer.read(MAX_BODY + 1, decode_content=True)
            except urllib3.exceptions.HTTPError as error:
                raise OSError("the answer broke off") from error
        if len(body) > MAX_BODY:
            raise OSError("an answer that is too large")
        return HttpAnswer(answer.status, body)
