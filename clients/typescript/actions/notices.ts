/**
 * Notices about the Hub on the pages: nothing is funded while one is in effect, and before a Submission it is shown.
 * The API only shows them; the wallet's node bears them out. What counted once is kept in this browser until its end,
 * each beside the others, and is checked again at each use: what counts for one visit alone takes no other one's place.
 */

import { zeroAddress } from "viem";
import { answerOf, inEffect, MOST_NOTICES, NOTICE_STATES, parseNotice, ServiceError, whyVoid } from "../src/acting.js";
import type { HubNotice } from "../src/acting.js";
import { typed } from "./answers.js";
import { repeated } from "./api.js";
import type { Context } from "./context.js";
import { Journal } from "./journal.js";
import type { Fact, Stage } from "./stage.js";
import { moment } from "./text.js";
import { clockOf } from "./witnesses.js";

const KEPT = "hub-notices";
/** Of one Hub in one browser; those that do not count now go first, and a further one counts without being kept. */
const MOST_KEPT = 64;
const GOES_ON =
  "Bounties that exist are judged, opened and claimed as before. Look where the contract's address was published for " +
  "what happened, and for another one.";

/** Refuses to fund while a notice is in effect: `hub_notice`. There is no button against that. */
export async function requireNoNotice(context: Context, stage: Stage): Promise<void> {
  const notice = await noticeInEffect(context, stage);
  if (notice === undefined) return;
  const what = `${NOTICE_STATES[notice.reason]}: nobody should fund a bounty until ${moment(notice.expires_at)}`;
  throw new ServiceError("hub_notice", `${notice.signer} has signed that ${what}. Nothing was signed or sent.`, {
    nextAction: GOES_ON,
  });
}

/** Before a Submission: shows a notice that is in effect, and goes on with a second button. */
export async function heedNotice(context: Context, stage: Stage): Promise<void> {
  const notice = await noticeInEffect(context, stage);
  if (notice === undefined) return;
  const facts: readonly Fact[] = [
    ["What it states", `${NOTICE_STATES[notice.reason]}, and nobody should fund a bounty on it`],
    ["Signed by", `${notice.signer}, which the contract's owner names for notices, as the wallet's node shows it`],
    ["From", moment(notice.issued_at)],
    ["Until", moment(notice.expires_at)],
    ["What goes on", GOES_ON],
    ["If you submit", "your work is sealed and recorded as always, for its gas; whether it is paid may depend on this"],
  ];
  stage.say("");
  await stage.confirm("There is a notice about this contract", facts, "Submit despite the notice");
}

/** The newest one that counts, of those that the API shows and those that this browser keeps. */
async function noticeInEffect(context: Context, stage: Stage): Promise<HubNotice | undefined> {
  const { api, settings, node } = context;
  const kept = await Journal.open(settings.deployment, zeroAddress); // of every account
  const now = Number(clockOf(context) ?? (await node.getBlock()).timestamp);
  const { hub_notices: shown = [] } = await repeated(stage, () =>
    typed("Deployment", answerOf(api.GET("/api/deployment"))),
  );
  if (!Array.isArray(shown) || shown.length > MOST_NOTICES) {
    throw new ServiceError("answer_malformed", "The service shows no list of notices about the contract.");
  }
  const before = ((await kept.get<readonly HubNotice[]>(KEPT)) ?? []).filter(({ expires_at }) => expires_at > now);
  const known = new Map([...before, ...shown.map(parseNotice)].map((notice) => [JSON.stringify(notice), notice]));
  const counting = new Map<string, HubNotice>();
  for (const [name, notice] of known) {
    if ((await whyVoid(node, settings.deployment, notice, now)).length === 0) counting.set(name, notice);
  }
  const stays = new Map([...before.map((notice) => [JSON.stringify(notice), notice] as const), ...counting]);
  await kept.put(KEPT, [...(stays.size > MOST_KEPT ? counting : stays).values()].slice(0, MOST_KEPT));
  return inEffect([...counting.values()]);
}
