/**
 * The Submission envelope: canonical JSON whose keccak256 is the Submission's commitment (docs/formats.md, Envelope).
 */

import { sha256 } from "@noble/hashes/sha2.js";
import { base64 } from "@scure/base";
import type { Address, Hex } from "viem";
import { isPublicKey } from "./age.js";
import { roundAt } from "./beacon.js";
import type { Beacon } from "./beacon.js";
import { isBountyId } from "./binding.js";
import type { Binding } from "./binding.js";
import { fromHex, toHex, utf8 } from "./bytes.js";
import { canonicalJson, parseCanonicalJson } from "./canonical.js";
import { recipientsCommitment } from "./commitments.js";
import { ServiceError } from "./errors.js";
import type { Issue } from "./errors.js";

/** The envelope as its JSON stands: hex in lowercase, the capsule in base64, times in seconds since 1970. */
export interface Envelope {
  readonly version: 2;
  readonly mode: "drand_tlock";
  readonly chain_id: number;
  readonly hub_address: Address;
  readonly bounty_id: string;
  readonly solver_address: Address;
  readonly spec_commitment: Hex;
  readonly guardian_roster_hash: Hex;
  readonly recipients_commitment: Hex;
  readonly reveal_policy: { readonly beacon_chain_hash: Hex; readonly round: number; readonly reveal_at: number };
  readonly content_public_key: Hex;
  readonly key_capsule: string;
  readonly key_capsule_sha256: Hex;
  readonly ciphertext: { readonly sha256: Hex; readonly byte_length: number; readonly storage_locator: string };
}

/** What the Hub pins for a bounty, read from the chain (`readBounty`). */
export interface PinnedBounty {
  readonly chainId: number;
  readonly hubAddress: Address;
  readonly bountyId: string;
  readonly specCommitment: Hex;
  readonly guardianRosterHash: Hex;
  /** In roster order. */
  readonly encryptionKeys: readonly Hex[];
  /** Seconds since 1970. */
  readonly revealAt: number;
}

const MAX_ENVELOPE_BYTES = 64 * 1024;
const MAX_CAPSULE_BYTES = 16 * 1024;
const MAX_SAFE = Number.MAX_SAFE_INTEGER;

/** The bytes that are stored, served and committed to. */
export function envelopeBytes(envelope: Envelope): Uint8Array<ArrayBuffer> {
  return utf8(canonicalJson(envelope));
}

/** The bounty and Solver that an envelope names, and its seals must name, too. */
export function bindingOf(envelope: Envelope): Binding {
  const { chain_id: chainId, hub_address: hubAddress, bounty_id: bountyId, solver_address: solverAddress } = envelope;
  return { chainId, hubAddress, bountyId, solverAddress };
}

/** Where the ciphertext lies, derived from what the envelope names. */
export function storageLocator({ chainId, hubAddress, bountyId, solverAddress }: Binding, sha256OfFile: Hex): string {
  return `submissions/${chainId}/${hubAddress}/${bountyId}/${solverAddress}/${sha256OfFile.slice(2)}.age`;
}

/**
 * Reads an envelope: every field in its one form, the capsule's digest and the storage locator those of the other
 * fields. Raises `invalid_solver_submission` with all issues. Whether it belongs to a bounty is for
 * `envelopeDifferences`.
 */
export function parseEnvelope(data: Uint8Array | string): Envelope {
  let value: unknown;
  try {
    value = parseCanonicalJson(data, MAX_ENVELOPE_BYTES);
  } catch {
    throw invalid([{ path: "envelope", message: "must be canonical JSON of at most 64 KiB" }]);
  }
  const issues = new Fields(ENVELOPE).check(value);
  const envelope = value as Envelope;
  if (issues.length === 0) issues.push(...internalDifferences(envelope));
  if (issues.length > 0) throw invalid(issues);
  return envelope;
}

/** Every difference from what the bounty, the Solver and the beacon require; none means that it belongs to them. */
export function envelopeDifferences(
  envelope: Envelope,
  bounty: PinnedBounty,
  solverAddress: Address,
  beacon: Beacon,
): Issue[] {
  const policy = envelope.reveal_policy;
  const recipients = recipientsCommitment(bounty.guardianRosterHash, bounty.encryptionKeys);
  const pairs: [string, unknown, unknown, string][] = [
    ["chain_id", envelope.chain_id, bounty.chainId, "is not this deployment's chain"],
    ["hub_address", envelope.hub_address, bounty.hubAddress.toLowerCase(), "is not this deployment's Hub"],
    ["bounty_id", envelope.bounty_id, bounty.bountyId, "is another bounty"],
    ["solver_address", envelope.solver_address, solverAddress.toLowerCase(), "is another Solver"],
    ["spec_commitment", envelope.spec_commitment, bounty.specCommitment, "is not the bounty's challenge"],
    ["guardian_roster_hash", envelope.guardian_roster_hash, bounty.guardianRosterHash, "is not the pinned roster"],
    ["recipients_commitment", envelope.recipients_commitment, recipients, "is not over the pinned encryption keys"],
    ["reveal_policy.beacon_chain_hash", policy.beacon_chain_hash, beacon.chainHash, "is not this deployment's beacon"],
    ["reveal_policy.reveal_at", policy.reveal_at, bounty.revealAt, "is not the bounty's reveal point"],
    ["reveal_policy.round", policy.round, roundAt(bounty.revealAt, beacon), "is not the reveal point's round"],
  ];
  return pairs.filter(([, ours, theirs]) => ours !== theirs).map(([path, , , message]) => ({ path, message }));
}

