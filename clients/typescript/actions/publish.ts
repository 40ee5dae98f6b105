/**
 * A Poster's bounty: the page published and reviewed, then funded by one signature over the token and one transaction.
 * An account whose signatures the token does not take is told so before, and funds by an allowance of exactly the escrow.
 *
 * The terms that are funded are read out of the page here and completed from the chain; the service's answer has to
 * agree with them. What was signed is written down and kept, so that a page is funded once: authorizations over the same
 * terms have the same nonce, of which the token takes one, also where this browser forgot them or another machine signs,
 * since the salt follows from the page and the number of its funding. Other terms are signed only once what was signed
 * before is over, by the finalized chain and by this machine's clock; another number is the person's decision. Each visit
 * asks node and API for bounties on the page.
 */

import { encodeFunctionData, erc20Abi, hashTypedData, parseAbi } from "viem";
import type { Address, Hex } from "viem";
import {
  allowanceCall,
  answerOf,
  AUTHORIZATION_SECONDS,
  authorizationNonce,
  commitmentOf,
  FACTS,
  fundingCall,
  fundingPath,
  fundingSalt,
  fundingTypedData,
  guardianRosterHash,
  hubCall,
  MARGIN_SECONDS,
  pageTerms,
  ServiceError,
} from "../src/acting.js";
import type { FundingPath, Issue, PageTerms, Schemas, Terms } from "../src/acting.js";
import { refuseDifferences, typed } from "./answers.js";
import { signed, statedOf } from "./api.js";
import type { Context } from "./context.js";
import { findingsOf } from "./checking.js";
import { element } from "./dom.js";
import { forgetPage, isAboutPage, writtenPage } from "./editor.js";
import type { Outlook } from "./editor.js";
import { outageAdvice } from "./halts.js";
import { tidied } from "./journal.js";
import { confirmNoSecret } from "./keyless.js";
import type { ExpectedEvent } from "./node.js";
import type { Call } from "./provider.js";
import { byTransaction, told } from "./results.js";
import type { Act } from "./settings.js";
import type { Fact, Offer, Stage } from "./stage.js";
import { amount, bytes, duration, moment, printable } from "./text.js";
import { isBatchBegun, leftIfRead, leftOf, perform, standing, tolerated } from "./transactions.js";
import type { Done } from "./transactions.js";
import { escrowsOf, hasPassed, signingTime } from "./witnesses.js";
import type { Escrow, Escrows } from "./witnesses.js";

const BASIS_POINTS = 10_000n;
/** Why nothing is signed. */
const UNSIGNED =
  "your account has code that confirms none of its signatures (ERC-1271), as after a delegation (EIP-7702), and the " +
  "token asks that code, not your key";
const ALLOWED = `by two transactions, an allowance of exactly the escrow and the bounty itself: ${UNSIGNED}`;
const TOGETHER = `by an allowance of exactly the escrow and the bounty itself, which the wallet does as one, both or neither: ${UNSIGNED}`;
/** What a person decides on who has a creation forgotten. */
const OUTSTANDING: readonly Fact[] = [
  ["What was begun", "a transaction that creates this bounty; it is not on the chain"],
  ["Look into the wallet", "wait for it, or cancel it there first: if it is mined later, this page may be paid twice"],
];
const MAINNET = 8453;
/** Fundings of one page that are looked at for one that the token has not as spent. */
const MOST_NUMBERS = 64n;
const tokenAbi = parseAbi([
  "function version() view returns (string)",
  "function authorizationState(address, bytes32) view returns (bool)",
]);

