/**
 * One transaction of the Hub, or of its token: explained, tried without sending, written down, sent, and followed until its event shows
 * it done. The same rules as the command-line client's: what was begun is looked for on the chain before anything is
 * sent again, and it is the event that counts, whichever transaction brought it (a replaced one, or a Safe's).
 */

import type { Hex } from "viem";
import { ServiceError } from "../src/acting.js";
import type { Act as HubAct, ActEvent } from "../src/acting.js";
import type { Context } from "./context.js";
import { feeText, withoutEther } from "./costs.js";
import { button, element } from "./dom.js";
import { tidied } from "./journal.js";
import type { ExpectedEvent, FoundEvent } from "./node.js";
import { lookedAt, MOST_LOOKS, pause } from "./paced.js";
import type { Call } from "./provider.js";
import { transactionBuilder } from "./safe.js";
import type { Fact, Stage } from "./stage.js";
import { isWrongChain } from "./wallet.js";
import { t } from "./words.js";

/** One step that a transaction does. */
export interface Step {
  /** Its name in the journal: the same for the same thing, and for nothing else. */
  readonly name: string;
  readonly title: string;
  readonly functionName: string;
  readonly call: Call;
  readonly facts: readonly Fact[];
  /** What it means where it is done twice; else it counts once. */
  readonly twice?: string;
  readonly expected: ExpectedEvent;
  /** A block at which it was not done, where another device may do it while this page waits for a person. */
  readonly since?: bigint;
  /** Where a later act may take its place: whether the Hub holds what its event shows. Else it is done anew. */
  readonly holds?: () => Promise<boolean>;
  /** Whether it stays written down once it is done, until what follows from it is, too: then its caller removes it. */
  readonly isKept?: boolean;
  /** Does what has to stand whenever it is sent, also anew, and gives the facts that this brings. */
  readonly ready?: () => Promise<readonly Fact[]>;
}

/** Gives what a step has of an act of one call: the call, and the event that shows it done. */
export function stepOf<name extends ActEvent>(
  { calls, expected }: HubAct<name>,
  functionName: string,
): Pick<Step, "functionName" | "call" | "expected"> {
  const [[call], [event]] = [calls, expected];
  if (call === undefined || event === undefined) throw new Error("an act has a call and an event");
  return { functionName, call: { to: call.to, data: call.data }, expected: event };
}

/** What was offered to the wallet. Without a hash nobody knows whether the wallet has sent it. */
interface Attempt {
  /** By which what comes late is known to be of this attempt. */
  readonly id: string;
  readonly fromBlock: bigint;
  readonly hash?: Hex;
  /** Of the account that sent it, once the node has shown it: another transaction with it takes this one's place. */
  readonly nonce?: bigint;
}

const POLL_MILLISECONDS = 1_000;
/** Of so many polls one searches the log, which costs a node more than a receipt does. */
const SEARCH_EVERY = 3;
/** After so many polls without a receipt the node is asked whether it knows the transaction at all. */
const DOUBT_AFTER = 10;
/** After so many polls what a wallet names in a way of its own may be sent again. */
const PATIENCE = 60;
/** Why a person is asked again. */
const UNKNOWN = t`An earlier attempt was begun here and is not on the chain. Look into the wallet: cancel it there first.`;
const OVERTAKEN =
  t`An earlier attempt was recorded, and a later act of this account has taken its place since. The one that you send now takes the place of that.`;
const REPLACED =
  t`Another transaction of this account took the place of the one that was sent, as after a cancellation in the wallet. The one that was sent cannot happen any more, and this step is not done.`;

const LOST = t`The wallet's node does not know this transaction. If the wallet does not either, `;
const UNTOLD = t`This wallet does not say what became of it. If the wallet that was asked has cancelled it or never had it, `;
const AGAIN = t`Have it sent again`;
const SEND = t`Send with the wallet`;
const SAVE = t`Save it for the Safe's Transaction Builder`;
const HASH_LETTERS = 66;
/** Does a step once, and returns the event that shows it. */
export function perform(context: Context, stage: Stage, step: Step): Promise<FoundEvent> {
  return context.journal.alone(step.name, async () => {
    const kept = await context.journal.get<Attempt>(step.name);
    let ended = kept === undefined ? undefined : await followed(context, stage, step, kept);
    while (typeof ended !== "object") ended = await sent(context, stage, step, ended);
    return ended;
  });
}

