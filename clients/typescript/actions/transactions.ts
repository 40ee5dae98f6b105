/**
 * One transaction of the Hub, or of its token: explained, tried without sending, written down, sent, and followed until its event shows
 * it done. The same rules as the command-line client's: what was begun is looked for on the chain before anything is
 * sent again, and it is the event that counts, whichever transaction brought it (a replaced one, or a Safe's).
 */

import { encodeFunctionData } from "viem";
import type { Address, ContractFunctionArgs, ContractFunctionName, Hex } from "viem";
import { ServiceError } from "../src/errors.js";
import { hubAbi } from "../src/generated/hub.js";
import type { Context } from "./context.js";
import { button, element } from "./dom.js";
import type { Call, ExpectedEvent, FoundEvent } from "./node.js";
import { transactionBuilder } from "./safe.js";
import type { Fact, Stage } from "./stage.js";

/** One step that a transaction does. */
export interface Step {
  /** Its name in the journal: the same for the same thing, and for nothing else. */
  readonly name: string;
  readonly title: string;
  readonly functionName: string;
  readonly call: Call;
  readonly facts: readonly Fact[];
  readonly expected: ExpectedEvent;
}

/** What was offered to the wallet. Without a hash nobody knows whether the wallet has sent it. */
interface Attempt {
  readonly data: Hex;
  readonly fromBlock: bigint;
  readonly hash?: Hex;
}

const POLL_MILLISECONDS = 1_000;
/** Of so many polls one searches the log, which costs a node more than a receipt does. */
const SEARCH_EVERY = 3;
/** After so many polls without a receipt the node is asked whether it knows the transaction at all. */
const DOUBT_AFTER = 10;

const SEND = "Send with the wallet";
const SAVE = "Save it for the Safe's Transaction Builder";
const HASH_LETTERS = 66;

type Changing = ContractFunctionName<typeof hubAbi, "nonpayable">;

/** A call of the Hub, encoded here. */
export function hubCall<const name extends Changing>(
  hubAddress: Address,
  functionName: name,
  args: ContractFunctionArgs<typeof hubAbi, "nonpayable", name>,
): Call {
  return { to: hubAddress, data: encodeFunctionData({ abi: hubAbi, functionName, args } as never) };
}

/** Does a step once, and returns the event that shows it. */
export function perform(context: Context, stage: Stage, step: Step): Promise<FoundEvent> {
  return context.journal.alone(step.name, async () => {
    const kept = await context.journal.get<Attempt>(step.name);
    let found = kept === undefined ? undefined : await followed(context, stage, step, kept);
    for (let isRepeated = kept !== undefined; found === undefined; isRepeated = true) {
      found = await sent(context, stage, step, isRepeated);
    }
    return found;
  });
}

/** What became of an earlier attempt; undefined where the wallet may be asked again. */
async function followed(context: Context, stage: Stage, step: Step, kept: Attempt): Promise<FoundEvent | undefined> {
  stage.say("An earlier attempt is looked for on the chain.");
  const found = await context.node.find(step.expected, kept.fromBlock);
  if (found !== undefined) {
    await context.journal.remove(step.name);
    return found;
  }
  return kept.hash === undefined ? undefined : outcome(context, stage, step, kept.hash, kept.fromBlock);
}

/** Has it sent; undefined where nobody knows it afterwards, and the person wants it sent again. */
async function sent(
  context: Context,
  stage: Stage,
  step: Step,
  isRepeated: boolean,
): Promise<FoundEvent | undefined> {
  const { node, wallet, journal, account, isPrepared } = context;
  stage.say("The transaction is tried on the wallet's node, without sending it.");
  await node.simulate(account, step.call);
  const buttons = isPrepared ? [SAVE] : (await node.isContract(account)) ? [SEND, SAVE] : [SEND];
  stage.say("");
  const pressed = await stage.confirm(step.title, factsOf(context, step, isRepeated), ...buttons);
  await wallet.requireReady();
  const attempt: Attempt = { data: step.call.data, fromBlock: await node.getBlockNumber() };
  await journal.put(step.name, attempt);
  if (pressed === SAVE) {
    offerFile(context, stage, step);
    return outcome(context, stage, step, undefined, attempt.fromBlock);
  }
  stage.say("The wallet is asked to send the transaction.");
  let hash: Hex;
  try {
    hash = await wallet.send(step.call.to, step.call.data);
  } catch (error) {
    if (error instanceof ServiceError && error.code === "declined") await journal.remove(step.name);
    throw error;
  }
  await journal.put(step.name, { ...attempt, hash });
  return outcome(context, stage, step, hash, attempt.fromBlock);
}