/** The Hub's conditions for a bounty created now. */
interface Conditions {
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
interface Funding {
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

/** Offered to everyone on the page for it. */
export function publishOffer(context: Context): Offer {
  return {
    title: "Publish and fund a challenge",
    text: "From your text to a bounty. What you write is kept in this browser until the bounty is there.",
    button: "Write or choose the page",
    begins: "always",
    run: (stage) => context.journal.alone("publish", () => publish(context, stage)),
  };
}

async function publish(context: Context, stage: Stage): Promise<void> {
  const outlook = await outlookOf(context);
  for (let refused: ServiceError | undefined; ; ) {
    const page = await writtenPage(context, stage, outlook, refused);
    try {
      return await publishPage(context, stage, page);
    } catch (error) {
      if (!isAboutPage(error)) throw error;
      stage.say("");
      refused = error;
    }
  }
}

/** From the page's exact text to the bounty; raises what is to be corrected on it. */
async function publishPage(context: Context, stage: Stage, page: string): Promise<void> {
  const { journal } = context;
  const commitment = commitmentOf(page);
  const terms = pageTerms(page);
  const name = fundingName(commitment);
  stage.say("What was funded on this page before is looked up.");
  const since = await context.node.getBlockNumber();
  let kept = await journal.get<Funding>(name);
  const { known, hidden } = await escrowsOf(context, stage, commitment, kept?.reported);
  const own = known.find(({ id, nonce }) => id === kept?.reported || (nonce && kept?.nonces.includes(nonce)));
  if (kept !== undefined && own !== undefined && kept.reported === undefined) {
    return reported(context, stage, name, page, kept, own, `Funded as bounty ${own.id}.`);
  }
  // Reported before: another one would be a second escrow. Only an authorization can be given again, since it counts once.
  if (own !== undefined || (kept?.reported !== undefined && kept.isAllowed === true)) kept = undefined;
  stage.say("The terms are compared with what the contract takes.");
  const conditions = await readConditions(context, stage);
  const isUsable = kept !== undefined && (await isLive(context, kept, conditions));
  if (!isUsable) {
    await requireFundable(context, terms, conditions);
    await confirmNoSecret(stage, page);
    await requireNoFindings(context, stage, page);
    await requireNoOtherText(context, stage, commitment);
  }
  await requireWanted(context, stage, { known, hidden }, isUsable ? kept : undefined);
  if (!isUsable) await review(context, stage, page, commitment, terms, conditions);
  let funding = kept;
  if (funding === undefined || !isUsable) {
    const isSigned = (await pathOf(context)) === "authorization";
    const fund = isSigned ? authorized : allowed;
    const number = BigInt(1 + known.length + hidden.length);
    funding = await fund(context, stage, name, commitment, terms, conditions, number, kept);
  }
  const found = await create(context, stage, terms, conditions, funding, since);
  const created: Escrow = { id: found.args["bountyId"] as bigint, nonce: nonceOf(context, funding.terms) };
  const text = byTransaction(context.settings, "Funded by transaction", found.hash);
  await reported(context, stage, name, page, funding, created, text, found.paid);
}

/**
 * Ends with the bounty; what was signed stays written down, so that a later visit can see whether it is there. Its creation
 * is forgotten last: until then another text asks about it.
 */
export async function reported(
  context: Context,
  stage: Stage,
  name: string,
  page: string,
  funding: Funding,
  { id, nonce }: Escrow,
  text: string | readonly (Node | string)[],
  paid?: string,
): Promise<void> {
  const { journal } = context;
  const unnoted = await tidied(async () => {
    await forgetPage(context, page);
    await journal.put(name, { ...funding, reported: id });
    if (nonce !== undefined) await journal.remove(creationStep(nonce));
  });
  const link = element("a", { href: `/bounties/${id}` }, `Bounty ${id}`);
  stage.done(text, ...told(paid), element("p", {}, link, " has its page in a moment."), ...told(unnoted));
}

/**
 * Creates the bounty, unless another device has done it after block `since`. An allowance that it needs is given with
 * it where the wallet does both as one, else before it.
 */
async function create(
  context: Context,
  stage: Stage,
  page: PageTerms,
  conditions: Conditions,
  funding: Funding,
  since: bigint,
): Promise<Done> {
  const [name, expected] = creation(context, funding);
  const { functionName, call } = creationCall(context, funding);
  const title = "Create the bounty";
  const act: Act = "create";
  const created = { name, act, title, call, expected, since, isKept: true };
  if (await isTogether(context, stage, name, funding)) {
    const facts = factsOf(context, page, conditions, funding, TOGETHER);
    const step = { ...created, functionName: `approve, then ${functionName}`, facts };
    try {
      return await perform(context, stage, { ...step, before: approvalOf(context, funding) });
    } catch (error) {
      const code = error instanceof ServiceError ? error.code : undefined;
      if (code === "batch_outstanding") await requireNoneBegun(context, stage, funding.nonces);
      else if (code !== "batch_refused") throw error;
    }
  }
  if (funding.isAllowed === true) await approve(context, stage, page, conditions, funding);
  const facts = factsOf(context, page, conditions, funding);
  return perform(context, stage, { ...created, functionName, facts });
}

/** Whether the wallet is to allow the escrow and create the bounty as one: it was begun so, or can be. */
async function isTogether(context: Context, stage: Stage, name: string, funding: Funding): Promise<boolean> {
  if (funding.isAllowed !== true) return false;
  const { journal, wallet } = context;
  if ((await journal.get(name)) !== undefined) return isBatchBegun(context, name);
  if (await isApproved(context, funding.terms)) return false;
  if ((await journal.get(approvalStep(nonceOf(context, funding.terms)))) !== undefined) return false;
  await requireNoneBegun(context, stage, funding.nonces);
  return (await wallet.capabilities()).isAtomic;
}

/** The step that creates a bounty on these terms, and its event: both named by the terms' nonce. */
function creation(context: Context, { terms }: Funding): [string, ExpectedEvent] {
  const nonce = nonceOf(context, terms);
  return [creationStep(nonce), creationEvent(context, nonce)];
}

function creationEvent({ account }: Context, nonce: Hex): ExpectedEvent {
  return { eventName: "BountyCreated", args: { poster: account, authorizationNonce: nonce } };
}

function creationStep(nonce: Hex): string {
  return `create ${nonce}`;
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

/** How this account can fund, by the signature that it just made for the request. */
function pathOf({ node, wallet, account }: Context): Promise<FundingPath> {
  const signed = wallet.lastSigned;
  if (signed === undefined) throw new Error("a page is published before it is funded");
  return fundingPath(node, account, signed.digest, signed.signature);
}

function nonceOf({ settings, account }: Context, terms: Terms): Hex {
  const { chainId, hubAddress } = settings.deployment;
  return authorizationNonce(chainId, hubAddress, account, terms);
}

async function readConditions(context: Context, stage: Stage): Promise<Conditions> {
  const { node, hub, settings } = context;
  const { chainId, hubAddress } = settings.deployment;
  const stated = await statedOf(context, stage);
  const [rosterVersion, announced, fees, revealDelay, { timestamp }] = await Promise.all([
    node.readContract({ ...hub, functionName: "currentRosterVersion" }),
    node.readContract({ ...hub, functionName: "announcedRoster" }),
    node.readContract({ ...hub, functionName: "feePolicy" }),
    node.readContract({ ...hub, functionName: "revealDelay" }),
    node.getBlock(),
  ]);
  refuseDifferences("deployment_mismatch", [
    ["reveal_delay_seconds", stated.reveal_delay_seconds, Number(revealDelay)],
  ]);
  const roster = await node.readContract({ ...hub, functionName: "getRoster", args: [rosterVersion] });
  if (guardianRosterHash(chainId, hubAddress, { version: rosterVersion, ...roster }) !== roster.guardianRosterHash) {
    throw new ServiceError("guardian_roster_mismatch", "The roster's members do not hash to what the contract has.", {
      nextAction: "Choose another node in the wallet.",
    });
  }
  return {
    rosterHash: roster.guardianRosterHash,
    quorum: roster.quorum,
    guardians: roster.accounts,
    rosterUntil: announced[1],
    protocolFeeBps: fees[0],
    guardianFeeBps: fees[1],
    revealDelay,
    now: timestamp,
  };
}

/** What terms come to while they are written, by the contract's fees and times; nothing of it is signed. */
async function outlookOf({ node, hub, token, settings }: Context): Promise<Outlook> {
  const [fees, revealDelay] = await Promise.all([
    node.readContract({ ...hub, functionName: "feePolicy" }),
    node.readContract({ ...hub, functionName: "revealDelay" }),
  ]);
  return (escrow, deadline, window) => {
    const facts: Fact[] = [];
    if (escrow !== undefined) {
      const { protocolFee, guardianFee } = feesOf(escrow, { protocolFeeBps: fees[0], guardianFeeBps: fees[1] });
      facts.push(["You pay", `${amount(escrow, token)}, and the network's fee for one transaction`]);
      facts.push(["The winner gets", amount(escrow - protocolFee - guardianFee, token)]);
    }
    if (deadline !== undefined && window !== undefined) {
      facts.push(["If nobody wins", refundDay(BigInt(deadline) + revealDelay + BigInt(window))]);
    }
    const left = deadline === undefined ? undefined : BigInt(deadline) - BigInt(Math.floor(Date.now() / 1_000));
    const judging = window === undefined ? undefined : BigInt(window);
    return [...facts, ...outageAdvice(settings.deployment.chainId, left, judging)];
  };
}

/** From when on, at the latest, the escrow can be claimed back. */
function refundDay(judgingDeadline: bigint): string {
  return `you can claim the escrow back from ${moment(judgingDeadline)} on at the latest, less the shares of Guardians who recorded a Verdict`;
}

/** Refuses terms that the Hub would refuse, all at once, and an account that cannot pay them. */
async function requireFundable(context: Context, terms: PageTerms, { now, guardians }: Conditions): Promise<void> {
  const { node, hub, token, account } = context;
  const limit = (
    functionName: "minEscrow" | "minJudgingWindow" | "maxJudgingWindow" | "minSubmissionWindow" | "maxSubmissionWindow",
  ) => node.readContract({ ...hub, functionName });
  const [minEscrow, minJudging, maxJudging, minSubmission, maxSubmission, held] = await Promise.all([
    limit("minEscrow"),
    limit("minJudgingWindow"),
    limit("maxJudgingWindow"),
    limit("minSubmissionWindow"),
    limit("maxSubmissionWindow"),
    node.readContract({ address: token.address, abi: erc20Abi, functionName: "balanceOf", args: [account] }),
  ]);
  const { escrowAmount, submissionDeadline, judgingWindow } = terms;
  const checks: [boolean, string, string][] = [
    [escrowAmount < minEscrow, "escrow_amount", `must be at least ${minEscrow}, which is ${amount(minEscrow, token)}`],
    [escrowAmount > held, "escrow_amount", `the account holds ${amount(held, token)} only`],
    [
      judgingWindow < minJudging || judgingWindow > maxJudging,
      "judging_window_seconds",
      `must be ${minJudging} to ${maxJudging} seconds`,
    ],
    [
      submissionDeadline < now + minSubmission || submissionDeadline > now + maxSubmission,
      "submission_deadline",
      `must be between ${moment(now + minSubmission)} and ${moment(now + maxSubmission)}, not ${moment(submissionDeadline)}`,
    ],
    [
      guardians.some((each) => each.toLowerCase() === account),
      "account",
      "a Guardian of the current roster cannot fund a bounty that it would judge",
    ],
  ];
  const issues = checks.filter(([isWrong]) => isWrong).map(([, path, message]) => ({ path, message }));
  if (issues.length === 0) return;
  throw new ServiceError("terms_refused", "The contract would not create a bounty on these terms.", {
    issues,
    nextAction: "Change the page where the list points, and go on.",
  });
}

/** A second escrow behind the same page is another bounty: a person has to want it. */
function fundingName(commitment: string): string {
  return `fund ${commitment}`;
}

/** Has the person decide beside another text of this account whose bounty may still come: a corrected page is another one. */
export async function requireNoOtherText(context: Context, stage: Stage, commitment: Hex): Promise<void> {
  const { journal } = context;
  for (const name of await journal.namesBelow(fundingName("0x"))) {
    const other = name === fundingName(commitment) ? undefined : await journal.get<Funding>(name);
    if (other === undefined || other.reported !== undefined) continue;
    const left = await stillToCome(context, other);
    if (left === undefined) continue;
    stage.say("");
    const text: Fact = ["The other text", name.slice(fundingName("").length)];
    const both: Fact = ["Both", "would be bounties, each with an escrow of its own until it ends"];
    const begun: Fact = typeof left === "bigint" ? ["What became of it", `bounty ${left}`] : left;
    await stage.confirm("Another text of yours may be a bounty, too", [text, begun, both], "Fund this page as well");
    if (typeof left === "bigint") await journal.put(name, { ...other, reported: left }); // asked about once
  }
}

/** The bounty that came of a funding without being reported, or what may still bring one about. */
async function stillToCome(
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
      return ["What was begun", `a transaction that creates its bounty; ${standing(left)}`];
    }
    await context.journal.remove(creationStep(nonce));
  }
  if (signedUntil === 0n || isOver) return undefined;
  return ["What you signed", `lets anybody who has it create its bounty until ${moment(signedUntil)}`];
}

/**
 * Has the person decide where the page has other bounties: also on a funding that is kept, as another machine may have
 * funded the page on other terms since; not again once its creation was begun.
 */
export async function requireWanted(
  context: Context,
  stage: Stage,
  { known, hidden }: Escrows,
  kept: Funding | undefined,
): Promise<void> {
  const begun = kept && (await context.journal.get(creationStep(nonceOf(context, kept.terms))));
  if (begun !== undefined) return;
  const others = hidden.filter((id) => id !== kept?.reported); // what is kept can only become that one again
  if (known.length + others.length > 0) await confirmSecond(stage, known, others);
}

async function confirmSecond(stage: Stage, known: readonly Escrow[], hidden: readonly bigint[]): Promise<void> {
  stage.say("");
  const named = (ids: readonly bigint[]) => ids.map((id) => `bounty ${id}`).join(", ");
  const before: Fact[] = known.length > 0 ? [["Funded before as", named(known.map(({ id }) => id))]] : [];
  const gone = `${named(hidden)}; now neither the wallet's node nor the service shows it`;
  if (hidden.length > 0) before.push(["This browser saw", gone]);
  const again: Fact = ["A second escrow", "would be another bounty"];
  await stage.confirm("This page was funded before", [...before, again], "Fund it once more");
}

/**
 * Refuses a page that the service's rules have something against, before anything is signed: `page_not_ready` with all of
 * it. A check that cannot be made stops nobody who goes on, since publishing has the page reviewed.
 */
async function requireNoFindings(context: Context, stage: Stage, page: string): Promise<void> {
  stage.say("The service checks the page by its rules. It keeps nothing of it.");
  let issues: readonly Issue[];
  try {
    issues = await stage.until(() => findingsOf(context, page));
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code === "stopped") throw error;
    const facts: Fact[] = [
      ["Why", printable(error.message)],
      ["What comes now", "the page is published, whose review checks it, too, and is one of yours of the day"],
    ];
    stage.say("");
    await stage.confirm("The page could not be checked", facts, "Go on without");
    return;
  }
  if (issues.length === 0) return;
  throw new ServiceError("page_not_ready", "The service's rules find the page not ready to be published.", {
    issues,
    nextAction: "Nothing was signed or published. Change the page where the list points, and go on.",
  });
}

