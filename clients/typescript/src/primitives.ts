/** The two primitives through which every byte passes that is sealed. */

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
