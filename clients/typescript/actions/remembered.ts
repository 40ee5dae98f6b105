/** Which wallet this browser connected last, so that its account is there on the next page without a question. */

const KEY = "bounty-escrow-wallet";

/** The wallet's own name for itself (EIP-6963); undefined where none was connected, or the browser keeps nothing. */
export function rememberedWallet(): string | undefined {
  try {
    return localStorage.getItem(KEY) ?? undefined;
  } catch {
    return undefined;
  }
}

/** Keeps which wallet it was; nothing of its account. */
export function rememberWallet(id: string): void {
  try {
    localStorage.setItem(KEY, id);
  } catch {
    // a browser that keeps nothing asks again
  }
}

/** From now on a page connects only when it is asked to. */
export function forgetWallet(): void {
  try {
    localStorage.removeItem(KEY);
  } catch {
    // then nothing is kept
  }
}
