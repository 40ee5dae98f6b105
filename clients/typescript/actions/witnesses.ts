/**
 * Facts on which an act rests that cannot be taken back, each by those who vouch for it: the wallet's node, the API,
 * this browser's journal and this machine's clock. What is decided about them is the library's (`src/witnesses.ts`).
 */

import type { Address, Hex } from "viem";
import {
  answerOf,
  disagreement,
  FUNDED_QUERY,
  hourBegins,
  isOver,
  MOST_LISTED,
  requireClosed,
  requireRecordedDelay,
  requireRevealPoint,
  ServiceError,
} from "../src/acting.js";
import { refuseDifferences } from "./answers.js";
import { detailOf, requireStatedDelay } from "./api.js";
import { hubBounty, requireFinal, type Bounty } from "./bounty.js";
import type { Acting, Context } from "./context.js";
import { pause } from "./dom.js";

/** A Submission that the Hub records. */
export interface Recorded {
  readonly solver: Address;
  readonly commitment: Hex;
}

/** The wallet's node and the API may be some blocks apart. */
const LAG_TRIES = 4;
const LAG_MILLISECONDS = 1_500;

/** A bounty on a page, and the nonce of the terms that it was created with, where a log shows it. */
export interface Escrow {
  readonly id: bigint;
  readonly nonce?: Hex;
}

/** This machine's clock; undefined where the chain's time is moved by hand. */
function clockOf({ settings }: Context): bigint | undefined {
  return settings.hasMovedTime ? undefined : BigInt(Math.floor(Date.now() / 1_000));
}

/** From when an authorization's hour is counted; `time_disagrees`. */
export async function signingTime(context: Context): Promise<bigint> {
  return hourBegins((await context.node.getBlock()).timestamp, clockOf(context));
}

/** Whether what is good until a moment can be used no more. */
export async function hasPassed(context: Context, moment: bigint): Promise<boolean> {
  return isOver(moment, (await context.node.getBlock({ blockTag: "finalized" })).timestamp, clockOf(context));
}

/**
 * Every bounty of this account on this page: by the API's index, by the node's log of the last day, and the one that an
 * earlier visit may have `reported`; oldest first, and each looked up in the Hub. `sources_disagree` where the API shows
 * one that the node does not have: one of them hides an escrow that was paid, or invents one.
 */
export async function escrowsOf(context: Acting, page: Hex, reported: bigint | undefined): Promise<readonly Escrow[]> {
  for (let tries = 1; ; tries += 1) {
    const [listed, logged] = await Promise.all([listedBy(context, page), loggedBy(context, page)]);
    const found = new Map<bigint, Escrow>(logged.map((escrow) => [escrow.id, escrow]));
    const unknown: bigint[] = [];
    for (const id of reported === undefined ? listed : [...listed, reported]) {
      if (found.has(id)) continue;
      if (await isEscrow(context, id, page)) found.set(id, { id });
      else if (id !== reported) unknown.push(id);
    }
    const [invented] = unknown;
    if (invented === undefined) return [...found.values()].sort((left, right) => (left.id < right.id ? -1 : 1));
    if (tries === LAG_TRIES) {
      throw disagreement("unfunded", `the API says that it created bounty ${invented}`, "the wallet's node has no such bounty");
    }
    await pause(LAG_MILLISECONDS);
  }
}

async function listedBy({ api, account, stage }: Acting, page: Hex): Promise<readonly bigint[]> {
  const body = { query: FUNDED_QUERY, variables: { poster: account, page, first: MOST_LISTED } };
  const { data } = await stage.until(() => answerOf(api.POST("/subgraph", { body })));
  const rows = (data as { bounties?: unknown } | null | undefined)?.bounties;
  const ids = Array.isArray(rows) ? rows.map((row: unknown) => String((row as { bounty_id?: unknown } | null)?.bounty_id)) : [""];
  if (ids.every((id) => /^\d{1,78}$/.test(id))) return ids.map(BigInt);
  throw disagreement("unfunded", "the API returns no list", "no other source has all of them");
}

async function loggedBy({ node, account }: Context, page: Hex): Promise<readonly Escrow[]> {
  const found = await node.findRecent({ eventName: "BountyCreated", args: { poster: account, specCommitment: page } });
  return found.map(({ args }) => ({ id: args["bountyId"] as bigint, nonce: args["authorizationNonce"] as Hex }));
}

/** Whether the node has it as this account's bounty on this page; a node that does not answer says nothing of it. */
async function isEscrow(context: Context, id: bigint, page: Hex): Promise<boolean> {
  const found = await hubBounty(context, id);
  return found?.poster.toLowerCase() === context.account && found.specCommitment === page;
}

/** The latest moment that this machine's clock or a block says it is: what one of them has behind it may have passed. */
function latestMoment(context: Context, newest: bigint): bigint {
  const clock = clockOf(context) ?? newest;
  return clock > newest ? clock : newest;
}

/** Refuses to seal for a bounty whose reveal point is not what a deadline that is to come makes it. */
export async function requireSealable(context: Acting, bounty: Bounty): Promise<void> {
  const { node, hub } = context;
  const { submissionDeadline, revealAt, now } = bounty;
  const delay = await node.readContract({ ...hub, functionName: "revealDelay" });
  await requireStatedDelay(context, delay);
  requireRecordedDelay(context.settings.deployment.chainId, delay);
  requireRevealPoint(submissionDeadline, revealAt, delay, latestMoment(context, now));
}

/** Refuses to send an envelope that can be opened by now. */
export async function requireSealed(context: Context, revealAt: number): Promise<void> {
  requireClosed(BigInt(revealAt), latestMoment(context, (await context.node.getBlock()).timestamp));
}

/** The winning Submission, once it is final, by the wallet's node and by the API. */
export async function finalWinner(context: Acting, bounty: Bounty): Promise<Recorded> {
  await requireFinal(context, bounty);
  const { id, winner: solver, winningSubmission: commitment } = bounty;
  const { facts } = await detailOf(context, bounty);
  if (facts.outcome === null) await requireIndexed(context);
  refuseDifferences("read_model_mismatch", [
    ["facts.outcome", facts.outcome, "awarded"],
    ["facts.winner.solver_address", facts.winner?.solver_address, solver],
    ["facts.winner.submission_commitment", facts.winner?.submission_commitment, commitment],
  ]);
  const active = await activeOf(context, id, solver);
  if (active === commitment) return { solver, commitment };
  throw disagreement("winner", `bounty ${id} names Submission ${commitment}`, `its Solver has ${active}`);
}

/**
 * Refuses where the service's index has not reached the chain's final block, by its own word: what it shows is old, and
 * contradicts nobody. `index_behind`.
 */
async function requireIndexed({ api, node, stage }: Acting): Promise<void> {
  const { position } = await stage.until(() => answerOf(api.GET("/api/status")));
  const { timestamp: final } = await node.getBlock({ blockTag: "finalized" });
  const indexed = BigInt(position?.block_time ?? final);
  if (indexed >= final) return;
  const behind = (await node.getBlock()).timestamp - indexed;
  const message = `The service's index is behind the chain by ${behind} seconds, and lacks how the bounty ended.`;
  throw new ServiceError("index_behind", message, { nextAction: "Nothing was signed. Try again in some minutes." });
}

/** A Solver's Submission, as the wallet's node has it. */
export function activeOf({ node, hub }: Context, bountyId: bigint, solver: Address): Promise<Hex> {
  return node.readContract({ ...hub, functionName: "getSubmission", args: [bountyId, solver] });
}
