"""The reviewer's Flask app: what the reviewer itself answers over HTTP, inside the deployment alone.

The rules' findings on a page. Reviews that a publication
waits for are jobs (``jobs.py``). It has no database and no key, and whoever reaches it may ask: the api on behalf of
everyone, within its callers' budgets, and operators. A few pages are judged at a time, each in a process of its own
that ends; of more, each waits for a moment and is then refused. Nothing of a page is kept, logged or charged for.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import BoundedSemaphore
from time import time
from typing import Annotated, Final

from bounty_protocol.chain.hub_constants import MAX_DECIMALS
from bounty_protocol.domain.challenge.frontmatter import MAX_DOCUMENT_BYTES
from bounty_protocol.domain.challenge.page import parse_challenge
from bounty_protocol.errors import Issue, ServiceError, shown_issues
from bounty_protocol.readiness import VERSION
from bounty_protocol.readiness.material import Material
from bounty_protocol.rubric import current_rubric
from bounty_protocol.shapes import Note, to_json
from bounty_protocol.types import MAX_INT64, UnixSeconds
from bounty_protocol.wire.publication import PageFindings
from flask import Blueprint, Flask, Response, jsonify
from service_common.log import get_logger
from service_common.web.app import create_api
from service_common.web.authentication import public_body
from service_common.web.dependencies import provide, provided
from service_common.web.parsing import load_query

from service_reviewer.rules import RulesFailed, judge_by_rules
from service_reviewer.rules_process import SMALL

JUDGE_SECONDS: Final = 8.0
"""Seconds for the rules on one page; the worst page of the largest size takes a fourth of it."""
AT_ONCE: Final = 2
"""Pages that one process judges at a time."""
PATIENCE_SECONDS: Final = 2.0
"""For how long a page waits for its turn."""

_PRINTABLE: Final = r"[^\x00-\x1f\x7f]+\Z"

routes = Blueprint("reviewer", __name__)
log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class FindingsQuery:
    """The assumptions about a deployment where none is named: the present, a token as USDC, and no reveal
    delay."""

    now: UnixSeconds | None = None
    reveal_delay: Annotated[int | None, Note("In seconds.", minimum=0, maximum=MAX_INT64)] = None
    token_symbol: Annotated[str, Note("Of the escrow token.", max_length=64, pattern=_PRINTABLE)] = "USDC"  # noqa: S105  # money
    token_decimals: Annotated[int, Note("Of the escrow token.", minimum=0, maximum=MAX_DECIMALS)] = 6


class PageJudge:
    """Judges pages for those who ask now. Thread-safe."""

    def __init__(self, judge: Callable[[Material, float], Sequence[Issue]] = judge_by_rules) -> None:
        self._judge, self._places = judge, BoundedSemaphore(AT_ONCE)

    def issues(self, material: Material) -> list[Issue]:
        """Return what the rules find; 503 if there is no free place or no time."""
        if not self._places.acquire(timeout=PATIENCE_SECONDS):
            raise ServiceError("service_overloaded", "Too many pages are being checked at the moment.")
        try:
            return list(self._judge(material, JUDGE_SECONDS))
        except RulesFailed as failure:
            log.error("no findings", at=str(failure), byte_length=len(material.content))  # noqa: TRY400
            raise ServiceError("service_overloaded", "This page could not be checked in time.") from None
        finally:
            self._places.release()


def make_app(judge: PageJudge | None = None) -> Flask:
    """Make an app whose pages are judged by ``judge``."""
    app = create_api("service_reviewer", [routes], None)
    provide(app, judge or PageJudge())
    return app


@routes.route("/findings", methods=["POST"])
@public_body("text/markdown", MAX_DOCUMENT_BYTES)
def post_findings(page: bytes) -> Response:
    """The issues with a page: those of its form, else what the rules find; no model is used."""
    asked = load_query(FindingsQuery)
    try:
        challenge = parse_challenge(page)
    except ServiceError as error:
        issues = list(error.issues)
    else:
        now = UnixSeconds(int(time())) if asked.now is None else asked.now
        material = Material(challenge, page, now, asked.reveal_delay, asked.token_symbol, asked.token_decimals)
        issues = provided(PageJudge).issues(material)
    rubric = current_rubric()
    return jsonify(to_json(PageFindings(rubric.version, rubric.hash, VERSION, tuple(shown_issues(issues)))))


def check_rules() -> None:
    """Return if pages can be judged here; raise if the rules get no process or time, or do not work."""
    judge_by_rules(SMALL, JUDGE_SECONDS)
