/**
 * A bounty as the wallet's node shows it, compared with what the page states. Terms never change, so a page that states
 * others than the chain is wrong, and nothing is signed over it.
 */

import type { Address, Hex } from "viem";
import { pinnedBounty, ServiceError, type HubAnswer } from "../src/acting.js";
import type { PinnedBounty } from "../src/opening.js";
import { noneIf, refuseDifferences } from "./answers.js";
import type { Context } from "./context.js";
import type { StatedBounty } from "./settings.js";
import { moment } from "./text.js";

export const AWARDED = 1;
export const NO_VALID_SUBMISSION = 2;
const OPEN = 0;

/** The bounty as the Hub has it, with accounts in lower case, and with what the connected account has to do with it. */
export interface Bounty extends HubAnswer<"getBounty"> {
  readonly id: bigint;
  readonly isOpen: boolean;
  /** Of the pinned roster, in its order, in lower case. */
  readonly guardians: readonly Address[];
  readonly quorum: bigint;
  /** What work for it is sealed to. */
  readonly pinned: PinnedBounty;
  /** The time of the chain's newest block. */
  readonly now: bigint;
  /** What the account can claim, in all its roles. */
  readonly claimable: bigint;
  /** The account's recorded Submission, `zeroHash` if there is none. */
  readonly submission: Hex;
  /** Whether the account has recorded a Verdict. */
  readonly hasVerdict: boolean;
}

/** Reads the bounty of this page; raises `page_differs` where page and chain state other terms. */
export async function readState(
  { node, hub, account, settings }: Pick<Context, "node" | "hub" | "account" | "settings">,
  stated: StatedBounty,
): Promise<Bounty> {
  const id = BigInt(stated.bounty_id);
  const [view, block, claimable, roster, submission, [kind]] = await Promise.all([
    node.readContract({ ...hub, functionName: "getBounty", args: [id] }),
    node.getBlock(),
    node.readContract({ ...hub, functionName: "claimable", args: [id, account] }),
    node.readContract({ ...hub, functionName: "getRoster", args: [BigInt(stated.roster_version)] }),
    node.readContract({ ...hub, functionName: "getSubmission", args: [id, account] }),
    node.readContract({ ...hub, functionName: "getVerdict", args: [id, account] }),
  ]);
  refuseDifferences("page_differs", [
    ["Poster", stated.poster_address, view.poster.toLowerCase()],
    ["escrow", stated.escrow_amount, String(view.escrowAmount)],
    ["commitment of the page", stated.spec_commitment, view.specCommitment],
    ["roster", `${stated.roster_version} ${stated.guardian_roster_hash}`, `${view.rosterVersion} ${view.guardianRosterHash}`],
    ["submission deadline", String(stated.submission_deadline), String(view.submissionDeadline)],
    ["reveal point", String(stated.reveal_at), String(view.revealAt)],
    ["judging deadline", String(stated.judging_deadline), String(view.judgingDeadline)],
    ["protocol fee", stated.protocol_fee, String(view.protocolFee)],
    ["guardian fee", stated.guardian_fee, String(view.guardianFee)],
  ]);
  return {
    ...view,
    id,
    poster: view.poster.toLowerCase() as Address,
    winner: view.winner.toLowerCase() as Address,
    protocolFeeRecipient: view.protocolFeeRecipient.toLowerCase() as Address,
    isOpen: view.outcome === OPEN,
    guardians: roster.accounts.map((each) => each.toLowerCase() as Address),
    quorum: roster.quorum,
    pinned: pinnedBounty(settings.deployment, id, view, roster),
    now: block.timestamp,
    claimable,
    submission,
    hasVerdict: kind !== 0,
  };
}

/** Says why an account can do nothing on a bounty's page at the moment; from when on who may do what, the page shows. */
export function whyNothing(account: Address, { isOpen, outcome, guardians, poster, winner, judgingDeadline }: Bounty): string {
  if (isOpen) return `What comes next begins at the times that this page shows; Guardians decide by ${moment(judgingDeadline)}.`;
  if (outcome === AWARDED && ![winner, poster, ...guardians].includes(account)) {
    return "The bounty is over, and its award belongs to another account. If that one is yours, connect it.";
  }
  return "The bounty is over. This account has been paid everything it was due, if anything.";
}

/** Reads a bounty of the Hub; undefined where it has none, or none yet. */
export function hubBounty({ node, hub }: Context, id: bigint, blockTag: "latest" | "finalized" = "latest") {
  const question = { ...hub, functionName: "getBounty", args: [id], blockTag } as const;
  return node.readContract(question).catch(noneIf("hub_refuses"));
}

/** Refuses unless the outcome is that of a block that the chain has finalized: `not_final`. */
export async function requireFinal(context: Context, bounty: Bounty): Promise<void> {
  const final = await hubBounty(context, bounty.id, "finalized");
  const isSame =
    final?.outcome === bounty.outcome &&
    final.winner.toLowerCase() === bounty.winner &&
    final.winningSubmission === bounty.winningSubmission;
  if (isSame) return;
  throw new ServiceError("not_final", "The outcome is on the chain, but its block is not finalized yet.", {
    nextAction: "Try again in some minutes.",
  });
}
