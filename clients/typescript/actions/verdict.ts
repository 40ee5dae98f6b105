/** A Guardian judges: it opens Submissions, and its reasons are published and read back before its Verdict is recorded. */

import type { Address, Hex } from "viem";
import { answerOf, commitmentOf, ServiceError, verdictAct, type Deployment } from "../src/acting.js";
import { requireNoKey, signed } from "./api.js";
import { AWARDED, hubBounty, NO_VALID_SUBMISSION, type Bounty } from "./bounty.js";
import type { Acting, Context } from "./context.js";
import { element, labelled } from "./dom.js";
import { keyField, openedOf, openOne } from "./opening.js";
import { factList, Stage, type Fact } from "./stage.js";
import { listingOf, submissionName, unlistedNote, workTable, type Listing, type Numbered } from "./submissions.js";
import { counted, moment } from "./text.js";
import { carryOut, tolerated } from "./transactions.js";
import type { Offer } from "./view.js";
import type { Recorded } from "./witnesses.js";

const MAX_BYTES = 256 * 1024;
/** As in the client. */
const YES = "yes";

/** What the Hub holds of a Guardian on a bounty: the kind, of which 0 is none, the Solver and the Submission. */
type Held = readonly [kind: number, solver: Address, submission: Hex];

/** Offered to a Guardian of the pinned roster while the bounty can be judged. */
export function verdictOffers(context: Context, bounty: Bounty): Offer[] {
  const { isOpen, now, revealAt, judgingDeadline, hasSubmissions, guardians, quorum } = bounty;
  const isJudged = isOpen && hasSubmissions && revealAt <= now && now < judgingDeadline;
  if (!isJudged || !guardians.includes(context.account)) return [];
  return [
    {
      title: "Judge this bounty",
      text: bounty.hasVerdict
        ? `Your Verdict is recorded. You can replace it until ${moment(judgingDeadline)}.`
        : `Until ${moment(judgingDeadline)}. ${quorum} of ${guardians.length} Guardians decide.`,
      button: "Judge",
      begins: bounty.hasVerdict ? "again" : "alone",
      run: (acting) => record(acting, bounty),
    },
  ];
}

async function record(context: Acting, bounty: Bounty): Promise<void> {
  const { node, hub, account, settings, stage } = context;
  stage.say("Reading the Submissions.");
  const listing = await listingOf(context, bounty);
  const held = (): Promise<Held> => node.readContract({ ...hub, functionName: "getVerdict", args: [bounty.id, account] });
  const earlier = replaced(await held());
  const { named, reasons } = await decided(context, bounty, listing, earlier);
  const document = verdictDocument(settings.deployment, bounty.id, account, named, reasons);
  const commitment = commitmentOf(document);
  const unseen = await unopened(context, bounty, named, listing);
  const asked = named === undefined ? `Type ${YES} to record it unopened` : `Type ${YES} to award it unopened`;
  if (unseen.length > 0) await consented(stage, unseen, asked);
  const facts: Fact[] = [
    ...unseen,
    ["Your Verdict", named === undefined ? "no valid Submission" : `awards ${submissionName(named)}`],
    ...(named === undefined ? [] : [["The Submission", `${named.commitment} of ${named.solver}`] as const]),
  ];
  await publishReasons(context, bounty, document, commitment, [...earlier, ...facts, ["Your reasons", reasons.trim()]]);
  const winner = named && { solver: named.solver, submissionCommitment: named.commitment };
  await carryOut(context, {
    act: verdictAct(settings.deployment.hubAddress, bounty.id, account, winner, commitment),
    name: `verdict ${bounty.id} ${commitment}`,
    title: "Record the Verdict on the chain",
    facts: [
      ["What it does", `records your Verdict on bounty ${bounty.id}; a quorum of ${bounty.quorum} ends the bounty`],
      ...facts,
      ["Commitment of your reasons", commitment],
    ],
    ready: async () => replaced(await held()), // the form may have been open for long
    async holds() {
      const [kind, solver, submission] = await held();
      if (winner === undefined) return kind === NO_VALID_SUBMISSION;
      return kind === AWARDED && solver.toLowerCase() === winner.solver.toLowerCase() && submission === winner.submissionCommitment;
    },
    async result() {
      const after = await tolerated(hubBounty(context, bounty.id));
      return ["Your Verdict is recorded.", nextOf(bounty, after?.outcome)];
    },
  });
}

/** Says what comes after a Verdict, by what the bounty is then. */
function nextOf({ quorum }: Bounty, outcome: number | undefined): string {
  if (outcome === AWARDED) return "It decided the bounty. Next, deliver the key of the winning work: until a Guardian does, the Poster cannot open it.";
  if (outcome === NO_VALID_SUBMISSION) return "It decided the bounty: no Submission won. Next, claim your share on this page.";
  return `The bounty ends once ${quorum} Guardians agree. Next, claim your share on this page.`;
}

