/** Signed requests: one EIP-712 signature for exactly one request (docs/authentication.md). */

import { keccak256 } from "viem";
import type { Address, Hex } from "viem";
import { base64 } from "@scure/base";
import { utf8 } from "./bytes.js";
import { ServiceError } from "./errors.js";

/** One request, as it will be sent. `body` are the exact bytes; none where it is left out. */
export interface RequestToSign {
  readonly method: string;
  readonly url: string | URL;
  readonly body?: Uint8Array;
}

/** A recent block of the deployment's chain. */
export interface FreshnessBlock {
  readonly number: bigint;
  readonly hash: Hex;
}

/** Which deployment: its chain and its Hub. */
export interface Deployment {
  readonly chainId: number;
  readonly hubAddress: Address;
}

/** An account that signs typed data: a local account of viem, or a wallet. */
export interface RequestSigner {
  readonly address: Address;
  /** Signs by EIP-712, as viem's accounts do. */
  readonly signTypedData: (typedData: ApprovalTypedData) => Promise<Hex>;
}

/** What a wallet shows and signs. */
export type ApprovalTypedData = ReturnType<typeof approvalTypedData>;

/** How much older than the newest block the one to sign with is, so that other endpoints know it, too. */
const OFFSET_SECONDS = 6n;
/** The same in blocks of 0.2 s. */
const OFFSET_BLOCKS = 30n;
const LEAP_SECONDS = 60n;
const PRINTABLE = /^[!-~]*$/;
const TYPES = {
  ApiRequestApproval: [
    { name: "endpointId", type: "string" },
    { name: "audience", type: "string" },
    { name: "bodyHash", type: "bytes32" },
    { name: "query", type: "string" },
    { name: "blockNumber", type: "uint256" },
    { name: "blockHash", type: "bytes32" },
  ],
} as const;

/**
 * A raw query (without `?`) in its canonical form. Raises `invalid_request` for anything but printable ASCII, which the
 * service refuses.
 */
export function canonicalQuery(raw: string): string {
  if (!PRINTABLE.test(raw)) {
    throw new ServiceError("invalid_request", "the query holds a character outside printable ASCII");
  }
  return new URLSearchParams(`?${raw}`).toString();
}

/** The typed data of a request, for any wallet. The block is a recent one of the deployment's chain. */
export function approvalTypedData(request: RequestToSign, deployment: Deployment, block: FreshnessBlock) {
  const url = new URL(request.url);
  return {
    domain: {
      name: "Service",
      version: "1",
      chainId: deployment.chainId,
      verifyingContract: deployment.hubAddress,
    },
    types: TYPES,
    primaryType: "ApiRequestApproval",
    message: {
      endpointId: `${request.method.toUpperCase()} ${url.pathname}`,
      audience: url.host,
      bodyHash: request.body === undefined ? keccak256("0x") : keccak256(request.body),
      query: canonicalQuery(url.search.slice(1)),
      blockNumber: block.number,
      blockHash: block.hash,
    },
  } as const;
}

/** The Authorization header of a signature, which may be of any length where the account is a contract. */
export function authorizationHeader(signer: Address, signature: Hex, block: FreshnessBlock): string {
  const fields = [signer.toLowerCase(), signature, block.number, block.hash].join("~");
  return `Service-Approval ${base64.encode(utf8(fields))}`;
}

/**
 * A block to sign with: about six seconds older than the newest one of the deployment's chain. After a stop of the chain
 * that block is too old to be fresh; then it is the newest one. Of blocks that were `used`, an older one is taken.
 */
export async function freshBlock(chain: BlockReader, used?: ReadonlySet<bigint>): Promise<FreshnessBlock> {
  const newest = await chain.getBlock();
  const behind = (blocks: bigint) =>
    chain.getBlock({ blockNumber: newest.number > blocks ? newest.number - blocks : 0n });
  let block = await behind(OFFSET_BLOCKS);
  const passed = newest.timestamp - block.timestamp;
  if (passed < OFFSET_SECONDS - 2n || passed > 2n * OFFSET_SECONDS) {
    const seconds = passed > 0n ? passed : 1n;
    block = await behind((OFFSET_SECONDS * (newest.number - block.number) + seconds - 1n) / seconds);
  }
  if (newest.timestamp - block.timestamp > LEAP_SECONDS) block = newest;
  while (block.number > 0n && used?.has(block.number)) block = await chain.getBlock({ blockNumber: block.number - 1n });
  return { number: block.number, hash: block.hash };
}

/** What is read of a chain to sign: viem's public client, or anything that has this of it. */
export interface BlockReader {
  /** The newest block, or the one at a number. */
  getBlock(options?: { readonly blockNumber?: bigint }): Promise<FreshnessBlock & { readonly timestamp: bigint }>;
}

/**
 * The Authorization header for exactly this request. It serves one attempt: sign again before every retry. A key signs the
 * same bytes identically, so give all attempts of a request one set of the blocks that were `used`: this one's is added. What
 * the wallet or the chain's endpoint raises is passed on.
 */
export async function signRequest(
  request: RequestToSign,
  signing: { readonly deployment: Deployment; readonly signer: RequestSigner; readonly chain: BlockReader },
  used?: Set<bigint>,
): Promise<string> {
  const block = await freshBlock(signing.chain, used);
  used?.add(block.number);
  const typedData = approvalTypedData(request, signing.deployment, block);
  return authorizationHeader(signing.signer.address, await signing.signer.signTypedData(typedData), block);
}
