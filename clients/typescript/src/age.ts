/**
 * age v1 files as the formats use them: an exact number of stanzas of one type, binary, never empty.
 *
 * The package age-encryption writes and opens headers. What it does not have is here: a reader that refuses every
 * header but the required one, a payload whose faults are distinguished (altered, cut, extended), and one that is sealed by
 * a faster cipher than the package's own.
 */

import { chacha20poly1305 } from "@noble/ciphers/chacha.js";
import { x25519 } from "@noble/curves/ed25519.js";
import { hkdf } from "@noble/hashes/hkdf.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { base64nopad, bech32 } from "@scure/base";
import { Decrypter, Encrypter, Stanza, identityToRecipient } from "age-encryption";
import type { Identity } from "age-encryption";
import type { Hex } from "viem";
import { ByteSource, concat, fromHex, toHex, utf8 } from "./bytes.js";
import type { Primitives } from "./compiled.js";
import { refusal } from "./errors.js";

const INTRO = "age-encryption.org/v1\n";
const MAX_HEADER_BYTES = 16 * 1024;
const COLUMNS = 64;
const CHUNK = 64 * 1024;
const TAG = 16;
const NONCE = 16;
const FILE_KEY = 16;
const FIELD_PRIME = 2n ** 255n - 19n;
const LOW_ORDER = new Set([
  0n,
  1n,
  FIELD_PRIME - 1n,
  325606250916557431795983626356110631294008115727848805560023387167927233504n,
  39382357235489614581723060781553021112529911719440698176882885853963445705823n,
]);

/** A header as read: its stanzas without grease, and all of its bytes. */
export interface AgeHeader {
  readonly stanzas: readonly Stanza[];
  readonly bytes: Uint8Array;
}

/** Whether this is a canonical X25519 public key that is not of low order. */
export function isPublicKey(key: Uint8Array): boolean {
  const number = key.reduceRight((sum, byte) => sum * 256n + BigInt(byte), 0n);
  return key.length === 32 && number < FIELD_PRIME && !LOW_ORDER.has(number);
}

/** The X25519 public key of `AGE-SECRET-KEY-1...`; raises `key_invalid`. */
export async function publicKeyOf(identity: string): Promise<Hex> {
  return toHex(x25519.getPublicKey(secretOf(identity)));
}

/** The 32 secret bytes of `AGE-SECRET-KEY-1...`; raises `key_invalid`. */
export function secretOf(identity: string): Uint8Array {
  try {
    const { prefix, bytes } = bech32.decodeToBytes(identity);
    if (identity === identity.toUpperCase() && prefix === "age-secret-key-" && bytes.length === 32) return bytes;
  } catch {
    // refused below, without the library's message, which may repeat the key
  }
  throw refusal("key_invalid", "not an age identity: AGE-SECRET-KEY-1...");
}

/** `AGE-SECRET-KEY-1...` of 32 secret bytes. */
export function toIdentity(secret: Uint8Array): string {
  return bech32.encodeFromBytes("age-secret-key-", secret).toUpperCase();
}

/** `age1...` of a public key; raises `key_invalid` for one that leads to known secrets. */
export function toRecipient(publicKey: Hex): string {
  const key = fromHex(publicKey);
  if (!isPublicKey(key)) throw refusal("key_invalid", "not a canonical X25519 public key, or one of low order");
  return bech32.encodeFromBytes("age", key);
}

/** Reads a header and leaves the source at the payload. */
export async function readHeader(source: ByteSource): Promise<AgeHeader> {
  const taken: Uint8Array[] = [];
  let size = 0;
  const nextLine = async (): Promise<string> => {
    const line = await source.line(MAX_HEADER_BYTES - size);
    size += line.length;
    if (line.at(-1) !== 10) {
      if (size >= MAX_HEADER_BYTES) throw malformed("its header is too large");
      throw refusal("age_truncated", "the age file ends inside its header");
    }
    taken.push(line);
    return String.fromCharCode(...line);
  };
  if ((await nextLine()) !== INTRO) {
    throw malformed("it does not begin with the line age-encryption.org/v1 (armored files are not accepted)");
  }
  const stanzas: Stanza[] = [];
  let line = await nextLine();
  for (; line.startsWith("-> "); line = await nextLine()) stanzas.push(await readStanza(line, nextLine));
  if (!/^--- [A-Za-z0-9+/]{43}\n$/.test(line)) throw malformed("a header line is neither a stanza nor the MAC");
  decodeBase64(line.slice(4, -1));
  if (stanzas.length === 0) throw malformed("it has no recipient stanza");
  return { stanzas: stanzas.filter(({ args }) => !args[0]?.endsWith("-grease")), bytes: concat(taken) };
}

async function readStanza(first: string, nextLine: () => Promise<string>): Promise<Stanza> {
  const args = first.slice(3, -1).split(" ");
  if (!args.every((arg) => /^[\x21-\x7e]+$/.test(arg))) {
    throw malformed("a stanza's first line has empty or unprintable arguments");
  }
  let body = "";
  for (;;) {
    const row = (await nextLine()).slice(0, -1);
    if (row.length > COLUMNS) throw malformed("a stanza's line is longer than 64 characters");
    body += row;
    if (row.length < COLUMNS) return new Stanza(args, decodeBase64(body));
  }
}