/** Has the page reviewed and stored, and compares everything in the answer with what is derived here. */
async function review(
  context: Context,
  stage: Stage,
  page: string,
  commitment: Hex,
  terms: PageTerms,
  conditions: Conditions,
): Promise<void> {
  const { api, account } = context;
  const size = new TextEncoder().encode(page).length;
  const answer = await signed(
    context,
    stage,
    "Publish the page",
    `POST /api/bounty-challenge-specs/prepare-publication?poster_address=${account}`,
    [
      [
        "What it does",
        "has the page reviewed and stored, under your name and for everybody to read; no money moves yet",
      ],
      ["Page", `${printable(terms.title)}, ${bytes(size)}`],
      ["Commitment of the page", commitment],
    ],
    () =>
      typed(
        "PreparedPublication",
        answerOf(
          api.POST("/api/bounty-challenge-specs/prepare-publication", {
            params: { query: { poster_address: account } },
            body: page,
            headers: { "Content-Type": "text/markdown" },
          }),
        ),
      ),
  );
  refusePublication(context, answer, commitment, terms, conditions, size);
  const { name, version } = await domainOf(context);
  const theirs = answer.authorization_typed_data["domain"] as Readonly<Record<string, unknown>> | undefined;
  refuseDifferences("publication_mismatch", [
    ["authorization_typed_data.domain.name", theirs?.["name"], name],
    ["authorization_typed_data.domain.version", theirs?.["version"], version],
  ]);
}

