/**
 * How a bounty is funded: by one signature over the token and one transaction.
 *
 * What was signed is written down and kept, so that a page is funded once: authorizations over the same terms have the
 * same nonce, of which the token takes one, also where this browser forgot them or another machine signs, since the salt
 * follows from the page and the number of its funding. Other terms are signed only once what was signed before is over, by
 * the finalized chain and by this machine's clock; another number is the person's decision.
 */

import { hashTypedData, parseAbi, type Address, type Hex } from "viem";
import {
  AUTHORIZATION_SECONDS,
  authorizationNonce,
  FACTS,
  fundingAct,
  fundingPath,
  fundingSalt,
  fundingTypedData,
  guardianRosterHash,
  MARGIN_SECONDS,
  ServiceError,
} from "../src/acting.js";
import type { PageTerms, Terms, TokenDomain } from "../src/acting.js";
import type { Acting, Context } from "./context.js";
import type { FoundEvent } from "./node.js";
import type { Fact } from "./stage.js";
import { amount, moment, printable } from "./text.js";
import { perform, tolerated } from "./transactions.js";
import { hasPassed, signingTime } from "./witnesses.js";

const BASIS_POINTS = 10_000n;
const MAINNET = 8453;
/** Fundings of one page that are looked at for one that the token has not as spent. */
const MOST_NUMBERS = 64n;
const tokenAbi = parseAbi([
  "function name() view returns (string)",
  "function version() view returns (string)",
  "function balanceOf(address) view returns (uint256)",
  "function authorizationState(address, bytes32) view returns (bool)",
]);

/** What the Hub takes of a bounty created now, and adds to its deadline: amounts and seconds, by the names of its functions. */
const LIMITS = [
  "revealDelay",
  "minEscrow",
  "minJudgingWindow",
  "maxJudgingWindow",
  "minSubmissionWindow",
  "maxSubmissionWindow",
] as const;

/** The Hub's conditions for a bounty created now. */
export interface Conditions extends Readonly<Record<(typeof LIMITS)[number], bigint>> {
  readonly rosterHash: Hex;
  readonly quorum: bigint;
  readonly guardians: readonly Address[];
  /** When another roster takes effect; 0 where none is announced. */
  readonly rosterUntil: bigint;
  readonly protocolFeeBps: bigint;
  readonly guardianFeeBps: bigint;
  readonly now: bigint;
  /** What the account holds of the token. */
  readonly held: bigint;
  /** Of the token's own typed data. */
  readonly domain: TokenDomain;
}

/** What was agreed to, written down before it is signed or sent. */
export interface Funding {
  readonly terms: Terms;
  readonly validBefore: bigint;
  readonly signature?: Hex;
  /** Of every authorization that was signed for this bounty, over other terms, too. */
  readonly nonces: readonly Hex[];
  /** Until when one of them may be used; 0 where none was signed. */
  readonly signedUntil: bigint;
  /** The bounty that was reported; it is looked for again. */
  readonly reported?: bigint;
}

export type SignedFunding = Funding & { readonly signature: Hex };

/** A page that is to be funded: its terms as it states them, and what the Hub takes now. */
export interface Job {
  readonly commitment: Hex;
  readonly page: PageTerms;
  readonly conditions: Conditions;
}

/** Names what is kept of a page's funding: a second escrow behind the same page is another bounty. */
export function fundingName(commitment: string): string {
  return `fund ${commitment}`;
}

/** Names the step that creates a bounty, by the nonce of its terms. */
export function creationStep(nonce: Hex): string {
  return `create ${nonce}`;
}

/** Reads what the Hub pins and takes of a bounty created now, and what the account holds. */
export async function readConditions({ node, hub, token, account, settings }: Context): Promise<Conditions> {
  const { chainId, hubAddress } = settings.deployment;
  const escrowed = { address: token.address, abi: tokenAbi } as const;
  const [rosterVersion, [, rosterUntil], [protocolFeeBps, guardianFeeBps], limits, held, name, version, newest] = await Promise.all([
    node.readContract({ ...hub, functionName: "currentRosterVersion" }),
    node.readContract({ ...hub, functionName: "announcedRoster" }),
    node.readContract({ ...hub, functionName: "feePolicy" }),
    Promise.all(LIMITS.map(async (name) => [name, await node.readContract({ ...hub, functionName: name })] as const)),
    node.readContract({ ...escrowed, functionName: "balanceOf", args: [account] }),
    node.readContract({ ...escrowed, functionName: "name" }),
    node.readContract({ ...escrowed, functionName: "version" }),
    node.getBlock(),
  ]);
  const roster = await node.readContract({ ...hub, functionName: "getRoster", args: [rosterVersion] });
  if (guardianRosterHash(chainId, hubAddress, { version: rosterVersion, ...roster }) !== roster.guardianRosterHash) {
    throw new ServiceError("guardian_roster_mismatch", "The roster's members do not match the hash in the contract.", {
      nextAction: "Choose another node in the wallet.",
    });
  }
  return {
    rosterHash: roster.guardianRosterHash,
    quorum: roster.quorum,
    guardians: roster.accounts,
    domain: { address: token.address, name, version },
    ...{ rosterUntil, protocolFeeBps, guardianFeeBps, now: newest.timestamp, held },
    ...(Object.fromEntries(limits) as Record<(typeof LIMITS)[number], bigint>),
  };
}

