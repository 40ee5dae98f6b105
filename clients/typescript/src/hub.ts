/** The Hub: what it pins for a bounty, checked, and the authorization with which a Poster funds one (docs/hub.md). */

import { parseEventLogs } from "viem";
import type { Address, Chain, Hex, Log, PublicClient, Transport } from "viem";
import { authorizationNonce, guardianRosterHash } from "./commitments.js";
import type { Terms } from "./commitments.js";
import type { PinnedBounty } from "./envelope.js";
import { ServiceError } from "./errors.js";
import { hubAbi } from "./generated/hub.js";
import type { Deployment } from "./requests.js";

export { hubAbi } from "./generated/hub.js";

/** What is read of a chain: viem's public client, or part of it. */
export type HubReader = Pick<PublicClient<Transport, Chain | undefined>, "readContract">;

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
  const { chainId, hubAddress } = deployment;
  const hub = { address: hubAddress, abi: hubAbi } as const;
  const bounty = await chain.readContract({ ...hub, functionName: "getBounty", args: [bountyId] });
  const roster = await chain.readContract({ ...hub, functionName: "getRoster", args: [bounty.rosterVersion] });
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

/**
 * The call that creates and funds a bounty with a signed authorization; give it to `writeContract` of a viem wallet.
 */
export function fundingCall(hubAddress: Address, poster: Address, terms: Terms, validBefore: bigint, signature: Hex) {
  return {
    address: hubAddress,
    abi: hubAbi,
    functionName: "createBountyWithAuthorization",
    args: [terms, poster, 0n, validBefore, signature],
  } as const;
}

/** The Hub's events among a receipt's logs, typed by their names; logs of other contracts are left out. */
export function hubEvents(hubAddress: Address, logs: readonly Log[]) {
  const own = logs.filter((log) => log.address.toLowerCase() === hubAddress.toLowerCase());
  return parseEventLogs({ abi: hubAbi, logs: own });
}