function refusePublication(
  { settings, token, account }: Context,
  answer: Schemas["PreparedPublication"],
  commitment: Hex,
  page: PageTerms,
  conditions: Conditions,
  size: number,
): void {
  const [given] = answer.create_bounty.args;
  const theirs = Array.isArray(given) ? (given as readonly unknown[]).slice(0, 7) : [];
  const { protocolFee, guardianFee } = feesOf(page.escrowAmount, conditions);
  const ours = [
    commitment,
    conditions.rosterHash,
    ...[page.escrowAmount, page.submissionDeadline, page.judgingWindow, protocolFee, guardianFee].map(String),
  ];
  refuseDifferences("publication_mismatch", [
    ["spec_commitment", answer.spec_commitment, commitment],
    ["byte_length", answer.byte_length, size],
    ["chain_id", answer.chain_id, settings.deployment.chainId],
    ["hub_address", answer.hub_address, settings.deployment.hubAddress.toLowerCase()],
    ["escrow_token_address", answer.escrow_token_address, token.address.toLowerCase()],
    ["poster_address", answer.poster_address, account],
    ["guardian_roster", answer.guardian_roster.guardian_roster_hash, conditions.rosterHash],
    ["create_bounty.args", theirs.join(" "), ours.join(" ")],
  ]);
}

