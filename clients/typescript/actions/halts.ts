/** A chain that stands still: named before something with a deadline is signed, and what a page's windows should outlast. */

import { LONGEST_INCLUSION_SECONDS, STANDS_STILL_SECONDS, STATED_OUTAGES } from "../src/acting.js";
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

/**
 * Which windows of a page an outage of the network's sequencer could take; advice alone. Seconds: from now to the deadline,
 * and for judging. Nothing is known of a network without a sequencer.
 */
export function outageAdvice(chainId: number, left: bigint | undefined, judging: bigint | undefined): Fact[] {
  const outage = STATED_OUTAGES[chainId];
  if (outage === undefined) return [];
  const windows = [
    [t`The time until the deadline`, left, t`a Solver`],
    [t`The judging window`, judging, t`a Guardian`],
  ] as const;
  return windows.flatMap(([name, seconds, who]) => {
    if (seconds === undefined || seconds > LONGEST_INCLUSION_SECONDS) return [];
    const text =
      t`${name} is ${roughly(seconds)}. The chain may stand still, as it did for ${roughly(outage)} once, and ${who} may then need up to ${roughly(LONGEST_INCLUSION_SECONDS)} to be in a block by way of the settlement layer: leave more.`;
    return [[t`Advice`, text]];
  });
}

/** In whole minutes, or in whole hours from two on. */
function roughly(seconds: bigint): string {
  const unit = seconds < 120n ? 1n : seconds < 7_200n ? 60n : 3_600n;
  return duration(seconds < 0n ? 0n : seconds - (seconds % unit));
}
