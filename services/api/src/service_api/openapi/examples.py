"""Examples of the document. Each request is sent as it stands by a test, with the identifiers of that test's world."""

from typing import Final

_COMMITMENT: Final = "0x" + "1f" * 32
_SOLVER: Final = "0x" + "ab" * 20
EXAMPLES: Final[dict[str, object]] = {
    "POST /api/bounties/{bounty_id}/submissions/{solver_address}/artifact-upload-url request": {
        "ciphertext_sha256": _COMMITMENT,
        "ciphertext_byte_length": 1048576,
    },
    "POST /api/bounties/{bounty_id}/delivery/wrap request": {
        "solver_address": _SOLVER,
        "submission_commitment": _COMMITMENT,
        "wrapped_key": "A" * 107 + "=",
    },
    "POST /api/bounties/{bounty_id}/delivery/retrieve request": {"poster_ephemeral_public_key": _COMMITMENT},
    "POST /subgraph request": {
        "query": "query ($n: Int!) { bounties(first: $n) { id } _meta { block { number } } }",
        "variables": {"n": 2},
    },
    "POST /api/bounty-challenge-specs/prepare-publication request": (
        "---\nversion: 1\ntitle: Halve the size of our tile set\nsummary: The tiles are too large.\n"
        "escrow_amount: 25000000\nsubmission_deadline: 1900000000\njudging_window_seconds: 259200\n"
        "acceptance_criteria:\n  - Every tile decodes to the same pixels.\ndeliverables:\n  - The tool.\n---\n# Tiles\n"
    ),
    "GET /api/bounties/{bounty_id}/delivery/status answer": {"exists": True},
    "POST /api/bounties/{bounty_id}/delivery/wrap answer": {"exists": True},
    "POST /api/written-verdicts/{report_commitment} answer": {"report_commitment": _COMMITMENT, "byte_length": 812},
    "GET /api/deployment/delivery-key answer": {
        "delivery_public_key": _COMMITMENT,
        "key_id": "0x0123456789abcdef",
        "algorithm": "x25519-sealed-box",
    },
}