/** The capsule's bytes. */
export function capsuleOf(envelope: Envelope): Uint8Array {
  return base64.decode(envelope.key_capsule);
}

function internalDifferences(envelope: Envelope): Issue[] {
  const issues: Issue[] = [];
  if (toHex(sha256(capsuleOf(envelope))) !== envelope.key_capsule_sha256) {
    issues.push({ path: "key_capsule_sha256", message: "is not the SHA-256 of key_capsule" });
  }
  const locator = storageLocator(bindingOf(envelope), envelope.ciphertext.sha256);
  if (envelope.ciphertext.storage_locator !== locator) {
    issues.push({ path: "ciphertext.storage_locator", message: `must be ${locator}` });
  }
  return issues;
}

function invalid(issues: readonly Issue[]): ServiceError {
  return new ServiceError("invalid_solver_submission", "the envelope is not in the required form", { issues });
}

/** What a field must be; undefined where it is. */
type Check = (value: unknown) => string | undefined;

/** An object with exactly these fields. */
class Fields {
  readonly #fields: Readonly<Record<string, Check | Fields>>;

  constructor(fields: Readonly<Record<string, Check | Fields>>) {
    this.#fields = fields;
  }

  /** Every issue, with the path of its field. */
  check(value: unknown, prefix = ""): Issue[] {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      return [{ path: prefix.slice(0, -1) || "envelope", message: "must be an object" }];
    }
    const given = new Map<string, unknown>(Object.entries(value));
    const issues: Issue[] = [];
    for (const [name, field] of Object.entries(this.#fields)) {
      if (!given.has(name)) issues.push({ path: prefix + name, message: "is missing" });
      else if (field instanceof Fields) issues.push(...field.check(given.get(name), `${prefix}${name}.`));
      else {
        const message = field(given.get(name));
        if (message !== undefined) issues.push({ path: prefix + name, message });
      }
      given.delete(name);
    }
    for (const name of [...given.keys()].sort()) {
      issues.push({ path: (prefix + name).slice(0, 120), message: "is not a field of this document; remove it" });
    }
    return issues;
  }
}

function integer(minimum: number, maximum: number = MAX_SAFE): Check {
  const message = `must be a whole number from ${minimum} to ${maximum}`;
  return (value) => (typeof value === "number" && value >= minimum && value <= maximum ? undefined : message);
}

function matching(accepted: (text: string) => boolean, message: string): Check {
  return (value) => (typeof value === "string" && accepted(value) ? undefined : message);
}

function isCapsule(text: string): boolean {
  try {
    const data = base64.decode(text);
    return base64.encode(data) === text && data.length >= 1 && data.length <= MAX_CAPSULE_BYTES;
  } catch {
    return false;
  }
}

const isBytes32 = (text: string): boolean => /^0x[0-9a-f]{64}$/.test(text);
const address = matching((text) => /^0x[0-9a-f]{40}$/.test(text), "must be 0x and 40 lowercase hexadecimal digits");
const bytes32 = matching(isBytes32, "must be 0x and 64 lowercase hexadecimal digits");
const publicKey = matching(
  (text) => isBytes32(text) && isPublicKey(fromHex(text)),
  "must be a canonical X25519 public key that is not of low order",
);

const ENVELOPE: Readonly<Record<keyof Envelope, Check | Fields>> = {
  version: integer(2, 2),
  mode: matching((text) => text === "drand_tlock", "must be drand_tlock"),
  chain_id: integer(1),
  hub_address: address,
  bounty_id: matching(isBountyId, "must be a decimal from 1 to 9223372036854775807"),
  solver_address: address,
  spec_commitment: bytes32,
  guardian_roster_hash: bytes32,
  recipients_commitment: bytes32,
  reveal_policy: new Fields({ beacon_chain_hash: bytes32, round: integer(1), reveal_at: integer(1) }),
  content_public_key: publicKey,
  key_capsule: matching(isCapsule, `must be standard padded base64 of 1 to ${MAX_CAPSULE_BYTES} bytes`),
  key_capsule_sha256: bytes32,
  ciphertext: new Fields({
    sha256: bytes32,
    byte_length: integer(1),
    storage_locator: matching(() => true, "must be text"),
  }),
};
