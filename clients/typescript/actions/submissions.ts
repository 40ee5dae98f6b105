/** Which Submissions a bounty has: as the API lists them, each of them held against the Hub. */

import type { Address } from "viem";
import { answerOf, disagreement } from "../src/acting.js";
import type { Schemas } from "../src/acting.js";
import { typed } from "./answers.js";
import { detailOf } from "./api.js";
import type { Bounty } from "./bounty.js";
import type { Context } from "./context.js";
import { element } from "./dom.js";
import type { Stage } from "./stage.js";
import { counted } from "./text.js";
import { activeOf } from "./witnesses.js";
import type { Recorded } from "./witnesses.js";

/** What is known of a bounty's Submissions. */
export interface Listing {
  /** By the address of the Solver. */
  readonly recorded: readonly Recorded[];
  /** How many further ones the API counts, and lists nowhere. */
  readonly unlisted: number;
}

const AT_ONCE = 25;
/** Rows of one answer, as many as the API gives; and answers that are asked for. */
const MOST_ROWS = 1_000;
const MOST_ANSWERS = 5;
const QUERY =
  "query Submissions($bounty: String!, $after: String!, $first: Int!) { submissions(where: {bounty_id: $bounty, " +
  "solver_address_gt: $after}, orderBy: solver_address, first: $first) { solver_address submission_commitment } }";

type Pair = Pick<Schemas["ActiveSubmission"], "solver_address" | "submission_commitment">;

/**
 * The Submissions of a bounty. A bounty's detail lists the first thousand, which somebody may fill with accounts of his
 * own; where there are more, the index is asked for all of them.
 */
export async function listingOf(context: Context, stage: Stage, bounty: Bounty): Promise<Listing> {
  const detail = await detailOf(context, stage, bounty);
  const { active_submissions: listed, active_submission_count: count } = detail;
  const further = count > listed.length ? await indexedOf(context, bounty.id) : [];
  const byAccount = new Map([...further, ...listed].map((each) => [each.solver_address, each]));
  const recorded = await recordedOf(context, [...byAccount.values()], bounty.id);
  return { recorded, unlisted: Math.max(0, Number(count) - recorded.length) || 0 };
}

/** By `/subgraph`, as far as it answers. */
async function indexedOf({ api }: Context, bountyId: bigint): Promise<Pair[]> {
  const found: Pair[] = [];
  for (let asked = 0; asked < MOST_ANSWERS; asked += 1) {
    const after = found.at(-1)?.solver_address ?? "";
    const body = { query: QUERY, variables: { bounty: bountyId.toString(), after, first: MOST_ROWS } };
    const answer = await typed("GraphqlAnswer", answerOf(api.POST("/subgraph", { body }))).catch(() => undefined);
    const rows = (answer?.data as { submissions?: unknown } | null | undefined)?.submissions;
    if (!Array.isArray(rows) || !rows.every(isPair)) break;
    found.push(...rows);
    if (rows.length < MOST_ROWS) break;
  }
  return found;
}

function isPair(row: unknown): row is Pair {
  const { solver_address: solver, submission_commitment: commitment } = (row ?? {}) as Record<string, unknown>;
  return /^0x[0-9a-f]{40}$/.test(String(solver)) && /^0x[0-9a-f]{64}$/.test(String(commitment));
}

/**
 * Each of them looked up in the Hub. `sources_disagree` where the wallet's node has another one of a Solver: a Verdict
 * would be for work that nobody opened.
 */
export async function recordedOf(context: Context, listed: readonly Pair[], bountyId: bigint): Promise<Recorded[]> {
  const found: Recorded[] = [];
  for (let start = 0; start < listed.length; start += AT_ONCE) {
    const some = listed.slice(start, start + AT_ONCE).map(async ({ solver_address, submission_commitment }) => {
      const solver = solver_address as Address;
      const commitment = await activeOf(context, bountyId, solver);
      if (commitment !== submission_commitment) {
        const theirs = `the API lists Submission ${submission_commitment} of ${solver}`;
        throw disagreement("number", theirs, `the wallet's node has ${commitment}`);
      }
      found.push({ solver, commitment });
    });
    await Promise.all(some);
  }
  return found.sort((left, right) => (left.solver < right.solver ? -1 : 1));
}

/** What is to be said above a choice among them. */
export function unlistedNote({ unlisted }: Listing): HTMLElement[] {
  if (unlisted === 0) return [];
  const text = `${counted(unlisted, "further Submission")} cannot be chosen: the service counts and does not list them.`;
  return [element("p", { class: "warning" }, `${text} service-cli guardian:open reads all from the chain.`)];
}
