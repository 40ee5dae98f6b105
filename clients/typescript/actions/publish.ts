/**
 * A Poster's bounty: the page is written, checked, published and reviewed, then funded. The terms that are funded are
 * read out of the page here and completed from the chain; the service's answer has to agree with them. Each visit asks
 * node and API for bounties on the page.
 */

import { answerOf, commitmentOf, isIssue, pageTerms, ServiceError } from "../src/acting.js";
import { refuseDifferences } from "./answers.js";
import { requireStatedDelay, signed, type SignedRequest } from "./api.js";
import type { Acting, Context } from "./context.js";
import { element } from "./dom.js";
import { against, Editor, forgetPage, isAboutPage } from "./editor.js";
import { authorized, create, creationStep, feesOf, fundingName, liveOf, nonceOf, readConditions } from "./funding.js";
import { requireNoOtherText } from "./funding.js";
import type { Funding, Job } from "./funding.js";
import { Journal } from "./journal.js";
import { transactionLine } from "./results.js";
import type { Settings } from "./settings.js";
import type { Fact } from "./stage.js";
import { bytes, moment, printable } from "./text.js";
import { escrowsOf, type Escrow } from "./witnesses.js";
import type { Offer } from "./view.js";

/** The form of this page: there before a wallet is. */
let editor: Promise<Editor> | undefined;

/** Shows the form before a wallet is connected, by the terms that the page states; `goOn` has one connected. */
export function showForm(settings: Settings, place: HTMLElement, goOn: () => void): void {
  const { terms, deployment } = settings;
  if (terms === undefined) return;
  const form = element("form", { class: "unconnected" });
  const figures = {
    protocolFeeBps: BigInt(terms.protocol_fee_bps),
    guardianFeeBps: BigInt(terms.guardian_fee_bps),
    revealDelay: BigInt(terms.reveal_delay_seconds),
  };
  editor ??= Journal.open(deployment).then((drafts) => Editor.open({ drafts, token: terms.token, figures }));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    goOn();
  });
  editor.then(
    ({ shown }) => {
      form.append(...shown, element("p", { class: "buttons" }, element("button", {}, "Continue with a wallet")));
      place.prepend(form); // whole, so that the page's end moves once
    },
    () => {
      editor = undefined; // a browser that keeps nothing says so once a wallet is there
    },
  );
}

/** Offered to everyone on the page for it. */
export const PUBLISHING: Offer = {
  title: "Publish and fund a challenge",
  text: "Your text is kept in this browser until the bounty exists.",
  button: "Write the page",
  begins: "always",
  run: (acting) => acting.journal.alone("publish", () => publish(acting)),
};

async function publish(context: Acting): Promise<void> {
  const { stage } = context;
  const conditions = await readConditions(context);
  const desk = { ...context, figures: conditions, bounds: conditions };
  const form = await (editor ??= Editor.open(desk));
  form.use(desk);
  document.querySelector("form.unconnected")?.remove();
  for (;;) {
    const page = await stage.ask("", form.shown, "Continue", () => form.page(), false);
    try {
      return await publishPage(context, page);
    } catch (error) {
      if (!isAboutPage(error)) throw error;
      form.refuse(error);
    }
  }
}

/** From the page's exact text to the bounty; raises what is to be corrected on it. */
async function publishPage(context: Acting, page: string): Promise<void> {
  const { journal, stage } = context;
  const commitment = commitmentOf(page);
  stage.say("Checking whether this page was funded before.");
  const kept = await journal.get<Funding>(fundingName(commitment));
  const known = await escrowsOf(context, commitment, kept?.reported);
  const own = known.find(({ id, nonce }) => id === kept?.reported || (nonce && kept?.nonces.includes(nonce)));
  if (kept !== undefined && own !== undefined && kept.reported === undefined) {
    return reported(context, page, kept, own);
  }
  // Reported before, another one would be a second escrow; what nobody shows any more can only become itself again.
  const former = own === undefined ? kept : undefined;
  stage.say("Checking the terms against the contract's limits.");
  const job: Job = { commitment, page: pageTerms(page), conditions: await readConditions(context) };
  await requireStatedDelay(context, job.conditions.revealDelay);
  let funding = former && (await liveOf(context, former, job.conditions));
  if (funding === undefined) {
    requireFundable(context, job);
    await requireNoFindings(context, page);
    await requireNoOtherText(context, commitment);
  }
  await requireWanted(context, known, funding, funding === undefined ? former?.reported : undefined);
  if (funding === undefined) {
    await review(context, page, job);
    funding = await authorized(context, job, BigInt(1 + known.length), former);
  }
  const { args, transactionHash } = await create(context, job, funding);
  const created: Escrow = { id: args["bountyId"] as bigint, nonce: nonceOf(context, funding.terms) };
  await reported(context, page, funding, created, [transactionLine(context.settings, transactionHash)]);
}

/** Ends with the bounty; what was signed stays written down, so that a later visit can see whether it is there. */
export async function reported(
  context: Acting,
  page: string,
  funding: Funding,
  { id, nonce }: Escrow,
  more: readonly Node[] = [],
): Promise<void> {
  const { journal, stage } = context;
  const noted = async () => {
    await forgetPage(context, page);
    await journal.put(fundingName(commitmentOf(page)), { ...funding, reported: id });
    if (nonce !== undefined) await journal.remove(creationStep(nonce));
  };
  await noted().catch(() => undefined); // a later visit finds the same bounty
  editor = undefined;
  const link = element("a", { class: "save", href: `/bounties/${id}` }, `Bounty ${id}`);
  const next = element("p", {}, link, " ", "will have its page in a moment. Solvers find it in the list.");
  stage.done(`Funded as bounty ${id}.`, next, ...more);
}

