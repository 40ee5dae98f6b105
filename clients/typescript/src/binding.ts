/** The bounty and the Solver that sealed work is for, as one line inside the seals (docs/formats.md). */

import type { Address } from "viem";
import { refusal } from "./errors.js";

/** One Solver's work for one bounty of one deployment; addresses in lowercase, the bounty's id in decimal. */
export interface Binding {
  readonly chainId: number;
  readonly hubAddress: Address;
  readonly bountyId: string;
  readonly solverAddress: Address;
}

const MARK = "bounty-escrow:";
const SPELLING =
  /^bounty-escrow: chain_id=([1-9]\d{0,15}) hub_address=(0x[0-9a-f]{40}) bounty_id=([1-9]\d{0,18}) solver_address=(0x[0-9a-f]{40})$/;
const MAX_INT64 = 2n ** 63n - 1n;

/** The one spelling. */
export function bindingText({ chainId, hubAddress, bountyId, solverAddress }: Binding): string {
  return `${MARK} chain_id=${chainId} hub_address=${hubAddress} bounty_id=${bountyId} solver_address=${solverAddress}`;
}

/** Whether this is a bounty's id: a decimal from 1 within 64 bits. */
export function isBountyId(text: string): boolean {
  return /^[1-9]\d{0,18}$/.test(text) && BigInt(text) <= MAX_INT64;
}

/**
 * What is known after one more comment: other comments change nothing. A second binding, and one that is spelled
 * another way, are refused as `failure`.
 */
export function takeComment(
  found: Binding | undefined,
  comment: string,
  failure: "archive_malformed" | "capsule_malformed",
): Binding | undefined {
  if (!comment.startsWith(MARK)) return found;
  const [, chainId, hubAddress, bountyId, solverAddress] = SPELLING.exec(comment) ?? [];
  if (found !== undefined) throw refusal(failure, "it names a bounty and a Solver twice");
  if (!Number.isSafeInteger(Number(chainId)) || bountyId === undefined || !isBountyId(bountyId)) {
    throw refusal(failure, "its binding does not name a chain, a Hub, a bounty and a Solver in the required spelling");
  }
  return {
    chainId: Number(chainId),
    hubAddress: hubAddress as Address,
    bountyId,
    solverAddress: solverAddress as Address,
  };
}

/** Refuses work that names another bounty or Solver than its envelope, or none. */
export function checkBinding(expected: Binding, found: Binding | undefined, where: string): void {
  if (found === undefined) throw refusal("binding_missing", `${where} does not name its bounty and Solver`);
  if (bindingText(found) !== bindingText(expected)) {
    throw refusal("sealed_for_another", `${where} was sealed for another one: ${bindingText(found)}`);
  }
}
