/**
 * Steps whose network fee somebody else may pay: the operator names a paymaster service (ERC-7677), the wallet asks it, and
 * the chain shows who paid. Nobody has to: where it refuses, the step is offered as an ordinary transaction.
 */

import { encodeEventTopics, pad, parseAbi, zeroAddress } from "viem";
import type { Address, Hex } from "viem";
import { ServiceError } from "../src/acting.js";
import type { BatchStatus } from "./batches.js";
import type { Context } from "./context.js";
import type { Act, Sponsor } from "./settings.js";

/** Of every EntryPoint of ERC-4337 since 0.6. */
const OPERATION_ABI = parseAbi([
  "event UserOperationEvent(bytes32 indexed userOpHash, address indexed sender, address indexed paymaster, uint256 nonce, bool success, uint256 actualGasCost, uint256 actualGasUsed)",
]);
const [OPERATION] = encodeEventTopics({ abi: OPERATION_ABI, eventName: "UserOperationEvent" });

/** The sponsor of an act of this account; undefined without one, or where the wallet asks no paymaster service. */
export async function sponsorOf({ settings, wallet, isPrepared }: Context, act: Act): Promise<Sponsor | undefined> {
  const { sponsor } = settings;
  if (sponsor === undefined || isPrepared || !sponsor.acts.includes(act)) return undefined;
  return (await wallet.capabilities()).hasPaymasters ? sponsor : undefined;
}

/** Whom a person knows a sponsor by. */
export function nameOf(sponsor: Sponsor): string {
  return new URL(sponsor.url).host;
}

/**
 * Why a sponsored step did not begin, where that is certain as far as the wallet says; else undefined: then it may still
 * happen.
 */
export function refusal(sponsor: Sponsor, error: unknown, told: BatchStatus | undefined): string | undefined {
  if (!(error instanceof ServiceError) || (error.code !== "batch_refused" && error.code !== "wallet_failed")) return undefined;
  const hasNotBegun = error.code === "batch_refused" || told?.state === "unknown" || told?.state === "failed";
  if (!hasNotBegun) return undefined;
  const why = error.issues.map(({ message }) => ` The wallet says: ${message}`).join("");
  return `${nameOf(sponsor)} did not pay for it, and nothing was sent. You can send it and pay the fee yourself.${why}`;
}

/** Who paid for a transaction of this account, as a sentence, by the transaction's own logs; undefined where none says. */
export async function paidBy({ node, account, settings }: Context, hash: Hex): Promise<string | undefined> {
  if (settings.sponsor === undefined) return undefined;
  const [receipt, transaction] = await Promise.all([node.receipt(hash), node.transaction(hash)]);
  const own = receipt?.logs.find(
    ({ topics }) => topics[0] === OPERATION && topics[2] === pad(account.toLowerCase() as Address),
  );
  const paymaster = own?.topics[3];
  if (paymaster !== undefined && paymaster !== pad(zeroAddress)) {
    return `The network's fee was paid by the paymaster 0x${paymaster.slice(26)}; you paid none.`;
  }
  if (own !== undefined || transaction?.from === account) return "This account itself paid the network's fee.";
  return undefined;
}
