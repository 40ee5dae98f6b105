/**
 * How a bounty is funded: by one signature over the token and one transaction, or by an allowance of exactly the escrow.
 *
 * What was signed is written down and kept, so that a page is funded once: authorizations over the same terms have the
 * same nonce, of which the token takes one, also where this browser forgot them or another machine signs, since the salt
 * follows from the page and the number of its funding. Other terms are signed only once what was signed before is over, by
 * the finalized chain and by this machine's clock; another number is the person's decision.
 */

import { encodeFunctionData, erc20Abi, hashTypedData, parseAbi } from "viem";
import type { Address, Hex } from "viem";
import {
  allowanceCall,
  AUTHORIZATION_SECONDS,
  authorizationNonce,
  FACTS,
  fundingCall,
  fundingPath,
  fundingSalt,
  fundingTypedData,
  hubCall,
  MARGIN_SECONDS,
  ServiceError,
} from "../src/acting.js";
import type { FundingPath, PageTerms, Terms } from "../src/acting.js";
import type { Context } from "./context.js";
import type { ExpectedEvent, FoundEvent } from "./node.js";
import type { Call } from "./provider.js";
import type { Fact, Stage } from "./stage.js";
import { amount, duration, moment, printable } from "./text.js";
import { leftIfRead, leftOf, perform, standing, tolerated } from "./transactions.js";
import { hasPassed, signingTime } from "./witnesses.js";
import type { Signed } from "./wallet.js";
import { t } from "./words.js";

const BASIS_POINTS = 10_000n;
const MAINNET = 8453;
/** Fundings of one page that are looked at for one that the token has not as spent. */
const MOST_NUMBERS = 64n;
/** Why nothing is signed. */
const UNSIGNED =
  t`your account has code that confirms none of its signatures (ERC-1271), as after a delegation (EIP-7702), and the token asks that code, not your key`;
const ALLOWED = t`by two transactions, an allowance of exactly the escrow and the bounty itself: ${UNSIGNED}`;
/** What a person decides on who has a creation forgotten. */
const OUTSTANDING: readonly Fact[] = [
  [t`What was begun`, t`a transaction that creates this bounty; it is not on the chain`],
  [t`Look into the wallet`, t`wait for it, or cancel it there first: if it is mined later, this page may be paid twice`],
];
const tokenAbi = parseAbi([
  t`function version() view returns (string)`,
  t`function authorizationState(address, bytes32) view returns (bool)`,
]);

/** The Hub's conditions for a bounty created now. */
export interface Conditions {
  readonly rosterHash: Hex;
  readonly quorum: bigint;
  readonly guardians: readonly Address[];
  /** When another roster takes effect; 0 where none is announced. */
  readonly rosterUntil: bigint;
  readonly protocolFeeBps: bigint;
  readonly guardianFeeBps: bigint;
  readonly revealDelay: bigint;
  readonly now: bigint;
}

/** What was agreed to, written down before it is signed or sent. */
export interface Funding {
  readonly terms: Terms;
  readonly validBefore: bigint;
  readonly signature?: Hex;
  /** Whether the Hub takes the escrow by an allowance, so that nothing is signed. */
  readonly isAllowed?: boolean;
  /** Of every authorization that was signed for this bounty, over other terms, too. */
  readonly nonces: readonly Hex[];
  /** Until when one of them may be used; 0 where none was signed. */
  readonly signedUntil: bigint;
  /** The bounty that was reported; it is looked for again. */
  readonly reported?: bigint;
}

/** A page that is to be funded: its terms as it states them, and what the Hub takes now. */
export interface Job {
  /** Under which the funding is kept. */
  readonly name: string;
  readonly commitment: Hex;
  readonly page: PageTerms;
  readonly conditions: Conditions;
}

/**
 * Creates the bounty, unless another device has done it after block `since`. An allowance that it needs is given before it.
 */
