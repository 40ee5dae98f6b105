/** The Hub: what it pins for a bounty, checked, and the authorization with which a Poster funds one (docs/hub.md). */

import { encodeFunctionData, parseAbi, parseEventLogs, recoverAddress } from "viem";
import type { Abi, Address, Chain, ContractFunctionArgs, ContractFunctionName, Hex, Log } from "viem";
import type { ContractFunctionReturnType, ParseEventLogsReturnType, PublicClient, Transport } from "viem";
import { authorizationNonce, guardianRosterHash } from "./commitments.js";
import type { Terms } from "./commitments.js";
import type { PinnedBounty } from "./envelope.js";
import { ServiceError } from "./errors.js";
import { hubAbi } from "./generated/hub.js";
import type { Deployment } from "./requests.js";

export { hubAbi } from "./generated/hub.js";

/** What is read of a chain: viem's public client, or part of it. */
export type HubReader = Pick<PublicClient<Transport, Chain | undefined>, "readContract">;

/** What is read of an account: viem's public client, or part of it. */
export type AccountReader = Pick<PublicClient<Transport, Chain | undefined>, "getCode" | "call">;

/** An event of the Hub with the log that it was in: `eventName` says which, and what its `args` are. */
export type HubEvent = ParseEventLogsReturnType<typeof hubAbi>[number];

/** How an escrow comes into the Hub: by one signature over the token, or by an allowance of exactly the escrow. */
export type FundingPath = "authorization" | "allowance";

const walletAbi = parseAbi(["function isValidSignature(bytes32, bytes) view returns (bytes4)"]);
const ACCEPTED = `0x1626ba7e${"0".repeat(56)}`;

/** The EIP-712 domain of the Hub's token. */
export interface TokenDomain {
  readonly address: Address;
  readonly name: string;
  readonly version: string;
}

const AUTHORIZATION_TYPES = {
  ReceiveWithAuthorization: [
    { name: "from", type: "address" },
    { name: "to", type: "address" },
    { name: "value", type: "uint256" },
    { name: "validAfter", type: "uint256" },
    { name: "validBefore", type: "uint256" },
    { name: "nonce", type: "bytes32" },
  ],
} as const;

/**
 * What the Hub pins for a bounty, to seal for it or to compare an envelope with. Raises `guardian_roster_mismatch`
 * unless the roster's members hash to the pinned value. The chain's endpoint is trusted: one that forges bounty and
 * roster alike has you seal for its own keys. What viem raises, such as the Hub's own `BountyNotFound`, is passed on.
 */
export async function readBounty(chain: HubReader, deployment: Deployment, bountyId: bigint): Promise<PinnedBounty> {
  const hub = { address: deployment.hubAddress, abi: hubAbi } as const;
  const bounty = await chain.readContract({ ...hub, functionName: "getBounty", args: [bountyId] });
  const roster = await chain.readContract({ ...hub, functionName: "getRoster", args: [bounty.rosterVersion] });
  return pinnedBounty(deployment, bountyId, bounty, roster);
}

/** What the Hub answers for one of its views. */
export type HubAnswer<name extends "getBounty" | "getRoster"> = ContractFunctionReturnType<typeof hubAbi, "view", name>;

/** The same of answers that were read already; raises `guardian_roster_mismatch` likewise. */
export function pinnedBounty(
  deployment: Deployment,
  bountyId: bigint,
  bounty: HubAnswer<"getBounty">,
  roster: HubAnswer<"getRoster">,
): PinnedBounty {
  const { chainId, hubAddress } = deployment;
  const members = { version: bounty.rosterVersion, ...roster };
  if (guardianRosterHash(chainId, hubAddress, members) !== bounty.guardianRosterHash) {
    const message = "the roster's members do not hash to the value that the bounty pinned";
    throw new ServiceError("guardian_roster_mismatch", message, {
      nextAction: "Read the chain from another endpoint.",
    });
  }
  return {
    chainId,
    hubAddress,
    bountyId: bountyId.toString(),
    specCommitment: bounty.specCommitment,
    guardianRosterHash: bounty.guardianRosterHash,
    encryptionKeys: roster.encryptionKeys,
    revealAt: Number(bounty.revealAt),
  };
}

