"""The reviewer's Flask app: what the reviewer itself answers over HTTP, inside the deployment alone.

The rubric of its own release, the rules' findings on a page, health, readiness and metrics. Reviews that a publication
waits for are jobs (``jobs.py``). It has no database and no key, and whoever reaches it may ask: the api on behalf of
everyone, within its callers' budgets, and operators.
"""

from collections.abc import Mapping

from bounty_protocol.domain.frontmatter import MAX_DOCUMENT_BYTES
from bounty_protocol.rubric import current_rubric
from bounty_protocol.shapes import to_json
from bounty_protocol.wire.deployment import RubricDocument
from bounty_protocol.wire.publication import PageFindings
from flask import Flask, Response, jsonify
from service_common.internal_port import Check
from service_common.web.app import create_api
from service_common.web.authentication import public, public_body, read_query
from service_common.web.operations import Routes, described
from service_common.web.parsing import load_query
from service_common.web.state import state_routes

from service_reviewer.findings import FindingsQuery, PageJudge, check_rules

TITLE = "Bounty Escrow Service: reviewer"


def make_app(judge: PageJudge | None = None, checks: Mapping[str, Check] | None = None) -> Flask:
    """An app whose pages are judged by ``judge``, and which is ready while ``checks`` pass."""
    routes = [
        reviewer_routes(judge or PageJudge()),
        state_routes({"rules": check_rules} if checks is None else checks),
    ]
    app, _ = create_api("service_reviewer", TITLE, routes, None)
    return app


def reviewer_routes(judge: PageJudge) -> Routes:
    """The rubric and the findings."""
    routes = Routes("reviewer", __name__, description="The readiness reviewer")

    @routes.route("/api/readiness-rubric", methods=["GET"])  # type: ignore[untyped-decorator]  # flask-smorest has no types
    @routes.response(200, RubricDocument)
    @public
    def get_rubric() -> Response:
        """The rubric that this reviewer applies."""
        read_query(allowed=frozenset())
        rubric = current_rubric()
        return jsonify(to_json(RubricDocument(rubric.version, rubric.hash, rubric.text)))

    @routes.route("/findings", methods=["POST"])  # type: ignore[untyped-decorator]
    @routes.response(200, PageFindings)
    @described(query=FindingsQuery)
    @public_body("text/markdown", MAX_DOCUMENT_BYTES)
    def post_findings(page: bytes) -> Response:
        """The rules' findings on a page; nobody is charged and nothing is kept."""
        return jsonify(to_json(judge.findings(page, load_query(FindingsQuery))))

    return routes
