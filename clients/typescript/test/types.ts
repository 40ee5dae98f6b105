// The type of every public name, as a program sees it. It only has to compile; tests/clients/test_types.py compiles it
// once more for each name that it makes `any`.
import { expectTypeOf } from "expect-type";
import type { Address, Chain, Hex, Log, PublicClient, Transport } from "viem";
import * as client from "bounty-escrow-client";
import type * as types from "bounty-escrow-client";

type Bytes = Uint8Array;
type Eventually = Promise<string>;
type Chunks = AsyncIterable<Uint8Array>;
const { FACTS } = client;

// The API
expectTypeOf(client.createApi).parameters.toEqualTypeOf<[baseUrl: string, signing?: types.Signing]>();
expectTypeOf(client.createApi).returns.toEqualTypeOf<types.Api>();
expectTypeOf(client.answerOf<number>).toEqualTypeOf<
  (call: Promise<{ data?: number; response: Response }>) => Promise<number>
>();
expectTypeOf(client.isIssue).guards.toEqualTypeOf<types.Issue>();
expectTypeOf(client.isIssue).parameters.toEqualTypeOf<[unknown]>();
expectTypeOf(client.likelySecrets).toEqualTypeOf<
  (entries: readonly types.ArtifactEntry[]) => Promise<string[]>
>();
expectTypeOf(client.uploadCiphertext).parameters.toEqualTypeOf<
  [types.Schemas["UploadTarget"], Blob, types.TransferOptions?]
>();
expectTypeOf(client.uploadCiphertext).returns.toEqualTypeOf<Promise<void>>();
expectTypeOf<types.Api>().toHaveProperty("GET").toBeFunction();
expectTypeOf<types.Api>().toHaveProperty("POST").toBeFunction();
expectTypeOf<types.Schemas["BountyDetail"]["bounty_id"]>().toEqualTypeOf<string>();
expectTypeOf<types.Signing>().toEqualTypeOf<{
  readonly deployment: types.Deployment;
  readonly signer: types.RequestSigner;
  readonly chain: types.BlockReader;
}>();

// Signed requests
expectTypeOf(client.signRequest).parameters.toEqualTypeOf<
  [
    types.RequestToSign,
    {
      readonly deployment: types.Deployment;
      readonly signer: types.RequestSigner;
      readonly chain: types.BlockReader;
    },
  ]
>();
expectTypeOf(client.signRequest).returns.toEqualTypeOf<Eventually>();
expectTypeOf(client.approvalTypedData).parameters.toEqualTypeOf<
  [types.RequestToSign, types.Deployment, types.FreshnessBlock]
>();
expectTypeOf(client.approvalTypedData).returns.toEqualTypeOf<types.ApprovalTypedData>();
expectTypeOf(client.authorizationHeader).toEqualTypeOf<
  (signer: Address, signature: Hex, block: types.FreshnessBlock) => string
>();
expectTypeOf(client.canonicalQuery).toEqualTypeOf<(raw: string) => string>();
expectTypeOf<types.ApprovalTypedData["message"]>().toEqualTypeOf<{
  readonly endpointId: `${string} ${string}`;
  readonly audience: string;
  readonly bodyHash: Hex;
  readonly query: string;
  readonly blockNumber: bigint;
  readonly blockHash: Hex;
}>();
expectTypeOf<types.BlockReader["getBlock"]>().returns.resolves.toExtend<types.FreshnessBlock>();
expectTypeOf<PublicClient<Transport, Chain | undefined>>().toExtend<types.BlockReader>();
expectTypeOf<types.Deployment>().toEqualTypeOf<{ readonly chainId: number; readonly hubAddress: Address }>();
expectTypeOf<types.FreshnessBlock>().toEqualTypeOf<{ readonly number: bigint; readonly hash: Hex }>();
expectTypeOf<types.RequestSigner>().toEqualTypeOf<{
  readonly address: Address;
  readonly signTypedData: (typedData: types.ApprovalTypedData) => Promise<Hex>;
}>();
expectTypeOf<types.RequestToSign>().toEqualTypeOf<{
  readonly method: string;
  readonly url: string | URL;
  readonly body?: Uint8Array;
}>();

