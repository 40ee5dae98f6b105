/**
 * One transaction of the Hub: explained, tried without sending, written down, sent, and followed until its event shows it
 * done. The same rules as the command-line client's: what was begun is looked for on the chain before anything is sent
 * again, and it is the event that counts, whichever transaction brought it (a replaced one, or a Safe's).
 */

import { decodeFunctionData } from "viem";
import type { Hex } from "viem";
import { hubAbi, ServiceError } from "../src/acting.js";
import type { Act, ActCall, ActEvent } from "../src/acting.js";
import type { Context } from "./context.js";
import { button, element } from "./dom.js";
import { tidied } from "./journal.js";
import type { ExpectedEvent, FoundEvent } from "./node.js";
import { lookedAt, MOST_LOOKS, pause } from "./paced.js";
import type { Fact, Stage } from "./stage.js";
import { isWrongChain } from "./wallet.js";
import { t } from "./words.js";

/** One step that a transaction does. */
export interface Step {
  /** Its name in the journal: the same for the same thing, and for nothing else. */
  readonly name: string;
  readonly title: string;
  /** Of one call, with the event that shows it done. */
  readonly act: Act<ActEvent>;
  readonly facts: readonly Fact[];
  /** What it means where it is done twice; else it counts once. */
  readonly twice?: string;
  /** A block at which it was not done, where another device may do it while this page waits for a person. */
  readonly since?: bigint;
  /** Where a later act may take its place: whether the Hub holds what its event shows. Else it is done anew. */
  readonly holds?: () => Promise<boolean>;
  /** Whether it stays written down once it is done, until what follows from it is, too: then its caller removes it. */
  readonly isKept?: boolean;
  /** Does what has to stand whenever it is sent, also anew, and gives the facts that this brings. */
  readonly ready?: () => Promise<readonly Fact[]>;
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
/** Of so many polls one searches the log, and one asks about the transaction, which cost a node more than a receipt does. */
const SEARCH_EVERY = 3;
/** After so many polls what the node does not know may be sent again. */
const DOUBT_AFTER = 10;
const HASH_LETTERS = 66;
/** Why a person is asked again. */
const UNKNOWN = t`An earlier attempt was begun here and is not on the chain. Look into the wallet: cancel it there first.`;
const OVERTAKEN =
  t`An earlier attempt was recorded, and a later act of this account has taken its place since. The one that you send now takes the place of that.`;
const REPLACED =
  t`Another transaction of this account took the place of the one that was sent, as after a cancellation in the wallet. The one that was sent cannot happen any more, and this step is not done.`;

/** Does a step once, and returns the event that shows it. */
export function perform(context: Context, stage: Stage, step: Step): Promise<FoundEvent> {
  return context.journal.alone(step.name, async () => {
    const kept = await context.journal.get<Attempt>(step.name);
    let ended = kept === undefined ? undefined : await followed(context, stage, step, kept);
    while (typeof ended !== "object") ended = await sent(context, stage, step, ended);
    if (step.isKept !== true) await tidied(() => context.journal.remove(step.name)); // the next visit finds the same event
    return ended;
  });
}

/** What became of an earlier attempt; where the wallet may be asked again, why. */
async function followed(context: Context, stage: Stage, step: Step, kept: Attempt): Promise<FoundEvent | string> {
  stage.say(t`An earlier attempt is looked for on the chain.`);
  const found = await context.node.find(eventOf(step), kept.fromBlock);
  if (found === undefined) return kept.hash === undefined ? UNKNOWN : outcome(context, stage, step, kept, kept.hash);
  if (step.holds === undefined || (await lookedAt(step.holds, (isHeld) => isHeld))) return found;
  await context.journal.remove(step.name);
  return OVERTAKEN;
}

/** Has it sent, for the reason given where it was begun before; returns why it may be sent again where it came to nothing. */
async function sent(context: Context, stage: Stage, step: Step, again: string | undefined): Promise<FoundEvent | string> {
  const { node, journal, account } = context;
  const readied = (await step.ready?.()) ?? [];
  stage.say(t`The transaction is tried on the wallet's node, without sending it.`);
  await node.simulate(account, callOf(step));
  const earlier = again === undefined ? undefined : await journal.get<Attempt>(step.name);
  stage.say("");
  return stage.attempt(step.title, factsOf(context, step, readied, again), t`Send with the wallet`, async () => {
    const since = earlier?.fromBlock ?? step.since;
    const found = since === undefined ? undefined : await node.find(eventOf(step), since); // while its facts were read
    return found ?? begun(context, stage, step, earlier, since);
  });
}

/** Writes an attempt down, has the wallet send it, and waits for what comes of it. */
async function begun(
  context: Context,
  stage: Stage,
  step: Step,
  earlier: Attempt | undefined,
  since: bigint | undefined,
): Promise<FoundEvent | string> {
  const { node, wallet, journal } = context;
  const attempt: Attempt = { id: crypto.randomUUID(), fromBlock: since ?? (await node.getBlockNumber()) };
  await wallet.requireReady(); // last before it is written down: a wallet that is not asked has begun nothing
  await journal.put(step.name, attempt);
  stage.say(t`The wallet is asked to send the transaction.`);
  const { to, data } = callOf(step);
  const sending = wallet.send(to, data).then(async (hash) => {
    await keep(context, step, attempt, { hash }); // also where the person no longer waits for the wallet
    return hash;
  });
  let hash: Hex;
  try {
    hash = await stage.until(() => sending);
  } catch (error) {
    if (error instanceof ServiceError && error.code === "declined") {
      await (earlier === undefined ? journal.remove(step.name) : journal.put(step.name, earlier));
    }
    throw error;
  }
  return outcome(context, stage, step, attempt, hash);
}

/**
 * Waits for the event; a transaction that failed is forgotten, so that the step can be done again. Where another one
 * took its place, or the node does not know it and the person wants it sent again, returns why it may be.
 */
async function outcome(context: Context, stage: Stage, step: Step, attempt: Attempt, hash: Hex): Promise<FoundEvent | string> {
  stage.say(t`Sent as ${hash}. Waiting for the chain; if you leave the page, it continues when you come back.`);
  const ended = await stage.until((signal) => polled(context, stage, step, attempt, hash, signal));
  stage.show();
  return ended;
}

async function polled(
  context: Context,
  stage: Stage,
  step: Step,
  attempt: Attempt,
  hash: Hex,
  signal: AbortSignal,
): Promise<FoundEvent | string> {
  const { node, journal, account, wallet } = context;
  const searched = () => tolerated(node.find(eventOf(step), attempt.fromBlock).then((found) => found ?? "nothing"));
  const isHash = hash.length === HASH_LETTERS; // a Safe's wallet names a transaction in a way of its own
  let { nonce } = attempt;
  let looksInVain = 0;
  let isLost = !isHash;
  let isOffered = false;
  let isGivenUp = false;
  const giveUp = () => {
    isGivenUp = true;
    stage.show(); // at once: the wait itself ends with its next poll
  };
  for (let poll = 1; !isGivenUp && !signal.aborted; poll += 1) {
    if (isOffered !== (isLost && poll >= DOUBT_AFTER)) {
      isOffered = !isOffered;
      stage.show(...(isOffered ? [sendingAgain(giveUp)] : []));
    }
    const receipt = isHash ? await tolerated(node.receipt(hash)) : undefined;
    const [shown] = receipt === undefined ? [] : node.among(receipt.logs, eventOf(step));
    if (shown !== undefined) return shown;
    // What a failed one was to do may have been done before it: by an earlier attempt, or by somebody who relayed the call.
    const found = receipt !== undefined || poll % SEARCH_EVERY === 0 ? await searched() : undefined;
    if (typeof found === "object") return found;
    if (receipt !== undefined && found === "nothing" && !signal.aborted) {
      await journal.remove(step.name);
      throw cameToNothing(hash, receipt.status === "success");
    }
    if (isHash && receipt === undefined && poll % SEARCH_EVERY === 1) {
      const known = await tolerated(node.transaction(hash));
      if (nonce === undefined && known?.from === account) {
        nonce = known.nonce;
        await keep(context, step, attempt, { nonce });
      }
      const isUsed = nonce !== undefined && ((await tolerated(node.minedOf(account))) ?? 0n) > nonce;
      if (known !== undefined) isLost = known === null && !isUsed;
      if (isUsed) {
        await wallet.requireChain();
        // Sped up, it has happened: that it has not is only known where the log could be read, several times, since
        // the part of the node that has the log may be behind the one that has the nonce.
        const looked = await searched();
        if (typeof looked === "object") return looked;
        if (looked === "nothing" && (looksInVain += 1) === MOST_LOOKS) return REPLACED;
      }
    }
    await pause(POLL_MILLISECONDS);
  }
  return UNKNOWN;
}

/** What is said of a transaction that is in a block and did not do its step: it failed, or did something else. */
function cameToNothing(hash: Hex, hasSucceeded: boolean): ServiceError {
  if (!hasSucceeded) {
    return new ServiceError("transaction_reverted", t`The transaction ${hash} failed; it changed nothing.`, {
      nextAction: t`Reload the page to see what the bounty permits now.`,
    });
  }
  return new ServiceError("step_not_done", t`The transaction ${hash} is on the chain, and has not done this step.`, {
    nextAction:
      t`The account's own contract may have failed within it, or the wallet sent something else. Reload the page to see what the bounty permits now, and leave what the wallet shows as it is.`,
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

/** A way on where a node or a wallet lost a transaction, or never passed it on. */
function sendingAgain(pressed: () => void): HTMLElement {
  const text = t`The wallet's node does not know this transaction. If the wallet does not have it either, or has cancelled it, `;
  return element("p", {}, text, button(t`Have it sent again`, pressed));
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

function callOf({ act }: Step): ActCall {
  return act.calls[0] as ActCall;
}

function eventOf({ act }: Step): ExpectedEvent {
  return act.expected[0] as ExpectedEvent;
}

function factsOf({ settings, account }: Context, step: Step, readied: readonly Fact[], again: string | undefined): Fact[] {
  const { to, data } = callOf(step);
  const facts: Fact[] = [
    ...step.facts,
    ...readied,
    [t`Function of the contract`, decodeFunctionData({ abi: hubAbi, data }).functionName],
    [t`Contract`, t`the Hub ${to} on chain ${settings.deployment.chainId}`],
    [t`Sent by`, account],
    [t`Ether that moves`, t`none but the network's fee, which the wallet shows`],
  ];
  if (again === undefined) return facts;
  const twice: Fact[] = step.twice === undefined ? [] : [[t`Done twice`, step.twice, "warning"]];
  return [[t`Before you send`, again, "warning"], ...twice, ...facts];
}
