/**
 * One transaction of the Hub: explained, tried without sending, written down, sent, and followed until its event shows it
 * done. The same rules as the command-line client's: what was begun is looked for on the chain before anything is sent
 * again, and it is the event that counts, whichever transaction brought it (a replaced one, or a Safe's).
 */

import { decodeFunctionData, type Hex } from "viem";
import { hubAbi, ServiceError, type Act, type ActCall, type ActEvent } from "../src/acting.js";
import { isCode } from "./answers.js";
import type { Acting, Context } from "./context.js";
import { button, element, pause } from "./dom.js";
import type { ExpectedEvent, FoundEvent } from "./node.js";
import { finished, type Result } from "./results.js";
import type { Fact } from "./stage.js";

/** One step that a transaction does. */
export interface Step {
  /** Its name in the journal: the same for the same thing, and for nothing else. */
  readonly name: string;
  readonly title: string;
  /** Of one call, with the event that shows it done. */
  readonly act: Act<ActEvent>;
  readonly facts: readonly Fact[];
  /** Does what has to stand whenever it is sent, also anew, and gives the facts that this brings. */
  readonly ready?: () => Promise<readonly Fact[]>;
  /** Where a later act may take its place: whether the Hub still holds what its event shows. Else it is done anew. */
  readonly holds?: () => Promise<boolean>;
}

/** A step that ends an act: what has happened, and what comes next. */
export interface Plan extends Step {
  readonly result: (found: FoundEvent) => Promise<Result>;
}

/** What was offered to the wallet. Without a hash nobody knows whether the wallet has sent it. */
interface Attempt {
  readonly fromBlock: bigint;
  readonly hash?: Hex;
}

const POLL_MILLISECONDS = 1_000;
/** Of so many polls one searches the log and asks about the transaction, which cost a node more than a receipt does. */
const SEARCH_EVERY = 3;
/** After so many polls what the node does not know may be sent again. */
const DOUBT_AFTER = 10;
const HASH_LETTERS = 66;

/** Does a step once, and ends its act with what came of it. */
export async function carryOut(context: Acting, plan: Plan): Promise<void> {
  const found = await perform(context, plan);
  finished(context, found, await plan.result(found));
}

/** Does a step once, and returns the event that shows it. */
export function perform(context: Acting, step: Step): Promise<FoundEvent> {
  const { journal } = context;
  return journal.alone(step.name, async () => {
    const kept = await journal.get<Attempt>(step.name);
    let found = kept && (await followed(context, step, kept));
    while (found === undefined) found = await sent(context, step, await journal.get<Attempt>(step.name));
    await journal.remove(step.name).catch(() => undefined); // the next visit finds the same event
    return found;
  });
}

/** What became of an earlier attempt; undefined where the wallet may be asked again. */
async function followed(context: Acting, step: Step, kept: Attempt): Promise<FoundEvent | undefined> {
  const { stage } = context;
  stage.say("Looking for an earlier attempt on the chain.");
  const found = await context.node.find(eventOf(step), kept.fromBlock);
  if (found !== undefined && (await step.holds?.()) === false) {
    await context.journal.remove(step.name);
    return undefined;
  }
  return found ?? (kept.hash && outcome(context, step, kept.fromBlock, kept.hash));
}

/** Has it sent, beside an earlier attempt that is not on the chain; undefined where it came to nothing and may be sent again. */
async function sent(context: Acting, step: Step, earlier: Attempt | undefined): Promise<FoundEvent | undefined> {
  const { node, account, wallet, journal, stage } = context;
  const { to, data } = step.act.calls[0] as ActCall;
  const readied = (await step.ready?.()) ?? [];
  stage.say("Simulating the transaction on the wallet's node; it is not sent.");
  await node.simulate(account, { to, data });
  return stage.attempt(step.title, factsOf(context, step, readied, earlier), "Send with the wallet", async () => {
    const found = earlier && (await node.find(eventOf(step), earlier.fromBlock)); // while its facts were read
    if (found !== undefined) return found;
    const fromBlock = earlier?.fromBlock ?? (await node.getBlockNumber());
    await wallet.requireReady(); // last before it is written down: a wallet that is not asked has begun nothing
    await journal.put(step.name, { fromBlock });
    stage.say("Asking the wallet to send the transaction.");
    let hash: Hex;
    try {
      hash = await stage.until(() => wallet.send(to, data));
    } catch (error) {
      if (isCode(error, "declined")) {
        await (earlier === undefined ? journal.remove(step.name) : journal.put(step.name, earlier));
      }
      throw error;
    }
    await journal.put(step.name, { fromBlock, hash }).catch(() => undefined); // its event is looked for without it, too
    return outcome(context, step, fromBlock, hash);
  });
}

