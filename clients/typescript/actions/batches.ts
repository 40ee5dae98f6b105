/**
 * Several calls that a wallet does as one, all of them or none (EIP-5792). The page names each batch, so that a wallet
 * refuses the second one of a name; what the wallet says became of it is its word, which the chain's event has to show.
 */

import { keccak256, stringToHex } from "viem";
import type { Address, Hex } from "viem";
import { ServiceError } from "../src/acting.js";
import { inTime } from "./provider.js";
import type { Call, Provider } from "./provider.js";
import type { Sponsor } from "./settings.js";
import { printable } from "./text.js";
import { t } from "./words.js";

/** What a wallet says of a batch; `unknown`: it has none of this name. */
export type BatchStatus =
  | { readonly state: "pending" | "unknown" | "failed" }
  | { readonly state: "done"; readonly hash: Hex | undefined };

const VERSION = "2.0.0";
const ANSWER_MILLISECONDS = 3_000;
/** The codes of EIP-1193 and EIP-5792. */
const DECLINED = 4001;
const DUPLICATE = 5720;
const UNKNOWN = 5730;
/** A wallet that answers so has begun nothing: it cannot do this, or may not, on this chain or for this account. */
const REFUSED = new Set([4100, 4200, 5700, 5710, 5740, 5750, 5760, -32601, -32602]);
const DONE = 200;
const FIRST_FAILURE = 400;
const NAME = /^[\x21-\x7e]{1,8194}$/;
const HASH = /^0x[0-9a-f]{64}$/;

/**
 * The name of a step's batch. By a number it is the same in each browser, and one that failed for good is followed by the
 * next number; by an attempt's id it is that attempt's own.
 */
export function batchName(chainId: number, account: Address, step: string, which: number | string): Hex {
  return keccak256(stringToHex(`bounty-escrow ${chainId} ${account} ${step} ${which}`));
}

/** What a wallet can do for an account on a chain; one that does not say so in time can do nothing of it. */
export interface Capabilities {
  /** Does calls as one, all of them or none. */
  readonly isAtomic: boolean;
  /** Asks a paymaster service (ERC-7677) to pay for calls. */
  readonly hasPaymasters: boolean;
}

/** What the wallet can do for this account on this chain. */
export async function capabilitiesOf(provider: Provider, account: Address, chainId: number): Promise<Capabilities> {
  const chain = `0x${chainId.toString(16)}`;
  try {
    const question = { method: "wallet_getCapabilities", params: [account, [chain]] };
    const answer = (await inTime(provider.request(question), ANSWER_MILLISECONDS)) as Record<string, unknown> | null;
    const { atomic, paymasterService } = (answer?.[chain] ?? {}) as {
      atomic?: { status?: unknown };
      paymasterService?: { supported?: unknown };
    };
    return {
      isAtomic: atomic?.status === "supported" || atomic?.status === "ready",
      hasPaymasters: paymasterService?.supported === true,
    };
  } catch {
    return { isAtomic: false, hasPaymasters: false };
  }
}

/**
 * Has the wallet do the calls as one; gives what it names them by, which is another name where it takes none of ours.
 * With a sponsor, the wallet has to ask its paymaster service to pay, or to refuse. `declined` and `batch_refused`:
 * nothing was begun. A batch of this name that the wallet has already is no error.
 */
export async function sendBatch(
  provider: Provider,
  account: Address,
  chainId: number,
  id: Hex,
  calls: readonly Call[],
  sponsor?: Sponsor,
): Promise<string> {
  const batch = {
    version: VERSION,
    id,
    chainId: `0x${chainId.toString(16)}`,
    from: account,
    atomicRequired: calls.length > 1,
    calls: calls.map(({ to, data }) => ({ to, data, value: "0x0" })),
    ...(sponsor && { capabilities: { paymasterService: { url: sponsor.url, context: sponsor.context } } }),
  };
  let answer: unknown;
  try {
    answer = await provider.request({ method: "wallet_sendCalls", params: [batch] });
  } catch (error) {
    const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
    if (code === DUPLICATE) return id;
    if (code === DECLINED) {
      throw new ServiceError("declined", t`You declined in the wallet.`, { nextAction: t`Nothing was signed or sent.` });
    }
    const issues = typeof message === "string" ? [{ path: "wallet", message: printable(message, 300) }] : [];
    if (REFUSED.has(code as number)) {
      const nextAction = t`Nothing was sent. The steps can be done one after the other.`;
      throw new ServiceError("batch_refused", t`The wallet does not do these calls as one.`, { issues, nextAction });
    }
    const nextAction = t`Look into the wallet: what it was asked may still happen.`;
    throw new ServiceError("wallet_failed", t`The wallet could not do this.`, { issues, nextAction });
  }
  const named = typeof answer === "string" ? answer : (answer as { id?: unknown } | null)?.id;
  return typeof named === "string" && NAME.test(named) ? named : id;
}

/** What became of a batch; `undefined` where the wallet does not say. */
export async function batchStatus(provider: Provider, id: string): Promise<BatchStatus | undefined> {
  try {
    const answer = await inTime(provider.request({ method: "wallet_getCallsStatus", params: [id] }), ANSWER_MILLISECONDS);
    const { status, receipts } = (answer ?? {}) as { status?: unknown; receipts?: unknown };
    if (typeof status !== "number") return undefined;
    if (status >= FIRST_FAILURE) return { state: "failed" };
    if (status < DONE) return { state: "pending" };
    const last = (Array.isArray(receipts) ? receipts.at(-1) : undefined) as { transactionHash?: unknown } | undefined;
    const hash = typeof last?.transactionHash === "string" ? last.transactionHash.toLowerCase() : "";
    return { state: "done", hash: HASH.test(hash) ? (hash as Hex) : undefined };
  } catch (error) {
    return (error as { code?: unknown } | null)?.code === UNKNOWN ? { state: "unknown" } : undefined;
  }
}
