"""The Submission routes: upload target, prepare, content."""

from collections.abc import Callable
from functools import wraps
from typing import Final, ParamSpec, TypeVar

from bounty_protocol.auth.verify import VerifiedRequest
from bounty_protocol.chain.rpc import ChainUnavailable
from bounty_protocol.domain.envelope.document import MAX_ENVELOPE_BYTES, Envelope
from bounty_protocol.errors import ServiceError
from bounty_protocol.shapes import to_json
from bounty_protocol.types import Address, BountyId, parse_address, parse_bounty_id, parse_bytes32
from bounty_protocol.wire.submissions import (
    ContentsRequest,
    PreparedSubmission,
    SubmissionContent,
    SubmissionContents,
    UploadTarget,
    UploadTargetRequest,
)
from flask import Blueprint, Response, jsonify
from service_common.db.errors import DatabaseUnavailable
from service_common.db.hub_facts import FactSource
from service_common.log import get_logger
from service_common.web.authentication import read_query, signed
from service_common.web.callers import Callers
from service_common.web.dependencies import provided
from service_common.web.parsing import load_json, parse

from service_api.config import ApiConfig
from service_api.openapi.description import Described
from service_api.submissions.ciphertexts import Ciphertexts
from service_api.submissions.prepare_submission import Preparation
from service_api.submissions.read_content import Contents
from service_api.submissions.upload_targets import MAX_CIPHERTEXT_BYTES, make_upload_target

routes = Blueprint("submissions", __name__, url_prefix="/api/bounties/<bounty_id>/submissions")

P = ParamSpec("P")
R = TypeVar("R")
MEBIBYTE: Final = 1 << 20
_MAX_NAMES_BYTES: Final = 8 * 1024
"""Bytes of a body that names Submissions."""
_CODE: Final = "invalid_solver_submission"
_AUTHORITY: Final = "bounty_submission_content_authority_unavailable"
_UNAVAILABLE: Final = {"bounty_projection_unavailable", "bounty_chain_state_unavailable"}
_ERRORS: Final = ("forbidden", _CODE, "bounty_not_found", *sorted(_UNAVAILABLE), "storage_unavailable")

log = get_logger(__name__)


def one_unavailable_code(view: Callable[P, R]) -> Callable[P, R]:
    """Answer with one code whatever prevents chain or index from showing who may read, including verifying the
    signature.
    """

    @wraps(view)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return view(*args, **kwargs)
        except (ChainUnavailable, DatabaseUnavailable) as error:
            log.warning("content authority unavailable", reason=str(error))
            raise ServiceError(_AUTHORITY, "The chain or its index cannot be read at the moment.") from error
        except ServiceError as error:
            if error.code not in _UNAVAILABLE:
                raise
            refusal = ServiceError(
                _AUTHORITY, error.message, retry_after=error.retry_after, is_failure=error.is_failure
            )
            raise refusal from error

    return wrapped