async function done({ journal }: Context, { name, isKept }: Step): Promise<void> {
  if (isKept !== true) await tidied(() => journal.remove(name)); // the next visit finds the same event
}

/** What became of an earlier attempt; where the wallet may be asked again, why. */
async function followed(context: Context, stage: Stage, step: Step, kept: Attempt): Promise<FoundEvent | string> {
  stage.say(t`An earlier attempt is looked for on the chain.`);
  const found = await context.node.find(step.expected, kept.fromBlock);
  if (found !== undefined) {
    const { holds } = step;
    if (holds !== undefined && !(await lookedAt(holds, (isHeld) => isHeld))) {
      await context.journal.remove(step.name);
      return OVERTAKEN;
    }
    await done(context, step);
    return found;
  }
  return kept.hash === undefined ? UNKNOWN : outcome(context, stage, step, kept);
}

/**
 * What is left of a step that is not gone on with: its event, or "open" while it may still happen. What is known to have
 * come to nothing is forgotten.
 */
export async function leftOf(
  context: Context,
  name: string,
  expected: ExpectedEvent,
): Promise<FoundEvent | "open" | undefined> {
  const { node, journal } = context;
  const kept = await journal.get<Attempt>(name);
  if (kept === undefined) return undefined;
  const { nonce, fromBlock } = kept;
  // How it ended is asked before the log is: what it has done is in the log then.
  const isUsed = nonce !== undefined && ((await tolerated(node.minedOf(context.account, "finalized"))) ?? 0n) > nonce;
  const receipt = isHash(kept.hash) ? await node.receipt(kept.hash) : undefined;
  const found = (receipt && node.among(receipt.logs, expected)) ?? (await node.find(expected, fromBlock));
  if (found !== undefined) return found;
  if (receipt === undefined && !isUsed) return "open";
  await journal.remove(name);
  return undefined;
}

/** The same where it is but advice: "unread" where the wallet's node does not say, which stops nobody. */
export async function leftIfRead(
  context: Context,
  name: string,
  expected: ExpectedEvent,
): Promise<FoundEvent | "open" | "unread" | undefined> {
  const left = await tolerated(leftOf(context, name, expected).then((known) => known ?? "nothing"));
  if (left === undefined) return "unread";
  return left === "nothing" ? undefined : left;
}

/** Where something stands that was begun and did not come to nothing. */
export function standing(left: "open" | "unread"): string {
  return left === "open" ? t`it is not on the chain yet` : t`the wallet's node does not show what became of it`;
}

/** Has it sent, for the reason given where it was begun before; returns why it may be sent again where it came to nothing. */
async function sent(context: Context, stage: Stage, step: Step, again: string | undefined): Promise<FoundEvent | string> {
  const { node, journal, account, isPrepared } = context;
  const readied = (await step.ready?.()) ?? [];
  stage.say(t`The transaction is tried on the wallet's node, without sending it.`);
  await node.simulate(account, step.call);
  const earlier = again === undefined ? undefined : await journal.get<Attempt>(step.name);
  const buttons = isPrepared ? [SAVE] : (await node.isContract(account)) ? [SEND, SAVE] : [SEND];
  const facts = [...factsOf(context, step, readied, again), ...(await feeFacts(context, step))];
  stage.say("");
  return stage.attempt(step.title, facts, buttons, async (pressed) => {
    const since = earlier?.fromBlock ?? step.since;
    const found = since === undefined ? undefined : await node.find(step.expected, since); // while its facts were read
    if (found === undefined) return begun(context, stage, step, earlier, since, pressed === SAVE);
    await done(context, step);
    return found;
  });
}

/** Writes an attempt down, has the wallet send it, or its file saved, and waits for what comes of it. */
async function begun(
  context: Context,
  stage: Stage,
  step: Step,
  earlier: Attempt | undefined,
  since: bigint | undefined,
  isSaved: boolean,
): Promise<FoundEvent | string> {
  const { node, wallet, journal } = context;
  const fromBlock = since ?? (await node.getBlockNumber());
  const attempt: Attempt = { id: crypto.randomUUID(), fromBlock };
  await wallet.requireReady(); // last before it is written down: a wallet that is not asked has begun nothing
  await journal.put(step.name, attempt);
  if (isSaved) {
    offerFile(context, stage, step);
    return outcome(context, stage, step, attempt);
  }
  stage.say(t`The wallet is asked to send the transaction.`);
  const sending = wallet.send(step.call.to, step.call.data).then(async (hash) => {
    await keep(context, step, attempt, { hash }); // also where the person no longer waits for the wallet
    return hash;
  });
  try {
    return await outcome(context, stage, step, { ...attempt, hash: await stage.until(() => sending) });
  } catch (error) {
    if (error instanceof ServiceError && error.code === "declined") {
      await (earlier === undefined ? journal.remove(step.name) : journal.put(step.name, earlier));
    }
    throw error;
  }
}

