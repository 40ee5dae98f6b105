/**
 * What opens and delivers work, with the keys, the beacon and envelopes: `bounty-escrow-client/opening`. It is heavy;
 * a page that loads it only when it is needed is there sooner.
 */

export { generateX25519Identity as generateIdentity } from "age-encryption";
export { publicKeyOf } from "./age.js";
export { archiveStream } from "./archive.js";
export type { ArtifactDirectory, ArtifactEntry, ArtifactFile, OpenedEntry, Unpacked } from "./archive.js";
export { QUICKNET, fetchBeacon, roundAt, verifyBeacon } from "./beacon.js";
export type { Beacon } from "./beacon.js";
export type { Binding } from "./binding.js";
export { unwrapContentKey, wrapContentKey } from "./delivery.js";
export { envelopeBytes, envelopeDifferences, parseEnvelope } from "./envelope.js";
export type { Envelope, PinnedBounty } from "./envelope.js";
export type { ArchiveLimits } from "./names.js";
export { downloadCiphertext } from "./download.js";
export { openArtifact, openContentKey } from "./open.js";
export type { OpenOptions } from "./open.js";
export type { Progress, TransferOptions } from "./transfer.js";
export type { CapsuleKeys } from "./capsule.js";
export { ServiceError, hasCode } from "./errors.js";
export type { ClientCode, ErrorCode, ErrorDetails, Failure, Issue } from "./errors.js";
