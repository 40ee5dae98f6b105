/**
 * The chain as the wallet's own node shows it, read through viem: what a person is to sign is derived from here. It is
 * this wallet's word for the chain, which its owner trusts with more than this page. Calls of one moment are one question
 * where the chain has Multicall3.
 */

import { BaseError, ContractFunctionZeroDataError, createClient, custom, TransactionNotFoundError, TransactionReceiptNotFoundError } from "viem";
import { withTimeout } from "viem";
import type { Abi, Address, Block, Client, Hex, Log, PublicClient, TransactionReceipt } from "viem";
import { call, getBlock, getBlockNumber, getCode, getContractEvents, getTransaction, getTransactionReceipt, readContract } from "viem/actions";
import { eventsOf, hubAbi, RECENT_SECONDS, ServiceError } from "../src/acting.js";
import type { Act, ActCall, ActEvent } from "../src/acting.js";
import { isCode } from "./answers.js";
import { refusedBy, revertData } from "./refused.js";
import type { Token } from "./text.js";
import { chainOf, type Wallet } from "./wallet.js";

/** An event of the Hub that shows that something was done; `args` are its indexed values and others to compare. */
export type ExpectedEvent = Act<ActEvent>["expected"][number];

/** A log that was expected, and its values. */
export interface FoundEvent {
  readonly transactionHash: Hex;
  readonly blockNumber: bigint;
  readonly args: Readonly<Record<string, unknown>>;
}

/** Blocks from which the chain's pace is taken. */
const PACE_BLOCKS = 1_000n;
/** Blocks of one question about logs; a node that takes fewer is asked about half as many, and again. */
const LOG_RANGE = 5_000n;
const LEAST_RANGE = 100n;
/** A node that never answers ends no step: it is one that does not answer. */
const MOST_MILLISECONDS = 30_000;

/** No answer in time: what a wallet says itself is another error. */
class AnsweredLate extends Error {}

export class Node {
  readonly #client: Client;
  readonly #hub: Address;
  readonly #token: Token | undefined;

  /** Refusals name amounts in the `token`, in smallest units without one. */
  constructor(wallet: Pick<Wallet, "read" | "chainId">, hub: Address, token?: Token) {
    const request = ({ method, params }: { method: string; params?: unknown }) =>
      withTimeout(() => wallet.read(method, (params ?? []) as readonly unknown[]), {
        timeout: MOST_MILLISECONDS,
        errorInstance: new AnsweredLate(),
      });
    const chain = chainOf(wallet.chainId);
    const transport = custom({ request }, { retryCount: 0 });
    this.#client = createClient({ ...(chain && { chain, batch: { multicall: true } }), transport, cacheTime: 0 });
    this.#hub = hub;
    this.#token = token;
  }

