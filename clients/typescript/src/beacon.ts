/** drand's randomness beacon: rounds, and signatures that are proven before anything opens with them. */

import { bls12_381 } from "@noble/curves/bls12-381.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { hexToBytes } from "@noble/hashes/utils.js";
import type { Hex } from "viem";
import { readText } from "./answers.js";
import { equal } from "./bytes.js";
import { refusal } from "./errors.js";
import { TimeLimit } from "./transfer.js";

/** A beacon chain of scheme `bls-unchained-g1-rfc9380`; the public key is 96 bytes in hex without `0x`. */
export interface Beacon {
  readonly chainHash: Hex;
  readonly publicKey: string;
  readonly genesisTime: number;
  readonly periodSeconds: number;
}

/** drand's quicknet, the beacon of mainnet and staging. */
export const QUICKNET: Beacon = {
  chainHash: "0x52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971",
  publicKey:
    "83cf0f2896adee7eb8b5f01fcad3912212c437e0073e911fb90022d3e760183c8c4b450b6a0a6c3ac6a5776a2d1064510d1fec758c921cc2" +
    "2b0e17e63aaf4bcb5ed66304de9cf809bd274ca73bab4af5a6e9c76a4bc09e76eae8991ef5ece45a",
  genesisTime: 1692803367,
  periodSeconds: 3,
};

const DOMAIN = "BLS_SIG_BLS12381G1_XMD:SHA-256_SSWU_RO_NUL_";
const MAX_ANSWER_BYTES = 64 * 1024;
const TIMEOUT_MILLISECONDS = 5_000;

/** The first round whose time is at or after `revealAt` (seconds since 1970), and 1 before the beacon's first. */
export function roundAt(revealAt: number, beacon: Beacon): number {
  return Math.max(Math.ceil((revealAt - beacon.genesisTime) / beacon.periodSeconds) + 1, 1);
}

/** What the beacon signs for a round: SHA-256 of the round as 8 bytes, big-endian. */
export function roundMessage(round: number): Uint8Array {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(round));
  return sha256(bytes);
}

/** Whether these 48 bytes (hex, with or without `0x`) are the beacon's signature for the round. */
export function verifyBeacon(round: number, signature: string, beacon: Beacon): boolean {
  const { shortSignatures, G1, G2 } = bls12_381;
  try {
    const signed = hexToBytes(signature.replace(/^0x/, ""));
    const message = shortSignatures.hash(roundMessage(round), DOMAIN);
    const key = G2.Point.fromBytes(checkPoint(G2.Point, hexToBytes(beacon.publicKey)));
    return shortSignatures.verify(G1.Point.fromBytes(checkPoint(G1.Point, signed)), message, key);
  } catch {
    return false;
  }
}

/** Whether these are the one encoding of a point of G2 in the prime-order subgroup that is not infinity. */
export function isCanonicalG2(data: Uint8Array): boolean {
  try {
    checkPoint(bls12_381.G2.Point, data);
    return true;
  } catch {
    return false;
  }
}

interface PointType {
  fromBytes(data: Uint8Array): { assertValidity(): void; toBytes(compressed: true): Uint8Array };
}

function checkPoint(type: PointType, data: Uint8Array): Uint8Array {
  const point = type.fromBytes(data);
  point.assertValidity(); // on the curve, in the subgroup, not infinity
  if (!equal(point.toBytes(true), data)) throw new RangeError("not the canonical encoding of a point");
  return data;
}

/**
 * The signature of a round, in hex, from the first relay whose answer verifies. Raises `beacon_invalid` where every
 * answer is forged, and `beacon_unavailable` where no relay answers, or the round is not out yet; a signal that ends it
 * raises its reason.
 */
export async function fetchBeacon(
  round: number,
  beacon: Beacon,
  relays: readonly string[],
  { signal }: { readonly signal?: AbortSignal } = {},
): Promise<string> {
  let forged = false;
  for (const relay of relays) {
    const base = relay.replace(/\/+$/, "");
    const chain = beacon.chainHash.slice(2);
    const url = `${base.endsWith(chain) ? base : `${base}/${chain}`}/public/${round}`;
    const answer = await answerOf(url, signal);
    signal?.throwIfAborted();
    if (answer === undefined) continue;
    if (answer.round === round && verifyBeacon(round, answer.signature, beacon)) return answer.signature;
    forged = true;
  }
  if (forged) throw refusal("beacon_invalid", "every relay that answered sent a signature that is not the beacon's");
  throw refusal("beacon_unavailable", `no beacon relay has round ${round}`);
}

async function answerOf(
  url: string,
  ended: AbortSignal | undefined,
): Promise<{ round: unknown; signature: string } | undefined> {
  const limit = new TimeLimit(TIMEOUT_MILLISECONDS, ended);
  try {
    const response = await fetch(url, { redirect: "error", signal: limit.signal });
    const text = response.ok ? await readText(response, MAX_ANSWER_BYTES) : "";
    const { round, signature } = JSON.parse(text) as { round: unknown; signature: unknown };
    return { round, signature: typeof signature === "string" ? signature : "" };
  } catch {
    return undefined;
  } finally {
    limit.close();
  }
}
