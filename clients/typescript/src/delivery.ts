/** The delivery wrap: a content identity sealed to one X25519 key (libsodium's `crypto_box_seal`, docs/formats.md). */

import { hsalsa, xsalsa20poly1305 } from "@noble/ciphers/salsa.js";
import { x25519 } from "@noble/curves/ed25519.js";
import { blake2b } from "@noble/hashes/blake2.js";
import { base64 } from "@scure/base";
import type { Hex } from "viem";
import { isPublicKey, publicKeyOf, secretOf, toIdentity } from "./age.js";
import { concat, fromHex, utf8 } from "./bytes.js";
import { refusal } from "./errors.js";

const WRAP_BYTES = 80;
const KEY_BYTES = 32;

/**
 * Seals a content identity (`AGE-SECRET-KEY-1...`) to a public key; gives the `wrapped_key` of the API. Raises
 * `delivery_wrap_invalid` for a public key that leads to known secrets.
 */
export function wrapContentKey(identity: string, publicKey: Hex): string {
  const recipient = fromHex(publicKey);
  if (!isPublicKey(recipient)) throw invalid("the public key is not a canonical X25519 key, or of low order");
  const { secretKey, publicKey: share } = x25519.keygen();
  return base64.encode(concat([share, box(secretKey, recipient, share, recipient).encrypt(secretOf(identity))]));
}

/**
 * The content identity in a wrap, `AGE-SECRET-KEY-1...`: a secret. `key` is the identity that it was wrapped to. Raises
 * `delivery_wrap_invalid` unless it opens and holds the key whose public half is `contentPublicKey`.
 */
export async function unwrapContentKey(wrappedKey: string, key: string, contentPublicKey: Hex): Promise<string> {
  const sealed = decode(wrappedKey);
  const share = sealed.subarray(0, KEY_BYTES);
  const own = fromHex(await publicKeyOf(key));
  let scalar: Uint8Array;
  try {
    scalar = box(secretOf(key), share, share, own).decrypt(sealed.subarray(KEY_BYTES));
  } catch {
    throw invalid("the wrap does not open with this key");
  }
  const identity = toIdentity(scalar);
  if ((await publicKeyOf(identity)) !== contentPublicKey) {
    throw invalid("the key in the wrap does not match the public half in the envelope");
  }
  return identity;
}

/** The cipher between an ephemeral key and a recipient; its nonce is a hash of both public keys. */
function box(secret: Uint8Array, peer: Uint8Array, share: Uint8Array, recipient: Uint8Array) {
  const key = new Uint32Array(8);
  hsalsa(words(utf8("expand 32-byte k")), words(x25519.getSharedSecret(secret, peer)), new Uint32Array(4), key);
  const nonce = blake2b(concat([share, recipient]), { dkLen: 24 });
  const bytes = new Uint8Array(KEY_BYTES);
  const view = new DataView(bytes.buffer);
  key.forEach((word, index) => view.setUint32(4 * index, word, true));
  return xsalsa20poly1305(bytes, nonce);
}

/** Little-endian words, on every machine. */
function words(data: Uint8Array): Uint32Array<ArrayBuffer> {
  const view = new DataView(data.buffer, data.byteOffset, data.length);
  return Uint32Array.from({ length: data.length / 4 }, (_, index) => view.getUint32(4 * index, true));
}

function decode(wrappedKey: string): Uint8Array {
  try {
    const sealed = base64.decode(wrappedKey);
    if (sealed.length === WRAP_BYTES && base64.encode(sealed) === wrappedKey) return sealed;
  } catch {
    // refused below
  }
  throw invalid("wrapped_key must be 80 bytes in standard padded base64");
}

function invalid(message: string): Error {
  return refusal("delivery_wrap_invalid", message);
}
