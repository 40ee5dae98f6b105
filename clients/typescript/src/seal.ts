/** Sealing files for one bounty's roster, in memory that does not grow with them. */

import { sha256 } from "@noble/hashes/sha2.js";
import { base64 } from "@scure/base";
import { generateX25519Identity } from "age-encryption";
import type { Address, Hex } from "viem";
import { encryptFor, publicKeyOf } from "./age.js";
import { arrange, tarOf } from "./archive.js";
import type { ArtifactEntry } from "./archive.js";
import { roundAt } from "./beacon.js";
import type { Beacon } from "./beacon.js";
import { bindingText } from "./binding.js";
import type { Binding } from "./binding.js";
import { streamOf, toHex } from "./bytes.js";
import { sealCapsule } from "./capsule.js";
import { commitmentOf, recipientsCommitment } from "./commitments.js";
import { envelopeBytes, storageLocator } from "./envelope.js";
import type { Envelope, PinnedBounty } from "./envelope.js";
import { DEFAULT_LIMITS } from "./names.js";
import type { ArchiveLimits } from "./names.js";
import { fastest } from "./fastest.js";
import { watched } from "./transfer.js";
import type { TransferOptions } from "./transfer.js";

/** The bounty as the Hub pins it, the Solver, and the deployment's beacon. */
export interface SealFor {
  readonly bounty: PinnedBounty;
  readonly solverAddress: Address;
  readonly beacon: Beacon;
  readonly limits?: ArchiveLimits;
}

/** What `prepare` of the API takes (`bytes`), and what the Hub records (`commitment`). */
export interface SealedSubmission {
  readonly envelope: Envelope;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly commitment: Hex;
}

/**
 * Seals files for the pinned roster until the reveal point; the ciphertext goes to `sink`, which is closed. The content
 * identity exists only while this runs, so that nobody but a Guardian can open the work, the Solver included. Raises
 * `archive_refused` and `key_invalid`; the sink is then aborted. Progress is in bytes of the archive, whose length is known
 * only once it is sealed; a signal that ends it aborts the sink with its reason.
 */
export async function sealSubmission(
  entries: readonly ArtifactEntry[],
  sealFor: SealFor,
  sink: WritableStream<Uint8Array>,
  options: TransferOptions = {},
): Promise<SealedSubmission> {
  try {
    return await seal(entries, sealFor, sink, options);
  } catch (error) {
    await sink.abort(error).catch(() => undefined); // what was refused before anything was written leaves it open
    throw error;
  }
}

async function seal(
  entries: readonly ArtifactEntry[],
  { bounty, solverAddress, beacon, limits = DEFAULT_LIMITS }: SealFor,
  sink: WritableStream<Uint8Array>,
  options: TransferOptions,
): Promise<SealedSubmission> {
  const binding: Binding = {
    chainId: bounty.chainId,
    hubAddress: bounty.hubAddress.toLowerCase() as Address,
    bountyId: bounty.bountyId,
    solverAddress: solverAddress.toLowerCase() as Address,
  };
  const identity = await generateX25519Identity();
  const contentPublicKey = await publicKeyOf(identity);
  const round = roundAt(bounty.revealAt, beacon);
  const capsule = await sealCapsule(identity, binding, bounty.encryptionKeys, round, beacon);
  const ciphertext = await sealArtifact(entries, binding, identity, sink, limits, options);
  const envelope: Envelope = {
    version: 2,
    mode: "drand_tlock",
    chain_id: binding.chainId,
    hub_address: binding.hubAddress,
    bounty_id: binding.bountyId,
    solver_address: binding.solverAddress,
    spec_commitment: bounty.specCommitment,
    guardian_roster_hash: bounty.guardianRosterHash,
    recipients_commitment: recipientsCommitment(bounty.guardianRosterHash, bounty.encryptionKeys),
    reveal_policy: { beacon_chain_hash: beacon.chainHash, round, reveal_at: bounty.revealAt },
    content_public_key: contentPublicKey,
    key_capsule: base64.encode(capsule),
    key_capsule_sha256: toHex(sha256(capsule)),
    ciphertext: { ...ciphertext, storage_locator: storageLocator(binding, ciphertext.sha256) },
  };
  const bytes = envelopeBytes(envelope);
  return { envelope, bytes, commitment: commitmentOf(bytes) };
}

/** Seals files for one content identity, with the bounty and Solver they are for; digest and length are the sink's. */
async function sealArtifact(
  entries: readonly ArtifactEntry[],
  binding: Binding,
  identity: string,
  sink: WritableStream<Uint8Array>,
  limits: ArchiveLimits,
  options: TransferOptions,
): Promise<Pick<Envelope["ciphertext"], "sha256" | "byte_length">> {
  const tar = watched(tarOf(arrange(entries, limits), bindingText(binding)), undefined, options);
  const primitives = await fastest();
  const digest = primitives.sha256;
  let byteLength = 0;
  async function* counted(): AsyncGenerator<Uint8Array> {
    for await (const piece of encryptFor(identity, tar, primitives)) {
      digest.update(piece);
      byteLength += piece.length;
      yield piece;
    }
  }
  await streamOf(counted()).pipeTo(sink);
  return { sha256: toHex(digest.digest()), byte_length: byteLength };
}
