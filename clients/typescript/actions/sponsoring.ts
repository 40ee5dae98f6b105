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
import { t } from "./words.js";

/** Of every EntryPoint of ERC-4337 since 0.6. */
const OPERATION_ABI = parseAbi([
  "event UserOperationEvent(bytes32 indexed userOpHash, address indexed sender, address indexed paymaster, uint256 nonce, bool success, uint256 actualGasCost, uint256 actualGasUsed)",
]);
/** The EntryPoints of ERC-4337 from 0.6 to 0.9, the same on each chain: what another contract logs says nothing. */
const ENTRY_POINTS = new Set([
  "0x5ff137d4b0fdcd49dca30c7cf57e578a026d2789",
  "0x0000000071727de22e5e9d8baf0edac6f37da032",
  "0x4337084d9e255ff0702461cf8895ce9e3b5ff108",
  "0x433709009b8330fda32311df1c2afa402ed8d009",
]);
const [OPERATION] = encodeEventTopics({ abi: OPERATION_ABI, eventName: "UserOperationEvent" });

/**
 * The sponsor of an act of this account; undefined without one, or where the wallet asks no paymaster service. An account
 * that has no code yet may be delegated with its first sponsored call (EIP-7702), and the token would then query the code
 * about an authorization that the key had signed: it creates a bounty in the ordinary way.
 */
export async function sponsorOf(context: Context, act: Act): Promise<Sponsor | undefined> {
  const { settings, wallet, isPrepared, node, account } = context;
  const { sponsor } = settings;
  if (sponsor === undefined || isPrepared || !sponsor.acts.includes(act)) return undefined;
  if (!(await wallet.capabilities()).hasPaymasters) return undefined;
  return act === "create" && (await node.getCode({ address: account })) === "0x" ? undefined : sponsor;
}

/** Whom a person knows a sponsor by. */
export function nameOf(sponsor: Sponsor): string {
  return new URL(sponsor.url).host;
}

/**
 * Why a sponsored step may be sent in the ordinary way, where the wallet says that it has begun nothing; else undefined:
 * then it may still happen. An error after which the wallet only does not know of it is no such word where doing it
 * twice would pay twice.
 */
export function refusal(
  sponsor: Sponsor,
  error: unknown,
  told: BatchStatus | undefined,
  paysTwice: boolean,
): string | undefined {
  if (!(error instanceof ServiceError)) return undefined;
  const isUnknown = told?.state === "unknown" || told?.state === "failed";
  const mayGoOn = error.code === "batch_refused" || (error.code === "wallet_failed" && isUnknown && !paysTwice);
  if (!mayGoOn) return undefined;
  const why = error.issues.map(({ message }) => t` The wallet says: ${message}`).join("");
  const who = nameOf(sponsor);
  return t`${who} did not pay for it: the wallet has begun nothing, and it is not on the chain. You can pay the fee yourself.${why}`;
}

/** Who paid for a transaction of this account, as a sentence, by the transaction's own logs; undefined where none says. */
export async function paidBy({ node, account, settings }: Context, hash: Hex): Promise<string | undefined> {
  if (settings.sponsor === undefined) return undefined;
  const [receipt, transaction] = await Promise.all([node.receipt(hash), node.transaction(hash)]);
  const own = receipt?.logs.find(
    ({ address, topics }) =>
      ENTRY_POINTS.has(address.toLowerCase()) &&
      topics[0] === OPERATION &&
      topics[2] === pad(account.toLowerCase() as Address),
  );
  const paymaster = own?.topics[3];
  if (paymaster !== undefined && paymaster !== pad(zeroAddress)) {
    return t`The network's fee was paid by the paymaster 0x${paymaster.slice(26)}; you paid no ether.`;
  }
  if (own !== undefined || transaction?.from === account) return t`This account itself paid the network's fee.`;
  return undefined;
}
