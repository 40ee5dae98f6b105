/**
 * The key capsule: a Submission's content identity behind two locks, the Guardians' keys inside and the beacon's round
 * outside (docs/formats.md, Key capsule). The identity-based encryption is tlock-js's, the age files age-encryption's.
 */

import { Encrypter, Stanza } from "age-encryption";
import type { Identity } from "age-encryption";
import { decryptOnG2, encryptOnG2RFC9380 } from "tlock-js/crypto/ibe.js";
import type { Hex } from "viem";
import { openHeader, payloadOf, publicKeyOf, readHeader, requireX25519, toRecipient } from "./age.js";
import type { AgeHeader } from "./age.js";
import { isCanonicalG2, roundMessage, verifyBeacon } from "./beacon.js";
import type { Beacon } from "./beacon.js";
import { bindingText, checkBinding, takeComment } from "./binding.js";
import type { Binding } from "./binding.js";
import { ByteSource, concat, fromHex, utf8 } from "./bytes.js";
import type { Bytes } from "./bytes.js";
import { ServiceError, refusal } from "./errors.js";

/** What a timelock file shows unencrypted: which round of which chain opens it. */
export interface Timelock {
  readonly round: bigint;
  readonly chainHash: Hex;
}

/** With what a capsule is opened. */
export interface CapsuleKeys {
  readonly beacon: Beacon;
  readonly round: number;
  /** The beacon's signature for the round, in hex; it is verified first. */
  readonly signature: string;
  /** One Guardian's encryption keys, `AGE-SECRET-KEY-1...`. */
  readonly keyring: readonly string[];
  /** The number of Guardians on the pinned roster. */
  readonly rosterSize: number;
}

const MAX_IDENTITY_FILE = 4_096;
const POINT_BYTES = 96;
const FILE_KEY = 16;
const MAX_ROUND = 2n ** 63n;

/**
 * Locks a content identity, with the bounty and Solver it is for, for these Guardians (roster order) until the round.
 */
export async function sealCapsule(
  identity: string,
  binding: Binding,
  encryptionKeys: readonly Hex[],
  round: number,
  beacon: Beacon,
): Promise<Bytes> {
  const inner = new Encrypter();
  for (const key of encryptionKeys) inner.addRecipient(toRecipient(key));
  const outer = new Encrypter();
  outer.addRecipient({
    async wrapFileKey(fileKey) {
      const { U, V, W } = await encryptOnG2RFC9380(fromHex(`0x${beacon.publicKey}`), roundMessage(round), fileKey);
      return [new Stanza(["tlock", String(round), beacon.chainHash.slice(2)], concat([U, V, W]))];
    },
  });
  return concat([await outer.encrypt(await inner.encrypt(utf8(`# ${bindingText(binding)}\n${identity}\n`)))]);
}

/** The public part of a capsule; raises `timelock_malformed` and the failures of age files. */
export async function readCapsule(capsule: Uint8Array): Promise<Timelock> {
  return timelockOf(await readHeader(new ByteSource(whole(capsule))));
}

/**
 * The content identity, `AGE-SECRET-KEY-1...`: a secret. It is returned only if both locks are unaltered, it was sealed
 * for the expected bounty and Solver, and its public half is `contentPublicKey`; each other case has its failure.
 */
export async function openCapsule(
  capsule: Uint8Array,
  keys: CapsuleKeys,
  contentPublicKey: Hex,
  expected: Binding,
): Promise<string> {
  const inner = await openOuter(capsule, keys);
  const text = await openInner(inner, keys);
  const { identity, binding } = await parseIdentityFile(text);
  checkBinding(expected, binding, "the key capsule");
  return checkIdentity(identity, contentPublicKey);
}

/** Holds an identity, from wherever it came, against the envelope's `content_public_key`. */
export async function checkIdentity(identity: string, contentPublicKey: Hex): Promise<string> {
  if ((await publicKeyOf(identity)) !== contentPublicKey) {
    throw refusal("capsule_wrong_identity", "the identity does not match the public half in the envelope");
  }
  return identity;
}

