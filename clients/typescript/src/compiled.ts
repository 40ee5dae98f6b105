/** The two primitives through which every byte passes that is sealed; in WebAssembly, loaded only where it may run. */

import { createSHA256 } from "hash-wasm";
import sodium from "libsodium-wrappers";

/** An incremental SHA-256. */
export interface Digest {
  update(data: Uint8Array): void;
  digest(): Uint8Array;
}

/** For one artifact. */
export interface Primitives {
  /** ChaCha20-Poly1305 (RFC 8439): the ciphertext and its tag of 16 bytes, in memory of their own. */
  encrypt(key: Uint8Array, nonce: Uint8Array, plaintext: Uint8Array): Uint8Array;
  /** Of nothing yet. */
  readonly sha256: Digest;
}

/** Those of hash-wasm and libsodium. */
export async function compiled(): Promise<Primitives> {
  const [state] = await Promise.all([createSHA256(), sodium.ready]);
  return {
    encrypt: (key, nonce, plaintext) =>
      sodium.crypto_aead_chacha20poly1305_ietf_encrypt(plaintext, null, null, nonce, key),
    sha256: { update: (data) => void state.update(data), digest: () => state.digest("binary") },
  };
}