/** Waits for the event; undefined where the node does not know the transaction, and the person wants it sent again. */
async function outcome(context: Acting, step: Step, fromBlock: bigint, hash: Hex): Promise<FoundEvent | undefined> {
  const { node, journal, stage } = context;
  stage.say(`Sent as ${hash}. Waiting for the chain; if you leave the page, it continues when you come back.`);
  const isHash = hash.length === HASH_LETTERS; // a Safe's wallet names a transaction in a way of its own
  let isLost = false;
  let isGivenUp = false;
  const lost = "The wallet's node does not know this transaction. If the wallet does not have it either, or has cancelled it, ";
  const again = element("p", {}, lost, button("Send it again", () => (isGivenUp = true)));
  const ended = await stage.until(async (signal) => {
    for (let poll = 1; !isGivenUp && !signal.aborted; poll += 1) {
      const receipt = isHash ? await tolerated(node.receipt(hash)) : undefined;
      const [shown] = receipt === undefined ? [] : node.among(receipt.logs, eventOf(step));
      if (shown !== undefined) return shown;
      if (receipt !== undefined || poll % SEARCH_EVERY === 0) {
        // What a failed one was to do may have been done before it: by an earlier attempt, or by somebody who relayed the call.
        const found = await tolerated(node.find(eventOf(step), fromBlock).then((event) => event ?? "nothing"));
        if (typeof found === "object") return found;
        if (receipt !== undefined && found === "nothing" && !signal.aborted) {
          await journal.remove(step.name);
          throw cameToNothing(hash, receipt.status === "success");
        }
        const wasLost = isLost;
        isLost = poll >= DOUBT_AFTER && receipt === undefined && !(isHash && (await tolerated(node.knows(hash))) !== false);
        if (isLost !== wasLost) stage.show(...(isLost ? [again] : []));
      }
      await pause(POLL_MILLISECONDS);
    }
    return undefined;
  });
  stage.show();
  return ended;
}

/** What is said of a transaction that is in a block and did not do its step: it failed, or did something else. */
function cameToNothing(hash: Hex, hasSucceeded: boolean): ServiceError {
  if (!hasSucceeded) {
    return new ServiceError("transaction_reverted", `The transaction ${hash} failed; it changed nothing.`, {
      nextAction: "Reload the page to see what the bounty permits now.",
    });
  }
  return new ServiceError("step_not_done", `The transaction ${hash} is on the chain, but it has not completed this step.`, {
    nextAction:
      "The account's own contract may have failed in it, or the wallet sent something else. Reload the page to see what the bounty permits now, and change nothing in the wallet.",
  });
}

/** A node that is silent for a moment ends no wait; a wallet that is on another chain does. */
export async function tolerated<Value>(question: Promise<Value>): Promise<Value | undefined> {
  try {
    return await question;
  } catch (error) {
    if (isCode(error, "wrong_chain")) throw error;
    return undefined;
  }
}

function eventOf({ act }: Step): ExpectedEvent {
  return act.expected[0] as ExpectedEvent;
}

function factsOf({ settings, account }: Context, step: Step, readied: readonly Fact[], earlier: Attempt | undefined): Fact[] {
  const { to, data } = step.act.calls[0] as ActCall;
  const again = "An earlier attempt was begun here and is not on the chain. Check the wallet: cancel it there first.";
  return [
    ...(earlier === undefined ? [] : [["Before you send", again, "warning"] as const]),
    ...step.facts,
    ...readied,
    ["Function of the contract", decodeFunctionData({ abi: hubAbi, data }).functionName],
    ["Contract", `the Hub ${to} on chain ${settings.deployment.chainId}`],
    ["Sent by", account],
    ["Ether that moves", "only the network's fee, which the wallet shows"],
  ];
}
