/**
 * The chain as the wallet's own node shows it: what a person is to sign is derived from here. It is this wallet's word
 * for the chain, which its owner trusts with more than this page.
 */

import { decodeFunctionResult, encodeEventTopics, encodeFunctionData } from "viem";
import { erc20Abi, parseEventLogs } from "viem";
import type { Abi, Address, ContractEventName, ContractFunctionArgs, ContractFunctionName, Hex, Log } from "viem";
import type { ReadContractParameters, ReadContractReturnType } from "viem";
import { hubAbi, RECENT_SECONDS, ServiceError, TOLERATED_SECONDS } from "../src/acting.js";
import { AnsweredLate, inTime } from "./provider.js";
import type { Call } from "./provider.js";
import { refusedBy, revertData } from "./refused.js";
import type { Token } from "./text.js";
import { isWrongChain } from "./wallet.js";
import type { Wallet } from "./wallet.js";

/** A block, as far as it is needed. */
export interface Block {
  readonly number: bigint;
  readonly hash: Hex;
  readonly timestamp: bigint;
}

/** What a transaction is known by. */
export interface Transaction {
  readonly from: Address;
  readonly nonce: bigint;
}

/** What became of a transaction. */
export interface Receipt {
  readonly succeeded: boolean;
  readonly blockNumber: bigint;
  readonly logs: readonly Log[];
}

/** An event that shows that something was done; `args` are its indexed values and others to compare. */
export interface ExpectedEvent {
  readonly eventName: ContractEventName<typeof hubAbi> | ContractEventName<typeof erc20Abi>;
  readonly args: Readonly<Record<string, unknown>>;
  /** Whose event it is, where it is the token's; else it is the Hub's. */
  readonly token?: Address;
}

/** A log that was expected, and its values. */
export interface FoundEvent {
  readonly hash: Hex;
  readonly blockNumber: bigint;
  readonly args: Readonly<Record<string, unknown>>;
}

type ViewName<abi extends Abi | readonly unknown[]> = ContractFunctionName<abi, "pure" | "view">;
type ViewArgs<abi extends Abi | readonly unknown[], name extends ViewName<abi>> = ContractFunctionArgs<
  abi,
  "pure" | "view",
  name
>;

/** Blocks of six seconds of Base: from there on the pace is known. */
const FIRST_LEAP = 30n;
/** Blocks of one question about logs; a node that takes fewer is asked about half as many, and again. */
const LOG_RANGE = 5_000n;
const LEAST_RANGE = 100n;
const MOST_BLOCKS = 1_000_000n;
/** A node that never answers ends no step: it is one that does not answer. */
const MOST_MILLISECONDS = 30_000;

export class Node {
  readonly #wallet: Wallet;
  readonly #hub: Address;
  #token: Token | undefined;

  constructor(wallet: Wallet, hub: Address) {
    this.#wallet = wallet;
    this.#hub = hub;
  }

  /** From now on, refusals name amounts in this token. */
  useToken(token: Token): void {
    this.#token = token;
  }

  /** A contract's answer; a refusal of the Hub is a ServiceError with its sentence. */
  async readContract<
    const abi extends Abi | readonly unknown[],
    name extends ViewName<abi>,
    const args extends ViewArgs<abi, name>,
  >(
    question: ReadContractParameters<abi, name, args>,
    block: "latest" | "finalized" = "latest",
  ): Promise<ReadContractReturnType<abi, name, args>> {
    const abi = question.abi as Abi;
    const functionName: string = question.functionName;
    const args = question.args as readonly unknown[] | undefined;
    const data = encodeFunctionData({ abi, functionName, args: args ?? [] });
    const to = question.address as Address; // viem leaves it out for calls that deploy
    const answer = await this.#call({ to, data }, block);
    if (answer === "0x") {
      const message = `There is no contract at ${to} on the wallet's chain.`;
      throw new ServiceError("no_contract", message, { nextAction: "Check which network the wallet uses." });
    }
    return decodeFunctionResult({ abi, functionName, data: answer }) as ReadContractReturnType<abi, name, args>;
  }

