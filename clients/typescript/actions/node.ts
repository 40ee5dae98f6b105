/**
 * The chain as the wallet's own node shows it, read through viem: what a person is to sign is derived from here. It is
 * this wallet's word for the chain, which its owner trusts with more than this page. Calls of one moment are one question
 * where the chain has Multicall3.
 */

import { createClient, custom, decodeFunctionResult, encodeEventTopics, encodeFunctionData } from "viem";
import type { Abi, Address, Client, ContractFunctionArgs, ContractFunctionName, EIP1193RequestFn } from "viem";
import type { Hex, Log, ReadContractParameters, ReadContractReturnType, TransactionReceipt } from "viem";
import { call, getBlock, getBlockNumber, getCode, getTransactionReceipt } from "viem/actions";
import { eventsOf, hubAbi, RECENT_SECONDS, ServiceError, TOLERATED_SECONDS } from "../src/acting.js";
import type { Act, ActEvent } from "../src/acting.js";
import { chainOf } from "./chains.js";
import { AnsweredLate, inTime } from "./provider.js";
import type { Call } from "./provider.js";
import { refusedBy, revertData } from "./refused.js";
import type { Token } from "./text.js";
import { isWrongChain } from "./wallet.js";
import type { Wallet } from "./wallet.js";
import { t } from "./words.js";

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

/** An event of the Hub that shows that something was done; `args` are its indexed values and others to compare. */
export type ExpectedEvent = Act<ActEvent>["expected"][number];

/** A log that was expected, and its values. */
export interface FoundEvent {
  readonly hash: Hex;
  readonly blockNumber: bigint;
  readonly args: Readonly<Record<string, unknown>>;
}

type ViewName<abi extends Abi | readonly unknown[]> = ContractFunctionName<abi, "pure" | "view">;
type ViewArgs<abi extends Abi | readonly unknown[], name extends ViewName<abi>> = ContractFunctionArgs<abi, "pure" | "view", name>;
type Tag = "latest" | "finalized";

/** Blocks of six seconds of Base: from there on the pace is known. */
const FIRST_LEAP = 30n;
/** Blocks of one question about logs; a node that takes fewer is asked about half as many, and again. */
const LOG_RANGE = 5_000n;
const LEAST_RANGE = 100n;
const MOST_BLOCKS = 1_000_000n;
/** A node that never answers ends no step: it is one that does not answer. */
const MOST_MILLISECONDS = 30_000;

export class Node {
  readonly #client: Client;
  readonly #request: EIP1193RequestFn;
  readonly #hub: Address;
  #token: Token | undefined;