/**
 * Waits for the event; a transaction that failed is forgotten, so that the step can be done again. Where another one
 * took its place, or the node does not know it and the person wants it sent again, returns why it may be.
 */
async function outcome(context: Context, stage: Stage, step: Step, attempt: Attempt): Promise<FoundEvent | string> {
  const sent = attempt.hash === undefined ? "" : t`Sent as ${attempt.hash}. `;
  stage.say(t`${sent}Waiting for the chain; if you leave the page, it continues when you come back.`);
  const ended = await stage.until((signal) => polled(context, stage, step, attempt, signal));
  stage.show();
  if (typeof ended === "object") await done(context, step);
  return ended;
}

async function polled(
  context: Context,
  stage: Stage,
  step: Step,
  attempt: Attempt,
  signal: AbortSignal,
): Promise<FoundEvent | string> {
  const { node, journal } = context;
  const { fromBlock } = attempt;
  const hash = isHash(attempt.hash) ? attempt.hash : undefined;
  const doubted = hash === undefined ? undefined : doubtsAbout(context, step, attempt, hash);
  let isLost = false;
  let emptyLooks = 0;
  let offered: string | undefined;
  let isGivenUp = false;
  for (let poll = 1; !isGivenUp && !signal.aborted; poll += 1) {
    const isUntold = hash === undefined && attempt.hash !== undefined && poll >= PATIENCE;
    const way = isLost && poll >= DOUBT_AFTER ? LOST : isUntold ? UNTOLD : undefined;
    if (way !== offered) {
      offered = way;
      if (way === undefined) stage.show();
      else offerAgain(stage, () => (isGivenUp = true), way);
    }
    const receipt = hash === undefined ? undefined : await tolerated(node.receipt(hash));
    let found = receipt && node.among(receipt.logs, step.expected);
    if (found === undefined && poll % SEARCH_EVERY === 0) found = await tolerated(node.find(step.expected, fromBlock));
    if (found !== undefined) return found;
    if (receipt !== undefined) {
      // What it was to do may have been done before it: by an earlier attempt, or by somebody who relayed the call.
      const looked = await tolerated(node.find(step.expected, fromBlock).then((event) => event ?? "nothing"));
      if (typeof looked === "object") return looked;
      if (looked === "nothing" && !signal.aborted) {
        await journal.remove(step.name);
        throw cameToNothing(hash ?? "", receipt.succeeded);
      }
    }
    if (doubted !== undefined && receipt === undefined && (poll === 1 || poll % SEARCH_EVERY === 0)) {
      const doubt = await tolerated(doubted());
      if (doubt === "replaced") {
        await context.wallet.requireChain();
        // Sped up, it has happened: that it has not is only known where the log could be read, several times, since
        // the part of the node that has the log may be behind the one that has the nonce.
        const looked = await tolerated(node.find(step.expected, fromBlock).then((event) => event ?? REPLACED));
        if (looked === REPLACED) emptyLooks += 1;
        else if (looked !== undefined) return looked;
        if (emptyLooks === MOST_LOOKS) return REPLACED;
      }
      if (doubt !== undefined) isLost = doubt === "unknown";
    }
    await pause(POLL_MILLISECONDS);
  }
  return UNKNOWN;
}

/** Whether a wallet named a transaction by its hash; a Safe's names it in a way of its own. */
function isHash(named: Hex | undefined): named is Hex {
  return named?.length === HASH_LETTERS;
}

