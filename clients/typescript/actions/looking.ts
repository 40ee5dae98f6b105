/** The offer to look at Submissions before one is opened; what it does is loaded when it is begun. */

import type { Bounty } from "./bounty.js";
import type { Context } from "./context.js";
import type { Offer } from "./stage.js";

/** For a Guardian of the bounty, from the reveal point on. */
export function lookingOffers(context: Context, bounty: Bounty): Offer[] {
  if (!bounty.guardians.includes(context.account) || !bounty.hasSubmissions || bounty.now < bounty.revealAt) return [];
  return [
    {
      title: "Look at the Submissions before you open one",
      text:
        "Shows of each its order, the record of its account, its size and whether it opens, without downloading the work. " +
        "You can mark some as left out, and go on later in this browser.",
      button: "Look at them",
      run: async (stage) => (await import("./triage.js")).lookAtSubmissions(context, stage, bounty),
    },
  ];
}