  constructor(wallet: Pick<Wallet, "read" | "chainId">, hub: Address) {
    const request = ({ method, params }: { method: string; params?: unknown }) =>
      inTime(wallet.read(method, (params ?? []) as readonly unknown[]), MOST_MILLISECONDS);
    const chain = chainOf(wallet.chainId);
    const transport = custom({ request }, { retryCount: 0 });
    this.#request = transport({}).request;
    this.#client = createClient({
      ...(chain && { chain, batch: { multicall: true } }),
      transport,
      cacheTime: 0,
    });
    this.#hub = hub;
  }

  /** Names amounts in this token from now on, in refusals. */
  useToken(token: Token): void {
    this.#token = token;
  }

  /** Reads what a contract answers; a refusal of the Hub is a ServiceError with its sentence. */
  async readContract<
    const abi extends Abi | readonly unknown[],
    name extends ViewName<abi>,
    const args extends ViewArgs<abi, name>,
  >(question: ReadContractParameters<abi, name, args>, block: Tag = "latest"): Promise<ReadContractReturnType<abi, name, args>> {
    const abi = question.abi as Abi;
    const functionName: string = question.functionName;
    const args = question.args as readonly unknown[] | undefined;
    const to = question.address as Address; // viem leaves it out for calls that deploy
    const data = encodeFunctionData({ abi, functionName, args: args ?? [] });
    const { data: answer } = await this.#asked(call(this.#client, { to, data, blockTag: block }), true);
    if (answer === undefined || answer === "0x") {
      const nextAction = t`Check which network the wallet uses.`;
      throw new ServiceError("no_contract", t`There is no contract at ${to} on the wallet's chain.`, { nextAction });
    }
    return decodeFunctionResult({ abi, functionName, data: answer }) as ReadContractReturnType<abi, name, args>;
  }

  /** Runs a transaction without sending it; raises the sentence of what the Hub would refuse. */
  async simulate(from: Address, { to, data }: Call): Promise<void> {
    await this.#asked(call(this.#client, { account: from, to, data }), true);
  }

  getBlockNumber(): Promise<bigint> {
    return this.#asked(getBlockNumber(this.#client, { cacheTime: 0 }));
  }

  /** Gives a block: the newest, the newest that no reorganisation takes back, or the one with a number. */
  getBlock({ blockNumber, blockTag = "latest" }: { readonly blockNumber?: bigint; readonly blockTag?: Tag } = {}): Promise<Block> {
    const which = blockNumber === undefined ? { blockTag } : { blockNumber };
    return this.#asked(getBlock(this.#client, which)) as Promise<Block>;
  }

  /** Gives an account's code; a delegated one's is its delegation. */
  async getCode({ address }: { readonly address: Address }): Promise<Hex> {
    return (await this.#asked(getCode(this.#client, { address }))) ?? "0x";
  }

  /** Gives what a contract answers to a call; a refusal and a node that does not answer look alike here. */
  async call({ to, data }: Call): Promise<{ readonly data: Hex }> {
    return { data: (await this.#asked(call(this.#client, { to, data }))).data ?? "0x" };
  }

  /** Gives a transaction, mined or not; null where the node does not know it. */
  async transaction(hash: Hex): Promise<Transaction | null> {
    const found = (await this.#ask("eth_getTransactionByHash", [hash])) as Record<string, string> | null;
    return found && { from: (found["from"] ?? "").toLowerCase() as Address, nonce: BigInt(found["nonce"] ?? "") };
  }

  /** Counts the transactions of an account in blocks: one with a lower nonce is mined, or never will be. */
  async minedOf(account: Address, block: Tag = "latest"): Promise<bigint> {
    return BigInt((await this.#ask("eth_getTransactionCount", [account, block])) as string);
  }

  /** Gives what became of a transaction; undefined while it is in no block. */
  async receipt(hash: Hex): Promise<TransactionReceipt | undefined> {
    const found = getTransactionReceipt(this.#client, { hash }).catch((error: unknown) => {
      if ((error as Error | null)?.name === "TransactionReceiptNotFoundError") return undefined;
      throw error;
    });
    return this.#asked(found);
  }

  /**
   * Finds the newest such event since a block; blocks are read from the newest on, in ranges that nodes accept. Nothing
   * has happened yet since a block that comes next: a part of the node is behind. One that is further off was another
   * node's word: then it is the last day's log that is read.
   */
  async find(expected: ExpectedEvent, fromBlock: bigint): Promise<FoundEvent | undefined> {
    return (await this.#since(expected, fromBlock).next()).value ?? undefined;
  }

  /** Finds all such events since a block, the newest first. */
  async findAll(expected: ExpectedEvent, fromBlock: bigint): Promise<FoundEvent[]> {
    const all: FoundEvent[] = [];
    for await (const found of this.#since(expected, fromBlock)) all.push(found);
    return all;
  }

  /** Finds such an event in a block. */
  async findIn(expected: ExpectedEvent, block: bigint): Promise<FoundEvent | undefined> {
    return (await this.#between(expected, block, block).next()).value ?? undefined;
  }

  /**
   * Gives a block at least so many seconds older than another, and not much more, or the chain's first: by leaps, each at
   * the pace that the last one showed.
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

  async *#since(expected: ExpectedEvent, fromBlock: bigint): AsyncGenerator<FoundEvent, undefined> {
    const head = await this.getBlockNumber();
    let since = fromBlock;
    if (head < fromBlock) {
      if (fromBlock - head <= head - (await this.blockBefore(head, TOLERATED_SECONDS))) return undefined;
      since = await this.blockBefore(head, RECENT_SECONDS);
    }
    yield* this.#between(expected, head - since < MOST_BLOCKS ? since : head - MOST_BLOCKS + 1n, head);
    return undefined;
  }

  async *#between(expected: ExpectedEvent, oldest: bigint, newest: bigint): AsyncGenerator<FoundEvent, undefined> {
    const isEnough = (half: bigint) => half >= LEAST_RANGE && half > newest - oldest;
    let range = LOG_RANGE;
    while (isEnough(range / 2n)) range /= 2n; // the same question is not asked again
    for (let last = newest; last >= oldest; ) {
      const first = last - range + 1n > oldest ? last - range + 1n : oldest;
      let logs: readonly Log[];
      try {
        logs = await this.#logs(expected, first, last);
      } catch (error) {
        const isSilent = causeOf(error, (each) => each instanceof AnsweredLate) !== undefined;
        if (isSilent || isWrongChain(error) || range / 2n < LEAST_RANGE) throw error;
        range /= 2n;
        continue;
      }
      yield* this.among(logs, expected);
      last = first - 1n;
    }
    return undefined;
  }

  async #logs({ eventName, args }: ExpectedEvent, first: bigint, last: bigint): Promise<readonly Log[]> {
    const topics = encodeEventTopics({ abi: hubAbi as Abi, eventName, args });
    const range = { fromBlock: `0x${first.toString(16)}`, toBlock: `0x${last.toString(16)}` };
    return (await this.#ask("eth_getLogs", [{ address: this.#hub, topics, ...range }])) as readonly Log[];
  }

  /** Finds all such events among logs, the newest first. */
  among(logs: readonly Log[], expected: ExpectedEvent): FoundEvent[] {
    const found = [...eventsOf(this.#hub, expected, logs)].reverse();
    return found.map(({ transactionHash, blockNumber, args }) => ({
      ...{ hash: transactionHash as Hex, blockNumber: BigInt(blockNumber ?? 0), args },
    }));
  }

  #ask(method: string, params: readonly unknown[]): Promise<unknown> {
    return this.#asked(this.#request({ method, params }));
  }

  /** Waits for an answer; raises why there is none, for a call the Hub's own refusal. */
  async #asked<Value>(question: Promise<Value>, isCall = false): Promise<Value> {
    try {
      return await question;
    } catch (error) {
      throw isCall ? this.#explained(error) : unreadable(error);
    }
  }

  /** Gives the Hub's own refusal, wherever in an error its data is; anything else is a chain that cannot be read. */
  #explained(error: unknown): ServiceError {
    const data = revertData(error);
    return data === undefined ? unreadable(error) : refusedBy(data, this.#token);
  }
}

/** Finds the first of an error and its causes that is such a one. */
function causeOf(error: unknown, isIt: (each: unknown) => boolean): unknown {
  for (let each = error; each !== undefined && each !== null; each = (each as { cause?: unknown }).cause) if (isIt(each)) return each;
  return undefined;
}

function unreadable(error?: unknown): ServiceError {
  const wrong = causeOf(error, isWrongChain);
  if (wrong !== undefined) return wrong as ServiceError;
  return new ServiceError("chain_unavailable", t`The wallet's node does not answer a question about the chain.`, {
    nextAction: t`Try again in a moment, or choose another node in the wallet.`,
    cause: error,
  });
}
