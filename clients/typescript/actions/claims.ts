/** What needs the Hub alone: claims of every role, settling, and a Guardian's sign of life. */

import { claimAct, heartbeatAct, settlementAct, type ClaimFunction } from "../src/acting.js";
import { AWARDED, requireFinal, type Bounty } from "./bounty.js";
import type { Context } from "./context.js";
import { amount, moment } from "./text.js";
import { carryOut, type Plan } from "./transactions.js";
import type { Offer } from "./view.js";

/** Offers what the account can claim of a final bounty, part by part; and settling, once a bounty's time is up. */
export function hubOffers(context: Context, bounty: Bounty): Offer[] {
  if (bounty.isOpen) {
    const { now, submissionDeadline, judgingDeadline, hasSubmissions } = bounty;
    return now >= (hasSubmissions ? judgingDeadline : submissionDeadline) ? [settling(context, bounty)] : [];
  }
  const { account } = context;
  const { winner, poster, protocolFeeRecipient, awardDue, refundDue, protocolFeeDue, claimable } = bounty;
  const award = bounty.outcome === AWARDED && account === winner ? awardDue : 0n;
  const refund = account === poster ? refundDue : 0n;
  const fee = account === protocolFeeRecipient ? protocolFeeDue : 0n;
  const parts: [bigint, ClaimFunction, string][] = [
    [award, "claim", "the award"],
    [refund, "claimRefund", "the Poster's part"],
    [claimable - award - refund - fee, "claimGuardianFee", "a Guardian's share"], // what remains
    [fee, "claimProtocolFee", "the protocol fee"],
  ];
  return parts.filter(([due]) => due > 0n).map((part) => claiming(context, bounty, ...part));
}

/** Offers a Guardian's sign of life; the Hub takes it of every account that was on a roster at some time. */
export function heartbeat(context: Context): Offer {
  const { account, settings, node } = context;
  const plan: Plan = {
    act: heartbeatAct(settings.deployment.hubAddress, account),
    name: "heartbeat",
    title: "Record that you are active",
    facts: [["What it does", `records that the Guardian ${account} is active; no money moves`]],
    async result({ blockNumber }) {
      const at = moment((await node.getBlock({ blockNumber })).timestamp);
      return ["Recorded.", `Nothing is left to do: Posters see that you were active on ${at}.`];
    },
  };
  return {
    title: "Show that you are active",
    text: "Records on the chain that this Guardian is active. Posters see when it was last active.",
    button: "Show that you are active",
    run: (acting) => carryOut(acting, plan),
  };
}

function claiming(context: Context, bounty: Bounty, due: bigint, functionName: ClaimFunction, what: string): Offer {
  const { account, token, settings } = context;
  const shown = amount(due, token);
  const plan: Plan = {
    act: claimAct(settings.deployment.hubAddress, account, { functionName, bountyId: bounty.id }),
    name: `${functionName} ${bounty.id}`,
    title: `Claim ${what}`,
    facts: [
      ["What it does", `pays ${what} of bounty ${bounty.id} out of the contract`],
      ["You receive", shown],
      ["Paid to", account],
    ],
    async ready() {
      await requireFinal(context, bounty);
      return [];
    },
    async result({ args }) {
      const paid = `Paid: ${amount(args["amount"] as bigint, token)}`;
      return [paid, `Nothing is left to do: the amount is in your account ${account}.`];
    },
  };
  return {
    title: `Claim ${what}: ${shown}`,
    text: "The contract holds this amount for this account. It is never sent automatically, and the claim does not expire.",
    button: `Claim ${shown}`,
    begins: "alone",
    run: (acting) => carryOut(acting, plan),
  };
}

function settling(context: Context, { id, poster }: Bounty): Offer {
  const plan: Plan = {
    act: settlementAct(context.settings.deployment.hubAddress, id),
    name: `settle ${id}`,
    title: "Settle the bounty",
    facts: [
      ["What it does", `ends bounty ${id} without a winner`],
      ["Who gains", `the Poster ${poster} can then claim its part; you receive nothing`],
    ],
    async result() {
      return ["Settled.", `Next, the Poster ${poster} can claim its part on this page, once the block is finalized.`];
    },
  };
  return {
    title: "Settle this bounty",
    text: "Its judging time is over. Settling ends it without an award, so that the Poster can claim the money. Anyone may settle.",
    button: "Settle it",
    run: (acting) => carryOut(acting, plan),
  };
}
