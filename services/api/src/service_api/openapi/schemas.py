"""The values and objects of the interface as JSON Schema.

Promises: every object is closed (no further keys), every amount is a string, every key is snake_case; tests compare
real answers with these schemas.
"""

from collections.abc import Mapping
from typing import Final

Schema = Mapping[str, object]


def ref(name: str) -> Schema:
    """A reference to a component."""
    return {"$ref": f"#/components/schemas/{name}"}


def closed(properties: Mapping[str, Schema], *, optional: tuple[str, ...] = ()) -> Schema:
    """An object with exactly these keys; all are required but the optional ones."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }


def listed(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def text(description: str, **more: object) -> Schema:
    return {"type": "string", "description": description, **more}


def whole(description: str, **more: object) -> Schema:
    return {"type": "integer", "description": description, **more}


def one_of(*values: str) -> Schema:
    return {"type": "string", "enum": list(values)}


def maybe(schema: Schema) -> Schema:
    return {"oneOf": [schema, {"type": "null"}]}


BOOLEAN: Final[Schema] = {"type": "boolean"}
ADDRESS, BYTES32, AMOUNT, BOUNTY_ID = ref("Address"), ref("Bytes32"), ref("Amount"), ref("BountyId")
SECONDS, BLOCK_NUMBER = ref("UnixSeconds"), ref("BlockNumber")
WINNER = closed({"solver_address": ADDRESS, "submission_commitment": BYTES32})
TYPED_DATA: Final[Schema] = {
    "type": "object",
    "description": "EIP-712 typed data for eth_signTypedData_v4, with EIP-712's own key names.",
    "additionalProperties": True,
}
CALL = closed({"function_name": text("The Hub's function."), "args": ref("AbiArguments")})

VALUES: Final[dict[str, Schema]] = {
    "Address": text("An account: 0x and 40 lowercase hex digits.", pattern="^0x[0-9a-f]{40}$"),
    "Bytes32": text("32 bytes: 0x and 64 lowercase hex digits.", pattern="^0x[0-9a-f]{64}$"),
    "Amount": text("Smallest units of the escrow token, decimal.", pattern="^(0|[1-9][0-9]*)$"),
    "BountyId": text("A bounty's decimal id, from 1.", pattern="^[1-9][0-9]*$"),
    "UnixSeconds": whole("Chain time in seconds since 1970.", minimum=0),
    "BlockNumber": whole("A block's number.", minimum=0),
    "Timestamp": text("ISO 8601 UTC, whole seconds.", pattern="^[0-9-]{10}T[0-9:]{8}Z$"),
    "AbiArguments": {
        "type": "array",
        "description": "Arguments in ABI order: integers as decimal strings, tuples as lists, null where the wallet's "
        "signature belongs.",
        "items": {},
    },
    "Outcome": one_of("awarded", "no_valid_submission"),
    "SettlementReason": one_of("judged", "no_submissions", "guardians_silent", "quorum_not_reached"),
    "Finality": one_of("unsafe", "finalized"),
    "Block": closed({"number": BLOCK_NUMBER, "hash": BYTES32}),
}
ERRORS: Final[dict[str, Schema]] = {
    "Issue": closed({"path": text("The topic or area.", maxLength=120), "message": text("", maxLength=1500)}),
    "ErrorBody": closed(
        {
            "code": text("Machine-readable."),
            "message": text("For a person."),
            "issues": listed(ref("Issue")),
            "next_action": text("The suggested next step."),
            "retry_not_before": ref("Timestamp"),
        },
        optional=("retry_not_before",),
    ),
    "Error": closed({"error": ref("ErrorBody")}),
}
BOUNTIES: Final[dict[str, Schema]] = {
    "Facts": closed(
        {
            "status": one_of("open", "final"),
            "accepting": BOOLEAN,
            "judgeable": BOOLEAN,
            "poster_address": ADDRESS,
            "escrow_amount": AMOUNT,
            "spec_commitment": BYTES32,
            "submission_deadline": SECONDS,
            "reveal_at": SECONDS,
            "judging_deadline": SECONDS,
            "guardian_roster_hash": BYTES32,
            "protocol_fee": AMOUNT,
            "guardian_fee": AMOUNT,
            "outcome": maybe(ref("Outcome")),
            "settlement_reason": maybe(ref("SettlementReason")),
            "winner": maybe(WINNER),
        }
    ),
    "GuardianRoster": closed(
        {
            "version": whole("Counts from 1."),
            "guardian_roster_hash": BYTES32,
            "quorum": whole("Verdicts that decide."),
            "members": listed(
                closed(
                    {
                        "guardian_address": ADDRESS,
                        "encryption_public_key": BYTES32,
                        "last_active_at": maybe(SECONDS),
                    }
                )
            ),
        }
    ),
    "ActiveSubmission": closed(
        {
            "solver_address": ADDRESS,
            "submission_commitment": BYTES32,
            "submitted_at": SECONDS,
            "block_number": BLOCK_NUMBER,
            "block_hash": BYTES32,
        }
    ),
    "ChallengeTerms": closed(
        {
            "matches": BOOLEAN,
            "differences": listed(closed({"field": text(""), "page": text(""), "chain": text("")})),
        }
    ),
    "BountyItem": closed(
        {
            "bounty_id": BOUNTY_ID,
            "facts": ref("Facts"),
            "active_submission_count": whole("", minimum=0),
            "finality": ref("Finality"),
            "block": ref("Block"),
        }
    ),
    "BountyList": closed({"items": listed(ref("BountyItem")), "next_cursor": maybe(text("For the next page."))}),
    "BountyDetail": closed(
        {
            "bounty_id": BOUNTY_ID,
            "chain_id": whole(""),
            "hub_address": ADDRESS,
            "facts": ref("Facts"),
            "guardian_roster": ref("GuardianRoster"),
            "active_submissions": listed(ref("ActiveSubmission")),
            "active_submission_count": whole("May be more than are listed (at most 1,000 are).", minimum=0),
            "challenge": maybe(text("The committed Markdown; null when the stored bytes do not hash to it.")),
            "error": ref("ErrorBody"),
            "challenge_terms": maybe(ref("ChallengeTerms")),
            "verification_record": ref("VerificationRecord"),
            "verification_record_error": closed(
                {"code": one_of("not_finalized", "index_behind", "derivation_failed"), "message": text("")}
            ),
            "finality": ref("Finality"),
            "block": ref("Block"),
        },
        optional=("error", "verification_record", "verification_record_error"),
    ),
    "VerificationRecord": closed(
        {
            "version": whole(""),
            "chain_id": whole(""),
            "hub_address": ADDRESS,
            "bounty_id": BOUNTY_ID,
            "status": one_of("final"),
            "outcome": ref("Outcome"),
            "settlement_reason": ref("SettlementReason"),
            "winner": maybe(WINNER),
            "spec_commitment": BYTES32,
            "guardian_roster_hash": BYTES32,
            "verdicts": listed(
                closed(
                    {
                        "guardian_address": ADDRESS,
                        "kind": maybe(ref("Outcome")),
                        "solver_address": maybe(ADDRESS),
                        "submission_commitment": maybe(BYTES32),
                        "report_commitment": maybe(BYTES32),
                        "supported_result": BOOLEAN,
                    }
                )
            ),
            "amounts": listed(
                closed(
                    {
                        "recipient": ADDRESS,
                        "amount": AMOUNT,
                        "kind": one_of("winner_award", "poster_refund", "guardian_fee", "protocol_fee"),
                    }
                )
            ),
            "settlement": closed({"tx_hash": BYTES32, "block_number": BLOCK_NUMBER, "block_hash": BYTES32}),
            "log_digest": BYTES32,
        }
    ),
}
FEE_POLICY = closed(
    {"protocol_fee_bps": whole(""), "guardian_fee_bps": whole(""), "protocol_fee_recipient": ADDRESS},
)
OTHERS: Final[dict[str, Schema]] = {
    "PreparedPublication": closed(
        {
            "spec_commitment": BYTES32,
            "byte_length": whole(""),
            "chain_id": whole(""),
            "hub_address": ADDRESS,
            "escrow_token_address": ADDRESS,
            "poster_address": ADDRESS,
            "create_bounty": CALL,
            "create_bounty_with_authorization": CALL,
            "authorization_typed_data": TYPED_DATA,
            "fee_policy": FEE_POLICY,
            "guardian_roster": ref("GuardianRoster"),
            "review": closed({"review_id": text(""), "rubric_version": text(""), "rubric_hash": BYTES32}),
        }
    ),
    "UploadTargetRequest": closed({"ciphertext_sha256": BYTES32, "ciphertext_byte_length": whole("", minimum=1)}),
    "UploadTarget": closed(
        {
            "upload_url": text("One-time; expires."),
            "upload_method": one_of("PUT"),
            "upload_headers": {"type": "object", "additionalProperties": {"type": "string"}},
            "expires_at": ref("Timestamp"),
            "storage_locator": text("Compare with the one you derive."),
        }
    ),
    "Envelope": {"type": "object", "description": "The canonical envelope; see docs/formats.md."},
    "PreparedSubmission": closed(
        {
            "submission_commitment": BYTES32,
            "guardian_roster_hash": BYTES32,
            "transaction": closed(
                {
                    "chain_id": whole(""),
                    "to": ADDRESS,
                    "value": AMOUNT,
                    "data": text("0x-hex."),
                    "function_name": text(""),
                    "args": ref("AbiArguments"),
                }
            ),
        }
    ),
    "SubmissionContent": closed(
        {
            "envelope": text("Canonical JSON; its keccak256 is the commitment."),
            "submission_commitment": BYTES32,
            "solver_address": ADDRESS,
            "active": BOOLEAN,
            "download_url": text("Short-lived; ciphertext only."),
            "expires_at": ref("Timestamp"),
        }
    ),
    "StoredVerdict": closed({"report_commitment": BYTES32, "byte_length": whole("")}),
    "DeliveryKey": closed(
        {"delivery_public_key": BYTES32, "key_id": text("0x and 16 hex digits."), "algorithm": text("")}
    ),
    "DeliveryStatus": closed({"exists": BOOLEAN}),
    "WrapRequest": closed(
        {"solver_address": ADDRESS, "submission_commitment": BYTES32, "wrapped_key": text("Base64 of 80 bytes.")}
    ),
    "RetrieveRequest": closed({"poster_ephemeral_public_key": BYTES32}),
    "RetrievedKey": closed(
        {"solver_address": ADDRESS, "submission_commitment": BYTES32, "wrapped_key": text("Base64 of 80 bytes.")}
    ),
    "Deployment": closed(
        {
            "chain_id": whole(""),
            "hub_address": ADDRESS,
            "escrow_token": closed({"address": ADDRESS, "symbol": text(""), "decimals": whole("")}),
            "fee_policy": maybe(FEE_POLICY),
            "guardian_roster": maybe(ref("GuardianRoster")),
            "limits": closed(
                {
                    "min_escrow_amount": AMOUNT,
                    "min_judging_window_seconds": whole(""),
                    "max_judging_window_seconds": whole(""),
                    "min_submission_window_seconds": whole(""),
                    "max_submission_window_seconds": whole(""),
                    "max_challenge_bytes": whole(""),
                    "max_ciphertext_bytes": whole(""),
                }
            ),
            "reveal_delay_seconds": whole(""),
            "block_time_seconds": {"type": "number"},
            "freshness_window_blocks": whole(""),
            "beacon": closed(
                {
                    "chain_hash": BYTES32,
                    "public_key": text("Hex."),
                    "genesis_time": SECONDS,
                    "period_seconds": whole(""),
                }
            ),
            "public_host": text("The audience of signatures."),
        }
    ),
    "Rubric": closed({"rubric_version": text(""), "rubric_hash": BYTES32, "text": text("Markdown.")}),
    "GraphqlRequest": closed(
        {"query": text(""), "variables": {"type": "object"}, "operationName": {"type": ["string", "null"]}},
        optional=("variables", "operationName"),
    ),
    "GraphqlAnswer": closed({"data": {"type": ["object", "null"]}}),
    "Any": {"type": "object"},
}
COMPONENTS: Final[dict[str, Schema]] = VALUES | ERRORS | BOUNTIES | OTHERS