export async function create(
  context: Context,
  stage: Stage,
  job: Job,
  funding: Funding,
  since: bigint,
): Promise<FoundEvent> {
  const [name, expected] = creation(context, funding);
  const { functionName, call } = creationCall(context, funding);
  if (funding.isAllowed === true) await approve(context, stage, job, funding);
  const agreed = factsOf(context, job, funding).slice(1);
  const does: Fact = [t`What it does`, t`creates the bounty on the terms that you agreed to`];
  const title = t`Create the bounty`;
  return perform(context, stage, { name, title, functionName, call, expected, since, isKept: true, facts: [does, ...agreed] });
}

/** The step that creates a bounty on these terms, and its event: both named by the terms' nonce. */
function creation(context: Context, { terms }: Funding): [string, ExpectedEvent] {
  const nonce = nonceOf(context, terms);
  return [creationStep(nonce), creationEvent(context, nonce)];
}

function creationEvent({ account }: Context, nonce: Hex): ExpectedEvent {
  return { eventName: "BountyCreated", args: { poster: account, authorizationNonce: nonce } };
}

/** Names the step that creates a bounty, by the nonce of its terms. */
export function creationStep(nonce: Hex): string {
  return t`create ${nonce}`;
}

function creationCall({ settings, account }: Context, { terms, validBefore, signature }: Funding) {
  const { hubAddress } = settings.deployment;
  if (signature === undefined) {
    const { functionName, args } = allowanceCall(hubAddress, terms);
    return { functionName, call: hubCall(hubAddress, functionName, args) };
  }
  const { functionName, args } = fundingCall(hubAddress, account, terms, validBefore, signature);
  return { functionName, call: hubCall(hubAddress, functionName, args) };
}

/** Gives the nonce of the authorization over terms. */
export function nonceOf({ settings, account }: Context, terms: Terms): Hex {
  const { chainId, hubAddress } = settings.deployment;
  return authorizationNonce(chainId, hubAddress, account, terms);
}

/** Whether the Hub and the token still take what was signed, and for long enough that a block can hold it. */
export async function isLive(context: Context, kept: Funding, conditions: Conditions): Promise<boolean> {
  if (!isHonoured(kept.terms, conditions)) return false;
  if (kept.isAllowed === true) return true;
  if (kept.signature === undefined) return false;
  if (kept.validBefore <= conditions.now + MARGIN_SECONDS || (await isSpent(context, nonceOf(context, kept.terms)))) return false;
  return isTaken(context, kept, kept.signature);
}

/** Whether the token still takes what was signed: an account may have been delegated since. */
async function isTaken(context: Context, kept: Funding, signature: Hex): Promise<boolean> {
  const { node, account, settings } = context;
  const { terms, validBefore } = kept;
  const typedData = fundingTypedData(settings.deployment, await domainOf(context), account, terms, validBefore);
  return (await fundingPath(node, account, hashTypedData(typedData), signature)) === "authorization";
}

/** Whether the token has the authorization as used or cancelled, as the wallet's node shows it. */
function isSpent({ node, token, account }: Context, nonce: Hex): Promise<boolean> {
  const args = [account, nonce] as const;
  return node.readContract({ address: token.address, abi: tokenAbi, functionName: "authorizationState", args });
}

/** A new signature: over the kept terms while they can be meant, else over others once the former one is over. */
export async function authorized(
  context: Context,
  stage: Stage,
  job: Job,
  number: bigint,
  kept: Funding | undefined,
): Promise<Funding> {
  const { journal, wallet, account, settings } = context;
  const { rosterUntil } = job.conditions;
  const now = await signingTime(context);
  const terms = await termsFor(context, stage, job, number, kept);
  const until = now + AUTHORIZATION_SECONDS;
  const validBefore = rosterUntil > 0n && rosterUntil < until ? rosterUntil : until;
  if (validBefore <= now + MARGIN_SECONDS) {
    throw new ServiceError("roster_changing", t`Another roster takes effect at ${moment(rosterUntil)}.`, {
      nextAction: t`Go on after that time; terms that are signed now would be too late.`,
    });
  }
  const nonces = [...new Set([...(kept?.nonces ?? []), nonceOf(context, terms)])];
  const funding: Funding = { terms, validBefore, nonces, signedUntil: kept?.signedUntil ?? 0n };
  await journal.put(job.name, funding); // before it is signed: the same terms for good
  const typedData = fundingTypedData(settings.deployment, await domainOf(context), account, funding.terms, validBefore);
  stage.say("");
  const signature = await stage.attempt(t`Sign the escrow`, factsOf(context, job, funding), [t`Sign with the wallet`], () => {
    stage.say(t`The wallet is asked to sign the transfer.`);
    return stage.until(() => wallet.signTypedData(typedData));
  });
  const signedUntil = validBefore > funding.signedUntil ? validBefore : funding.signedUntil;
  const done = { ...funding, signature, signedUntil };
  await journal.put(job.name, done);
  return done;
}

