/** The offer to look at Submissions before one is opened; what it does is loaded when it is begun. */

import { canOpen } from "./bounty.js";
import type { Bounty } from "./bounty.js";
import type { Context } from "./context.js";
import type { Offer } from "./stage.js";

/** For whoever can open the work. */
export function lookingOffers(context: Context, bounty: Bounty): Offer[] {
  if (!canOpen(context.account, bounty)) return [];
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
