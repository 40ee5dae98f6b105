"""The one GET the beacon client needs, over urllib3: bounded, without redirects, without retries.

At most ``MAX_BODY`` bytes are read and no relay can redirect us. Raises ``OSError`` where there is no usable answer, so
that the caller turns to the next relay.
"""

from typing import Final

import urllib3

from service_common.crypto.beacon import HttpAnswer

MAX_BODY: Final = 64 * 1024


class Urllib3Get:
    """``HttpGet`` with connection reuse; safe to share between threads."""

    def __init__(self) -> None:
        self._pool = urllib3.PoolManager(num_pools=8, maxsize=4, headers={"Accept": "application/json"})

    def get(self, url: str, timeout: float) -> HttpAnswer:
        """One GET within ``timeout`` seconds for each of connecting and reading."""
        try:
            answer = self._pool.request(
                "GET", url, timeout=timeout, retries=False, redirect=False, preload_content=False
            )
        except urllib3.exceptions.HTTPError as error:
            raise OSError("no answer") from error
        try:
            body = answer.read(MAX_BODY + 1, decode_content=True)
        except urllib3.exceptions.HTTPError as error:
            raise OSError("the answer broke off") from error
        finally:
            answer.drain_conn() if answer.status != 200 else answer.release_conn()
        if len(body) > MAX_BODY:
            raise OSError("an answer that is too large")
        return HttpAnswer(answer.status, body)