// Commitments and terms
expectTypeOf(client.pageTerms).toEqualTypeOf<(page: string) => types.PageTerms>();
expectTypeOf(client.commitmentOf).toEqualTypeOf<(data: Bytes | string) => Hex>();
expectTypeOf(client.authorizationNonce).toEqualTypeOf<
  (chainId: number | bigint, hub: Address, poster: Address, terms: types.Terms) => Hex
>();
expectTypeOf(client.fundingSalt).toEqualTypeOf<
  (chainId: number | bigint, hub: Address, poster: Address, page: Hex, number: number | bigint) => Hex
>();
expectTypeOf(client.guardianRosterHash).toEqualTypeOf<
  (chainId: number | bigint, hub: Address, roster: types.Roster) => Hex
>();
expectTypeOf(client.recipientsCommitment).toEqualTypeOf<(rosterHash: Hex, keys: readonly Hex[]) => Hex>();
expectTypeOf(client.logDigest).parameter(0).toEqualTypeOf<
  readonly { readonly topics: readonly Hex[]; readonly data: Hex }[]
>();
expectTypeOf(client.logDigest).returns.toEqualTypeOf<Hex>();
expectTypeOf<types.PageTerms>().toEqualTypeOf<{
  readonly title: string;
  readonly escrowAmount: bigint;
  readonly submissionDeadline: bigint;
  readonly judgingWindow: bigint;
}>();
expectTypeOf<types.Roster>().toEqualTypeOf<{
  readonly version: bigint;
  readonly accounts: readonly Address[];
  readonly encryptionKeys: readonly Hex[];
  readonly quorum: bigint;
}>();
expectTypeOf<types.Terms>().toEqualTypeOf<{
  readonly specCommitment: Hex;
  readonly expectedRosterHash: Hex;
  readonly escrowAmount: bigint;
  readonly submissionDeadline: bigint;
  readonly judgingWindow: bigint;
  readonly maxProtocolFee: bigint;
  readonly maxGuardianFee: bigint;
  readonly salt: Hex;
}>();

// Errors
expectTypeOf(client.ServiceError).toBeConstructibleWith("invalid_request", "why");
expectTypeOf(client.ServiceError).constructorParameters.toEqualTypeOf<
  [code: string, message: string, details?: types.ErrorDetails]
>();
expectTypeOf<types.ServiceError["issues"]>().toEqualTypeOf<readonly types.Issue[]>();
expectTypeOf<types.ErrorDetails["retryAfter"]>().toEqualTypeOf<number | undefined>();
expectTypeOf<types.Failure>().extract<"age_tampered">().toEqualTypeOf<"age_tampered">();
expectTypeOf<types.Failure>().extract<"no_failure">().toBeNever();
expectTypeOf<types.ApiCode>().extract<"bounty_not_found" | "no_code">().toEqualTypeOf<"bounty_not_found">();
expectTypeOf<types.ClientCode>().extract<"storage_refused" | "no_code">().toEqualTypeOf<"storage_refused">();
expectTypeOf<types.ErrorCode>().extract<types.ApiCode>().toEqualTypeOf<types.ApiCode>();
expectTypeOf<types.ErrorCode>().extract<types.Failure>().toEqualTypeOf<types.Failure>();
expectTypeOf<types.ErrorCode>().extract<"time_disagrees" | "no_code">().toEqualTypeOf<"time_disagrees">();
expectTypeOf(client.hasCode<"age_tampered">).guards.toExtend<types.ServiceError>();
expectTypeOf(client.hasCode<"age_tampered">).guards.toHaveProperty("code").toExtend<"age_tampered">();
// @ts-expect-error no error has this code
client.hasCode(new Error(), "age_tampred");
expectTypeOf<types.Issue>().toEqualTypeOf<{ readonly path: string; readonly message: string }>();
expectTypeOf(client.REFUSED_TIMES).toEqualTypeOf<ReadonlySet<string>>();
expectTypeOf(client.AGE_KEY).toEqualTypeOf<RegExp>();
expectTypeOf(client.KEY_FORMS).toEqualTypeOf<readonly (readonly [string, RegExp, RegExp?])[]>();
expectTypeOf(client.REFUSALS).toEqualTypeOf<Readonly<Record<string, readonly [string, string]>>>();

