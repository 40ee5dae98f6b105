/** What seals work, alone, for a worker or a page that only seals: `bounty-escrow-client/sealing`. */

export type { ArtifactDirectory, ArtifactEntry, ArtifactFile } from "./archive.js";
export { QUICKNET } from "./beacon.js";
export type { Beacon } from "./beacon.js";
export type { Envelope, PinnedBounty } from "./envelope.js";
export { ServiceError, hasCode } from "./errors.js";
export type { ClientCode, ErrorCode, ErrorDetails, Failure, Issue } from "./errors.js";
export type { ArchiveLimits } from "./names.js";
export { sealSubmission } from "./seal.js";
export type { Progress, TransferOptions } from "./transfer.js";
export type { SealFor, SealedSubmission } from "./seal.js";