/** Whether the Hub and the token still take what was signed, and for long enough that a block can hold it. */
async function isLive(context: Context, kept: Funding, conditions: Conditions): Promise<boolean> {
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
async function authorized(
  context: Context,
  stage: Stage,
  name: string,
  commitment: Hex,
  page: PageTerms,
  conditions: Conditions,
  number: bigint,
  kept: Funding | undefined,
): Promise<Funding> {
  const { journal, wallet, account, settings } = context;
  const { rosterUntil } = conditions;
  const now = await signingTime(context);
  const terms = await termsFor(context, stage, commitment, page, conditions, number, kept);
  const until = now + AUTHORIZATION_SECONDS;
  const validBefore = rosterUntil > 0n && rosterUntil < until ? rosterUntil : until;
  if (validBefore <= now + MARGIN_SECONDS) {
    throw new ServiceError("roster_changing", `Another roster takes effect at ${moment(rosterUntil)}.`, {
      nextAction: "Go on after that time; terms that are signed now would be too late.",
    });
  }
  const nonces = [...new Set([...(kept?.nonces ?? []), nonceOf(context, terms)])];
  const funding: Funding = { terms, validBefore, nonces, signedUntil: kept?.signedUntil ?? 0n };
  await journal.put(name, funding); // before it is signed: the same terms for good
  const typedData = fundingTypedData(settings.deployment, await domainOf(context), account, funding.terms, validBefore);
  stage.say("");
  await stage.confirm("Sign the escrow", factsOf(context, page, conditions, funding), "Sign with the wallet");
  stage.say("The wallet is asked to sign the transfer.");
  const signature = await stage.until(() => wallet.signTypedData(typedData));
  const signedUntil = validBefore > funding.signedUntil ? validBefore : funding.signedUntil;
  const done = { ...funding, signature, signedUntil };
  await journal.put(name, done);
  return done;
}

/**
 * Terms that are funded by an allowance, written down. Nothing that was signed before may be used beside them, since the
 * Hub takes an authorization and an allowance over the same terms, too.
 */
async function allowed(
  context: Context,
  stage: Stage,
  name: string,
  commitment: Hex,
  page: PageTerms,
  conditions: Conditions,
  number: bigint,
  kept: Funding | undefined,
): Promise<Funding> {
  stage.say("");
  if (kept !== undefined) await requireOver(context, kept, "The token takes no signature of this account any more");
  const isKept = kept?.isAllowed === true && isHonoured(kept.terms, conditions);
  const terms = isKept ? kept.terms : newTerms(context, commitment, page, conditions, number);
  const nonces = [...new Set([...(kept?.nonces ?? []), nonceOf(context, terms)])];
  const signedUntil = kept?.signedUntil ?? 0n;
  const funding: Funding = { terms, validBefore: 0n, isAllowed: true, nonces, signedUntil };
  await context.journal.put(name, funding);
  return funding;
}

/**
 * Has the Hub allowed to take exactly the escrow, once: not again where a creation may have taken it already, on
 * whichever terms, so that no two of them find an allowance. One that was to give the allowance itself is done in the
 * other way once it came to nothing, by the wallet or as the person decides.
 */
export async function approve(
  context: Context,
  stage: Stage,
  page: PageTerms,
  conditions: Conditions,
  funding: Funding,
): Promise<void> {
  const { token, account, settings } = context;
  const { hubAddress } = settings.deployment;
  const { terms, nonces } = funding;
  if (await isApproved(context, terms)) return;
  const nonce = nonceOf(context, terms);
  const [step, expected] = creation(context, funding);
  const left = await leftOf(context, step, expected);
  const isUndecided = left === "open" && (await isBatchBegun(context, step));
  if (left !== undefined && !isUndecided) return; // looked for before it is sent again
  await requireNoneBegun(context, stage, nonces);
  await perform(context, stage, {
    name: approvalStep(nonce),
    act: "create",
    title: "Allow the escrow",
    functionName: "approve",
    call: approvalOf(context, funding),
    facts: factsOf(context, page, conditions, funding),
    expected: {
      eventName: "Approval",
      args: { owner: account, spender: hubAddress, value: terms.escrowAmount },
      token: token.address,
    },
  });
}

function approvalStep(nonce: Hex): string {
  return `approve ${nonce}`;
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
      const message = `A transaction on other terms has created bounty ${left.args["bountyId"]} on this page.`;
      throw new ServiceError("creation_unknown", message, { nextAction: "Reload this page in a minute." });
    }
    stage.say("");
    await stage.confirm("A creation of this bounty is outstanding", OUTSTANDING, "It was cancelled: forget it");
    await context.journal.remove(creationStep(nonce));
  }
}

