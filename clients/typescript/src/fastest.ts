/**
 * The primitives as fast as they may run here: WebAssembly runs them about four times as fast as JavaScript; where it is
 * missing or a page's policy forbids it, they are noble's.
 */

import { chacha20poly1305 } from "@noble/ciphers/chacha.js";
import { sha256 } from "@noble/hashes/sha2.js";
import type { Primitives } from "./compiled.js";

const EMPTY_MODULE = Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0);

/** The fastest that may run here. */
export async function fastest(): Promise<Primitives> {
  return mayCompile() ? (await import("./compiled.js")).compiled() : interpreted();
}

function mayCompile(): boolean {
  try {
    return new WebAssembly.Module(EMPTY_MODULE) instanceof WebAssembly.Module;
  } catch {
    return false;
  }
}

function interpreted(): Primitives {
  const state = sha256.create();
  return {
    encrypt: (key, nonce, plaintext) => chacha20poly1305(key, nonce).encrypt(plaintext),
    sha256: { update: (data) => void state.update(data), digest: () => state.digest() },
  };
}