/** What is said of a transaction that is in a block and did not do its step: it failed, or did something else. */
function cameToNothing(hash: Hex | "", hasSucceeded: boolean): ServiceError {
  if (!hasSucceeded) {
    return new ServiceError("transaction_reverted", t`The transaction ${hash} failed; it changed nothing.`, {
      nextAction: t`Reload the page to see what the bounty permits now.`,
    });
  }
  return new ServiceError("step_not_done", t`The transaction ${hash} is on the chain, and has not done this step.`, {
    nextAction:
      t`The account's own contract may have failed within it, or the wallet sent something else, such as another spending cap. Reload the page to see what the bounty permits now, and leave what the wallet shows as it is.`,
  });
}

/**
 * Keeps what became known of an attempt; never in the place of another one, which was begun since. It was sent, also where
 * the browser does not keep it.
 */
async function keep(
  { journal }: Context,
  { name }: Step,
  { id }: Attempt,
  known: Pick<Attempt, "hash" | "nonce">,
): Promise<void> {
  const change = (kept?: Attempt) => (kept === undefined || kept.id !== id ? undefined : { ...kept, ...known });
  await tidied(() => journal.replace<Attempt>(name, change));
}

/**
 * A question about a transaction that has neither receipt nor event: whether its nonce is used by another one, seen
 * twice, since a node's parts may be a block apart; else whether the node knows it. The nonce is kept once it is known.
 */
function doubtsAbout(
  context: Context,
  step: Step,
  attempt: Attempt,
  hash: Hex,
): () => Promise<"replaced" | "unknown" | "known"> {
  const { node, account } = context;
  let { nonce } = attempt;
  let wasUsed = false;
  return async () => {
    const known = await node.transaction(hash);
    if (nonce === undefined && known?.from === account) {
      nonce = known.nonce;
      await keep(context, step, attempt, { nonce });
    }
    const isUsed = nonce !== undefined && (await node.minedOf(account)) > nonce;
    if (isUsed && wasUsed) return "replaced";
    wasUsed = isUsed;
    return known === null ? "unknown" : "known";
  };
}

/** A way on where a node or a wallet lost a transaction, or never passed it on. */
function offerAgain(stage: Stage, pressed: () => void, text: string): void {
  const again = button(AGAIN, () => {
    pressed();
    stage.show(); // at once: the wait itself ends with its next poll
  });
  stage.show(element("p", {}, text, again));
}

/** The file for the owners of a Safe, who send the transaction together. */
function offerFile({ settings, account }: Context, stage: Stage, step: Step): void {
  const text = transactionBuilder(settings.deployment.chainId, account, [step.call], step.title, Date.now());
  const href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  const link = element(
    "a",
    { download: `${step.name.replace(/[^A-Za-z0-9]+/g, "-")}.json`, href },
    t`Save the transaction`,
  );
  stage.show(element("p", {}, link, " ", t`Load it in the Safe's Transaction Builder. This page waits for it.`));
}

/** A node that is silent for a moment ends no wait; a wallet that is on another chain does. */
export async function tolerated<Value>(question: Promise<Value>): Promise<Value | undefined> {
  try {
    return await question;
  } catch (error) {
    if (isWrongChain(error)) throw error;
    return undefined;
  }
}

function factsOf({ settings, account }: Context, step: Step, readied: readonly Fact[], again: string | undefined): Fact[] {
  const { chainId, hubAddress } = settings.deployment;
  const isOfHub = step.call.to.toLowerCase() === hubAddress.toLowerCase();
  const contract = isOfHub ? t`the Hub ${step.call.to} on chain ${chainId}` : t`the token ${step.call.to} on chain ${chainId}`;
  const facts: Fact[] = [
    ...step.facts,
    ...readied,
    [t`Function of the contract`, step.functionName],
    [t`Contract`, contract],
    [t`Sent by`, account],
    [t`Ether that moves`, t`none but the network's fee`],
  ];
  if (again === undefined) return facts;
  const twice: Fact[] = step.twice === undefined ? [] : [[t`Done twice`, step.twice, "warning"]];
  return [[t`Before you send`, again, "warning"], ...twice, ...facts];
}

/** What the network's fee is, and whether the account can pay it. */
async function feeFacts(context: Context, step: Step): Promise<Fact[]> {
  const [fee, lack] = await Promise.all([feeText(context, step.call), withoutEther(context)]);
  const facts: Fact[] = [[t`The network's fee`, fee ?? t`in ether; the wallet shows it`]];
  if (lack !== undefined) facts.push([t`Ether of this account`, lack]);
  return facts;
}