/** Refuses other terms, or another way, beside an authorization that may still be used: `authorization_outstanding`. */
async function requireOver(context: Context, { signedUntil }: Funding, why: string): Promise<void> {
  if (signedUntil === 0n || (await hasPassed(context, signedUntil))) return;
  const message = `${why}, and what you signed before is good until ${moment(signedUntil)}.`;
  throw new ServiceError(FACTS.authorization_over[1], message, {
    nextAction: "Go on after that time, once its block is final. Nothing else was signed.",
  });
}

/** The kept terms while they can be meant; else others, once nothing that was signed before can be used any more. */
async function termsFor(
  context: Context,
  stage: Stage,
  commitment: Hex,
  page: PageTerms,
  conditions: Conditions,
  number: bigint,
  kept: Funding | undefined,
): Promise<Terms> {
  if (kept !== undefined) {
    const { terms } = kept;
    const isHonouredNow = isHonoured(terms, conditions);
    if (isHonouredNow && kept.isAllowed !== true && !(await isSpent(context, nonceOf(context, terms)))) return terms;
    if (kept.isAllowed === true) await requireNoneBegun(context, stage, kept.nonces);
    const why = isHonouredNow ? "The token has it as spent" : "The contract's roster or fees changed";
    await requireOver(context, kept, why);
  }
  return unspentTerms(context, stage, commitment, page, conditions, number);
}