// The Hub
expectTypeOf(client.readBounty).toEqualTypeOf<
  (chain: types.HubReader, deployment: types.Deployment, bountyId: bigint) => Promise<types.PinnedBounty>
>();
expectTypeOf(client.pinnedBounty).returns.toEqualTypeOf<types.PinnedBounty>();
expectTypeOf(client.pinnedBounty).parameter(2).toEqualTypeOf<types.HubAnswer<"getBounty">>();
expectTypeOf<types.HubAnswer<"getRoster">>().toHaveProperty("encryptionKeys").toExtend<readonly Hex[]>();
expectTypeOf<PublicClient<Transport, Chain | undefined>>().toExtend<types.HubReader>();
expectTypeOf<types.HubReader>().toHaveProperty("readContract").toBeFunction();
expectTypeOf(client.hubAbi).not.toBeAny();
expectTypeOf(client.hubAbi).toExtend<readonly { readonly type: string }[]>();
expectTypeOf<types.HubFunction>().extract<"settle" | "getBounty">().toEqualTypeOf<"settle">();
expectTypeOf(client.hubCall<"settle">).parameters.toEqualTypeOf<[Address, "settle", readonly [bigint]]>();
expectTypeOf(client.hubCall<"settle">).returns.toEqualTypeOf<types.EncodedCall>();

// Acts as calls for an account to make
expectTypeOf(client.fundingAct).toEqualTypeOf<
  (
    deployment: types.Deployment,
    poster: Address,
    terms: types.Terms,
    validBefore: bigint,
    signature: Hex,
  ) => types.Act<"BountyCreated">
>();
expectTypeOf(client.allowanceAct).toEqualTypeOf<
  (deployment: types.Deployment, token: Address, poster: Address, terms: types.Terms) => types.Act<"BountyCreated">
>();
expectTypeOf(client.submissionAct).toEqualTypeOf<
  (hub: Address, bountyId: bigint, solver: Address, commitment: Hex, roster: Hex) => types.Act<"SubmissionRecorded">
>();
expectTypeOf(client.verdictAct).parameters.toEqualTypeOf<
  [Address, bigint, Address, { readonly solver: Address; readonly submissionCommitment: Hex } | undefined, Hex]
>();
expectTypeOf(client.verdictAct).returns.toEqualTypeOf<types.Act<"VerdictRecorded">>();
expectTypeOf(client.heartbeatAct).toEqualTypeOf<(hub: Address, guardian: Address) => types.Act<"GuardianHeartbeat">>();
expectTypeOf(client.settlementAct).toEqualTypeOf<(hub: Address, bountyId: bigint) => types.Act<"BountyFinalized">>();
expectTypeOf(client.claimAct).toEqualTypeOf<
  (hub: Address, account: Address, part: types.ClaimPart) => types.Act<types.PaymentEvent>
>();
expectTypeOf(client.claimsAct).toEqualTypeOf<
  (hub: Address, account: Address, parts: readonly types.ClaimPart[]) => types.Act<types.PaymentEvent>
>();
expectTypeOf<types.ActCall>().toEqualTypeOf<{ readonly to: Address; readonly data: Hex; readonly value: bigint }>();
expectTypeOf<types.Act<"BountyCreated">>().toHaveProperty("calls").toEqualTypeOf<readonly types.ActCall[]>();
expectTypeOf<types.ActEvent>().extract<"BountyCreated" | "RosterPublished">().toEqualTypeOf<"BountyCreated">();
expectTypeOf<types.PaymentEvent>().extract<"AwardClaimed" | "BountyCreated">().toEqualTypeOf<"AwardClaimed">();
expectTypeOf<types.ClaimFunction>().extract<"claim" | "claimMany">().toEqualTypeOf<"claim">();
expectTypeOf<types.ClaimPart>().toEqualTypeOf<{
  readonly functionName: types.ClaimFunction;
  readonly bountyId: bigint;
}>();
expectTypeOf(client.actEvents<"BountyCreated">).parameters.toEqualTypeOf<
  [types.Act<"BountyCreated">, readonly Log[]]
