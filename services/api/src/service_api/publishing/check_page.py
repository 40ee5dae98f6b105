"""Checking a page before it is published: its form and the Hub's bounds here, the rules by the reviewer.

The reviewer answers over HTTP, since the caller waits for nothing else and nothing is kept. A page of which the form is
wrong goes no further than here. Nothing of a page reaches a log, a queue or a row.
"""

import json
from dataclasses import replace
from typing import Final
from urllib.parse import urlencode

import urllib3
from bounty_protocol.chain.hub_constants import HubConstants, term_issues
from bounty_protocol.domain.challenge.page import parse_challenge
from bounty_protocol.errors import ServiceError, shown_issues
from bounty_protocol.readiness import VERSION
from bounty_protocol.rubric import current_rubric
from bounty_protocol.timely import TimelyHttp
from bounty_protocol.types import UnixSeconds
from bounty_protocol.wire.publication import PageFindings
from bounty_protocol.wire.reading import read
from service_common.db.hub_facts import FactSource
from service_common.log import correlation_id, get_logger
from service_common.places import Places

from service_api.deployment.constants import Constants
from service_api.publishing.publish_challenge import shown_time

MAX_CHECKING: Final = 16
"""Pages that one process has checked by the reviewer at a time: a thread waits for each."""
CODE: Final = "page_check_unavailable"
TIMEOUT: Final = urllib3.Timeout(connect=1.0, read=11.0)
"""The reviewer lets a page wait for 2 seconds and judges it within 8."""
_MAX_ANSWER: Final = 256 * 1024
_BUSY_SECONDS: Final = 5

log = get_logger(__name__)


class PageChecks:
    """Checks pages for those who ask now. Thread-safe."""

    def __init__(self, source: FactSource, constants: Constants, http: TimelyHttp, reviewer_url: str) -> None:
        self._source, self._constants, self._http, self._url = source, constants, http, reviewer_url
        self._places = Places()

    def check(self, page: bytes) -> PageFindings:
        """Return the answer of ``check``: everything found, up to the number of issues that any answer shows."""
        try:
            challenge = parse_challenge(page)
        except ServiceError as error:
            rubric = current_rubric()
            return PageFindings(rubric.version, rubric.hash, VERSION, tuple(shown_issues(error.issues)))
        with self._source.open() as facts:
            now = facts.head.block_time  # as a publication has it: the chain decides about deadlines
        hub = self._constants.hub
        with self._places.hold("checks", MAX_CHECKING, refusal=_busy()):
            found = self._findings(page, hub, now)
        issues = dict.fromkeys((*term_issues(challenge, hub, now, shown_time), *found.issues))
        return replace(found, issues=tuple(shown_issues(list(issues))))

    def _findings(self, page: bytes, hub: HubConstants, now: UnixSeconds) -> PageFindings:
        """Return the reviewer's findings."""
        query = {
            "now": now,
            "reveal_delay": hub.reveal_delay,
            "token_symbol": hub.token.symbol,
            "token_decimals": hub.token.decimals,
        }
        url = f"{self._url}/findings?{urlencode(query)}"
        sent = {"Content-Type": "text/markdown", "X-Correlation-Id": correlation_id.get()}
        try:
            answer = self._http.exchange("POST", url, most_bytes=_MAX_ANSWER, body=page, headers=sent, timeout=TIMEOUT)
        except urllib3.exceptions.HTTPError as error:
            log.warning("reviewer unavailable", error=type(error).__name__)
            raise ServiceError(CODE, "The reviewer cannot be reached at the moment.") from error
        if answer.status == 503:
            raise _busy()
        try:
            if answer.status != 200:
                raise ValueError(f"status {answer.status}")
            return read(PageFindings, json.loads(answer.body))
        except (ValueError, RecursionError) as error:
            # The reviewer's answer may quote the page: no part of it is logged.
            log.warning("the reviewer gave no usable answer", status=answer.status)
            raise ServiceError(CODE, "The reviewer gave no usable answer.") from error


def _busy() -> ServiceError:
    message = "Too many pages are being checked at the moment."
    return ServiceError("service_overloaded", message, retry_after=_BUSY_SECONDS)
