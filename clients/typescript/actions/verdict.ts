/** A Guardian's Verdict: its reasons are published and read back before the transaction that anchors them. */

import type { Address, Hex } from "viem";
import { answerOf, commitmentOf, hubCall, ServiceError } from "../src/acting.js";
import type { Deployment } from "../src/acting.js";
import { repeated, signed } from "./api.js";
import { AWARDED, NO_VALID_SUBMISSION } from "./bounty.js";
import type { Bounty } from "./bounty.js";
import type { Context } from "./context.js";
import { element, labelled } from "./dom.js";
import { heedStandstill } from "./halts.js";
import { requireNoKey } from "./keyless.js";
import type { ExpectedEvent } from "./node.js";
import { lookedAt } from "./paced.js";
import { finished } from "./results.js";
import type { Fact, Offer, Stage } from "./stage.js";
import { listingOf, unlistedNote } from "./submissions.js";
import type { Listing } from "./submissions.js";
import { counted, moment } from "./text.js";
import { confirmLast, perform } from "./transactions.js";
import { hasPassed } from "./witnesses.js";
import type { Recorded } from "./witnesses.js";

const NO_ADDRESS: Address = `0x${"0".repeat(40)}`;
const NO_BYTES32: Hex = `0x${"0".repeat(64)}`;
const MAX_BYTES = 256 * 1024;
const ELSEWHERE = "opened elsewhere";
const LOST = "the Hub holds none by now: a reorganisation of the chain may have taken it";

/** What the Hub holds of a Guardian on a bounty: the kind, of which 0 is none, the Solver and the Submission. */
type Held = readonly [kind: number, solver: Address, submission: Hex];

/** What a Guardian decides, and why. */
interface Decision {
  readonly named: Recorded | undefined;
  readonly reasons: string;
}

/** Offered to a Guardian of the pinned roster while the bounty can be judged. */
export function verdictOffers(context: Context, bounty: Bounty): Offer[] {
  const { isOpen, now, revealAt, judgingDeadline, hasSubmissions, guardians } = bounty;
  if (guardians.includes(context.account) && now >= judgingDeadline) void forgetDraft(context, bounty);
  const isJudgeable = isOpen && hasSubmissions && revealAt <= now && now < judgingDeadline;
  if (!isJudgeable || !guardians.includes(context.account)) return [];
  return [
    {
      title: "Record your Verdict",
      text: `As a Guardian of this bounty, until ${moment(judgingDeadline)}. ${bounty.quorum} of ${guardians.length} decide.`,
      button: "Write the Verdict",
      run: (stage) => record(context, stage, bounty),
    },
  ];
}

async function record(context: Context, stage: Stage, bounty: Bounty): Promise<void> {
  const { api, node, hub, account, settings } = context;
  stage.say("The Submissions are looked up.");
  const listing = await listingOf(context, stage, bounty);
  await heedStandstill(context, stage, bounty.judgingDeadline, "A Verdict");
  const held = (): Promise<Held> => node.readContract({ ...hub, functionName: "getVerdict", args: [bounty.id, account] });
  let earlier = await held();
  stage.say(earlier[0] === 0 ? "" : "You have recorded a Verdict already; another one takes its place.");
  const { named, reasons } = await decided(context, stage, bounty, listing);
  await requireOpened(context, stage, bounty, named, listing);
  const document = verdictDocument(settings.deployment, bounty.id, account, named, reasons);
  const commitment = commitmentOf(document);
  const what: Fact = [
    "Your Verdict",
    named === undefined ? "no valid Submission" : `awards Submission ${named.commitment} of ${named.solver}`,
  ];
  const kind = `verdict ${bounty.id}`;
  const name = `${kind} ${commitment}`;
  const recording = (reportCommitment: Hex): ExpectedEvent => ({
    eventName: "VerdictRecorded",
    args: { bountyId: bounty.id, guardian: account, reportCommitment },
  });
  await confirmLast(context, stage, name, kind, recording);
  const path = { report_commitment: commitment };
  await signed(
    context,
    stage,
    "Publish your reasons",
    `POST /api/written-verdicts/${commitment}`,
    [
      ["What it does", `publishes your reasons on bounty ${bounty.id}, for everybody and for good`],
      what,
      ["Your reasons", reasons.trim()],
    ],
    () =>
      answerOf(
        api.POST("/api/written-verdicts/{report_commitment}", {
          params: { path },
          body: document,
          headers: { "Content-Type": "text/markdown" },
        }),
      ),
  );
  stage.say("The reasons are read back.");
  const read = await repeated(stage, () => {
    const answer = api.GET("/api/written-verdicts/{report_commitment}", { params: { path }, parseAs: "text" });
    return answerOf(answer as Promise<{ data?: unknown; response: Response }>);
  });
  if (read !== document) {
    throw new ServiceError("verdict_mismatch", "The reasons read back differently from what was sent.", {
      nextAction: "Nothing was recorded on the chain. Report it to the operator.",
    });
  }
  const outcome = named === undefined ? NO_VALID_SUBMISSION : AWARDED;
  const { solver, commitment: submission } = named ?? { solver: NO_ADDRESS, commitment: NO_BYTES32 };
  const own: Held = [outcome, solver, submission];
  const found = await perform(context, stage, {
    name,
    title: "Record the Verdict on the chain",
    act: "verdict",
    functionName: "recordVerdict",
    call: hubCall(settings.deployment.hubAddress, "recordVerdict", [bounty.id, outcome, solver, submission, commitment]),
    facts: [
      ["What it does", `records your Verdict on bounty ${bounty.id}; a quorum of ${bounty.quorum} ends the bounty`],
      what,
      ["Commitment of your reasons", commitment],
    ],
    ready: async () => {
      const before = earlier;
      earlier = await heldByNow(held, [before, own]); // the form may have been open for long
      return replacing(stage, before, earlier, own);
    },
    expected: recording(commitment),
    holds: async () => isSame(await held(), own),
  });
  const next = `The bounty ends once ${bounty.quorum} Guardians agree. Next, claim your share on this page.`;
  finished(settings, stage, "Your Verdict is recorded, by transaction", found, next);
}

