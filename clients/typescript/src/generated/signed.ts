// Made by tools/generate/typescript.py. Do not edit.

/** The operations that carry a signature: method and path as in the OpenAPI document. */
export const SIGNED_OPERATIONS: ReadonlySet<string> = new Set([
  "GET /api/bounties/{bounty_id}/challenge",
  "GET /api/bounties/{bounty_id}/submissions/{submission_commitment}/content",
  "GET /api/written-verdicts/{report_commitment}/document",
  "POST /api/bounties/{bounty_id}/delivery/retrieve",
  "POST /api/bounties/{bounty_id}/delivery/wrap",
  "POST /api/bounties/{bounty_id}/submissions/contents",
  "POST /api/bounties/{bounty_id}/submissions/{solver_address}/artifact-upload-url",
  "POST /api/bounties/{bounty_id}/submissions/{solver_address}/prepare",
  "POST /api/bounty-challenge-specs/prepare-publication",
  "POST /api/written-verdicts/{report_commitment}",
]);
