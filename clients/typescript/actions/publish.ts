/**
 * A Poster's bounty: the page published and reviewed, then funded by one signature over the token and one transaction.
 *
 * The terms that are funded are read out of the page here and completed from the chain; the service's answer has to
 * agree with them. What was signed is written down with its salt, so that a page is funded once: every authorization of
 * one salt has the same nonce, and the token takes only one of them.
 */

import { bytesToHex, erc20Abi, parseAbi } from "viem";
import type { Address, Hex } from "viem";
import { answerOf } from "../src/api.js";
import type { Schemas } from "../src/api.js";
import { pageTerms } from "../src/challenge.js";
import type { PageTerms } from "../src/challenge.js";
import { authorizationNonce, commitmentOf, guardianRosterHash } from "../src/commitments.js";
import type { Terms } from "../src/commitments.js";
import { ServiceError } from "../src/errors.js";
import { fundingCall, fundingTypedData } from "../src/hub.js";
import { refuseDifferences, signed, typed } from "./api.js";
import type { Context } from "./context.js";
import { element, labelled } from "./dom.js";
import type { ExpectedEvent } from "./node.js";
import type { Fact, Offer, Stage } from "./stage.js";
import { amount, bytes, duration, moment, printable } from "./text.js";
import { doneBefore, hubCall, perform } from "./transactions.js";
import type { TypedData } from "./wallet.js";

const DRAFT = "page-draft";
const MAX_BYTES = 256 * 1024;
const BASIS_POINTS = 10_000n;
const AUTHORIZATION_SECONDS = 3_600n;
const MARGIN_SECONDS = 120n;
const AGE_KEY = /AGE-SECRET-KEY-1/i;
const MAINNET = 8453;
const versionAbi = parseAbi(["function version() view returns (string)"]);

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

/** What was agreed to, written down before it is signed. */
interface Funding {
  readonly terms: Terms;
  readonly validBefore: bigint;
  readonly signature?: Hex;
}

/** Offered to everyone on the page for it. */
export function publishOffer(context: Context): Offer {
  return {
    title: "Publish and fund a challenge",
    text: "From your text to a bounty. What you write is kept in this browser until the bounty is there.",
    button: "Write or choose the page",
    run: (stage) => context.journal.alone("publish", () => publish(context, stage)),
  };
}

type SignedFunding = Funding & { readonly signature: Hex };

async function publish(context: Context, stage: Stage): Promise<void> {
  const { account, journal, settings } = context;
  const { hubAddress } = settings.deployment;
  const page = await written(context, stage);
  const commitment = commitmentOf(page);
  const terms = pageTerms(page);
  const name = `fund ${commitment}`;
  const kept = await journal.get<Funding>(name);
  stage.say("The terms are compared with what the contract takes.");
  let found = kept === undefined ? undefined : await doneBefore(context, ...creation(context, kept));
  if (found === undefined) {
    const conditions = await readConditions(context);
    if (kept?.signature === undefined) {
      await requireFundable(context, terms, conditions);
      if (kept === undefined) await confirmSecond(context, stage, commitment);
      await review(context, stage, page, commitment, terms, conditions);
    }
    const funding = await authorized(context, stage, name, commitment, terms, conditions, kept);
    const [step, expected] = creation(context, funding);
    const { args } = fundingCall(hubAddress, account, funding.terms, funding.validBefore, funding.signature);
    found = await perform(context, stage, {
      name: step,
      title: "Create the bounty",
      functionName: "createBountyWithAuthorization",
      call: hubCall(hubAddress, "createBountyWithAuthorization", args),
      facts: factsOf(context, terms, conditions, funding),
      expected,
    });
  }
  await journal.remove(name);
  await journal.remove(DRAFT);
  const id = String(found.args["bountyId"]);
  const link = element("a", { href: `/bounties/${id}` }, `Bounty ${id}`);
  stage.done(`Funded by transaction ${found.hash}.`, element("p", {}, link, " has its page in a moment."));
}

/** The step that creates a bounty on signed terms, and its event: both named by the authorization's nonce. */
function creation({ settings, account }: Context, { terms }: Funding): [string, ExpectedEvent] {
  const { chainId, hubAddress } = settings.deployment;
  const nonce = authorizationNonce(chainId, hubAddress, account, terms);
  const args = { poster: account, specCommitment: terms.specCommitment, authorizationNonce: nonce };
  return [`create ${nonce}`, { eventName: "BountyCreated", args }];
}

/** The page's text, kept while it is written. */
async function written({ journal }: Context, stage: Stage): Promise<string> {
  const text = element("textarea", { rows: "20", spellcheck: "true" });
  const file = element("input", { type: "file", accept: ".md,text/markdown,text/plain" });
  text.value = (await journal.get<string>(DRAFT)) ?? "";
  const read = (from: File | undefined) => {
    if (from !== undefined) void from.text().then((found) => (text.value = found));
  };
  file.addEventListener("change", () => read(file.files?.[0]));
  text.addEventListener("drop", (event) => {
    const [from] = event.dataTransfer?.files ?? [];
    if (from === undefined) return;
    event.preventDefault();
    read(from);
  });
  const fields = [
    labelled("File", file, "Or drop it on the field below, or write there."),
    labelled("Page", text, "Markdown with frontmatter, exactly as it will be published."),
  ];
  return stage.ask("The challenge page", fields, "Go on", async () => {
    const page = text.value.replace(/\r\n?/g, "\n");
    await journal.put(DRAFT, page);
    pageTerms(page);
    if (new TextEncoder().encode(page).length > MAX_BYTES) {
      throw new ServiceError("payload_too_large", "The page is larger than 256 KiB.", { nextAction: "Shorten it." });
    }
    if (AGE_KEY.test(page)) {
      const message = "The page holds a private key, which everybody could read.";
      throw new ServiceError("secret_in_document", message, { nextAction: "Take it out; nothing was sent." });
    }
    return page;
  });
}