  /** What an account answers to a call: `0x` where it has no code or reverts. */
  async answer(to: Address, data: Hex): Promise<Hex> {
    try {
      return (await inTime(this.#wallet.read("eth_call", [{ to, data }, "latest"]), MOST_MILLISECONDS)) as Hex;
    } catch (error) {
      if (revertData(error) !== undefined || isRevert(error, 0)) return "0x";
      throw unreadable(error);
    }
  }

  /** Runs a transaction without sending it; raises the sentence of what the Hub would refuse. */
  async simulate(from: Address, call: Call): Promise<void> {
    await this.#call({ ...call, from }, "latest");
  }

  /**
   * The same of calls that only succeed one after the other, where the node can (`eth_simulateV1`); gives whether it was
   * tried at all.
   */
  async simulateTogether(from: Address, calls: readonly Call[]): Promise<boolean> {
    let blocks: unknown;
    try {
      const tried = { blockStateCalls: [{ calls: calls.map((call) => ({ ...call, from })) }] };
      blocks = await inTime(this.#wallet.read("eth_simulateV1", [tried, "latest"]), MOST_MILLISECONDS);
    } catch {
      return false;
    }
    const results = (blocks as { calls?: { status?: unknown }[] }[] | null)?.[0]?.calls;
    if (!Array.isArray(results) || results.length !== calls.length) return false;
    const failed = results.find(({ status }) => status !== "0x1");
    if (failed !== undefined) throw explained(failed, this.#token);
    return true;
  }

  async getBlockNumber(): Promise<bigint> {
    return BigInt((await this.#ask("eth_blockNumber", [])) as string);
  }

  async getBlock(which: { readonly blockNumber?: bigint } = {}): Promise<Block> {
    return this.#block(which.blockNumber === undefined ? "latest" : hexNumber(which.blockNumber));
  }

  /** The newest block that no reorganisation takes back. */
  async getFinalizedBlock(): Promise<Block> {
    return this.#block("finalized");
  }

  async #block(tag: string): Promise<Block> {
    const found = (await this.#ask("eth_getBlockByNumber", [tag, false])) as Record<string, string> | null;
    if (found === null) throw unreadable();
    const { number, hash, timestamp } = found;
    return { number: BigInt(number ?? ""), hash: hash as Hex, timestamp: BigInt(timestamp ?? "") };
  }

  /** Whether an account is a contract, such as a Safe. */
  async isContract(account: Address): Promise<boolean> {
    const code = await this.getCode({ address: account });
    return typeof code === "string" && code !== "0x" && !code.startsWith("0xef0100"); // a delegated account signs itself
  }

  /** An account's code; a delegated one's is its delegation. */
  async getCode({ address }: { readonly address: Address }): Promise<Hex> {
    return (await this.#ask("eth_getCode", [address, "latest"])) as Hex;
  }

  /** What a contract answers to a call; a refusal and a node that does not answer look alike here. */
  async call(call: Call): Promise<{ readonly data: Hex }> {
    return { data: (await this.#ask("eth_call", [call, "latest"])) as Hex };
  }

  /** A transaction, mined or not, by its sender and its place among the sender's; null where the node does not know it. */
  async transaction(hash: Hex): Promise<Transaction | null> {
    const found = (await this.#ask("eth_getTransactionByHash", [hash])) as Record<string, string> | null;
    if (found === null) return null;
    return { from: (found["from"] ?? "").toLowerCase() as Address, nonce: BigInt(found["nonce"] ?? "") };
  }

  /** How many transactions of an account are in blocks: one with a lower nonce is mined, or never will be. */
  async minedOf(account: Address, block: "latest" | "finalized" = "latest"): Promise<bigint> {
    return BigInt((await this.#ask("eth_getTransactionCount", [account, block])) as string);
  }

  /** The present price of a unit of gas, in wei. */
  async gasPrice(): Promise<bigint> {
    return BigInt((await this.#ask("eth_gasPrice", [])) as string);
  }

  /** The gas that a call takes. */
  async gasOf(from: Address, call: Call): Promise<bigint> {
    return BigInt((await this.#ask("eth_estimateGas", [{ ...call, from }])) as string);
  }

  /** An account's ether, in wei. */
  async balance(account: Address): Promise<bigint> {
    return BigInt((await this.#ask("eth_getBalance", [account, "latest"])) as string);
  }

  async receipt(hash: Hex): Promise<Receipt | undefined> {
    const found = (await this.#ask("eth_getTransactionReceipt", [hash])) as Record<string, unknown> | null;
    if (found === null) return undefined;
    const { status, blockNumber, logs } = found;
    return { succeeded: status === "0x1", blockNumber: BigInt(blockNumber as string), logs: logs as readonly Log[] };
  }

  /**
   * The newest such event since a block; blocks are read from the newest on, in ranges that nodes accept. Nothing has
   * happened yet since a block that comes next: a part of the node is behind. One that is further off was another node's
   * word: then it is the last day's log that is read.
   */
  async find(expected: ExpectedEvent, fromBlock: bigint): Promise<FoundEvent | undefined> {
    for await (const found of this.#events(expected, fromBlock)) return found;
    return undefined;
  }

  /**
   * A block at least so many seconds older than another, and not much more, or the chain's first: by leaps, each at the
   * pace that the last one showed.
   */
  async blockBefore(head: bigint, seconds: bigint): Promise<bigint> {
    const newest = await this.getBlock({ blockNumber: head });
    const behind = (blocks: bigint) => this.getBlock({ blockNumber: head > blocks ? head - blocks : 0n });
    const passed = (block: Block) => (newest.timestamp > block.timestamp ? newest.timestamp - block.timestamp : 0n);
    const wanted = (block: Block) => {
      const made = passed(block) > 0n ? passed(block) : 1n;
      return (seconds * (head - block.number) + made - 1n) / made;
    };
    let block = await behind(FIRST_LEAP);
    if (passed(block) > 2n * seconds) block = await behind(wanted(block));
    while (block.number > 0n && passed(block) < seconds) {
      const least = ((head - block.number) * 3n) / 2n + 1n;
      block = await behind(wanted(block) > least ? wanted(block) : least);
    }
    return block.number;
  }

  /** All such events since a block, the newest first. */
  async findAll(expected: ExpectedEvent, fromBlock: bigint): Promise<FoundEvent[]> {
    const all: FoundEvent[] = [];
    for await (const found of this.#events(expected, fromBlock)) all.push(found);
    return all;
  }

  /** The newest such event in a block, or from it to another. */
  async findIn(expected: ExpectedEvent, first: bigint, last = first): Promise<FoundEvent | undefined> {
    for await (const found of this.#eventsIn(expected, first, last)) return found;
    return undefined;
  }

  async *#events(expected: ExpectedEvent, fromBlock: bigint): AsyncGenerator<FoundEvent> {
    const head = await this.getBlockNumber();
    let since = fromBlock;
    if (head < fromBlock) {
      if (fromBlock - head <= head - (await this.blockBefore(head, TOLERATED_SECONDS))) return;
      since = await this.blockBefore(head, RECENT_SECONDS);
    }
    yield* this.#eventsIn(expected, head - since < MOST_BLOCKS ? since : head - MOST_BLOCKS + 1n, head);
  }

  async *#eventsIn(expected: ExpectedEvent, oldest: bigint, newest: bigint): AsyncGenerator<FoundEvent> {
    const isEnough = (half: bigint) => half >= LEAST_RANGE && half > newest - oldest;
    let range = LOG_RANGE;
    while (isEnough(range / 2n)) range /= 2n; // the same question is not asked again
    for (let last = newest; last >= oldest; ) {
      const first = last - range + 1n > oldest ? last - range + 1n : oldest;
      let logs: readonly Log[];
      try {
        logs = await this.#logs(expected, first, last);
      } catch (error) {
        const isAnswered = error instanceof ServiceError && !(error.cause instanceof AnsweredLate);
        if (!isAnswered || isWrongChain(error) || range / 2n < LEAST_RANGE) throw error;
        range /= 2n;
        continue;
      }
      yield* this.all(logs, expected);
      last = first - 1n;
    }
  }

  async #logs({ eventName, args, token }: ExpectedEvent, first: bigint, last: bigint): Promise<readonly Log[]> {
    const topics = encodeEventTopics({ abi: token === undefined ? hubAbi : erc20Abi, eventName, args });
    const filter = { address: token ?? this.#hub, topics, fromBlock: hexNumber(first), toBlock: hexNumber(last) };
    return (await this.#ask("eth_getLogs", [filter])) as readonly Log[];
  }

  /** The newest such event among logs. */
  among(logs: readonly Log[], expected: ExpectedEvent): FoundEvent | undefined {
    return this.all(logs, expected)[0];
  }

  /** All such events among logs, the newest first. */
  all(logs: readonly Log[], { eventName, args, token }: ExpectedEvent): FoundEvent[] {
    const own = logs.filter((log) => same(log.address, token ?? this.#hub));
    const abi: Abi = token === undefined ? hubAbi : erc20Abi;
    return parseEventLogs({ abi, logs: own as Log[], eventName })
      .reverse()
      .map((log) => ({
        hash: log.transactionHash as Hex,
        blockNumber: BigInt(log.blockNumber ?? 0),
        args: log.args as Readonly<Record<string, unknown>>,
      }))
      .filter((found) => Object.entries(args).every(([name, value]) => same(found.args[name], value)));
  }

  async #call(call: Call & { readonly from?: Address }, block: string): Promise<Hex> {
    try {
      return (await inTime(this.#wallet.read("eth_call", [call, block]), MOST_MILLISECONDS)) as Hex;
    } catch (error) {
      throw explained(error, this.#token);
    }
  }

  async #ask(method: string, params: readonly unknown[]): Promise<unknown> {
    try {
      return await inTime(this.#wallet.read(method, params), MOST_MILLISECONDS);
    } catch (error) {
      throw unreadable(error);
    }
  }
}

function same(left: unknown, right: unknown): boolean {
  if (typeof left === "string" && typeof right === "string") return left.toLowerCase() === right.toLowerCase();
  return left === right;
}

/** The Hub's own refusal, wherever in a wallet's error its data is; anything else is a chain that cannot be read. */
function explained(error: unknown, token: Token | undefined): ServiceError {
  const data = revertData(error);
  return data === undefined ? unreadable(error) : refusedBy(data, token);
}

/** Whether an error without data is a contract's: nodes and wallets put that into words somewhere in it. */
function isRevert(error: unknown, depth: number): boolean {
  if (typeof error === "string") return /revert/i.test(error);
  if (typeof error !== "object" || error === null || depth > 4) return false;
  const names = ["message", "data", "error", "originalError", "cause"];
  return names.some((name) => isRevert((error as Record<string, unknown>)[name], depth + 1));
}

function unreadable(error?: unknown): ServiceError {
  if (isWrongChain(error)) return error;
  return new ServiceError("chain_unavailable", "The wallet's node does not answer a question about the chain.", {
    nextAction: "Try again in a moment, or choose another node in the wallet.",
    cause: error,
  });
}

function hexNumber(value: bigint): Hex {
  return `0x${value.toString(16)}`;
}
