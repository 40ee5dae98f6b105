/** Which wallet this browser connected last, so that its account is there on the next page without a question. */

const KEY = "bounty-escrow-wallet";

/** The wallet's own name for itself (EIP-6963); undefined where none was connected, or the browser keeps nothing. */
export function rememberedWallet(): string | undefined {
  return kept((storage) => storage.getItem(KEY)) ?? undefined;
}

/** Keeps which wallet it was, and nothing of its account; from now on without one, a page connects only when it is asked to. */
export function rememberWallet(id: string | undefined): void {
  kept((storage) => (id === undefined ? storage.removeItem(KEY) : storage.setItem(KEY, id)));
}

function kept<Value>(work: (storage: Storage) => Value): Value | undefined {
  try {
    return work(localStorage);
  } catch {
    return undefined; // a browser that keeps nothing asks again
  }
}