/** Terms that the token has not as spent; past some that it has only as the person decides. */
async function unspentTerms(
  context: Context,
  stage: Stage,
  commitment: Hex,
  page: PageTerms,
  conditions: Conditions,
  first: bigint,
): Promise<Terms> {
  for (let number = first; number < first + MOST_NUMBERS; number += 1n) {
    const terms = newTerms(context, commitment, page, conditions, number);
    if (!(await isSpent(context, nonceOf(context, terms)))) return terms;
    if (number > first) continue;
    const facts: Fact[] = [
      ["The token", "has the authorization over these terms as used or cancelled, and no bounty of it shows"],
      ["What that may be", "a bounty that another machine of yours made a moment ago, which shows in a minute"],
      ["Another authorization", "would be another escrow"],
    ];
    stage.say("");
    await stage.confirm("This page may be funded already", facts, "Fund it once more");
  }
  throw new ServiceError("authorization_used", "The token has every authorization over this page as spent.", {
    nextAction: "Choose another node in the wallet, and look at the account's transfers on chain.",
  });
}

function newTerms(
  { settings, account }: Context,
  commitment: Hex,
  page: PageTerms,
  conditions: Conditions,
  number: bigint,
): Terms {
  const { chainId, hubAddress } = settings.deployment;
  return fundedTerms(commitment, page, conditions, fundingSalt(chainId, hubAddress, account, commitment, number));
}