function isSame([kind, solver, submission]: Held, other: Held): boolean {
  return kind === other[0] && solver.toLowerCase() === other[1].toLowerCase() && submission === other[2];
}

function said([kind, solver, submission]: Held): string {
  return kind === AWARDED ? `awards Submission ${submission} of ${solver.toLowerCase()}` : "finds no valid Submission";
}

/** What the Hub holds, looked at again where it is none of the `expected`. */
export function heldByNow(held: () => Promise<Held>, expected: readonly Held[]): Promise<Held> {
  return lookedAt(held, (now) => expected.some((each) => isSame(now, each)));
}

/**
 * What a Verdict takes the place of. Where that is neither what the Hub held `before` nor the Verdict itself, it was recorded
 * elsewhere while this one was written: the Guardian decides.
 */
export async function replacing(stage: Stage, before: Held, now: Held, own: Held): Promise<Fact[]> {
  if (now[0] === 0) return before[0] === 0 ? [] : [["Your earlier Verdict", LOST]];
  const what = `one that ${said(now)}`;
  if (!isSame(now, before) && !isSame(now, own)) {
    stage.say("");
    const facts: Fact[] = [
      ["What the Hub holds by now", what],
      ["If you did not record it", "somebody else has the key of your account"],
      ["If you go on", "yours takes its place"],
    ];
    await stage.confirm("Your Verdict was changed elsewhere meanwhile", facts, "Go on with this one");
  }
  return [["Your earlier Verdict", `${what}, is replaced by this one`]];
}

/** Forgets what was written once no Verdict can be recorded any more; until then a reorg may take the one that is there. */
async function forgetDraft(context: Context, bounty: Bounty): Promise<void> {
  const forget = async () => {
    if (await hasPassed(context, bounty.judgingDeadline)) await context.journal.forgetWritten(draftName(bounty, context.account));
  };
  await forget().catch(() => undefined); // a later visit does
}

/** The form; what is written in it is kept, also for another Verdict that takes this one's place. */
async function decided(
  { journal, account }: Context,
  stage: Stage,
  bounty: Bounty,
  listing: Listing,
): Promise<Decision> {
  const select = element("select", {}, element("option", {}, "Choose your Verdict"));
  const choices: (Recorded | undefined)[] = [...listing.recorded, undefined];
  for (const each of choices) {
    const text = each === undefined ? "No valid Submission" : `Award ${each.solver}, Submission ${each.commitment}`;
    select.append(element("option", {}, text));
  }
  const reasons = element("textarea", { rows: "12", maxlength: "200000" });
  await journal.keepWritten(draftName(bounty, account), reasons);
  const fields = [
    ...unlistedNote(listing),
    labelled("Verdict", select),
    labelled("Reasons", reasons, "Markdown. Say what you ran or read for each criterion, and what came out."),
  ];
  return stage.ask("Your Verdict", fields, "Go on", () => {
    if (select.selectedIndex === 0) {
      throw new ServiceError("nothing_chosen", "Choose your Verdict: no choice is made for you.");
    }
    if (reasons.value.trim() === "") throw new ServiceError("reasons_unfinished", "There are no reasons yet.");
    requireNoKey("The reasons hold", reasons.value);
    return { named: choices[select.selectedIndex - 1], reasons: reasons.value };
  });
}

/** A Verdict over work that was never opened in this browser is meant only where the Guardian writes so. */
async function requireOpened(
  { journal }: Context,
  stage: Stage,
  bounty: Bounty,
  named: Recorded | undefined,
  { recorded, unlisted }: Listing,
): Promise<void> {
  const judged = named === undefined ? recorded : [named];
  const isOpened = await Promise.all(judged.map((each) => journal.get(openedName(bounty.id, each))));
  const unopened = isOpened.filter((each) => each === undefined).length + (named === undefined ? unlisted : 0);
  if (unopened === 0) return;
  const [title, what] =
    named === undefined
      ? ["You find none valid without having opened all here", counted(unopened, "Submission was", "Submissions were")]
      : ["You award work that you have not opened here", `Submission ${named.commitment} of ${named.solver} was`];
  stage.say("");
  const typed = element("input", { autocomplete: "off", spellcheck: "false" });
  const text = `${what} never opened in this browser. A Verdict that decides cannot be taken back.`;
  const hint = `If you opened and judged it all elsewhere, or it does not open, write: ${ELSEWHERE}`;
  const fields = [element("p", { class: "warning" }, text), labelled("Your words", typed, hint)];
  await stage.ask(title, fields, "Go on", () => {
    if (typed.value.trim().toLowerCase() === ELSEWHERE) return;
    throw new ServiceError("unopened", `Open the work first, or write "${ELSEWHERE}".`);
  });
}

/** Under which a Submission is noted that was opened in this browser: by its account, too, since commitments are copied. */
export function openedName(bountyId: bigint, { solver, commitment }: Recorded): string {
  return `opened ${bountyId} ${solver} ${commitment}`;
}

/** By account: another Guardian of this browser does not publish these reasons as its own. */
function draftName({ id }: Bounty, account: Address): string {
  return `verdict-draft ${id} ${account}`;
}

/** The written Verdict, as docs/formats.md has it; addresses and commitments are quoted, so that YAML keeps them. */
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
