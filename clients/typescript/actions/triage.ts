/**
 * Which Submissions to open, before any work is downloaded. Accounts cost nothing, so one bounty may get many Submissions
 * that hold nothing: each is looked at by its envelope and the first bytes of its ciphertext, as `guardian:open --look`
 * does. What was found is kept in this browser, so that the look goes on later.
 */

import type { Address, Hex } from "viem";
import { answerOf, MOST_CONTENTS, readContents, ServiceError } from "../src/acting.js";
import type { ReadContent } from "../src/acting.js";
import { typed } from "./answers.js";
import { detailOf, signed } from "./api.js";
import type { Bounty } from "./bounty.js";
import type { Context } from "./context.js";
import { element, labelled } from "./dom.js";
import { contentKey, fetchedOf, keyringOf, openOne } from "./opening.js";
import { problem } from "./stage.js";
import type { Fact, Stage } from "./stage.js";
import { recordedOf } from "./submissions.js";
import { bytes, counted, moment, printable } from "./text.js";
import { openedName } from "./verdict.js";
import type { Recorded } from "./witnesses.js";

const AT_ONCE = 10;
const MOST_LETTERS = 400;
/** What says nothing of the Submission itself, and may be otherwise at the next look. */
const PASSING = new Set([
  "capsule_not_for_this_key",
  "begin_not_opened",
  "storage_refused",
  "submission_not_found",
  "solver_submission_content_invalid",
  "storage_verification_pending",
]);
/** Refusals after which a look signs the same request again; work that is still hashed is looked at later. */
const REPEATABLE = new Set(["unauthorized", "bounty_submission_content_authority_unavailable"]);
/** For how long what was read is good: a URL has at least two and a half minutes left when it is given. */
const READ_MILLISECONDS = 90_000;
const OF_ONE =
  /^(capsule_|timelock_|age_|envelope_mismatch$|invalid_solver_submission$|sealed_for_another$|binding_missing$)/;

type Refused = Extract<ReadContent, { refusal: unknown }>;

/** What a look found; without a code, everything before the work itself opens. */
interface Found {
  readonly byteLength?: number;
  readonly ciphertext?: Hex;
  readonly code?: string;
  readonly message?: string;
}

/** A Submission, numbered from 1 as the service lists them. */
interface Row extends Recorded {
  readonly number: number;
  readonly submittedAt: number;
  readonly record: string;
  found: Found | undefined;
  isSkipped: boolean;
  readonly isOpened: boolean;
}

type Choice = "look" | "open" | "skip" | "unskip";
const CHOICES: readonly (readonly [Choice, string])[] = [
  ["look", "Look at the chosen: their size, and whether they open"],
  ["open", "Open the chosen one"],
  ["skip", "Leave the chosen out"],
  ["unskip", "Take the chosen back in"],
];

/** Shows the Submissions that the service lists, and does what the Guardian wants with some, until he stops or opens one. */
export async function lookAtSubmissions(context: Context, stage: Stage, bounty: Bounty): Promise<void> {
  stage.say("The Submissions and the records of their accounts are looked up.");
  const { rows, unlisted } = await rowsOf(context, stage, bounty);
  let keyring: readonly string[] | undefined;
  let isBySize = false;
  let wrong: unknown;
  for (;;) {
    const asked = await choose(stage, rows, { unlisted, isBySize, keyring, wrong });
    ({ isBySize, keyring } = asked);
    const { choice, chosen } = asked;
    if (choice === "open") {
      const [one] = chosen;
      if (one !== undefined && keyring !== undefined) await openOne(context, stage, bounty, one, keyring);
      return;
    }
    wrong = undefined;
    if (choice === "look") {
      wrong = await look(context, stage, bounty, chosen, keyring ?? []).catch((error: unknown) => error);
    } else for (const row of chosen) await skip(context, bounty, row, choice === "skip");
  }
}

interface Listed {
  readonly rows: readonly Row[];
  /** How many further ones the service does not list. */
  readonly unlisted: number;
}