>();
expectTypeOf(client.actEvents<"BountyCreated">).returns.toEqualTypeOf<
  readonly types.DoneEvent<"BountyCreated">[] | undefined
>();
expectTypeOf<types.DoneEvent<"BountyCreated">["args"]["bountyId"]>().toEqualTypeOf<bigint>();
expectTypeOf<types.DoneEvent<"AwardClaimed">["eventName"]>().toEqualTypeOf<"AwardClaimed">();
expectTypeOf(client.findActEvents<"BountyCreated">).parameters.toEqualTypeOf<
  [types.LogReader, types.Act<"BountyCreated">, bigint, bigint?]
>();
expectTypeOf(client.findActEvents<"BountyCreated">).returns.resolves.toEqualTypeOf<
  readonly types.DoneEvent<"BountyCreated">[] | undefined
>();
expectTypeOf<PublicClient<Transport, Chain | undefined>>().toExtend<types.LogReader>();
expectTypeOf<types.LogReader>().toHaveProperty("getLogs").toBeFunction();

// @ts-expect-error what is only read is no transaction
client.hubCall("0x", "getBounty", [7n]);
expectTypeOf(client.hubEvents).parameters.toEqualTypeOf<[Address, readonly Log[]]>();
expectTypeOf(client.hubEvents).returns.items.toHaveProperty("eventName").extract<"BountyCreated">().not.toBeNever();
expectTypeOf(client.fundingTypedData).parameters.toEqualTypeOf<
  [types.Deployment, types.TokenDomain, Address, types.Terms, bigint]
>();
expectTypeOf(client.fundingTypedData).returns.toEqualTypeOf<types.FundingTypedData>();
expectTypeOf<types.FundingTypedData["message"]["value"]>().toEqualTypeOf<bigint>();
expectTypeOf(client.fundingCall).parameters.toEqualTypeOf<[Address, Address, types.Terms, bigint, Hex]>();
expectTypeOf(client.fundingCall)
  .returns.toHaveProperty("functionName")
  .toEqualTypeOf<"createBountyWithAuthorization">();
expectTypeOf(client.fundingCall).returns.toEqualTypeOf<types.HubWrite<"createBountyWithAuthorization">>();
expectTypeOf<types.HubWrite<"createBounty">["args"]>().toEqualTypeOf<types.HubArguments<"createBounty">>();
expectTypeOf<types.HubArguments<"settle">>().toEqualTypeOf<readonly [bigint]>();
expectTypeOf(client.hubEvents).returns.toEqualTypeOf<types.HubEvent[]>();
expectTypeOf<types.HubEvent["eventName"]>().extract<"AwardClaimed">().not.toBeNever();
expectTypeOf(client.allowanceCall).parameters.toEqualTypeOf<[Address, types.Terms]>();
expectTypeOf(client.allowanceCall).returns.toHaveProperty("functionName").toEqualTypeOf<"createBounty">();
expectTypeOf(client.fundingPath).toEqualTypeOf<
  (chain: types.AccountReader, account: Address, digest: Hex, signature: Hex) => Promise<types.FundingPath>
>();
expectTypeOf<types.FundingPath>().toEqualTypeOf<"authorization" | "allowance">();
expectTypeOf<types.AccountReader["getCode"]>().returns.toEqualTypeOf<Promise<Hex | undefined>>();
expectTypeOf<types.EncodedCall>().toEqualTypeOf<{ readonly to: Address; readonly data: Hex }>();
expectTypeOf<types.TokenDomain>().toEqualTypeOf<{
  readonly address: Address;
  readonly name: string;
  readonly version: string;
}>();