/**
 * Terms that are funded by an allowance, written down. Nothing that was signed before may be used beside them, since the
 * Hub takes an authorization and an allowance over the same terms, too.
 */
export async function allowed(
  context: Context,
  stage: Stage,
  job: Job,
  number: bigint,
  kept: Funding | undefined,
): Promise<Funding> {
  stage.say("");
  if (kept !== undefined) await requireOver(context, kept, t`The token takes no signature of this account any more`);
  const isKept = kept?.isAllowed === true && isHonoured(kept.terms, job.conditions);
  const terms = isKept ? kept.terms : newTerms(context, job, number);
  const nonces = [...new Set([...(kept?.nonces ?? []), nonceOf(context, terms)])];
  const signedUntil = kept?.signedUntil ?? 0n;
  const funding: Funding = { terms, validBefore: 0n, isAllowed: true, nonces, signedUntil };
  await context.journal.put(job.name, funding);
  return funding;
}

/**
 * Has the Hub allowed to take exactly the escrow, once: not again where a creation may have taken it already, on
 * whichever terms, so that no two of them find an allowance.
 */
export async function approve(
  context: Context,
  stage: Stage,
  job: Job,
  funding: Funding,
): Promise<void> {
  const { token, account, settings } = context;
  const { hubAddress } = settings.deployment;
  const { terms, nonces } = funding;
  if (await isApproved(context, terms)) return;
  const nonce = nonceOf(context, terms);
  const [step, expected] = creation(context, funding);
  if ((await leftOf(context, step, expected)) !== undefined) return; // looked for before it is sent again
  await requireNoneBegun(context, stage, nonces);
  await perform(context, stage, {
    name: approvalStep(nonce),
    title: t`Allow the escrow`,
    functionName: "approve",
    call: approvalOf(context, funding),
    facts: factsOf(context, job, funding),
    expected: {
      eventName: "Approval",
      args: { owner: account, spender: hubAddress, value: terms.escrowAmount },
      token: token.address,
    },
  });
}

function approvalStep(nonce: Hex): string {
  return t`approve ${nonce}`;
}

/** The token's call that lets the Hub take exactly the escrow. */
function approvalOf({ token, settings }: Context, { terms }: Funding): Call {
  const args = [settings.deployment.hubAddress, terms.escrowAmount] as const;
  return { to: token.address, data: encodeFunctionData({ abi: erc20Abi, functionName: "approve", args }) };
}

/** Whether the Hub may take exactly the escrow already. */
async function isApproved({ node, token, account, settings }: Context, terms: Terms): Promise<boolean> {
  const args = [account, settings.deployment.hubAddress] as const;
  const question = { address: token.address, abi: erc20Abi, functionName: "allowance", args } as const;
  return (await node.readContract(question)) === terms.escrowAmount;
}

/** Refuses to go on beside a creation that was mined; one that may still be is forgotten as the person decides. */
export async function requireNoneBegun(context: Context, stage: Stage, nonces: readonly Hex[]): Promise<void> {
  for (const nonce of nonces) {
    const left = await leftOf(context, creationStep(nonce), creationEvent(context, nonce));
    if (left === undefined) continue;
    if (left !== "open") {
      const message = t`A transaction on other terms has created bounty ${left.args["bountyId"] as bigint} on this page.`;
      throw new ServiceError("creation_unknown", message, { nextAction: t`Reload this page in a minute.` });
    }
    stage.say("");
    await stage.confirm(t`A creation of this bounty is outstanding`, OUTSTANDING, t`It was cancelled: forget it`);
    await context.journal.remove(creationStep(nonce));
  }
}

