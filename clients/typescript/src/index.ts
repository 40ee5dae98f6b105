/**
 * The Bounty Escrow Service for TypeScript (docs/typescript.md): signed requests, commitments, sealing and opening, the
 * API and the Hub. Runs in browsers and in Node 20 and newer, on Web Streams; nothing here keeps a secret after it
 * returns.
 */

export { generateX25519Identity as generateIdentity } from "age-encryption";
export { publicKeyOf } from "./age.js";
export { answerOf, createApi, uploadCiphertext } from "./api.js";
export type { Api, Schemas, Signing } from "./api.js";
export type { ArtifactDirectory, ArtifactEntry, ArtifactFile, OpenedEntry, Unpacked } from "./archive.js";
export { QUICKNET, fetchBeacon, roundAt, verifyBeacon } from "./beacon.js";
export type { Beacon } from "./beacon.js";
export type { Binding } from "./binding.js";
export { pageTerms } from "./challenge.js";
export type { PageTerms } from "./challenge.js";
export {
  authorizationNonce,
  commitmentOf,
  fundingSalt,
  guardianRosterHash,
  logDigest,
  recipientsCommitment,
} from "./commitments.js";
export type { Roster, Terms } from "./commitments.js";
export { unwrapContentKey, wrapContentKey } from "./delivery.js";
export { envelopeBytes, envelopeDifferences, parseEnvelope } from "./envelope.js";
export type { Envelope, PinnedBounty } from "./envelope.js";
export { ServiceError } from "./errors.js";
export type { ErrorDetails, Failure, Issue } from "./errors.js";
export {
  allowanceCall,
  fundingCall,
  fundingPath,
  fundingTypedData,
  hubAbi,
  hubEvents,
  readBounty,
} from "./hub.js";
export type { AccountReader, FundingPath, FundingTypedData, HubReader, TokenDomain } from "./hub.js";
export type { ArchiveLimits } from "./names.js";
export { NOTICE_STATES, inEffect, latestOfEach, noticeReader } from "./notices.js";
export { noticeTypedData, parseNotice, whyVoid } from "./notices.js";
export type { HubNotice, NoticeReader } from "./notices.js";
export { openArtifact, openContentKey } from "./open.js";
export type { CapsuleKeys } from "./capsule.js";
export { approvalTypedData, authorizationHeader, canonicalQuery, signRequest } from "./requests.js";
export type {
  ApprovalTypedData,
  BlockReader,
  Deployment,
  FreshnessBlock,
  RequestSigner,
  RequestToSign,
} from "./requests.js";
export { sealSubmission } from "./seal.js";
export type { SealFor, SealedSubmission } from "./seal.js";
export {
  AUTHORIZATION_SECONDS,
  FACTS,
  disagreement,
  hourBegins,
  isOver,
  requireClosed,
  requireRecordedDelay,
  requireRevealPoint,
} from "./witnesses.js";
export type { FactName } from "./witnesses.js";