// What an act rests on
expectTypeOf(client.AUTHORIZATION_SECONDS).toExtend<bigint>();
expectTypeOf(client.AUTHORIZATION_SECONDS).not.toBeAny();
expectTypeOf(client.MARGIN_SECONDS).not.toBeAny();
expectTypeOf(client.MARGIN_SECONDS).toExtend<bigint>();
expectTypeOf(client.STANDS_STILL_SECONDS).not.toBeAny();
expectTypeOf(client.STANDS_STILL_SECONDS).toExtend<bigint>();
expectTypeOf(client.RECENT_SECONDS).not.toBeAny();
expectTypeOf(client.RECENT_SECONDS).toExtend<bigint>();
expectTypeOf(client.TOLERATED_SECONDS).not.toBeAny();
expectTypeOf(client.TOLERATED_SECONDS).toExtend<bigint>();
expectTypeOf(client.MOST_LISTED).not.toBeAny();
expectTypeOf(client.MOST_LISTED).toExtend<number>();
expectTypeOf(client.MOST_CONTENTS).not.toBeAny();
expectTypeOf(client.MOST_CONTENTS).toExtend<number>();
expectTypeOf(client.FUNDED_QUERY).not.toBeAny();
expectTypeOf(client.FUNDED_QUERY).toExtend<string>();
expectTypeOf<keyof typeof FACTS>().toEqualTypeOf<types.FactName>();
expectTypeOf<types.FactName>().extract<"winner" | "nothing">().toEqualTypeOf<"winner">();
expectTypeOf(client.disagreement).toEqualTypeOf<
  (fact: types.FactName, one: string, other: string) => types.ServiceError
>();
expectTypeOf(client.hourBegins).toEqualTypeOf<(newest: bigint, clock: bigint | undefined) => bigint>();
expectTypeOf(client.isOver).toEqualTypeOf<
  (moment: bigint, finalized: bigint, clock: bigint | undefined) => boolean
>();
expectTypeOf(client.requireClosed).toEqualTypeOf<(revealAt: bigint, now: bigint) => void>();
expectTypeOf(client.requireRecordedDelay).toEqualTypeOf<(chainId: number, delay: bigint) => void>();
expectTypeOf(client.requireRevealPoint).toEqualTypeOf<
  (submissionDeadline: bigint, revealAt: bigint, delay: bigint, now: bigint) => void
>();

// Keys, beacon and envelopes
expectTypeOf(client.generateIdentity).toEqualTypeOf<() => Eventually>();
expectTypeOf(client.publicKeyOf).toEqualTypeOf<(identity: string) => Promise<Hex>>();
expectTypeOf(client.QUICKNET).toEqualTypeOf<types.Beacon>();
expectTypeOf<types.Beacon>().toEqualTypeOf<{
  readonly chainHash: Hex;
  readonly publicKey: string;
  readonly genesisTime: number;
  readonly periodSeconds: number;
}>();
expectTypeOf(client.fetchBeacon).parameters.toEqualTypeOf<
  [number, types.Beacon, readonly string[], { readonly signal?: AbortSignal }?]
>();
expectTypeOf(client.fetchBeacon).returns.toEqualTypeOf<Eventually>();
expectTypeOf(client.roundAt).toEqualTypeOf<(revealAt: number, beacon: types.Beacon) => number>();
expectTypeOf(client.verifyBeacon).toEqualTypeOf<
  (round: number, signature: string, beacon: types.Beacon) => boolean
>();
expectTypeOf<types.Binding>().toEqualTypeOf<{
  readonly chainId: number;
  readonly hubAddress: Address;
  readonly bountyId: string;
  readonly solverAddress: Address;
}>();
expectTypeOf(client.parseEnvelope).toEqualTypeOf<(data: Bytes | string) => types.Envelope>();
expectTypeOf(client.envelopeBytes).toEqualTypeOf<(envelope: types.Envelope) => Uint8Array<ArrayBuffer>>();
expectTypeOf(client.envelopeDifferences).toEqualTypeOf<
  (envelope: types.Envelope, bounty: types.PinnedBounty, solver: Address, beacon: types.Beacon) => types.Issue[]
