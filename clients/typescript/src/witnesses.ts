/**
 * What an act that cannot be taken back rests on, and what is decided where those who vouch for it differ: the same
 * table and the same decisions as the command-line client's (docs/threat-model.md). Times are seconds since 1970.
 */

import { ServiceError } from "./errors.js";
import { CLOCK_SECONDS, FACTS, REVEAL_DELAYS } from "./generated/witnesses.js";

export { AUTHORIZATION_SECONDS, FACTS, MARGIN_SECONDS } from "./generated/witnesses.js";

/** What an act rests on. */
export type FactName = keyof typeof FACTS;

const NOTHING_SIGNED = "Nothing was signed. ";

/** Raises the fact's own code: two who vouch for it say different things, and both are named. */
export function disagreement(fact: FactName, one: string, other: string): ServiceError {
  const [what, code] = FACTS[fact];
  return new ServiceError(code, `Two sources say different things about ${what}: ${one}, and ${other}.`, {
    nextAction: `${NOTHING_SIGNED}Try again in a minute; if this repeats, choose another node in the wallet, or report it to the operator.`,
  });
}

/**
 * From when an authorization's hour is counted: the earlier one of the newest block's time and this machine's.
 * `time_disagrees` where they are far apart. An undefined clock says nothing, as where the chain's time is moved by hand.
 */
export function hourBegins(newest: bigint, clock: bigint | undefined): bigint {
  if (clock === undefined) return newest;
  const off = clock - newest;
  if (off <= CLOCK_SECONDS && -off <= CLOCK_SECONDS) return newest < clock ? newest : clock;
  const way = off < 0n ? "behind" : "ahead of";
  const message = `This machine's clock is ${off < 0n ? -off : off} seconds ${way} the newest block.`;
  throw new ServiceError(FACTS.time[1], message, {
    nextAction: `${NOTHING_SIGNED}Set this machine's clock, or choose another node in the wallet.`,
  });
}

/** Whether a moment lies behind the finalized block and behind this machine's clock. */
export function isOver(moment: bigint, finalized: bigint, clock: bigint | undefined): boolean {
  return finalized >= moment && (clock === undefined || clock >= moment);
}

/**
 * Refuses a reveal point that is not the deadline plus the Hub's delay, or whose deadline has passed at the latest moment
 * that a witness says it is: what is sealed until then could be opened early. `reveal_point_wrong`.
 */
export function requireRevealPoint(submissionDeadline: bigint, revealAt: bigint, delay: bigint, now: bigint): void {
  const expected = submissionDeadline + delay;
  if (revealAt === expected && submissionDeadline > now) return;
  const [message, nextAction] =
    revealAt === expected
      ? [
          `Submissions closed at ${submissionDeadline}: work sealed now could be opened too soon.`,
          "If the bounty is still open by other clocks, set this machine's clock.",
        ]
      : [
          `The reveal point is not ${revealAt}: the deadline and the Hub's delay make it ${expected}.`,
          "Choose another node in the wallet.",
        ];
  throw new ServiceError(FACTS.reveal_point[1], message, { nextAction: `Nothing was sealed. ${nextAction}` });
}

/** Refuses a Hub's reveal delay that is not the one of the network's record, where there is one: `reveal_point_wrong`. */
export function requireRecordedDelay(chainId: number, delay: bigint): void {
  const recorded = REVEAL_DELAYS[chainId];
  if (recorded === undefined || recorded === delay) return;
  const message = `The Hub's reveal delay is ${recorded} seconds on this network, and the wallet's node has ${delay}.`;
  throw new ServiceError(FACTS.reveal_point[1], message, {
    nextAction: "Nothing was sealed. Choose another node in the wallet.",
  });
}

/** Refuses to let sealed work out that can be opened by now, as where sealing and uploading took that long. */
export function requireClosed(revealAt: bigint, now: bigint): void {
  if (revealAt > now) return;
  const message = `The reveal point ${revealAt} has passed: anyone who has the Guardians' keys could open this.`;
  throw new ServiceError(FACTS.reveal_point[1], message, { nextAction: "What was sealed stays in this browser." });
}