/** Refuses other terms, or another way, beside an authorization that may still be used: `authorization_outstanding`. */
async function requireOver(context: Context, { signedUntil }: Funding, why: string): Promise<void> {
  if (signedUntil === 0n || (await hasPassed(context, signedUntil))) return;
  const message = t`${why}, and what you signed before is good until ${moment(signedUntil)}.`;
  throw new ServiceError(FACTS.authorization_over[1], message, {
    nextAction: t`Go on after that time, once its block is final. Nothing else was signed.`,
  });
}

/** The kept terms while they can be meant; else others, once nothing that was signed before can be used any more. */
async function termsFor(
  context: Context,
  stage: Stage,
  job: Job,
  number: bigint,
  kept: Funding | undefined,
): Promise<Terms> {
  const { conditions } = job;
  if (kept !== undefined) {
    const { terms } = kept;
    const isHonouredNow = isHonoured(terms, conditions);
    if (isHonouredNow && kept.isAllowed !== true && !(await isSpent(context, nonceOf(context, terms)))) return terms;
    if (kept.isAllowed === true) await requireNoneBegun(context, stage, kept.nonces);
    const why = isHonouredNow ? t`The token has it as spent` : t`The contract's roster or fees changed`;
    await requireOver(context, kept, why);
  }
  return unspentTerms(context, stage, job, number);
}

/** Terms that the token has not as spent; past some that it has only as the person decides. */
async function unspentTerms(
  context: Context,
  stage: Stage,
  job: Job,
  first: bigint,
): Promise<Terms> {
  for (let number = first; number < first + MOST_NUMBERS; number += 1n) {
    const terms = newTerms(context, job, number);
    if (!(await isSpent(context, nonceOf(context, terms)))) return terms;
    if (number > first) continue;
    const facts: Fact[] = [
      [t`The token`, t`has the authorization over these terms as used or cancelled, and no bounty of it shows`],
      [t`What that may be`, t`a bounty that another machine of yours made a moment ago, which shows in a minute`],
      [t`Another authorization`, t`would be another escrow`],
    ];
    stage.say("");
    await stage.confirm(t`This page may be funded already`, facts, t`Fund it once more`);
  }
  throw new ServiceError("authorization_used", t`The token has every authorization over this page as spent.`, {
    nextAction: t`Choose another node in the wallet, and look at the account's transfers on chain.`,
  });
}

function newTerms(
  { settings, account }: Context,
  { commitment, page, conditions }: Job,
  number: bigint,
): Terms {
  const { chainId, hubAddress } = settings.deployment;
  return fundedTerms(commitment, page, conditions, fundingSalt(chainId, hubAddress, account, commitment, number));
}

/** The domain of the token's own typed data, read from the token. */
export async function domainOf({ node, token }: Context): Promise<{ address: Address; name: string; version: string }> {
  const { address } = token;
  const [name, version] = await Promise.all([
    node.readContract({ address, abi: erc20Abi, functionName: "name" }),
    node.readContract({ address, abi: tokenAbi, functionName: "version" }),
  ]);
  return { address, name, version };
}

function isHonoured(terms: Terms, conditions: Conditions): boolean {
  const { protocolFee, guardianFee } = feesOf(terms.escrowAmount, conditions);
  const isCovered = protocolFee <= terms.maxProtocolFee && guardianFee <= terms.maxGuardianFee;
  return isCovered && terms.expectedRosterHash === conditions.rosterHash;
}

function fundedTerms(commitment: Hex, page: PageTerms, conditions: Conditions, salt: Hex): Terms {
  const { protocolFee, guardianFee } = feesOf(page.escrowAmount, conditions);
  return {
    specCommitment: commitment,
    expectedRosterHash: conditions.rosterHash,
    escrowAmount: page.escrowAmount,
    submissionDeadline: page.submissionDeadline,
    judgingWindow: page.judgingWindow,
    maxProtocolFee: protocolFee,
    maxGuardianFee: guardianFee,
    salt,
  };
}