/**
 * Which way USDC leaves to an account, shown by a signature that its wallet made over `digest` before, such as that of
 * its request to the API. USDC recovers the key of an account without code, and asks the code of any other (ERC-1271),
 * one that was delegated by EIP-7702 too: where that accepts nothing, the key's signature is refused and an allowance is
 * left. Raises `account_not_deployed` for a contract account that is not on the chain yet: the API takes its wrapped
 * signature (ERC-6492), and USDC does not.
 */
export async function fundingPath(
  chain: AccountReader,
  account: Address,
  digest: Hex,
  signature: Hex,
): Promise<FundingPath> {
  if (isCode(await chain.getCode({ address: account }))) {
    return (await accepts(chain, account, digest, signature)) ? "authorization" : "allowance";
  }
  const signer = await recoverAddress({ hash: digest, signature }).catch(() => undefined);
  if (signer?.toLowerCase() === account.toLowerCase()) return "authorization";
  const message = "This account is a contract that is not on the chain yet, and the token takes no signature of it.";
  throw new ServiceError("account_not_deployed", message, {
    nextAction: "Have your wallet put the account on the chain, which any transaction of it does, and go on then.",
  });
}

/** Whether an account's code accepts a signature as USDC asks it: the magic value as its first word. */
async function accepts(chain: AccountReader, account: Address, digest: Hex, signature: Hex): Promise<boolean> {
  const data = encodeFunctionData({ abi: walletAbi, functionName: "isValidSignature", args: [digest, signature] });
  try {
    const { data: answer } = await chain.call({ to: account, data });
    return answer?.slice(0, ACCEPTED.length).toLowerCase() === ACCEPTED;
  } catch {
    await chain.getCode({ address: account }); // an endpoint that answers nothing at all says nothing of the account
    return false;
  }
}

function isCode(code: Hex | undefined): boolean {
  return code !== undefined && code !== "0x";
}

/** What the token's EIP-3009 authorization for one bounty shows in a wallet. */
export type FundingTypedData = ReturnType<typeof fundingTypedData>;

/**
 * The typed data of the token transfer with which a Poster funds exactly these terms: only the Hub can use it, for
 * nothing but `createBountyWithAuthorization` with the same terms, Poster and `validBefore` (seconds since 1970), and
 * `validAfter` 0.
 */
export function fundingTypedData(
  { chainId, hubAddress }: Deployment,
  token: TokenDomain,
  poster: Address,
  terms: Terms,
  validBefore: bigint,
) {
  return {
    domain: { name: token.name, version: token.version, chainId, verifyingContract: token.address },
    types: AUTHORIZATION_TYPES,
    primaryType: "ReceiveWithAuthorization",
    message: {
      from: poster,
      to: hubAddress,
      value: terms.escrowAmount,
      validAfter: 0n,
      validBefore,
      nonce: authorizationNonce(chainId, hubAddress, poster, terms),
    },
  } as const;
}

/** Everything of the Hub that a transaction calls. */
export type HubFunction = ContractFunctionName<typeof hubAbi, "nonpayable">;

/** The arguments of a function of the Hub, those of its ABI: amounts and ids as `bigint`. */
export type HubArguments<name extends HubFunction> = ContractFunctionArgs<typeof hubAbi, "nonpayable", name>;

/** A call as a wallet sends it: to whom, and the bytes. */
export interface EncodedCall {
  readonly to: Address;
  readonly data: Hex;
}

/**
 * A call of the Hub, encoded: `hubCall(hubAddress, "claim", [7n, account])`. Its arguments are those of the ABI, amounts
 * and ids as `bigint`. Nothing is read and nothing sent.
 */
export function hubCall<const name extends HubFunction>(
  hubAddress: Address,
  functionName: name,
  args: HubArguments<name>,
): EncodedCall {
  const abi: Abi = hubAbi;
  const data = encodeFunctionData<Abi, string>({ abi, functionName, args: args as readonly unknown[] });
  return { to: hubAddress, data };
}

/** The Hub's events among a receipt's logs, typed by their names; logs of other contracts are left out. */
export function hubEvents(hubAddress: Address, logs: readonly Log[]): HubEvent[] {
  return parseEventLogs({ abi: hubAbi, logs: logsOf(hubAddress, logs) });
}

/** The logs of one contract; one whose address is none is nobody's. */
export function logsOf(contract: Address, logs: readonly Log[]): Log[] {
  return logs.filter(({ address }) => address.toLowerCase() === contract.toLowerCase());
}