/** Creates the bounty. */
export function create(context: Acting, job: Job, funding: SignedFunding): Promise<FoundEvent> {
  const { terms, validBefore, signature } = funding;
  const does: Fact = ["What it does", "creates the bounty on the terms that you agreed to"];
  return perform(context, {
    name: creationStep(nonceOf(context, terms)),
    title: "Create the bounty",
    act: fundingAct(context.settings.deployment, context.account, terms, validBefore, signature),
    facts: [does, ...factsOf(context, job, funding)],
  });
}

/** Gives the nonce of the authorization over terms. */
export function nonceOf({ settings, account }: Context, terms: Terms): Hex {
  const { chainId, hubAddress } = settings.deployment;
  return authorizationNonce(chainId, hubAddress, account, terms);
}

/** Gives what was signed where the Hub and the token still take it, and for long enough that a block can hold it. */
export async function liveOf(context: Context, kept: Funding, conditions: Conditions): Promise<SignedFunding | undefined> {
  const { terms, validBefore, signature } = kept;
  if (signature === undefined || !isHonoured(terms, conditions) || validBefore <= conditions.now + MARGIN_SECONDS) return undefined;
  const signed = { ...kept, signature };
  if ((await isSpent(context, nonceOf(context, terms))) || !(await isTaken(context, conditions, signed))) return undefined;
  return signed;
}

/** Whether the token takes the account's signature: an account may have been delegated to code that confirms none. */
async function isTaken(
  { node, account, settings }: Context,
  { domain }: Conditions,
  { terms, validBefore, signature }: SignedFunding,
): Promise<boolean> {
  const typedData = fundingTypedData(settings.deployment, domain, account, terms, validBefore);
  return (await fundingPath(node, account, hashTypedData(typedData), signature)) === "authorization";
}

/** Whether the token has the authorization as used or cancelled, as the wallet's node shows it. */
function isSpent({ node, token, account }: Context, nonce: Hex): Promise<boolean> {
  const args = [account, nonce] as const;
  return node.readContract({ address: token.address, abi: tokenAbi, functionName: "authorizationState", args });
}

/** A new signature: over the kept terms while they can be meant, else over others once the former one is over. */
export async function authorized(
  context: Acting,
  job: Job,
  number: bigint,
  kept: Funding | undefined,
): Promise<SignedFunding> {
  const { journal, wallet, account, settings, stage, token } = context;
  const { rosterUntil, domain } = job.conditions;
  const now = await signingTime(context);
  const terms = await termsFor(context, job, number, kept);
  const until = now + AUTHORIZATION_SECONDS;
  const validBefore = rosterUntil > 0n && rosterUntil < until ? rosterUntil : until;
  if (validBefore <= now + MARGIN_SECONDS) {
    throw new ServiceError("roster_changing", `A new roster takes effect at ${moment(rosterUntil)}.`, {
      nextAction: "Continue after that time; terms signed now would come too late.",
    });
  }
  const nonces = [...new Set([...(kept?.nonces ?? []), nonceOf(context, terms)])];
  const funding: Funding = { terms, validBefore, nonces, signedUntil: kept?.signedUntil ?? 0n };
  const name = fundingName(job.commitment);
  await journal.put(name, funding); // before it is signed: the same terms for good
  const typedData = fundingTypedData(settings.deployment, domain, account, funding.terms, validBefore);
  const does: Fact = ["What it does", `lets the contract take ${amount(terms.escrowAmount, token)} from you, for exactly this bounty`];
  const facts = [does, ...factsOf(context, job, funding)];
  const signature = await stage.attempt("Sign the escrow", facts, "Sign with the wallet", () => {
    stage.say("Asking the wallet to sign the transfer.");
    return stage.until(() => wallet.signTypedData(typedData));
  });
  const signedUntil = validBefore > funding.signedUntil ? validBefore : funding.signedUntil;
  const done = { ...funding, signature, signedUntil };
  await journal.put(name, done);
  if (await isTaken(context, job.conditions, done)) return done;
  const message =
    "The token accepts no signature of your account: the account has code that confirms no signature (ERC-1271), as after a delegation (EIP-7702).";
  const nextAction = "End the delegation in the wallet, or fund with another account. Nothing was paid.";
  throw new ServiceError("signature_not_taken", message, { nextAction });
}

/** The kept terms while they can be meant; else others, once nothing that was signed before can be used any more. */
async function termsFor(context: Acting, job: Job, number: bigint, kept: Funding | undefined): Promise<Terms> {
  if (kept !== undefined) {
    const { terms, signedUntil } = kept;
    const isHonouredNow = isHonoured(terms, job.conditions);
    if (isHonouredNow && !(await isSpent(context, nonceOf(context, terms)))) return terms;
    if (signedUntil > 0n && !(await hasPassed(context, signedUntil))) {
      const why = isHonouredNow ? "The token shows it as used" : "The contract's roster or fees changed";
      const message = `${why}, and what you signed before is valid until ${moment(signedUntil)}.`;
      throw new ServiceError(FACTS.authorization_over[1], message, {
        nextAction: "Continue after that time, once its block is final. Nothing else was signed.",
      });
    }
  }
  return unspentTerms(context, job, number);
}