/** The outer lock: right chain, right round, real signature, unaltered. */
async function openOuter(capsule: Uint8Array, { beacon, round, signature }: CapsuleKeys): Promise<Bytes> {
  const source = new ByteSource(whole(capsule));
  const header = await readHeader(source);
  const lock = timelockOf(header);
  if (lock.chainHash !== beacon.chainHash) {
    throw refusal("timelock_wrong_chain", "the timelock is for another beacon chain");
  }
  if (lock.round !== BigInt(round)) {
    throw refusal("timelock_wrong_round", `the timelock is for round ${lock.round}, not for round ${round}`);
  }
  if (!verifyBeacon(round, signature, beacon)) {
    throw refusal("beacon_invalid", `the signature given for round ${round} is not the beacon's`);
  }
  const fileKey = await unlock(header, signature);
  const key: Identity = { unwrapFileKey: () => fileKey };
  return collect(payloadOf(source, await openHeader(header, [key])));
}

async function unlock(header: AgeHeader, signature: string): Promise<Uint8Array> {
  const body = header.stanzas[0]?.body ?? new Uint8Array();
  const U = body.subarray(0, POINT_BYTES);
  if (!isCanonicalG2(U)) {
    throw notATimelock("its stanza does not hold a point of the curve in canonical encoding");
  }
  const [V, W] = [body.subarray(POINT_BYTES, POINT_BYTES + FILE_KEY), body.subarray(POINT_BYTES + FILE_KEY)];
  try {
    return await decryptOnG2(fromHex(`0x${signature.replace(/^0x/, "")}`), { U, V, W });
  } catch {
    throw refusal("timelock_tampered", "the timelock's stanza was altered or made with another key");
  }
}

function timelockOf({ stanzas }: AgeHeader): Timelock {
  const [stanza] = stanzas;
  const [kind, round = "", chain = "", ...others] = stanza?.args ?? [];
  const formed = stanzas.length === 1 && kind === "tlock" && others.length === 0;
  if (!formed || stanza?.body.length !== POINT_BYTES + 2 * FILE_KEY) {
    throw notATimelock("it must have exactly one stanza, of type tlock, with a round, a chain hash and 128 bytes");
  }
  if (!/^[1-9]\d{0,18}$/.test(round) || BigInt(round) >= MAX_ROUND || !/^[0-9a-f]{64}$/.test(chain)) {
    throw notATimelock("its round or chain hash is not written in drand's form");
  }
  return { round: BigInt(round), chainHash: `0x${chain}` };
}

function notATimelock(what: string): Error {
  return refusal("timelock_malformed", `not a timelock file in the required form: ${what}`);
}

/** The inner lock: one stanza for each Guardian, one of them ours. */
async function openInner(inner: Uint8Array, { keyring, rosterSize }: CapsuleKeys): Promise<Bytes> {
  await Promise.all(keyring.map(publicKeyOf));
  try {
    const source = new ByteSource(whole(inner));
    const header = await readHeader(source);
    requireX25519(header, rosterSize);
    return await collect(payloadOf(source, await openHeader(header, keyring)));
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    if (error.code === "age_no_matching_key") {
      throw refusal(
        "capsule_not_for_this_key",
        "no key in this keyring opens what was sealed for the Guardians; an older key may",
      );
    }
    if (error.code === "age_recipients_refused") {
      const message = `the capsule is not sealed to the roster, one X25519 stanza per Guardian: ${error.message}`;
      throw refusal("capsule_wrong_recipients", message);
    }
    throw refusal("capsule_malformed", `the capsule's inner file: ${error.message}`);
  }
}

/**
 * One identity, as age reads it: a line ends with a line feed, and one carriage return before it belongs to the end.
 */
async function parseIdentityFile(data: Uint8Array): Promise<{ identity: string; binding: Binding | undefined }> {
  const lines = String.fromCharCode(...data.subarray(0, MAX_IDENTITY_FILE + 1))
    .split("\n")
    .map((line) => line.replace(/\r$/, ""));
  const keys = lines.filter((line) => line !== "" && !line.startsWith("#"));
  const [identity] = keys;
  if (data.length > MAX_IDENTITY_FILE || identity === undefined || keys.length > 1) throw notAnIdentity();
  await publicKeyOf(identity).catch(() => {
    throw notAnIdentity();
  });
  let binding: Binding | undefined;
  for (const line of lines) {
    if (line.startsWith("# ")) binding = takeComment(binding, line.slice(2), "capsule_malformed");
  }
  return { identity, binding };
}

function notAnIdentity(): Error {
  return refusal("capsule_malformed", "what was sealed in the capsule is not one age identity");
}

async function* whole(data: Uint8Array): AsyncGenerator<Uint8Array> {
  yield data;
}

async function collect(chunks: AsyncGenerator<Uint8Array>): Promise<Bytes> {
  const parts: Uint8Array[] = [];
  for await (const chunk of chunks) parts.push(chunk);
  return concat(parts);
}
