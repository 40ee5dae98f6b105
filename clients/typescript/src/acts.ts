/**
 * Each act on the Hub as calls for an account to make, and as the events that show it done, so that a bundler, a
 * multisig or a plain wallet may send it: `calls` are those of `sendUserOperation` and of `sendCalls` in viem. What
 * became of them is found by the Hub's events, whoever sent them and in whichever transaction (docs/typescript.md).
 */

import { encodeFunctionData, erc20Abi, parseEventLogs } from "viem";
import type { Abi, Address, BlockNumber, Chain, GetEventArgs, Hex, Log, PublicClient, Transport } from "viem";
import { authorizationNonce } from "./commitments.js";
import type { Terms } from "./commitments.js";
import { hubAbi, hubCall, logsOf } from "./hub.js";
import type { EncodedCall, HubArguments, HubFunction } from "./hub.js";
import type { Deployment } from "./requests.js";

/** A call for an account to make; `value` is in wei and always 0: no act on the Hub takes ether. */
export interface ActCall extends EncodedCall {
  readonly value: bigint;
}

/** The name of an event that shows an act of somebody who takes part. */
export type ActEvent =
  | "BountyCreated"
  | "SubmissionRecorded"
  | "VerdictRecorded"
  | "GuardianHeartbeat"
  | "BountyFinalized"
  | PaymentEvent;

/** The name of an event that shows a payment. */
export type PaymentEvent = "AwardClaimed" | "RefundClaimed" | "GuardianFeeClaimed" | "ProtocolFeeClaimed";

/** The call that pulls one kind of what the Hub owes. */
export type ClaimFunction = "claim" | "claimRefund" | "claimGuardianFee" | "claimProtocolFee";

/** One amount to be pulled. */
export interface ClaimPart {
  readonly functionName: ClaimFunction;
  readonly bountyId: bigint;
}

/** An act: what an account calls, in this order and best as one, and which events of the Hub show it done. */
export interface Act<name extends ActEvent> {
  readonly hubAddress: Address;
  readonly calls: readonly ActCall[];
  /** One for each event, with the arguments that it must have. */
  readonly expected: readonly { readonly eventName: name; readonly args: Readonly<Record<string, string | bigint>> }[];
}

/** An event that shows an act done, with the log that it was in. */
export interface DoneEvent<name extends ActEvent> extends Log {
  readonly eventName: name;
  readonly args: GetEventArgs<typeof hubAbi, name, { EnableUnion: false; IndexedOnly: false; Required: true }>;
}

/** What is read of a chain's logs: viem's public client, or part of it. */
export type LogReader = Pick<PublicClient<Transport, Chain | undefined>, "getLogs">;

const PAYMENTS = {
  claim: { eventName: "AwardClaimed", who: "solver", kind: 1 },
  claimRefund: { eventName: "RefundClaimed", who: "poster", kind: 2 },
  claimGuardianFee: { eventName: "GuardianFeeClaimed", who: "guardian", kind: 3 },
  claimProtocolFee: { eventName: "ProtocolFeeClaimed", who: "recipient", kind: 4 },
} as const;

/**
 * Create and fund a bounty by the authorization that its Poster signed over `fundingTypedData`, with the same terms and
 * `validBefore` (seconds since 1970). Any account may send it, and the token takes it once.
 */
export function fundingAct(
  deployment: Deployment,
  poster: Address,
  terms: Terms,
  validBefore: bigint,
  signature: Hex,
): Act<"BountyCreated"> {
  const args = [terms, poster, 0n, validBefore, signature] as const;
  return created(deployment, poster, terms, [called(deployment.hubAddress, "createBountyWithAuthorization", args)]);
}

/**
 * Create and fund a bounty by an allowance of exactly the escrow, for an account whose signature `token` does not take:
 * two calls that belong into one transaction. Sent twice they are two escrows: look for its event before it is sent
 * again.
 */
export function allowanceAct(
  deployment: Deployment,
  token: Address,
  poster: Address,
  terms: Terms,
): Act<"BountyCreated"> {
  const { hubAddress } = deployment;
  const data = encodeFunctionData({ abi: erc20Abi, functionName: "approve", args: [hubAddress, terms.escrowAmount] });
  const approval = { to: token, data, value: 0n };
  return created(deployment, poster, terms, [approval, called(hubAddress, "createBounty", [terms])]);
}

/** Record a Submission: its commitment, for the roster that the bounty pinned. */
export function submissionAct(
  hubAddress: Address,
  bountyId: bigint,
  solver: Address,
  submissionCommitment: Hex,
  guardianRosterHash: Hex,
): Act<"SubmissionRecorded"> {
  const args = { bountyId, solver, submissionCommitment };
  const call = called(hubAddress, "submit", [bountyId, submissionCommitment, guardianRosterHash]);
  return { hubAddress, calls: [call], expected: [{ eventName: "SubmissionRecorded", args }] };
}

/**
 * Record a Guardian's Verdict. `winner` is the Solver with its Submission, or undefined where none is valid;
 * `reportCommitment` is that of the written Verdict, which is published before.
 */