async function rowsOf(context: Context, stage: Stage, bounty: Bounty): Promise<Listed> {
  const detail = await detailOf(context, stage, bounty);
  const listed = detail.active_submissions; // the oldest first
  await recordedOf(context, listed, bounty.id);
  const rows: Row[] = [];
  for (let start = 0; start < listed.length; start += AT_ONCE) {
    const batch = listed.slice(start, start + AT_ONCE);
    const times = await firstTimes(
      context,
      batch.map(({ solver_address }) => solver_address),
    );
    const some = batch.map(async (each, at): Promise<Row> => {
      const one = { solver: each.solver_address as Address, commitment: each.submission_commitment as Hex };
      const [record, found, skipped, opened] = await Promise.all([
        recordOf(context, one.solver, times[at]),
        context.journal.get<Found>(foundName(bounty, one)),
        context.journal.get<boolean>(skippedName(bounty, one)),
        context.journal.get<boolean>(openedName(bounty.id, one)),
      ]);
      const number = start + at + 1;
      const known = { isSkipped: skipped === true, isOpened: opened === true };
      return { number, ...one, submittedAt: Number(each.submitted_at), record, found, ...known };
    });
    rows.push(...(await Promise.all(some)));
    stage.say(`The records of ${counted(rows.length, "account")} of ${listed.length} are looked up.`);
  }
  return { rows, unlisted: Math.max(0, Number(detail.active_submission_count) - rows.length) || 0 };
}

/** By the API, which may count wrongly and decides nothing; what was not looked up is named. */
async function recordOf({ api }: Context, solver: Address, firstTime: number | undefined): Promise<string> {
  const path = { account_address: solver };
  const won = await typed("AccountRecord", answerOf(api.GET("/api/accounts/{account_address}", { params: { path } })))
    .then((found) => {
      const [count, all] = [found.solver.won, found.solver.submitted].map(Number);
      return Number.isSafeInteger(count) && Number.isSafeInteger(all) ? `won ${count} of ${all}` : undefined;
    })
    .catch(nothing);
  const first = firstTime === undefined ? "its first Submission was not looked up" : `first Submission ${moment(firstTime)}`;
  return [won ?? "its record was not looked up", first].join(", ");
}

/** When each account's first Submission was that still counts: one query for all, since each is counted. */
async function firstTimes({ api }: Context, solvers: readonly string[]): Promise<(number | undefined)[]> {
  const parts = solvers.map(
    (solver, at) => `s${at}: submissions(where: {solver_address: "${solver}"}, orderBy: block_number, first: 1) { time }`,
  );
  const body = { query: `{ ${parts.join(" ")} }` };
  const answer = await typed("GraphqlAnswer", answerOf(api.POST("/subgraph", { body }))).catch(nothing);
  const lists = answer?.data as Record<string, { time?: unknown }[] | undefined> | null | undefined;
  return solvers.map((_, at) => {
    const time = Number(lists?.[`s${at}`]?.[0]?.time ?? Number.NaN);
    return Number.isSafeInteger(time) ? time : undefined;
  });
}

function nothing(): undefined {
  return undefined;
}

interface Asked {
  readonly choice: Choice;
  readonly chosen: readonly Row[];
  readonly isBySize: boolean;
  readonly keyring: readonly string[] | undefined;
}

/** What the list begins with. */
interface Shown {
  readonly unlisted: number;
  readonly isBySize: boolean;
  readonly keyring: readonly string[] | undefined;
  /** Why the last look ended early. */
  readonly wrong: unknown;
}

