/** Why an account can do nothing on a bounty's page at the moment, and from when it may. */

import type { Bounty } from "./bounty.js";
import { AWARDED } from "./bounty.js";
import { moment } from "./text.js";
import { t } from "./words.js";

/** Says what the bounty waits for, seen from this account. */
export function whyNothing(account: string, bounty: Bounty): string {
  const { isOpen, now, submissionDeadline, revealAt, judgingDeadline, hasSubmissions, guardians, poster } = bounty;
  const isGuardian = guardians.includes(account as Bounty["winner"]);
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
