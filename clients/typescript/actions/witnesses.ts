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
  RECENT_SECONDS,
  requireClosed,
  requireRecordedDelay,
  requireRevealPoint,
  ServiceError,
} from "../src/acting.js";
import { refuseDifferences, typed } from "./answers.js";
import { detailOf, requireStatedDelay } from "./api.js";
import { requireFinal } from "./bounty.js";
import type { Bounty } from "./bounty.js";
import type { Context } from "./context.js";
import { pause } from "./paced.js";
import type { Stage } from "./stage.js";
import { tolerated } from "./transactions.js";
import { t } from "./words.js";

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

/** A bounty as the API lists it, whose word alone its nonce is. */
interface Listed {
  readonly id: bigint;
  readonly nonce: Hex;
  readonly block: bigint;
}

/** This machine's clock; undefined where the chain's time is moved by hand. */
export function clockOf({ settings }: Context): bigint | undefined {
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

/** What an account has funded on a page. */
export interface Escrows {
  readonly known: readonly Escrow[];
  /** Bounties that an earlier visit of this browser saw, and that nobody shows any more. */
  readonly hidden: readonly bigint[];
}

/**
 * Every bounty of this account on this page: by the API's index, and by the node's log of the last day; oldest first.
 * With its nonce where the log has it, for an older one that of the block that the API names.
 * `sources_disagree` where the API shows one that the node does not have: one of them hides an escrow that was paid, or
 * invents one. What both show in a final block is remembered, and an earlier visit may have `reported` one: these are
 * looked up in the Hub, whatever list has lost them, so that nobody can hide them from later visits.
 */
export async function escrowsOf(
  context: Context,
  stage: Stage,
  page: Hex,
  reported: bigint | undefined,
): Promise<Escrows> {
  for (let tries = 1; ; tries += 1) {
    const [stated, logged] = await Promise.all([listedBy(context, stage, page), loggedBy(context, page)]);
    const { listed, unknown } = await heldAgainstNode(context, stated, logged, page);
    if (unknown === undefined) {
      const found = new Map<bigint, Escrow>([...listed, ...logged].map((escrow) => [escrow.id, escrow]));
      const seen = await seenFinal(context, page, listed);
      if (reported !== undefined) seen.add(reported);
      const hidden: bigint[] = [];
      for (const id of [...seen].filter((each) => !found.has(each))) {
        if (await isEscrow(context, id, page, "latest")) found.set(id, { id });
        else hidden.push(id);
      }
      const known = [...found.values()].sort((left, right) => (left.id < right.id ? -1 : 1));
      return { known, hidden };
    }
    if (tries === LAG_TRIES) {
      throw disagreement("unfunded", t`the API shows bounty ${unknown} on it`, t`the wallet's node has no such bounty`);
    }
    await pause(LAG_MILLISECONDS);
  }
}

async function listedBy({ api, account }: Context, stage: Stage, page: Hex): Promise<readonly Listed[]> {
  const body = { query: FUNDED_QUERY, variables: { poster: account, page, first: MOST_LISTED } };
  const { data } = await stage.until(() =>
    typed("GraphqlAnswer", answerOf(api.POST("/subgraph", { body }))),
  );
  const rows = (data as { bounties?: unknown } | null | undefined)?.bounties;
  if (!Array.isArray(rows) || !rows.every(isListed)) {
    throw disagreement("unfunded", t`the API answers no list`, t`nobody else has all of them`);
  }
  return rows.map(({ bounty_id, authorization_nonce, block_number }) => ({
    ...{ id: BigInt(bounty_id), nonce: authorization_nonce, block: BigInt(block_number) },
  }));
}

interface ListedRow {
  readonly bounty_id: string;
  readonly authorization_nonce: Hex;
  readonly block_number: string | number;
}

function isListed(row: unknown): row is ListedRow {
  const { bounty_id: id, authorization_nonce: nonce, block_number: block } = (row ?? {}) as Record<string, unknown>;
  return [id, block].every((each) => /^\d{1,78}$/.test(String(each))) && /^0x[0-9a-f]{64}$/.test(String(nonce));
}

async function loggedBy({ node, account }: Context, page: Hex): Promise<readonly Escrow[]> {
  const head = await node.getBlockNumber();
  const since = await node.blockBefore(head, RECENT_SECONDS);
  const expected = { eventName: "BountyCreated", args: { poster: account, specCommitment: page } } as const;
  const found = await node.findAll(expected, since);
  return found.map(({ args }) => ({ id: args["bountyId"] as bigint, nonce: args["authorizationNonce"] as Hex }));
}

/** What the API lists, as the node has it; `unknown`: the first that it does not have. */
async function heldAgainstNode(
  context: Context,
  stated: readonly Listed[],
  logged: readonly Escrow[],
  page: Hex,
): Promise<{ readonly listed: readonly Escrow[]; readonly unknown?: bigint }> {
  const { node, account } = context;
  const listed: Escrow[] = [];
  for (const { id, nonce, block } of stated) {
    const args = { poster: account, specCommitment: page, bountyId: id, authorizationNonce: nonce };
    const isLogged =
      logged.some((each) => each.id === id && each.nonce === nonce) ||
      (await tolerated(node.findIn({ eventName: "BountyCreated", args }, block))) !== undefined;
    if (isLogged) listed.push({ id, nonce });
    else if (await isEscrow(context, id, page, "latest")) listed.push({ id });
    else return { listed, unknown: id };
  }
  return { listed };
}

/** Whether the node has it as this account's bounty on this page; a node that does not answer says nothing of it. */
async function isEscrow(
  { node, hub, account }: Context,
  id: bigint,
  page: Hex,
  block: "latest" | "finalized",
): Promise<boolean> {
  const question = { ...hub, functionName: "getBounty", args: [id] } as const;
  const found = await node.readContract(question, block).catch((error: unknown) => {
    if (error instanceof ServiceError && error.code === "hub_refuses") return undefined;
    throw error;
  });
  return found?.poster.toLowerCase() === account && found.specCommitment === page;
}

/** What any visit of this browser saw in a final block, by the node and by the API; this one, too. */
async function seenFinal(context: Context, page: Hex, listed: readonly Escrow[]): Promise<Set<bigint>> {
  const name = `seen ${page}`;
  const seen = new Set(await context.journal.get<readonly bigint[]>(name));
  const before = seen.size;
  for (const { id } of listed) {
    const isFinal = seen.has(id) || (await isEscrow(context, id, page, "finalized").catch(() => false));
    if (isFinal) seen.add(id); // else a later visit sees it
  }
  if (seen.size > before) await context.journal.put(name, [...seen]);
  return seen;
}

/** The latest moment that this machine's clock or a block says it is: what one of them has behind it may have passed. */
function latestMoment(context: Context, newest: bigint): bigint {
  const clock = clockOf(context) ?? newest;
  return clock > newest ? clock : newest;
}

/** Refuses to seal for a bounty whose reveal point is not what a deadline that is to come makes it. */
export async function requireSealable(context: Context, stage: Stage, bounty: Bounty): Promise<void> {
  const { node, hub } = context;
  const { submissionDeadline, revealAt, now } = bounty;
  const delay = await node.readContract({ ...hub, functionName: "revealDelay" });
  await requireStatedDelay(context, stage, delay);
  requireRecordedDelay(context.settings.deployment.chainId, delay);
  requireRevealPoint(submissionDeadline, revealAt, delay, latestMoment(context, now));
}

/** Refuses to send an envelope that can be opened by now. */
export async function requireSealed(context: Context, revealAt: number): Promise<void> {
  requireClosed(BigInt(revealAt), latestMoment(context, (await context.node.getBlock()).timestamp));
}

/** The winning Submission, once it is final, by the wallet's node and by the API. */
export async function finalWinner(context: Context, stage: Stage, bounty: Bounty): Promise<Recorded> {
  await requireFinal(context, bounty);
  const { id, winner: solver, winningSubmission: commitment } = bounty;
  const { facts } = await detailOf(context, stage, bounty);
  refuseDifferences("read_model_mismatch", [
    ["facts.outcome", facts.outcome, "awarded"],
    ["facts.winner.solver_address", facts.winner?.solver_address, solver],
    ["facts.winner.submission_commitment", facts.winner?.submission_commitment, commitment],
  ]);
  const active = await activeOf(context, id, solver);
  if (active === commitment) return { solver, commitment };
  throw disagreement("winner", t`bounty ${id} names Submission ${commitment}`, t`its Solver has ${active}`);
}

/**
 * This account's Submission, as the wallet's node has it. One that is none of `unlisted` is listed by the service, too, or
 * comes to be in a moment; else one of them hides or invents it.
 */
export async function listedSubmission(
  context: Context,
  stage: Stage,
  bounty: Bounty,
  unlisted: readonly Hex[],
): Promise<Hex> {
  const { account } = context;
  for (let tries = 1; ; tries += 1) {
    const active = await activeOf(context, bounty.id, account);
    if (unlisted.includes(active)) return active;
    const { active_submissions: listed, active_submission_count: count } = await detailOf(context, stage, bounty);
    const found = listed.find(({ solver_address }) => solver_address === account)?.submission_commitment;
    if (found === active || (found === undefined && listed.length < count)) return active;
    if (tries === LAG_TRIES) refuseDifferences("read_model_mismatch", [["active_submissions", found ?? "none", active]]);
    stage.say(t`The service does not show your earlier Submission yet.`);
    await pause(LAG_MILLISECONDS);
  }
}

/** A Solver's Submission, as the wallet's node has it. */
export function activeOf({ node, hub }: Context, bountyId: bigint, solver: Address): Promise<Hex> {
  return node.readContract({ ...hub, functionName: "getSubmission", args: [bountyId, solver] });
}