/** The list, and what is to be done with which of it. The keys are asked for once. */
async function choose(stage: Stage, rows: readonly Row[], shown: Shown): Promise<Asked> {
  const { unlisted, isBySize: wasBySize, keyring, wrong } = shown;
  stage.say(summaryOf(rows, unlisted));
  const boxes = new Map(rows.map((row) => [row, element("input", { type: "checkbox" })]));
  const list = element("ul", { class: "files", tabindex: "0" });
  const items = new Map(rows.map((row) => [row, element("li", {}, ...shownOf(row, rows, boxes.get(row)))]));
  const order = element("select", {}, element("option", {}, "As the service lists them"), element("option", {}, "Largest first"));
  order.selectedIndex = wasBySize ? 1 : 0;
  const arrange = () => {
    const isBySize = order.selectedIndex === 1;
    const size = ({ found }: Row) => found?.byteLength ?? -1;
    const sorted = isBySize ? [...rows].sort((left, right) => size(right) - size(left)) : rows;
    list.replaceChildren(...sorted.flatMap((row) => items.get(row) ?? []));
  };
  order.addEventListener("change", arrange);
  arrange();
  const action = element("select", {}, ...CHOICES.map(([, text]) => element("option", {}, text)));
  const keys = element("input", { type: "file" });
  const hint = "To look and to open. It is read here and sent nowhere; it is wanted once until this page is left.";
  const fields = [
    ...(wrong === undefined ? [] : [element("div", { class: "notice" }, ...problem(wrong))]),
    labelled("Order", order),
    list,
    labelled("What to do", action),
    ...(keyring === undefined ? [labelled("File with your encryption keys", keys, hint)] : []),
  ];
  return stage.ask("Which Submissions to open", fields, "Go on", async () => {
    const choice = CHOICES[action.selectedIndex]?.[0] ?? "look";
    const chosen = rows.filter((row) => boxes.get(row)?.checked === true);
    if (chosen.length === 0) throw new ServiceError("nothing_chosen", "Choose at least one Submission.");
    if (choice === "open" && chosen.length > 1) {
      throw new ServiceError("nothing_chosen", "Choose one Submission to open. The list is here again afterwards.");
    }
    const needsKeys = choice === "look" || choice === "open";
    return {
      choice,
      chosen,
      isBySize: order.selectedIndex === 1,
      keyring: needsKeys ? (keyring ?? (await keyringOf(keys))) : keyring,
    };
  });
}

/** What the list begins with; what is not known yet counts as not looked at. */
export function summaryOf(rows: readonly Pick<Row, "found">[], unlisted: number): string {
  const looked = rows.filter(({ found }) => found !== undefined && !isPassing(found));
  const opens = looked.filter(({ found }) => found?.code === undefined);
  const size = opens.reduce((sum, { found }) => sum + (found?.byteLength ?? 0), 0);
  const seen = `${looked.length} of ${counted(rows.length, "Submission")} looked at`;
  const rest = unlisted === 0 ? "" : ` The service lists no more; ${unlisted} further ones are shown by guardian:open --look.`;
  return `${seen}: ${opens.length} would open, ${bytes(size)} in all. One signature of the wallet looks at up to ${MOST_CONTENTS}.${rest}`;
}

/** Its box with its number, and what is known of it. */
function shownOf(row: Row, rows: readonly Row[], box?: HTMLInputElement): Node[] {
  const { number, solver, commitment, submittedAt, record, found, isSkipped, isOpened } = row;
  const same = sameAs(row, rows);
  const facts: string[] = [
    `Submission ${commitment} of ${solver}, ${moment(submittedAt)}`,
    record,
    found?.byteLength === undefined ? "" : bytes(found.byteLength),
    same,
    isOpened ? "opened here" : "",
    isSkipped ? "left out" : "",
    resultOf(found),
  ];
  const text = element("p", {}, facts.filter((fact) => fact !== "").join("; "));
  return box === undefined ? [text] : [labelled(`Number ${number}`, box), text];
}

/** In words, what a look found. */
export function resultOf(found: Found | undefined): string {
  if (found === undefined) return "not looked at";
  if (found.code === undefined) return "opens";
  return `${isPassing(found) ? "not known yet" : "does not open"}: ${found.message ?? found.code}`;
}

function isPassing({ code }: Found): boolean {
  return code !== undefined && PASSING.has(code);
}

/** What an earlier one has in common with it. Work opens for its own Solver alone, so the earlier one may be the copy. */
function sameAs({ number, commitment, found }: Row, rows: readonly Row[]): string {
  const earlier = rows.filter((other) => other.number < number);
  const copied = earlier.find((other) => other.commitment === commitment);
  if (copied !== undefined) return `the commitment of number ${copied.number}, which opens for one account alone`;
  const sealed = found?.ciphertext && earlier.find((other) => other.found?.ciphertext === found.ciphertext);
  return sealed ? `the sealed bytes of number ${sealed.number}` : "";
}