export function verdictAct(
  hubAddress: Address,
  bountyId: bigint,
  guardian: Address,
  winner: { readonly solver: Address; readonly submissionCommitment: Hex } | undefined,
  reportCommitment: Hex,
): Act<"VerdictRecorded"> {
  const { solver, submissionCommitment } = winner ?? { solver: `0x${"0".repeat(40)}`, submissionCommitment: ZERO };
  const kind = winner === undefined ? 2 : 1;
  const call = called(hubAddress, "recordVerdict", [bountyId, kind, solver, submissionCommitment, reportCommitment]);
  const args = { bountyId, guardian, solver, submissionCommitment, reportCommitment };
  return { hubAddress, calls: [call], expected: [{ eventName: "VerdictRecorded", args }] };
}

/** Record a Guardian's sign of life; look for its event in later blocks only, since an earlier one is the same. */
export function heartbeatAct(hubAddress: Address, guardian: Address): Act<"GuardianHeartbeat"> {
  const calls = [called(hubAddress, "heartbeat", [])];
  return { hubAddress, calls, expected: [{ eventName: "GuardianHeartbeat", args: { guardian } }] };
}

/** Settle a bounty whose time is up, as any account may. */
export function settlementAct(hubAddress: Address, bountyId: bigint): Act<"BountyFinalized"> {
  const calls = [called(hubAddress, "settle", [bountyId])];
  return { hubAddress, calls, expected: [{ eventName: "BountyFinalized", args: { bountyId } }] };
}

/** Pull one amount that the Hub owes `account`. */
export function claimAct(hubAddress: Address, account: Address, part: ClaimPart): Act<PaymentEvent> {
  const { functionName, bountyId } = part;
  const call =
    functionName === "claim"
      ? called(hubAddress, functionName, [bountyId, "0x", "0x"])
      : called(hubAddress, functionName, [bountyId]);
  return { hubAddress, calls: [call], expected: [payment(account, part)] };
}

/** Pull 1 to 32 amounts that the Hub owes `account` by one call: all of them, or none. */
export function claimsAct(hubAddress: Address, account: Address, parts: readonly ClaimPart[]): Act<PaymentEvent> {
  const claims = parts.map(({ functionName, bountyId }) => ({ kind: PAYMENTS[functionName].kind, bountyId }));
  const calls = [called(hubAddress, "claimMany", [claims])];
  return { hubAddress, calls, expected: parts.map((part) => payment(account, part)) };
}

/**
 * The events that show an act done, one for each that it expects and in that order, among the logs of a receipt, of a
 * user operation's receipt or of a range of blocks; undefined where any is missing. The logs may hold those of others:
 * a bundler puts several operations into one transaction. Of several that fit, the last one counts.
 */
export function actEvents<name extends ActEvent>(
  act: Act<name>,
  logs: readonly Log[],
): readonly DoneEvent<name>[] | undefined {
  const last = act.expected.map((expected) => eventsOf(act.hubAddress, expected, logs).at(-1));
  return last.every((found) => found !== undefined) ? last : undefined;
}

/** Every event of the Hub among logs that is as expected, in their order. */
export function eventsOf<name extends ActEvent>(
  hubAddress: Address,
  { eventName, args }: Act<name>["expected"][number],
  logs: readonly Log[],
): readonly DoneEvent<name>[] {
  const own = logsOf(hubAddress, logs);
  return parseEventLogs<Abi, true, string>({ abi: hubAbi, eventName, args, logs: own }) as unknown as DoneEvent<name>[];
}

/**
 * The same, looked for on the chain from a block on up to another, the newest unless named; for what was sent where no
 * receipt is known. The range is one that the endpoint serves.
 */
export async function findActEvents<name extends ActEvent>(
  chain: LogReader,
  act: Act<name>,
  fromBlock: BlockNumber,
  toBlock?: BlockNumber,
): Promise<readonly DoneEvent<name>[] | undefined> {
  const range = { fromBlock, toBlock: toBlock ?? "latest" } as const;
  return actEvents(act, await chain.getLogs({ address: act.hubAddress, ...range }));
}

const ZERO: Hex = `0x${"0".repeat(64)}`;

function created(
  { chainId, hubAddress }: Deployment,
  poster: Address,
  terms: Terms,
  calls: readonly ActCall[],
): Act<"BountyCreated"> {
  const nonce = authorizationNonce(chainId, hubAddress, poster, terms);
  const args = { poster, specCommitment: terms.specCommitment, authorizationNonce: nonce };
  return { hubAddress, calls, expected: [{ eventName: "BountyCreated", args }] };
}

function payment(account: Address, { functionName, bountyId }: ClaimPart) {
  const { eventName, who } = PAYMENTS[functionName];
  return { eventName, args: { bountyId, [who]: account } } as const;
}

function called<const name extends HubFunction>(
  hubAddress: Address,
  functionName: name,
  args: HubArguments<name>,
): ActCall {
  return { ...hubCall(hubAddress, functionName, args), value: 0n };
}