/** Terms that the token has not as spent; past some that it has only as the person decides. */
async function unspentTerms(context: Acting, job: Job, first: bigint): Promise<Terms> {
  const { stage } = context;
  const { chainId, hubAddress } = context.settings.deployment;
  const { commitment, page, conditions } = job;
  const { protocolFee, guardianFee } = feesOf(page.escrowAmount, conditions);
  for (let number = first; number < first + MOST_NUMBERS; number += 1n) {
    const terms: Terms = {
      specCommitment: commitment,
      expectedRosterHash: conditions.rosterHash,
      escrowAmount: page.escrowAmount,
      submissionDeadline: page.submissionDeadline,
      judgingWindow: page.judgingWindow,
      maxProtocolFee: protocolFee,
      maxGuardianFee: guardianFee,
      salt: fundingSalt(chainId, hubAddress, context.account, commitment, number),
    };
    if (!(await isSpent(context, nonceOf(context, terms)))) return terms;
    if (number > first) continue;
    const facts: Fact[] = [
      ["The token", "says that the authorization for these terms was used or cancelled, but no bounty created by it is found"],
      ["What this may mean", "a bounty that you created a moment ago on another machine; it appears in a minute"],
      ["Another authorization", "would pay another escrow"],
    ];
    await stage.confirm("This page may already be funded", facts, ["Fund it once more"]);
  }
  throw new ServiceError("authorization_used", "The token shows every authorization for this page as used.", {
    nextAction: "Choose another node in the wallet, and check the account's transfers on chain.",
  });
}

function isHonoured(terms: Terms, conditions: Conditions): boolean {
  const { protocolFee, guardianFee } = feesOf(terms.escrowAmount, conditions);
  const isCovered = protocolFee <= terms.maxProtocolFee && guardianFee <= terms.maxGuardianFee;
  return isCovered && terms.expectedRosterHash === conditions.rosterHash;
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

/**
 * Has the person decide beside another text of this account that was signed for, and whose bounty may still come: a
 * corrected page is another one.
 */
export async function requireNoOtherText(context: Acting, commitment: Hex): Promise<void> {
  const { journal, stage } = context;
  for (const name of await journal.namesBelow(fundingName("0x"))) {
    const other = await journal.get<Funding>(name);
    if (name === fundingName(commitment) || other === undefined || other.reported !== undefined) continue;
    const { signedUntil } = other;
    if (signedUntil === 0n || (await tolerated(hasPassed(context, signedUntil)))) continue;
    const facts: Fact[] = [
      ["The other text", name.slice(fundingName("").length)],
      ["What happened to it", `you signed for it: anyone who has that signature can create its bounty until ${moment(signedUntil)}`],
      ["Both", "would be bounties, each with its own escrow until it ends"],
    ];
    await stage.confirm("Another text of yours may also become a bounty", facts, ["Fund this page as well"]);
  }
}

/** From when on, at the latest, the escrow can be claimed back. */
export function refundDay(judgingDeadline: bigint): string {
  return `you can claim the escrow back from ${moment(judgingDeadline)} on at the latest, less the shares of Guardians who recorded a Verdict`;
}

/** What the Poster agrees to with the signature, and has agreed to where it is sent, in words. */
function factsOf(context: Context, { page, conditions }: Job, { terms, validBefore }: Funding): Fact[] {
  const { token, settings } = context;
  const { escrowAmount, maxProtocolFee, maxGuardianFee } = terms;
  const revealAt = page.submissionDeadline + conditions.revealDelay;
  const until = moment(revealAt + terms.judgingWindow);
  const { guardians, quorum } = conditions;
  const isMainnet = settings.deployment.chainId === MAINNET;
  return [
    ["The winner gets", amount(escrowAmount - maxProtocolFee - maxGuardianFee, token)],
    ["If nobody wins", refundDay(revealAt + terms.judgingWindow)],
    ...(isMainnet ? [["Real money", "this is the mainnet deployment", "warning"] as const] : []),
    ["Page", `${printable(page.title)}, with the commitment ${terms.specCommitment}`],
    ["Fees at most", `${amount(maxProtocolFee, token)} for the protocol, ${amount(maxGuardianFee, token)} for the Guardians`],
    ["Submissions until", moment(terms.submissionDeadline)],
    ["Judged", `from ${moment(revealAt)} until ${until}`],
    ["Decided by", `${quorum} of ${guardians.length} Guardians: ${guardians.join(", ")}`],
    ["What it costs", `${amount(escrowAmount, token)}, including all fees of the service, plus the network's fee in ether, which the wallet shows`],
    ["The signature is valid until", moment(validBefore)],
  ];
}