/** Refuses a header that does not have exactly so many well-formed X25519 stanzas and no other. */
export function requireX25519(header: AgeHeader, count: number): void {
  if (header.stanzas.some(({ args }) => args[0] !== "X25519")) {
    throw refusal("age_recipients_refused", "the age file is locked with keys other than X25519");
  }
  if (header.stanzas.length !== count) {
    const message = `the age file has ${header.stanzas.length} X25519 stanzas where ${count} belong`;
    throw refusal("age_recipients_refused", message);
  }
  for (const { args, body } of header.stanzas) {
    if (args.length !== 2 || body.length !== FILE_KEY + TAG || !isPublicKey(decodeBase64(args[1] ?? ""))) {
      throw refusal("age_malformed", "an X25519 stanza of the age file is malformed");
    }
  }
}

/** The file key, by the first key that fits, once the header's MAC proved that it is unaltered. */
export async function openHeader(header: Pick<AgeHeader, "bytes">, keys: readonly (string | Identity)[]): Promise<Uint8Array> {
  const decrypter = new Decrypter();
  for (const key of keys) decrypter.addIdentity(key);
  try {
    return await decrypter.decryptHeader(header.bytes);
  } catch (error) {
    if (error instanceof Error && error.message === "no identity matched any of the file's recipients") {
      throw refusal("age_no_matching_key", "no stanza of the age file opens with the given key");
    }
    throw refusal("age_tampered", "the age header was altered: its MAC does not match");
  }
}

/** An age file that one identity opens, its header first and then chunk by chunk; its payload is not empty. */
export async function* encryptFor(
  identity: string,
  plaintext: AsyncIterable<Uint8Array>,
  { encrypt }: Primitives,
): AsyncGenerator<Uint8Array> {
  const header = await newHeader(identity);
  const fileKey = await openHeader({ bytes: header }, [identity]);
  const salt = crypto.getRandomValues(new Uint8Array(NONCE));
  yield concat([header, salt]);
  const key = payloadKey(fileKey, salt);
  const source = new ByteSource(plaintext);
  let [chunk, following] = [new Uint8Array(CHUNK), new Uint8Array(CHUNK)];
  let size = await source.fill(chunk);
  for (let counter = 0; ; counter += 1) {
    const next = size === CHUNK ? await source.fill(following) : 0;
    const last = next === 0;
    yield encrypt(key, nonceOf(counter, last), chunk.subarray(0, size));
    if (last) return;
    [chunk, following, size] = [following, chunk, next];
  }
}

/** What age-encryption writes before the payload; it has no way to write that alone. */
async function newHeader(identity: string): Promise<Uint8Array> {
  const encrypter = new Encrypter();
  encrypter.addRecipient(await identityToRecipient(identity));
  const file = await encrypter.encrypt(new Uint8Array());
  return file.subarray(0, -(NONCE + TAG));
}

/**
 * The payload's chunks, each given out once it is authentic. It ends normally only at the chunk that is marked as the
 * last, so that no prefix, extension or rearrangement passes for the whole.
 */
export async function* payloadOf(source: ByteSource, fileKey: Uint8Array): AsyncGenerator<Uint8Array> {
  const salt = await source.take(NONCE);
  if (salt.length !== NONCE) throw refusal("age_truncated", "the age file ends before its payload");
  const key = payloadKey(fileKey, salt);
  let sealed = await source.take(CHUNK + TAG);
  for (let counter = 0; ; counter += 1) {
    const following = sealed.length === CHUNK + TAG ? await source.take(CHUNK + TAG) : new Uint8Array();
    const last = following.length === 0;
    if (sealed.length < TAG + 1) {
      if (counter === 0 && sealed.length === TAG) throw malformed("it holds an empty payload");
      throw refusal("age_truncated", "the age file ends inside a chunk");
    }
    yield openChunk(key, counter, last, sealed) ?? diagnose(key, counter, last, sealed);
    if (last) return;
    sealed = following;
  }
}

function openChunk(key: Uint8Array, counter: number, last: boolean, sealed: Uint8Array): Uint8Array | undefined {
  try {
    return chacha20poly1305(key, nonceOf(counter, last)).decrypt(sealed);
  } catch {
    return undefined;
  }
}

function payloadKey(fileKey: Uint8Array, salt: Uint8Array): Uint8Array {
  return hkdf(sha256, fileKey, salt, utf8("payload"), 32);
}

function nonceOf(counter: number, last: boolean): Uint8Array {
  const nonce = new Uint8Array(12);
  new DataView(nonce.buffer).setBigUint64(3, BigInt(counter));
  nonce[11] = last ? 1 : 0;
  return nonce;
}

/** Separates a cut or extended file from an altered one: the chunk is authentic with the other mark. */
function diagnose(key: Uint8Array, counter: number, last: boolean, sealed: Uint8Array): never {
  if (openChunk(key, counter, !last, sealed) === undefined) {
    throw refusal("age_tampered", `chunk ${counter} of the age file was altered, moved or cut`);
  }
  if (last) throw refusal("age_truncated", `the age file ends after chunk ${counter}, which is not the last`);
  throw refusal("age_trailing_data", `bytes follow the age file's last chunk (${counter})`);
}

function decodeBase64(text: string): Uint8Array {
  try {
    const data = base64nopad.decode(text);
    if (base64nopad.encode(data) === text) return data;
  } catch {
    // refused below
  }
  throw malformed("a stanza holds base64 that is not in the form written by age");
}

function malformed(what: string): Error {
  return refusal("age_malformed", `not an age file in the required form: ${what}`);
}
