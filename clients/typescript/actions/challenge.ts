/**
 * The terms in a challenge page's frontmatter. Only the lines that name money and times are read, and only in their one
 * form; the service reads the whole page, and its result is compared with this one.
 */

import type { Schemas } from "../src/api.js";
import { commitmentOf } from "../src/commitments.js";
import { ServiceError } from "../src/errors.js";
import { refuseDifferences } from "./api.js";
import type { Bounty } from "./bounty.js";

/** What a page fixes of a bounty: smallest units and seconds. */
export interface PageTerms {
  readonly title: string;
  readonly escrowAmount: bigint;
  readonly submissionDeadline: bigint;
  readonly judgingWindow: bigint;
}

/** The terms of a page; `invalid_bounty_challenge` names every line that is missing or unclear. */
export function termsOf(page: string): PageTerms {
  const frontmatter = /^---\n([\s\S]*?\n)---\n/.exec(page)?.[1];
  if (frontmatter === undefined) {
    throw new ServiceError(
      "invalid_bounty_challenge",
      "The page does not begin with frontmatter between two lines of ---.",
      {
        nextAction: "Begin with the example of docs/challenge-page.md.",
      },
    );
  }
  const issues: { path: string; message: string }[] = [];
  const value = (name: string, form: RegExp): string => {
    const lines = [...frontmatter.matchAll(new RegExp(`^${name}:[ \\t]*(.*)$`, "gm"))];
    const text = lines[0]?.[1]?.trim() ?? "";
    if (lines.length === 1 && form.test(text)) return text;
    issues.push({ path: name, message: lines.length > 1 ? "stands there twice" : "is missing, or not in its form" });
    return "1";
  };
  const number = (name: string) => BigInt(value(name, /^[1-9][0-9]{0,76}$/));
  const terms = {
    title: value("title", /^\S/),
    escrowAmount: number("escrow_amount"),
    submissionDeadline: number("submission_deadline"),
    judgingWindow: number("judging_window_seconds"),
  };
  if (issues.length === 0) return terms;
  throw new ServiceError("invalid_bounty_challenge", "The page's terms cannot be read.", {
    issues,
    nextAction: "Write each as a plain decimal on a line of its own.",
  });
}

/** Refuses a bounty whose page does not hash to the commitment, or states other terms: anyone can fund any page. */
export function requireSameTerms(detail: Schemas["BountyDetail"], bounty: Bounty): void {
  const page = detail.challenge;
  if (typeof page !== "string" || commitmentOf(page) !== bounty.pinned.specCommitment) {
    throw new ServiceError(
      "challenge_terms_mismatch",
      "The service has no page that hashes to the bounty's commitment.",
      {
        nextAction: "Ask the Poster for the page's bytes before you work for this bounty.",
      },
    );
  }
  const terms = termsOf(page);
  refuseDifferences("challenge_terms_mismatch", [
    ["escrow_amount", String(terms.escrowAmount), String(bounty.escrowAmount)],
    ["submission_deadline", String(terms.submissionDeadline), String(bounty.submissionDeadline)],
    ["judging_window_seconds", String(terms.judgingWindow), String(bounty.judgingDeadline - bounty.revealAt)],
  ]);
}
