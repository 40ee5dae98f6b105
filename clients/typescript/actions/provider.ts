/** A wallet as EIP-1193 has it: what it is asked, what it is given to send, and for how long an answer is waited for. */

import type { Address, Hex } from "viem";

/** What EIP-1193 requires of a wallet. */
export interface Provider {
  request(question: { readonly method: string; readonly params?: readonly unknown[] }): Promise<unknown>;
  on?(event: string, listener: (value?: unknown) => void): unknown;
}

/** A call of a contract. */
export interface Call {
  readonly to: Address;
  readonly data: Hex;
}

/** No answer in time: what a provider says itself is another error. */
export class AnsweredLate extends Error {}

/** The answer, or an error where it takes longer. */
export async function inTime<Value>(question: Promise<Value>, milliseconds: number): Promise<Value> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new AnsweredLate()), milliseconds);
  });
  try {
    return await Promise.race([question, late]);
  } finally {
    clearTimeout(timer);
  }
}
