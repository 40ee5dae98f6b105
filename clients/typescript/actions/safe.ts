/** Transactions as the file that the transaction builder of a Safe loads, in its format 1.0. */

import { getAddress } from "viem";
import type { Address } from "viem";
import type { Call } from "./provider.js";

/**
 * The file's text. Each call is given as its bytes alone: with a method beside them the builder shows the method and
 * sends the bytes. `createdAt` is in milliseconds since 1970.
 */
export function transactionBuilder(
  chainId: number,
  safe: Address,
  calls: readonly Call[],
  description: string,
  createdAt: number,
): string {
  const batch = {
    version: "1.0",
    chainId: String(chainId),
    createdAt,
    meta: { name: "Bounty Escrow Service Hub", description, createdFromSafeAddress: getAddress(safe) },
    transactions: calls.map(({ to, data }) => ({
      ...{ to: getAddress(to), value: "0", data },
      ...{ contractMethod: null, contractInputsValues: null },
    })),
  };
  return `${JSON.stringify(batch, null, 2)}\n`;
}
