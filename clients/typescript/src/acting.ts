/**
 * What reads, signs and acts, and nothing that seals or opens: `bounty-escrow-client/acting`, the API, signed requests,
 * commitments, the Hub, and what an act rests on.
 */

export {
  actEvents,
  allowanceAct,
  claimAct,
  claimsAct,
  eventsOf,
  findActEvents,
  fundingAct,
  heartbeatAct,
  settlementAct,
  submissionAct,
  verdictAct,
} from "./acts.js";
export type { Act, ActCall, ActEvent, ClaimFunction, ClaimPart, DoneEvent, LogReader, PaymentEvent } from "./acts.js";
export { answerOf, createApi, isIssue, mayRepeat } from "./api.js";
export type { Api, Schemas, Signing } from "./api.js";
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
export { MOST_CONTENTS, readContents } from "./contents.js";
export type { ReadContent } from "./contents.js";
export { REFUSALS, REFUSED_TIMES } from "./generated/refusals.js";
export { AGE_KEY } from "./generated/secrets.js";
export { FUNDED_QUERY, MOST_LISTED, RECENT_SECONDS } from "./generated/witnesses.js";
export type { ApiCode } from "./generated/codes.js";
export { ServiceError, hasCode } from "./errors.js";
export type { ClientCode, ErrorCode, ErrorDetails, Failure, Issue } from "./errors.js";
export {
  fundingPath,
  fundingTypedData,
  hubAbi,
  hubCall,
  hubEvents,
  pinnedBounty,
  readBounty,
} from "./hub.js";
export type { AccountReader, EncodedCall, FundingPath, FundingTypedData } from "./hub.js";
export type { HubAnswer, HubArguments, HubEvent, HubFunction, HubReader, TokenDomain } from "./hub.js";
export { approvalTypedData, authorizationHeader, canonicalQuery, signRequest } from "./requests.js";
export type {
  ApprovalTypedData,
  BlockReader,
  Deployment,
  FreshnessBlock,
  RequestSigner,
  RequestToSign,
} from "./requests.js";
export {
  AUTHORIZATION_SECONDS,
  FACTS,
  MARGIN_SECONDS,
  disagreement,
  hourBegins,
  isOver,
  requireClosed,
  requireRecordedDelay,
  requireRevealPoint,
} from "./witnesses.js";
export type { FactName } from "./witnesses.js";
export { likelySecrets } from "./secrets.js";
export { uploadCiphertext } from "./upload.js";
export type { Progress, TransferOptions } from "./transfer.js";
