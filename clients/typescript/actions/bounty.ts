/**
 * A bounty as the wallet's node shows it, compared with what the page states. Terms never change, so a page that states
 * others than the chain is wrong, and nothing is signed over it.
 */

import type { Address, Hex } from "viem";
import { pinnedBounty, ServiceError } from "../src/acting.js";
import type { HubAnswer } from "../src/acting.js";
import type { PinnedBounty } from "../src/opening.js";
import { refuseDifferences } from "./answers.js";
import type { Context, Reader } from "./context.js";
import type { StatedBounty } from "./settings.js";
import { moment } from "./text.js";
import { t } from "./words.js";

export const AWARDED = 1;
export const NO_VALID_SUBMISSION = 2;
const OPEN = 0;

/** The bounty with what the connected account has to do with it. */
export interface Bounty {
  readonly id: bigint;
  readonly poster: Address;
  readonly escrowAmount: bigint;
  readonly protocolFee: bigint;
  readonly guardianFee: bigint;
  readonly submissionDeadline: bigint;
  readonly revealAt: bigint;
  readonly judgingDeadline: bigint;
  readonly guardianRosterHash: Hex;
  readonly hasSubmissions: boolean;
  readonly isOpen: boolean;
  readonly outcome: number;
  readonly winner: Address;
  readonly winningSubmission: Hex;
  readonly awardDue: bigint;
  readonly refundDue: bigint;
  readonly protocolFeeDue: bigint;
  readonly protocolFeeRecipient: Address;
  /** Of the pinned roster, in its order, in lower case. */
  readonly guardians: readonly Address[];
  readonly quorum: bigint;
  /** What work for it is sealed to. */
  readonly pinned: PinnedBounty;
  /** The time of the chain's newest block. */
  readonly now: bigint;
  /** What the account can claim, in all its roles. */
  readonly claimable: bigint;
}

/** Reads the bounty of this page; raises `page_differs` where page and chain state other terms. */
export async function readState(reader: Reader, stated: StatedBounty): Promise<Bounty> {
  const { node, hub, account, settings } = reader;
  const id = BigInt(stated.bounty_id);
  const rosterOf = (version: bigint) => node.readContract({ ...hub, functionName: "getRoster", args: [version] });
  const [view, block, claimable, guess] = await Promise.all([
    node.readContract({ ...hub, functionName: "getBounty", args: [id] }),
    node.getBlock(),
    node.readContract({ ...hub, functionName: "claimable", args: [id, account] }),
    rosterOf(BigInt(stated.roster_version)).catch(() => undefined), // all in one moment; another one counts if the chain says so
  ]);
  const isStated = view.rosterVersion === BigInt(stated.roster_version);
  const roster = isStated && guess !== undefined ? guess : await rosterOf(view.rosterVersion);
  const pinned = pinnedBounty(settings.deployment, id, view, roster);
  refuseDifferences("page_differs", [
    [t`Poster`, stated.poster_address, view.poster.toLowerCase()],
    [t`escrow`, stated.escrow_amount, String(view.escrowAmount)],
    [t`commitment of the page`, stated.spec_commitment, view.specCommitment],
    [t`roster`, stated.guardian_roster_hash, view.guardianRosterHash],
    [t`submission deadline`, String(stated.submission_deadline), String(view.submissionDeadline)],
    [t`reveal point`, String(stated.reveal_at), String(view.revealAt)],
    [t`judging deadline`, String(stated.judging_deadline), String(view.judgingDeadline)],
    [t`protocol fee`, stated.protocol_fee, String(view.protocolFee)],
    [t`guardian fee`, stated.guardian_fee, String(view.guardianFee)],
  ]);
  const guardians = roster.accounts.map((each) => each.toLowerCase() as Address);
  requirePossible(view, claimable, account, guardians);
  return {
    ...view,
    id,
    poster: view.poster.toLowerCase() as Address,
    winner: view.winner.toLowerCase() as Address,
    protocolFeeRecipient: view.protocolFeeRecipient.toLowerCase() as Address,
    isOpen: view.outcome === OPEN,
    guardians,
    quorum: roster.quorum,
    pinned,
    now: block.timestamp,
    claimable,
  };
}