  /** Reads what a contract answers; a refusal of the Hub is a ServiceError with its sentence. */
  readonly readContract = ((question: Parameters<PublicClient["readContract"]>[0]) =>
    this.#asked(readContract(this.#client, question))) as PublicClient["readContract"];

  /** Runs a transaction without sending it; raises the sentence of what the Hub would refuse. */
  async simulate(account: Address, { to, data }: Pick<ActCall, "to" | "data">): Promise<void> {
    await this.#asked(call(this.#client, { account, to, data }));
  }

  readonly getBlockNumber = (): Promise<bigint> => this.#asked(getBlockNumber(this.#client, { cacheTime: 0 }));

  /** Gives a block: the newest, the newest that no reorganisation takes back, or the one with a number. */
  getBlock(which: { readonly blockNumber?: bigint; readonly blockTag?: "finalized" } = {}): Promise<Block<bigint, false, "latest">> {
    const { blockNumber, blockTag = "latest" } = which;
    return this.#asked(getBlock(this.#client, blockNumber !== undefined ? { blockNumber } : { blockTag })) as ReturnType<Node["getBlock"]>;
  }

  /** Gives an account's code; a delegated one's is its delegation. */
  readonly getCode: PublicClient["getCode"] = (question) => this.#asked(getCode(this.#client, question));

  /** Gives what a contract answers to a call; a refusal and a node that does not answer look alike here. */
  readonly call: PublicClient["call"] = (question) => this.#asked(call(this.#client, question));

  /** Whether the node knows a transaction, mined or not. */
  async knows(hash: Hex): Promise<boolean> {
    return (await this.#asked(getTransaction(this.#client, { hash }).catch(unless(TransactionNotFoundError)))) !== undefined;
  }

  /** Gives what became of a transaction; undefined while it is in no block. */
  receipt(hash: Hex): Promise<TransactionReceipt | undefined> {
    return this.#asked(getTransactionReceipt(this.#client, { hash }).catch(unless(TransactionReceiptNotFoundError)));
  }

  /**
   * Finds the newest such event since a block. Where that block is still to come, a part of the node is behind, and
   * nothing has happened yet.
   */
  async find(expected: ExpectedEvent, fromBlock: bigint): Promise<FoundEvent | undefined> {
    return (await this.#since(expected, fromBlock).next()).value ?? undefined;
  }

  /** Finds all such events of the last day, the newest first. */
  async findRecent(expected: ExpectedEvent): Promise<FoundEvent[]> {
    const newest = await this.getBlock();
    const blocks = newest.number < PACE_BLOCKS ? newest.number : PACE_BLOCKS;
    const seconds = newest.timestamp - (await this.getBlock({ blockNumber: newest.number - blocks })).timestamp;
    const day = seconds > 0n ? (RECENT_SECONDS * blocks) / seconds : newest.number;
    const all: FoundEvent[] = [];
    for await (const found of this.#since(expected, day < newest.number ? newest.number - day : 0n)) all.push(found);
    return all;
  }

  /** Finds all such events among logs, the newest first. */
  among(logs: readonly Log[], expected: ExpectedEvent): FoundEvent[] {
    return [...eventsOf(this.#hub, expected, logs)].reverse() as FoundEvent[];
  }

  /** Reads the log from the newest block on, in ranges that the node accepts. */
  async *#since(expected: ExpectedEvent, oldest: bigint): AsyncGenerator<FoundEvent, undefined> {
    const wanted = { address: this.#hub, abi: hubAbi as Abi, ...expected };
    let range = LOG_RANGE;
    for (let last = await this.getBlockNumber(); last >= oldest; ) {
      const first = last - range >= oldest ? last - range + 1n : oldest;
      let logs: readonly Log[];
      try {
        logs = await getContractEvents(this.#client, { ...wanted, fromBlock: first, toBlock: last });
      } catch (error) {
        range = (last - first + 1n) / 2n;
        if (range < LEAST_RANGE || causeOf(error, (each) => each instanceof AnsweredLate)) throw this.#explained(error);
        continue;
      }
      yield* this.among(logs, expected);
      last = first - 1n;
    }
    return undefined;
  }

  /** Waits for an answer; raises why there is none. */
  async #asked<Value>(question: Promise<Value>): Promise<Value> {
    try {
      return await question;
    } catch (error) {
      throw this.#explained(error);
    }
  }

  /** Gives the Hub's own refusal, wherever in an error its data is; anything else is a chain that cannot be read. */
  #explained(error: unknown): ServiceError {
    const wrongChain = causeOf(error, (each) => isCode(each, "wrong_chain"));
    if (wrongChain !== null) return wrongChain as ServiceError;
    if (causeOf(error, (each) => each instanceof ContractFunctionZeroDataError) !== null) {
      const nextAction = "Check which network the wallet uses.";
      return new ServiceError("no_contract", "There is no contract at this address on the wallet's chain.", { nextAction });
    }
    const data = revertData(error);
    if (data !== undefined) return refusedBy(data, this.#token);
    return new ServiceError("chain_unavailable", "The wallet's node does not answer.", {
      nextAction: "Try again in a moment, or choose another node in the wallet.",
    });
  }
}

/** Finds the first of an error and its causes that is such a one; null where none is. */
function causeOf(error: unknown, isIt: (each: unknown) => boolean): Error | null {
  return error instanceof BaseError ? error.walk(isIt) : null;
}

/** Makes undefined of one kind of error. */
function unless(kind: new (...given: never[]) => Error): (error: unknown) => undefined {
  return (error) => {
    if (!(error instanceof kind)) throw error;
    return undefined;
  };
}
