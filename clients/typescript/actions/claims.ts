/** What needs the Hub alone: claims of every role, settling, and a Guardian's sign of life. */

import { hubCall } from "../src/acting.js";
import type { Bounty } from "./bounty.js";
import { AWARDED, requireFinal } from "./bounty.js";
import type { Context } from "./context.js";
import { finished } from "./results.js";
import type { Offer } from "./stage.js";
import { amount, moment } from "./text.js";
import { perform } from "./transactions.js";
import type { Step } from "./transactions.js";

/** What the account can claim of a final bounty, part by part; and settling, once a bounty's time is up. */
export function hubOffers(context: Context, bounty: Bounty): Offer[] {
  if (bounty.isOpen) return isDue(bounty) ? [settling(context, bounty)] : [];
  const { account, settings } = context;
  const { hubAddress } = settings.deployment;
  const { id, winner, poster, protocolFeeRecipient, awardDue, refundDue, protocolFeeDue, claimable } = bounty;
  const award = bounty.outcome === AWARDED && account === winner ? awardDue : 0n;
  const refund = account === poster ? refundDue : 0n;
  const fee = account === protocolFeeRecipient ? protocolFeeDue : 0n;
  const share = claimable - award - refund - fee; // what remains is the share of a Guardian
  const offers: Offer[] = [];
  const add = (due: bigint, what: string, step: Pick<Step, "name" | "functionName" | "call" | "expected">) => {
    if (due > 0n) offers.push(claiming(context, bounty, due, what, step));
  };
  const call = hubCall;
  add(award, "the award", {
    name: `claim ${id}`,
    functionName: "claim",
    call: call(hubAddress, "claim", [id, "0x", "0x"]),
    expected: { eventName: "AwardClaimed", args: { bountyId: id, solver: account } },
  });
  add(refund, "the Poster's part", {
    name: `claimRefund ${id}`,
    functionName: "claimRefund",
    call: call(hubAddress, "claimRefund", [id]),
    expected: { eventName: "RefundClaimed", args: { bountyId: id, poster: account } },
  });
  add(share, "a Guardian's share", {
    name: `claimGuardianFee ${id}`,
    functionName: "claimGuardianFee",
    call: call(hubAddress, "claimGuardianFee", [id]),
    expected: { eventName: "GuardianFeeClaimed", args: { bountyId: id, guardian: account } },
  });
  add(fee, "the protocol fee", {
    name: `claimProtocolFee ${id}`,
    functionName: "claimProtocolFee",
    call: call(hubAddress, "claimProtocolFee", [id]),
    expected: { eventName: "ProtocolFeeClaimed", args: { bountyId: id, recipient: account } },
  });
  return offers;
}

/** A Guardian's sign of life; the Hub takes it of every account that was on a roster at some time. */
export function heartbeat(context: Context): Offer {
  const { account, settings, node } = context;
  return {
    title: "Show that you are there",
    text: "Records on the chain that this Guardian is there. Posters see when it last was.",
    button: "Show that you are there",
    async run(stage) {
      const pressed = await node.getBlockNumber();
      const found = await perform(context, stage, {
        name: "heartbeat",
        title: "Record that you are there",
        act: "heartbeat",
        functionName: "heartbeat",
        call: hubCall(settings.deployment.hubAddress, "heartbeat", []),
        facts: [["What it does", `records that the Guardian ${account} is there; no money moves`]],
        expected: { eventName: "GuardianHeartbeat", args: { guardian: account } },
      });
      const next =
        found.blockNumber > pressed
          ? "Nothing is left to do: Posters see when it was."
          : `It was begun before, and is of ${moment((await node.getBlock(found)).timestamp)}. Nothing was sent now: press again for a new one.`;
      finished(settings, stage, "Recorded in transaction", found, next);
    },
  };
}

function claiming(
  context: Context,
  bounty: Bounty,
  due: bigint,
  what: string,
  step: Pick<Step, "name" | "functionName" | "call" | "expected">,
): Offer {
  const { account, token, settings } = context;
  const shown = amount(due, token);
  return {
    title: `Claim ${what}: ${shown}`,
    text: "The contract holds it for this account. Nothing is sent automatically, and it does not expire.",
    button: "Claim it",
    isOnce: true,
    begins: "alone",
    async run(stage) {
      stage.say("Whether the outcome is finalized is looked up.");
      await requireFinal(context, bounty);
      const facts = [
        ["What it does", `pays ${what} of bounty ${bounty.id} out of the contract`],
        ["You receive", shown],
        ["Paid to", account],
        ["You pay", "nothing but the network's fee"],
      ] as const;
      const found = await perform(context, stage, { ...step, act: "claim", title: `Claim ${what}`, facts });
      const paid = `Paid: ${amount(found.args["amount"] as bigint, token)}, by transaction`;
      finished(settings, stage, paid, found, `Nothing is left to do: the amount is in your account ${account}.`);
    },
  };
}

function isDue({ now, submissionDeadline, judgingDeadline, hasSubmissions }: Bounty): boolean {
  return now >= (hasSubmissions ? judgingDeadline : submissionDeadline);
}

function settling(context: Context, bounty: Bounty): Offer {
  const { id, poster } = bounty;
  return {
    title: "Settle this bounty",
    text: "Its time is up. Settling ends it without an award, so that the Poster can claim its money. Anyone may.",
    button: "Settle it",
    isOnce: true,
    async run(stage) {
      const found = await perform(context, stage, {
        name: `settle ${id}`,
        title: "Settle the bounty",
        act: "settle",
        functionName: "settle",
        call: hubCall(context.settings.deployment.hubAddress, "settle", [id]),
        facts: [
          ["What it does", `ends bounty ${id} as one that no Submission won`],
          ["Who gains", `the Poster ${poster} can claim its part afterwards; you receive nothing`],
        ],
        expected: { eventName: "BountyFinalized", args: { bountyId: id } },
      });
      const next = `Next, the Poster ${poster} can claim its part on this page, once the block is finalized.`;
      finished(context.settings, stage, "Settled by transaction", found, next);
    },
  };
}