/** Whether the account is a Guardian of the pinned roster and the bounty can be judged. */
export function canJudge(account: Address, bounty: Bounty): boolean {
  const { isOpen, now, revealAt, judgingDeadline, hasSubmissions, guardians } = bounty;
  return isOpen && hasSubmissions && revealAt <= now && now < judgingDeadline && guardians.includes(account);
}

/** Says why an account can do nothing on a bounty's page at the moment, and from when it may. */
export function whyNothing(account: Address, bounty: Bounty): string {
  const { isOpen, now, submissionDeadline, revealAt, judgingDeadline, hasSubmissions, guardians, poster } = bounty;
  const isGuardian = guardians.includes(account);
  if (!isOpen) {
    if (bounty.outcome === AWARDED && account !== bounty.winner && account !== poster && !isGuardian) {
      return t`The bounty is over, and its award is another account's. Connect the account that took part.`;
    }
    return t`The bounty is over. What was due to this account is paid, or nothing was.`;
  }
  if (now < submissionDeadline) {
    if (isGuardian) return t`As a Guardian of this bounty it can open and judge work from ${moment(revealAt)}.`;
    return t`As the Poster it waits: Submissions close at ${moment(submissionDeadline)}, and Guardians decide by ${moment(judgingDeadline)}.`;
  }
  if (now < revealAt) return t`Submissions are closed. The work can be opened, by the Guardians alone, from ${moment(revealAt)}.`;
  if (hasSubmissions && now < judgingDeadline) {
    return t`Submissions are closed, and Guardians decide by ${moment(judgingDeadline)}. Come back then: what is due is claimed here.`;
  }
  return t`Its time is up.`;
}

/** Refuses a node whose amounts no end of a bounty with these terms leads to (docs/hub.md): `chain_inconsistent`. */
function requirePossible(money: HubAnswer<"getBounty">, claimable: bigint, account: Address, guardians: readonly Address[]): void {
  const { outcome, escrowAmount, protocolFee, guardianFee, awardDue, refundDue, protocolFeeDue } = money;
  const seats = BigInt(guardians.length);
  const share = guardianFee / seats;
  const award = escrowAmount - protocolFee - guardianFee;
  const passedOn = outcome === AWARDED ? award + protocolFee : 0n;
  const shares = escrowAmount - passedOn - refundDue; // of those who recorded a Verdict, while the refund is due
  const isRefundable = share === 0n ? shares === 0n : shares % share === 0n && shares >= 0n && shares <= share * seats;
  const isOwn = (each: Address) => each.toLowerCase() === account;
  const own =
    (isOwn(money.winner) ? awardDue : 0n) +
    (isOwn(money.poster) ? refundDue : 0n) +
    (isOwn(money.protocolFeeRecipient) ? protocolFeeDue : 0n);
  const isPossible =
    [0n, outcome === AWARDED ? award : 0n].includes(awardDue) &&
    [0n, outcome === AWARDED ? protocolFee : 0n].includes(protocolFeeDue) &&
    (refundDue === 0n || (outcome !== OPEN && isRefundable)) &&
    [0n, guardians.includes(account) ? share : 0n].includes(claimable - own);
  if (isPossible) return;
  const message = t`The wallet's node states amounts that do not follow from the bounty's terms.`;
  throw new ServiceError("chain_inconsistent", message, { nextAction: t`Choose another node in the wallet.` });
}

/** Refuses unless the outcome is that of a block that the chain has finalized: `not_final`. */
export async function requireFinal(context: Context, bounty: Bounty): Promise<void> {
  const { node, hub } = context;
  const question = { ...hub, functionName: "getBounty", args: [bounty.id] } as const;
  const final = await node.readContract(question, "finalized").catch((error: unknown) => {
    if (error instanceof ServiceError && error.code === "hub_refuses") return undefined; // not there yet
    throw error;
  });
  const isSame =
    final?.outcome === bounty.outcome &&
    final.winner.toLowerCase() === bounty.winner &&
    final.winningSubmission === bounty.winningSubmission;
  if (isSame) return;
  throw new ServiceError("not_final", t`The outcome is on the chain, but its block is not finalized yet.`, {
    nextAction: t`Try again in some minutes.`,
  });
}