async function look(
  context: Context,
  stage: Stage,
  bounty: Bounty,
  chosen: readonly Row[],
  keyring: readonly string[],
): Promise<void> {
  let waiting = chosen;
  let isExplained = false;
  while (waiting.length > 0) {
    const batch = waiting.slice(0, MOST_CONTENTS);
    const contents = await contentsOf(context, stage, bounty, batch, waiting.length, isExplained);
    const readAt = performance.now();
    const again: Row[] = [];
    for (const row of batch) {
      const read = contents.get(row.commitment);
      if (read === undefined) throw new Error("a Submission that was not asked for");
      if (performance.now() - readAt > READ_MILLISECONDS || isUnread(read)) {
        again.push(row);
        continue;
      }
      row.found = await lookAt(context, stage, bounty, row, read, keyring).catch((error: unknown) => {
        throw numbered(row, error);
      });
      if (isPassing(row.found)) continue;
      await context.journal.put(foundName(bounty, row), row.found);
    }
    const [first] = [...contents.values()].filter(isUnread);
    if (again.length === batch.length && first !== undefined) throw first.refusal;
    waiting = [...again, ...waiting.slice(batch.length)];
    isExplained = true;
  }
}

/** Whether the storage was too slow for this one among many, which are asked for again. */
function isUnread(read: ReadContent): read is Refused {
  return "refusal" in read && read.refusal.code === "storage_unavailable";
}

/** What the service has of some, by one signature; a commitment that was copied is asked for once. */
async function contentsOf(
  context: Context,
  stage: Stage,
  bounty: Bounty,
  batch: readonly Row[],
  count: number,
  isExplained: boolean,
): Promise<ReadonlyMap<Hex, ReadContent>> {
  const commitments = [...new Set(batch.map(({ commitment }) => commitment))];
  const facts: Fact[] = [["What it does", `gets the envelopes of ${counted(batch.length, "Submission")}, and reads where they begin`]];
  const more = Math.ceil(count / MOST_CONTENTS) - 1;
  if (more > 0) {
    facts.push(["Then the wallet asks again", `${counted(more, "time")}: ${count} are chosen, and a signature is for ${MOST_CONTENTS}`]);
  }
  const request = `POST /api/bounties/${bounty.id}/submissions/contents`;
  const read = () => readContents(context.api, bounty.id, commitments);
  const found = await signed(context, stage, "Read the sealed work", request, facts, read, isExplained, REPEATABLE);
  return new Map(found.map((each) => [each.commitment, each]));
}

/** One Submission; an API, a storage or a beacon that does not answer ends the look, and what was found is kept. */
async function lookAt(
  context: Context,
  stage: Stage,
  bounty: Bounty,
  row: Row,
  read: ReadContent,
  keyring: readonly string[],
): Promise<Found> {
  const { openBegin } = await import("./work.js");
  let facts: Found = {};
  if ("refusal" in read) {
    if (!PASSING.has(read.refusal.code)) throw read.refusal;
    return refusedBy(facts, read.refusal); // the service's word, and no fault of the work
  }
  try {
    const fetched = await fetchedOf(context, bounty, row, read.content);
    const { byte_length: byteLength, sha256: ciphertext } = fetched.envelope.ciphertext;
    facts = { byteLength, ciphertext };
    const identity = await contentKey(context, stage, bounty, fetched, keyring);
    await openBegin(fetched.downloadUrl, identity, byteLength);
    return facts;
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    if (!OF_ONE.test(error.code) && !PASSING.has(error.code)) throw error;
    return refusedBy(facts, error);
  }
}

/** An error that ends the look, with the number at which it did: the others can be looked at without it. */
export function numbered({ number }: Pick<Row, "number">, error: unknown): unknown {
  if (!(error instanceof ServiceError)) return error;
  const { code, message, issues, nextAction } = error;
  return new ServiceError(code, `At number ${number}: ${message}`, { issues, nextAction, cause: error });
}

function refusedBy(facts: Found, { code, message }: ServiceError): Found {
  return { ...facts, code, message: printable(message, MOST_LETTERS) };
}

async function skip({ journal }: Context, bounty: Bounty, row: Row, isSkipped: boolean): Promise<void> {
  row.isSkipped = isSkipped;
  await journal.put(skippedName(bounty, row), isSkipped);
}

// By account, too: whoever copies a commitment, which opens for its own Solver alone, must not speak for it.
function foundName({ id }: Bounty, { solver, commitment }: Recorded): string {
  return `looked ${id} ${solver} ${commitment}`;
}

function skippedName({ id }: Bounty, { solver, commitment }: Recorded): string {
  return `left-out ${id} ${solver} ${commitment}`;
}
