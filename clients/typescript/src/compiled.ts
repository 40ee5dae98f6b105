/** The primitives in WebAssembly; loaded only where it may run. */

import { createSHA256 } from "hash-wasm";
import sodium from "libsodium-wrappers";
import type { Primitives } from "./fastest.js";

/** Those of hash-wasm and libsodium. */
export async function compiled(): Promise<Primitives> {
  const [state] = await Promise.all([createSHA256(), sodium.ready]);
  return {
    encrypt: (key, nonce, plaintext) =>
      sodium.crypto_aead_chacha20poly1305_ietf_encrypt(plaintext, null, null, nonce, key),
    sha256: { update: (data) => void state.update(data), digest: () => state.digest("binary") },
  };
}
