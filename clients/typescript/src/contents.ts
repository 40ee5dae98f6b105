/** Sealed work of one bounty, many Submissions by one signed request (docs/interface.md). */

import type { Hex } from "viem";
import { answerOf } from "./api.js";
import type { Api, Schemas } from "./api.js";
import { commitmentOf } from "./commitments.js";
import { ServiceError } from "./errors.js";

export { MOST_CONTENTS } from "./generated/witnesses.js";

/** One Submission as the API has it, or why it does not give it. */
export type ReadContent =
  | { readonly commitment: Hex; readonly content: Schemas["SubmissionContent"] }
  | { readonly commitment: Hex; readonly refusal: ServiceError };

/**
 * Reads up to `MOST_CONTENTS` Submissions of a bounty, each once, by one signature of its Poster or of a Guardian of its
 * roster; gives them in the order of `commitments`. A Submission that cannot be read is refused for itself, and so is one
 * whose envelope is not the committed one (`read_model_mismatch`); its `retryAfter` says when to ask for it again. Raises what is wrong with the whole request, and
 * `answer_malformed` where the API answers about other Submissions.
 */
export async function readContents(api: Api, bountyId: bigint, commitments: readonly Hex[]): Promise<ReadContent[]> {
  const { items } = await answerOf(
    api.POST("/api/bounties/{bounty_id}/submissions/contents", {
      params: { path: { bounty_id: bountyId.toString() } },
      body: { submission_commitments: [...commitments] },
    }),
  );
  if (!Array.isArray(items) || items.length !== commitments.length) throw malformed();
  return commitments.map((commitment, at) => contentOf(commitment, items[at]));
}

function contentOf(commitment: Hex, item: Schemas["ContentOrError"] | undefined): ReadContent {
  if (item?.submission_commitment !== commitment) throw malformed();
  const { content, error } = item;
  if (content != null) {
    if (typeof content.envelope !== "string" || typeof content.download_url !== "string") throw malformed();
    if (commitmentOf(content.envelope) === commitment) return { commitment, content };
    const message = "The API has another envelope than the one that is committed to.";
    return { commitment, refusal: new ServiceError("read_model_mismatch", message) };
  }
  if (typeof error?.code !== "string" || typeof error.message !== "string") throw malformed();
  const wait = item.retry_after;
  const retry = typeof wait === "number" ? { retryAfter: wait } : {};
  return { commitment, refusal: new ServiceError(error.code, error.message, { nextAction: error.next_action, ...retry }) };
}

function malformed(): ServiceError {
  return new ServiceError("answer_malformed", "The API does not answer about the Submissions that were asked for.");
}