@routes.route("/<solver_address>/artifact-upload-url", methods=["POST"])
@Described(
    UploadTarget,
    (*_ERRORS, "storage_verification_pending"),
    body=UploadTargetRequest,
    example={"ciphertext_sha256": "0x" + "1f" * 32, "ciphertext_byte_length": 1048576},
)
@signed("application/json", MAX_ENVELOPE_BYTES)
def artifact_upload_url(request: VerifiedRequest, bounty_id: str, solver_address: str) -> Response:
    """Get a one-time upload URL for a ciphertext.

    Signed by the Solver of the path. The URL creates one object of at most 1 GiB and is valid for 15 minutes. After the
    submission deadline it is given only for the bytes of the Solver's recorded Submission, if the storage has lost
    them; other bytes in their place are removed.
    """
    callers, budgets = provided(Callers), provided(ApiConfig).budgets
    callers.charge_account(budgets.uploads, budgets.uploads_of_address, request.signer)
    bounty, solver = _scope(request, bounty_id, solver_address)
    wanted = load_json(request.body, UploadTargetRequest, code=_CODE)
    callers.charge_account(
        budgets.upload_mebibytes,
        budgets.upload_mebibytes_of_address,
        request.signer,
        cost=max(1, -(-min(wanted.ciphertext_byte_length, MAX_CIPHERTEXT_BYTES) // MEBIBYTE)),
    )
    return jsonify(to_json(make_upload_target(provided(FactSource), provided(Ciphertexts), bounty, solver, wanted)))


@routes.route("/<solver_address>/prepare", methods=["POST"])
@Described(
    PreparedSubmission,
    (*_ERRORS, "storage_verification_pending", "unrecorded_submissions_limit_reached", "pending_storage_full"),
    body=Envelope,
    created=True,
)
@signed("application/json", MAX_ENVELOPE_BYTES)
def prepare(request: VerifiedRequest, bounty_id: str, solver_address: str) -> Response:
    """Verify an envelope end to end, store it, and get the exact submit call.

    Signed by the Solver of the path.
    """
    callers, budgets = provided(Callers), provided(ApiConfig).budgets
    callers.charge_account(budgets.envelopes, budgets.envelopes_of_address, request.signer)
    bounty, solver = _scope(request, bounty_id, solver_address)
    prepared, created = provided(Preparation).prepare(bounty, solver, request.body)
    response = jsonify(to_json(prepared))
    response.status_code = 201 if created else 200
    return response


@routes.route("/<submission_commitment>/content", methods=["GET"])
@Described(
    SubmissionContent,
    (
        "forbidden",
        "bounty_not_found",
        "submission_not_found",
        "storage_unavailable",
        "solver_submission_content_invalid",
        _AUTHORITY,
        "storage_verification_pending",
    ),
)
@one_unavailable_code
@signed(None)
def content(request: VerifiedRequest, bounty_id: str, submission_commitment: str) -> Response:
    """Read a Submission's envelope and a short-lived URL of its ciphertext.

    Signed by the funding Poster, or a Guardian of the pinned roster. The URL is valid for five minutes, of which at
    least two are left.
    """
    read_query(allowed=frozenset())
    bounty = parse(bounty_id, parse_bounty_id, path="bounty_id")
    commitment = parse(submission_commitment, parse_bytes32, path="submission_commitment")
    body = provided(Contents).read(request, bounty, commitment)
    return Response(body, headers=[("Cache-Control", "no-store")], content_type="application/json")


@routes.route("/contents", methods=["POST"])
@Described(
    SubmissionContents,
    ("forbidden", "bounty_not_found", _AUTHORITY),
    body=ContentsRequest,
    example={"submission_commitments": ["0x" + "1f" * 32, "0x" + "2e" * 32]},
)
@one_unavailable_code
@signed("application/json", _MAX_NAMES_BYTES)
def contents(request: VerifiedRequest, bounty_id: str) -> Response:
    """Read the envelopes of many Submissions and short-lived URLs of their ciphertexts, by one signature.

    Signed by the funding Poster, or a Guardian of the pinned roster. At most fifty; each counts as one request against
    its signer's budgets, and is answered or refused as if it were read alone.
    """
    read_query(allowed=frozenset())
    bounty = parse(bounty_id, parse_bounty_id, path="bounty_id")
    response = jsonify(to_json(provided(Contents).read_many(request, bounty)))
    response.headers["Cache-Control"] = "no-store"
    return response


def _scope(request: VerifiedRequest, bounty_id: str, solver_address: str) -> tuple[BountyId, Address]:
    """Return the path's bounty and Solver; refuse unless the Solver is the signer."""
    read_query(allowed=frozenset(), code=_CODE)
    solver = parse(solver_address, parse_address, path="solver_address", code=_CODE)
    request.require_signer({solver})
    return parse(bounty_id, parse_bounty_id, path="bounty_id", code=_CODE), solver
