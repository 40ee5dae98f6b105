/** Whether the page behind a bounty states the terms that were funded. */

import { commitmentOf, pageTerms, ServiceError } from "../src/acting.js";
import type { Schemas } from "../src/acting.js";
import { refuseDifferences } from "./answers.js";
import type { Bounty } from "./bounty.js";
import { t } from "./words.js";

/** Refuses a bounty whose page does not hash to the commitment, or states other terms: anyone can fund any page. */
export function requireSameTerms(detail: Schemas["BountyDetail"], bounty: Bounty): void {
  const page = detail.challenge;
  if (typeof page !== "string" || commitmentOf(page) !== bounty.pinned.specCommitment) {
    throw new ServiceError(
      "challenge_terms_mismatch",
      detail.withheld
        ? t`The operator of this service withholds the page: ${detail.withheld.reason}`
        : t`The service has no page that hashes to the bounty's commitment.`,
      {
        nextAction: t`Ask the Poster for the page's bytes before you work for this bounty.`,
      },
    );
  }
  const terms = pageTerms(page);
  refuseDifferences("challenge_terms_mismatch", [
    ["escrow_amount", String(terms.escrowAmount), String(bounty.escrowAmount)],
    ["submission_deadline", String(terms.submissionDeadline), String(bounty.submissionDeadline)],
    ["judging_window_seconds", String(terms.judgingWindow), String(bounty.judgingDeadline - bounty.revealAt)],
  ]);
}