async function readConditions({ node, hub, settings, stated }: Context): Promise<Conditions> {
  const { chainId, hubAddress } = settings.deployment;
  const [rosterVersion, announced, fees, revealDelay, { timestamp }] = await Promise.all([
    node.readContract({ ...hub, functionName: "currentRosterVersion" }),
    node.readContract({ ...hub, functionName: "announcedRoster" }),
    node.readContract({ ...hub, functionName: "feePolicy" }),
    node.readContract({ ...hub, functionName: "revealDelay" }),
    node.getBlock(),
  ]);
  if (stated !== undefined) {
    refuseDifferences("deployment_mismatch", [
      ["reveal_delay_seconds", stated.reveal_delay_seconds, Number(revealDelay)],
    ]);
  }
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
async function confirmSecond(context: Context, stage: Stage, commitment: Hex): Promise<void> {
  const { api, node, hub, account } = context;
  const query = { poster_address: account, limit: 100 };
  const { items } = await typed("BountyList", answerOf(api.GET("/api/bounties", { params: { query } })));
  for (const { bounty_id: id, facts } of items) {
    if (facts.spec_commitment !== commitment) continue;
    const found = await node.readContract({ ...hub, functionName: "getBounty", args: [BigInt(id)] });
    if (found.specCommitment !== commitment || found.poster.toLowerCase() !== account) continue;
    stage.say("");
    const before: Fact = ["Funded before as", `bounty ${id}`];
    const again: Fact = ["A second escrow", "would be another bounty"];
    await stage.confirm("This page was funded before", [before, again], "Fund it once more");
    return;
  }
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

/** The signed authorization for exactly these terms: the kept one while it is good, else a new one. */
async function authorized(
  context: Context,
  stage: Stage,
  name: string,
  commitment: Hex,
  page: PageTerms,
  conditions: Conditions,
  kept: Funding | undefined,
): Promise<SignedFunding> {
  const { journal, wallet, account, settings } = context;
  const { now, rosterUntil } = conditions;
  const isLive = kept?.signature !== undefined && kept.validBefore > now;
  if (kept !== undefined && isLive) {
    if (isHonoured(kept.terms, conditions)) {
      if (kept.validBefore > now + MARGIN_SECONDS) return { ...kept, signature: kept.signature as Hex };
    } else {
      throw new ServiceError("authorization_outstanding", "The contract's roster or fees changed since you signed.", {
        nextAction: `What you signed is good until ${moment(kept.validBefore)}. Go on after that time.`,
      });
    }
  }
  const until = now + AUTHORIZATION_SECONDS;
  const validBefore = rosterUntil > 0n && rosterUntil < until ? rosterUntil : until;
  if (validBefore <= now + MARGIN_SECONDS) {
    throw new ServiceError("roster_changing", `Another roster takes effect at ${moment(rosterUntil)}.`, {
      nextAction: "Go on after that time; terms that are signed now would be too late.",
    });
  }
  const salt = kept?.terms.salt ?? bytesToHex(crypto.getRandomValues(new Uint8Array(32)));
  const funding: Funding = { terms: fundedTerms(commitment, page, conditions, salt), validBefore };
  await journal.put(name, funding); // before it is signed: the same salt for good
  const typedData = fundingTypedData(settings.deployment, await domainOf(context), account, funding.terms, validBefore);
  stage.say("");
  await stage.confirm("Sign the escrow", factsOf(context, page, conditions, funding), "Sign with the wallet");
  stage.say("The wallet is asked to sign the transfer.");
  const signature = await wallet.signTypedData(typedData as unknown as TypedData);
  const done = { ...funding, signature };
  await journal.put(name, done);
  return done;
}

/** The domain of the token's own typed data, read from the token. */
async function domainOf({ node, token }: Context): Promise<{ address: Address; name: string; version: string }> {
  const { address } = token;
  const [name, version] = await Promise.all([
    node.readContract({ address, abi: erc20Abi, functionName: "name" }),
    node.readContract({ address, abi: versionAbi, functionName: "version" }),
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

function feesOf(escrow: bigint, { protocolFeeBps, guardianFeeBps }: Conditions) {
  return {
    protocolFee: (escrow * protocolFeeBps) / BASIS_POINTS,
    guardianFee: (escrow * guardianFeeBps) / BASIS_POINTS,
  };
}

/** What the Poster agrees to, in words. */
function factsOf(context: Context, page: PageTerms, conditions: Conditions, { terms, validBefore }: Funding): Fact[] {
  const { token, settings } = context;
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
    ["If nobody wins", "you claim the escrow back, less the shares of Guardians who recorded a Verdict"],
    ["The signature is good until", moment(validBefore)],
  ];
  const real: Fact = ["Real money", "this is the mainnet deployment"];
  return settings.deployment.chainId === MAINNET ? [real, ...facts] : facts;
}