/** Gives the fees of an escrow. */
export function feesOf(
  escrow: bigint,
  { protocolFeeBps, guardianFeeBps }: Pick<Conditions, "protocolFeeBps" | "guardianFeeBps">,
) {
  return {
    protocolFee: (escrow * protocolFeeBps) / BASIS_POINTS,
    guardianFee: (escrow * guardianFeeBps) / BASIS_POINTS,
  };
}

/** The bounty that came of a funding without being reported, or what may still bring one about. */
export async function stillToCome(
  context: Context,
  { nonces, signedUntil, isAllowed }: Funding,
): Promise<bigint | Fact | undefined> {
  const isOver = signedUntil > 0n && (await tolerated(hasPassed(context, signedUntil))) === true;
  for (const nonce of nonces) {
    const left = await leftIfRead(context, creationStep(nonce), creationEvent(context, nonce));
    if (left === undefined) continue;
    if (typeof left !== "string") return left.args["bountyId"] as bigint;
    // That it did not happen before it was over is the token's to say: the log of a node may not go back so far.
    const isUnused = isOver && isAllowed !== true && (await tolerated(isSpent(context, nonce))) === false;
    if (left === "unread" || !isUnused) {
      return [t`What was begun`, t`a transaction that creates its bounty; ${standing(left)}`];
    }
    await context.journal.remove(creationStep(nonce));
  }
  if (signedUntil === 0n || isOver) return undefined;
  return [t`What you signed`, t`lets anybody who has it create its bounty until ${moment(signedUntil)}`];
}

/** From when on, at the latest, the escrow can be claimed back. */
export function refundDay(judgingDeadline: bigint): string {
  return t`you can claim the escrow back from ${moment(judgingDeadline)} on at the latest, less the shares of Guardians who recorded a Verdict`;
}

/** Says how this account can fund, by the signature that it made for the request. */
export function pathOf({ node, account }: Context, { digest, signature }: Signed): Promise<FundingPath> {
  return fundingPath(node, account, digest, signature);
}

/** What the Poster agrees to, in words. */
function factsOf(context: Context, { page, conditions }: Job, funding: Funding): Fact[] {
  const { token, settings } = context;
  const { chainId } = settings.deployment;
  const { terms, validBefore, isAllowed } = funding;
  const { escrowAmount, maxProtocolFee, maxGuardianFee } = terms;
  const revealAt = page.submissionDeadline + conditions.revealDelay;
  const until = moment(revealAt + terms.judgingWindow);
  const { guardians, quorum } = conditions;
  return [
    [t`What it does`, t`lets the contract take ${amount(escrowAmount, token)} from you, for exactly this bounty`],
    [t`The winner gets`, amount(escrowAmount - maxProtocolFee - maxGuardianFee, token)],
    [t`If nobody wins`, refundDay(revealAt + terms.judgingWindow)],
    ...(chainId === MAINNET ? [[t`Real money`, t`this is the mainnet deployment`, "warning"] as const] : []),
    [t`Page`, t`${printable(page.title)}, with the commitment ${terms.specCommitment}`],
    [t`Fees at most`, t`${amount(maxProtocolFee, token)} for the protocol, ${amount(maxGuardianFee, token)} for the Guardians`],
    [t`Submissions until`, moment(terms.submissionDeadline)],
    [t`Judged`, t`from ${moment(revealAt)} for ${duration(terms.judgingWindow)}, until ${until}`],
    [t`Decided by`, t`${quorum} of ${guardians.length} Guardians: ${guardians.join(", ")}`],
    [t`What it costs`, t`${amount(escrowAmount, token)}, all fees of the service included, and the network's fee in ether, which the wallet shows`],
    isAllowed === true ? [t`How it is paid`, ALLOWED] : [t`The signature is good until`, moment(validBefore)],
  ];
}