/** Publishes the written Verdict and reads it back. */
async function publishReasons(
  context: Acting,
  bounty: Bounty,
  document: string,
  commitment: Hex,
  facts: readonly Fact[],
): Promise<void> {
  const { api, stage } = context;
  const path = { report_commitment: commitment };
  const headers = { "Content-Type": "text/markdown" };
  const does: Fact = ["What it does", `publishes your reasons on bounty ${bounty.id}, for everybody and for good`];
  const request = { title: "Publish your reasons", name: `POST /api/written-verdicts/${commitment}`, facts: [does, ...facts] };
  await signed(context, request, () =>
    answerOf(api.POST("/api/written-verdicts/{report_commitment}", { params: { path }, body: document, headers })),
  );
  stage.say("Checking the published reasons.");
  const read = await stage.until(() =>
    answerOf(api.GET("/api/written-verdicts/{report_commitment}", { params: { path }, parseAs: "text" })),
  );
  if (read === document) return;
  throw new ServiceError("verdict_mismatch", "The published reasons differ from what was sent.", {
    nextAction: "Nothing was recorded on the chain. Report it to the operator.",
  });
}

/** Says what a Verdict takes the place of; nothing where there is none yet. */
function replaced([kind, solver, submission]: Held): Fact[] {
  if (kind === 0) return [];
  const what = kind === AWARDED ? `one that awards Submission ${submission} of ${solver.toLowerCase()}` : "one that finds no valid Submission";
  return [["Your earlier Verdict", `${what}; this one replaces it`, "warning"]];
}

/** Has Submissions opened and a Verdict written; what is written is kept, also for another Verdict that replaces this one. */
async function decided(context: Acting, bounty: Bounty, listing: Listing, earlier: readonly Fact[]) {
  const { recorded } = listing;
  const { journal, stage } = context;
  const keys = keyField();
  const opening = new Stage();
  const open = (work: Numbered) => {
    const opened = keys.read().then((keyring) => openOne({ ...context, stage: opening }, bounty, work, keyring));
    opened.then(() => table.showOpened(work), (error: unknown) => opening.fail(error));
  };
  const table = workTable(recorded, await openedOf(context, bounty, recorded), open);
  const reasons = element("textarea", { rows: "12", maxlength: "200000" });
  const draft = `verdict-draft ${bounty.id}`;
  reasons.value = (await journal.get<string>(draft)) ?? "";
  reasons.addEventListener("input", () => void journal.write(draft, reasons.value).catch(() => undefined)); // it is still shown
  const fields = [
    ...(earlier.length > 0 ? [factList(earlier, "proofs warned")] : []),
    keys.place,
    element("fieldset", { class: "verdict" }, element("legend", {}, "Award"), table.place),
    ...unlistedNote(listing),
    opening.place,
    labelled("Reasons", reasons, "Markdown. For each criterion, say what you ran or read and what the result was."),
  ];
  return stage.ask("Your Verdict", fields, "Continue", () => {
    const chosen = table.chosen();
    if (chosen === undefined) throw new ServiceError("nothing_chosen", "Choose your Verdict; none is preselected.");
    if (reasons.value.trim() === "") throw new ServiceError("reasons_unfinished", "There are no reasons yet.");
    requireNoKey("The reasons hold", reasons.value);
    return { named: chosen[0], reasons: reasons.value };
  });
}

/** Warns of a Verdict over work that was never opened in this browser. */
async function unopened(
  context: Context,
  bounty: Bounty,
  named: Numbered | undefined,
  { recorded, unlisted }: Listing,
): Promise<Fact[]> {
  const judged = named === undefined ? recorded : [named];
  const opened = await openedOf(context, bounty, judged);
  const count = judged.length - opened.size + (named === undefined ? unlisted : 0);
  if (count === 0) return [];
  const text = `${counted(count, "Submission")} that you are about to judge. A Verdict that decides the bounty cannot be changed.`;
  return [["Never opened in this browser", text, "warning"]];
}

/** Has a person type the same yes as `service-cli guardian:verdict` asks for, so that nobody judges unseen work by mistake. */
async function consented(stage: Stage, unseen: readonly Fact[], label: string): Promise<void> {
  const warned = factList(unseen, "proofs warned");
  warned.id = "unopened";
  const typed = element("input", { type: "text", autocomplete: "off", autocapitalize: "none", "aria-describedby": warned.id });
  await stage.ask("Work that you did not open", [warned, labelled(label, typed)], "Continue", () => {
    if (typed.value.trim() === YES) return;
    throw new ServiceError("work_not_opened", "This work was not opened in this browser. Nothing was signed.", {
      nextAction: `Press Not now and open it, or type ${YES} if you judged it elsewhere.`,
    });
  });
}

/** Writes the Verdict as docs/formats.md has it; addresses and commitments are quoted, so that YAML keeps them. */
export function verdictDocument(
  { chainId, hubAddress }: Deployment,
  bountyId: bigint,
  guardian: Address,
  named: Recorded | undefined,
  reasons: string,
): string {
  const fields = [
    "version: 1",
    `kind: ${named === undefined ? "no_valid_submission" : "awarded"}`,
    `chain_id: ${chainId}`,
    `hub_address: "${hubAddress.toLowerCase()}"`,
    `bounty_id: ${bountyId}`,
    `guardian_address: "${guardian}"`,
  ];
  if (named !== undefined) {
    fields.push(`solver_address: "${named.solver.toLowerCase()}"`, `submission_commitment: "${named.commitment}"`);
  }
  const document = `---\n${fields.join("\n")}\n---\n${reasons.replace(/\r\n?/g, "\n").trim()}\n`;
  if (new TextEncoder().encode(document).length <= MAX_BYTES) return document;
  throw new ServiceError("payload_too_large", "The reasons are longer than 256 KiB.", { nextAction: "Shorten them." });
}