/**
 * Waits for the event; a transaction that failed is forgotten, so that the step can be done again. Undefined where the
 * node does not know the transaction, and the person wants it sent again.
 */
async function outcome(
  context: Context,
  stage: Stage,
  step: Step,
  hash: Hex | undefined,
  fromBlock: bigint,
): Promise<FoundEvent | undefined> {
  const { node, journal } = context;
  const sent = hash === undefined ? "" : `Sent as ${hash}. `;
  stage.say(`${sent}Waiting for the chain; if you leave the page, it continues when you come back.`);
  let isGivenUp = false;
  for (let poll = 1; !isGivenUp; poll += 1) {
    const receipt = hash?.length === HASH_LETTERS ? await tolerated(node.receipt(hash)) : undefined;
    let found = receipt === undefined ? undefined : node.among(receipt.logs, step.expected);
    if (found === undefined && poll % SEARCH_EVERY === 0) found = await tolerated(node.find(step.expected, fromBlock));
    if (found !== undefined) {
      await journal.remove(step.name);
      return found;
    }
    if (receipt?.succeeded === false) {
      await journal.remove(step.name);
      throw new ServiceError("transaction_reverted", `The transaction ${hash} failed; it changed nothing.`, {
        nextAction: "Reload the page to see what the bounty permits now.",
      });
    }
    if (hash !== undefined && receipt === undefined && poll % DOUBT_AFTER === 0) {
      if ((await tolerated(node.knows(hash))) === false) offerAgain(stage, () => (isGivenUp = true));
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MILLISECONDS));
  }
  stage.show();
  return undefined;
}

/** A way on where a node lost a transaction, or never passed it on. */
function offerAgain(stage: Stage, pressed: () => void): void {
  const text = "The wallet's node does not know this transaction. If the wallet does not either, ";
  stage.show(element("p", {}, text, button("Have it sent again", pressed)));
}

/** The file for the owners of a Safe, who send the transaction together. */
function offerFile({ settings, account }: Context, stage: Stage, step: Step): void {
  const text = transactionBuilder(settings.deployment.chainId, account, step.call, step.title, Date.now());
  const href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  const link = element(
    "a",
    { download: `${step.name.replace(/[^A-Za-z0-9]+/g, "-")}.json`, href },
    "Save the transaction",
  );
  stage.show(element("p", {}, link, " and load it in the Safe's Transaction Builder. This page waits for it."));
}

/** A node that is silent for a moment ends no wait. */
async function tolerated<Value>(question: Promise<Value>): Promise<Value | undefined> {
  try {
    return await question;
  } catch {
    return undefined;
  }
}

function factsOf({ settings, account }: Context, step: Step, isRepeated: boolean): Fact[] {
  const isOfHub = step.call.to.toLowerCase() === settings.deployment.hubAddress.toLowerCase();
  const facts: Fact[] = [
    ...step.facts,
    ["Function of the contract", step.functionName],
    ["Contract", `the ${isOfHub ? "Hub" : "token"} ${step.call.to} on chain ${settings.deployment.chainId}`],
    ["Sent by", account],
    ["Ether that moves", "none but the network's fee"],
  ];
  const again =
    "An earlier attempt was begun here and is not on the chain. Look into the wallet: cancel it there first.";
  return isRepeated ? [["Before you send", again], ...facts] : facts;
}