/** The domain of the token's own typed data, read from the token. */
async function domainOf({ node, token }: Context): Promise<{ address: Address; name: string; version: string }> {
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

function feesOf(
  escrow: bigint,
  { protocolFeeBps, guardianFeeBps }: Pick<Conditions, "protocolFeeBps" | "guardianFeeBps">,
) {
  return {
    protocolFee: (escrow * protocolFeeBps) / BASIS_POINTS,
    guardianFee: (escrow * guardianFeeBps) / BASIS_POINTS,
  };
}

/** What the Poster agrees to, in words. */
function factsOf(
  context: Context,
  page: PageTerms,
  conditions: Conditions,
  funding: Funding,
  allowed: string = ALLOWED,
): Fact[] {
  const { token, settings } = context;
  const { terms, validBefore, isAllowed } = funding;
  const { escrowAmount, maxProtocolFee, maxGuardianFee } = terms;
  const revealAt = page.submissionDeadline + conditions.revealDelay;
  const facts: Fact[] = [
    ["What it does", `lets the contract take ${amount(escrowAmount, token)} from you, for exactly this bounty`],
    ["Page", `${printable(page.title)}, with the commitment ${terms.specCommitment}`],
    ["The winner gets", amount(escrowAmount - maxProtocolFee - maxGuardianFee, token)],
    [
      "Fees at most",
      `${amount(maxProtocolFee, token)} for the protocol, ${amount(maxGuardianFee, token)} for the Guardians`,
    ],
    ["Submissions until", moment(terms.submissionDeadline)],
    [
      "Judged",
      `from ${moment(revealAt)} for ${duration(terms.judgingWindow)}, until ${moment(revealAt + terms.judgingWindow)}`,
    ],
    [
      "Decided by",
      `${conditions.quorum} of ${conditions.guardians.length} Guardians: ${conditions.guardians.join(", ")}`,
    ],
    ["If nobody wins", refundDay(revealAt + terms.judgingWindow)],
    [
      "What it costs",
      `${amount(escrowAmount, token)}, all fees of the service included, and the network's fee in ether, which the wallet shows`,
    ],
    isAllowed === true ? ["How it is paid", allowed] : ["The signature is good until", moment(validBefore)],
    ...outageAdvice(settings.deployment.chainId, terms.submissionDeadline - conditions.now, terms.judgingWindow),
  ];
  const real: Fact = ["Real money", "this is the mainnet deployment"];
  return settings.deployment.chainId === MAINNET ? [real, ...facts] : facts;
}