>();
expectTypeOf<types.Envelope["ciphertext"]>().toEqualTypeOf<{
  readonly sha256: Hex;
  readonly byte_length: number;
  readonly storage_locator: string;
}>();
expectTypeOf<types.PinnedBounty>().toEqualTypeOf<{
  readonly chainId: number;
  readonly hubAddress: Address;
  readonly bountyId: string;
  readonly specCommitment: Hex;
  readonly guardianRosterHash: Hex;
  readonly encryptionKeys: readonly Hex[];
  readonly revealAt: number;
}>();

// Sealing and opening
expectTypeOf(client.sealSubmission).parameters.toEqualTypeOf<
  [readonly types.ArtifactEntry[], types.SealFor, WritableStream<Uint8Array>, types.TransferOptions?]
>();
expectTypeOf(client.sealSubmission).returns.toEqualTypeOf<Promise<types.SealedSubmission>>();
expectTypeOf(client.archiveStream).toEqualTypeOf<
  (entries: readonly types.ArtifactEntry[]) => ReadableStream<Uint8Array>
>();
expectTypeOf(client.readContents).parameters.toEqualTypeOf<[types.Api, bigint, readonly Hex[]]>();
expectTypeOf(client.readContents).returns.toEqualTypeOf<Promise<types.ReadContent[]>>();
expectTypeOf<types.ReadContent>().toEqualTypeOf<
  | { readonly commitment: Hex; readonly content: types.Schemas["SubmissionContent"] }
  | { readonly commitment: Hex; readonly refusal: types.ServiceError }
>();
expectTypeOf(client.openContentKey).toEqualTypeOf<
  (envelope: types.Envelope, keys: Omit<types.CapsuleKeys, "round">) => Eventually
>();
expectTypeOf(client.openArtifact).returns.toEqualTypeOf<Promise<types.Unpacked>>();
expectTypeOf(client.openArtifact).parameters.toEqualTypeOf<
  [
    ReadableStream<Uint8Array>,
    string,
    types.Envelope,
    (entry: types.OpenedEntry) => void | Promise<void>,
    types.OpenOptions?,
  ]
>();
expectTypeOf<types.OpenOptions>().toEqualTypeOf<{
  readonly limits?: types.ArchiveLimits;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: types.Progress) => void) | undefined;
}>();
expectTypeOf<types.Progress>().toEqualTypeOf<{ readonly done: number; readonly total: number | undefined }>();
expectTypeOf<types.TransferOptions["signal"]>().toEqualTypeOf<AbortSignal | undefined>();
expectTypeOf<types.TransferOptions["onProgress"]>().toEqualTypeOf<((at: types.Progress) => void) | undefined>();
expectTypeOf(client.downloadCiphertext).toEqualTypeOf<
  (
    url: string,
    envelope: Pick<types.Envelope, "ciphertext">,
    options?: types.TransferOptions,
  ) => ReadableStream<Uint8Array>
>();
expectTypeOf(client.wrapContentKey).toEqualTypeOf<(identity: string, publicKey: Hex) => string>();
expectTypeOf(client.unwrapContentKey).toEqualTypeOf<(wrapped: string, key: string, content: Hex) => Eventually>();
expectTypeOf<types.ArtifactDirectory>().toEqualTypeOf<{ readonly path: string; readonly directory: true }>();
expectTypeOf<types.ArtifactFile>().toEqualTypeOf<{
  readonly path: string;
  readonly content: Blob | Uint8Array;
  readonly executable?: boolean;
}>();
expectTypeOf<types.ArtifactEntry>().toEqualTypeOf<types.ArtifactFile | types.ArtifactDirectory>();
expectTypeOf<types.ArchiveLimits>().toEqualTypeOf<{ readonly maxEntries: number; readonly maxBytes: number }>();
expectTypeOf<types.CapsuleKeys["keyring"]>().toEqualTypeOf<readonly string[]>();
expectTypeOf<types.OpenedEntry["content"]>().toEqualTypeOf<Chunks>();
expectTypeOf<types.Unpacked["binding"]>().toEqualTypeOf<types.Binding | undefined>();
expectTypeOf<types.SealFor["limits"]>().toEqualTypeOf<types.ArchiveLimits | undefined>();
expectTypeOf<types.SealedSubmission["bytes"]>().toEqualTypeOf<Uint8Array<ArrayBuffer>>();