/** Refuses terms that the Hub would refuse, all at once, and an account that cannot pay them. */
function requireFundable({ token, account }: Context, { page: terms, conditions }: Job): void {
  const { now, guardians, minJudgingWindow: least, maxJudgingWindow: most } = conditions;
  const [earliest, latest] = [now + conditions.minSubmissionWindow, now + conditions.maxSubmissionWindow];
  const { escrowAmount, submissionDeadline, judgingWindow } = terms;
  const wrong = against(escrowAmount, conditions, token);
  const checks: [boolean, string, string][] = [
    [wrong !== undefined, "escrow_amount", wrong ?? ""],
    [judgingWindow < least || judgingWindow > most, "judging_window_seconds", `must be ${least} to ${most} seconds`],
    [
      submissionDeadline < earliest || submissionDeadline > latest,
      "submission_deadline",
      `must be between ${moment(earliest)} and ${moment(latest)}, not ${moment(submissionDeadline)}`,
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
    nextAction: "Change the fields in the list, and continue.",
  });
}

/**
 * Has the person decide where the page has other bounties: also on a funding that is kept, as another machine may have
 * funded the page on other terms since; not again once its creation was begun. `lost` is one that was reported here.
 */
export async function requireWanted(
  context: Acting,
  known: readonly Escrow[],
  kept: Funding | undefined,
  lost: bigint | undefined,
): Promise<void> {
  const { stage } = context;
  const begun = kept && (await context.journal.get(creationStep(nonceOf(context, kept.terms))));
  if (begun !== undefined || (known.length === 0 && lost === undefined)) return;
  const facts: Fact[] = [];
  if (known.length > 0) facts.push(["Funded before as", known.map(({ id }) => `bounty ${id}`).join(", ")]);
  if (lost !== undefined) facts.push(["This browser saw", `bounty ${lost}; neither the wallet's node nor the service shows it now`]);
  facts.push(["A second escrow", "would create another bounty"]);
  await stage.confirm("This page was funded before", facts, ["Fund it once more"]);
}

/**
 * Refuses a page that the service's rules have something against, before anything is signed: `page_not_ready` with all of
 * it. A check that cannot be made stops nobody, since publishing has the page reviewed.
 */
async function requireNoFindings({ api, stage }: Acting, page: string): Promise<void> {
  stage.say("The service checks the page against its rules. It does not store the page.");
  const headers = { "Content-Type": "text/markdown" };
  const asked = () => answerOf(api.POST("/api/bounty-challenge-specs/check", { body: page, headers }));
  const found: unknown = await stage.until(asked).catch((error: unknown) => {
    if (!(error instanceof ServiceError) || error.code === "stopped") throw error;
  });
  const issues = typeof found === "object" && found !== null && "issues" in found ? found.issues : undefined;
  if (!Array.isArray(issues) || !issues.every(isIssue) || issues.length === 0) return;
  throw new ServiceError("page_not_ready", "By the service's rules the page is not ready to publish.", {
    issues,
    nextAction: "Nothing was signed or published. Change the fields in the list, and continue.",
  });
}

/** Has the page reviewed and stored, and compares everything in the answer with what is derived here. */
async function review(context: Acting, page: string, job: Job): Promise<void> {
  const { api, account, settings, token } = context;
  const { commitment, conditions } = job;
  const { title, escrowAmount, submissionDeadline, judgingWindow } = job.page;
  const size = new TextEncoder().encode(page).length;
  const headers = { "Content-Type": "text/markdown" };
  const params = { query: { poster_address: account } };
  const request: SignedRequest = {
    title: "Publish the page",
    name: `POST /api/bounty-challenge-specs/prepare-publication?poster_address=${account}`,
    isCharged: true,
    facts: [
      ["What it does", "has the page reviewed and published under your account, for everyone to read; no money moves yet"],
      ["Page", `${printable(title)}, ${bytes(size)}`],
      ["Commitment of the page", commitment],
    ],
  };
  const answer = await signed(context, request, () =>
    answerOf(api.POST("/api/bounty-challenge-specs/prepare-publication", { params, body: page, headers })),
  );
  const theirs = answer.authorization_typed_data["domain"] as Readonly<Record<string, unknown>> | undefined;
  const [given] = answer.create_bounty.args;
  const terms = Array.isArray(given) ? (given as readonly unknown[]).slice(0, 7) : [];
  const { protocolFee, guardianFee } = feesOf(escrowAmount, conditions);
  const amounts = [escrowAmount, submissionDeadline, judgingWindow, protocolFee, guardianFee].map(String);
  refuseDifferences("publication_mismatch", [
    ["spec_commitment", answer.spec_commitment, commitment],
    ["byte_length", answer.byte_length, size],
    ["chain_id", answer.chain_id, settings.deployment.chainId],
    ["hub_address", answer.hub_address, settings.deployment.hubAddress.toLowerCase()],
    ["escrow_token_address", answer.escrow_token_address, token.address.toLowerCase()],
    ["poster_address", answer.poster_address, account],
    ["guardian_roster", answer.guardian_roster.guardian_roster_hash, conditions.rosterHash],
    ["create_bounty.args", terms.join(" "), [commitment, conditions.rosterHash, ...amounts].join(" ")],
    ["authorization_typed_data.domain.name", theirs?.["name"], conditions.domain.name],
    ["authorization_typed_data.domain.version", theirs?.["version"], conditions.domain.version],
  ]);
}
