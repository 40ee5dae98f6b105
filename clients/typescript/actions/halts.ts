/** A chain that stands still: named before something with a deadline is signed. */

import { STANDS_STILL_SECONDS } from "../src/acting.js";
import type { Context } from "./context.js";
import type { Fact, Stage } from "./stage.js";
import { duration, moment } from "./text.js";
import { clockOf } from "./witnesses.js";
import { t } from "./words.js";

/**
 * Before something is signed that counts only in a block before a deadline: where the newest block of the wallet's node is
 * old by this machine's clock, that is shown, and it goes on with a second button.
 */
export async function heedStandstill(context: Context, stage: Stage, deadline: bigint, what: string): Promise<void> {
  const { timestamp } = await context.node.getBlock();
  const clock = clockOf(context);
  if (clock === undefined || clock - timestamp <= STANDS_STILL_SECONDS) return;
  stage.say("");
  const facts: readonly Fact[] = [
    [t`Newest block`, t`${moment(timestamp)}, ${roughly(clock - timestamp)} ago, by the wallet's node and this machine's clock`],
    [what, t`counts only in a block before ${moment(deadline)}; if the chain stands still until then, it comes too late`],
    [t`What else you can do`, t`send it by way of the settlement layer (docs/client.md)`],
  ];
  await stage.confirm(t`The chain makes no new block`, facts, t`Go on despite that`);
}

/** In whole minutes, or in whole hours from two on. */
function roughly(seconds: bigint): string {
  const unit = seconds < 120n ? 1n : seconds < 7_200n ? 60n : 3_600n;
  return duration(seconds < 0n ? 0n : seconds - (seconds % unit));
}
