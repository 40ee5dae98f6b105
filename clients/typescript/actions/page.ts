/** A challenge page made of what a person filled in; the format is docs/poster.md. */

import { parseUnits } from "viem";
import type { Issue } from "../src/acting.js";
import { counted, type Token } from "./text.js";

/** The fields of the form. Lists have an entry on each line. */
export interface Filled {
  readonly title: string;
  readonly summary: string;
  /** In whole tokens. */
  readonly escrow: string;
  /** In seconds since 1970. */
  readonly deadline: number | undefined;
  readonly window: string;
  /** Seconds. */
  readonly windowUnit: string;
  readonly criteria: string;
  readonly deliverables: string;
  readonly language: string;
  readonly contact: string;
  /** Words, with commas or spaces between them. */
  readonly tags: string;
  readonly body: string;
  /** A whole page in the place of all of these, or empty. */
  readonly finished: string;
}

/** The fields of the frontmatter, and the field of the form that each is made of. */
const FIELD_OF: Readonly<Record<string, keyof Filled>> = {
  title: "title",
  summary: "summary",
  escrow_amount: "escrow",
  submission_deadline: "deadline",
  judging_window_seconds: "window",
  acceptance_criteria: "criteria",
  deliverables: "deliverables",
  language: "language",
  contact: "contact",
  tags: "tags",
  body: "body",
};

const LINE = /^Line ([0-9]+): ([\s\S]*)$/;
const ENTRY = /^([a-z_]+)\[([0-9]{1,3})\]$/;
/** Written as it is; everything else in quotes, which YAML reads as JSON does. */
const PLAIN = /^[\p{L}\p{N}](?:[\p{L}\p{N} ,.()/-]*[\p{L}\p{N}.)])?$/u;
const LINE_BREAKS = /[\u0085\u2028\u2029]/g;

/** The page's exact text; raises nothing: `missing` names what it cannot be made of. */
export function pageOf(filled: Filled, token: Token): string {
  if (filled.finished !== "") return filled.finished.replace(/\r\n?/g, "\n");
  const lines = [
    "version: 1",
    `title: ${scalar(filled.title)}`,
    `summary: ${scalar(filled.summary)}`,
    `escrow_amount: ${escrowOf(filled.escrow, token) ?? 0n}`,
    `submission_deadline: ${filled.deadline ?? 0}`,
    `judging_window_seconds: ${windowOf(filled) ?? 0}`,
    ...list("acceptance_criteria", filled.criteria),
    ...list("deliverables", filled.deliverables),
    ...(["language", "contact"] as const).flatMap((name) =>
      filled[name].trim() === "" ? [] : [`${name}: ${scalar(filled[name])}`],
    ),
    ...(filled.tags.trim() === "" ? [] : list("tags", filled.tags.toLowerCase().trim().split(/[\s,]+/).join("\n"))),
  ];
  return `---\n${lines.join("\n")}\n---\n${filled.body.replace(/\r\n?/g, "\n").trimEnd()}\n`;
}

/** What is still to be filled in, under the names of the frontmatter. */
export function missing(filled: Filled, token: Token): Issue[] {
  if (filled.finished !== "") return [];
  const empty = (text: string) => text.trim() === "";
  const amount = `Write an amount in ${token.symbol} such as 25 or 12.50, with at most ${counted(token.decimals, "decimal")} and no commas.`;
  const all: [boolean, string, string][] = [
    [empty(filled.title), "title", "Write in one line what should be made."],
    [empty(filled.summary), "summary", "Write in two or three sentences what it does and for whom."],
    [escrowOf(filled.escrow, token) === undefined, "escrow_amount", amount],
    [filled.deadline === undefined, "submission_deadline", "Choose a day and a time."],
    [windowOf(filled) === undefined, "judging_window_seconds", "Write a whole number above 0."],
    [empty(filled.criteria), "acceptance_criteria", "Write at least one check that two people would decide the same way."],
    [empty(filled.deliverables), "deliverables", "Name at least one file or thing that the work contains."],
    [empty(filled.body), "body", "Write what is needed and why, what exists already, and how it will be judged."],
  ];
  return all.filter(([isWrong]) => isWrong).map(([, path, message]) => ({ path, message }));
}

/** Smallest units of an amount in tokens, with a point before its decimals; undefined for anything else, and for none. */
export function escrowOf(text: string, { decimals }: Token): bigint | undefined {
  const found = /^([0-9]{1,30})(?:\.([0-9]{1,30}))?$/.exec(text.trim());
  if (found === null || (found[2]?.length ?? 0) > decimals) return undefined;
  const units = parseUnits(text.trim(), decimals);
  return units > 0n ? units : undefined;
}

/** Seconds since 1970 of a day and a time by the reader's clock, as a field of that kind has it. */
export function deadlineOf(text: string): number | undefined {
  const seconds = Math.floor(new Date(text).getTime() / 1_000);
  return Number.isSafeInteger(seconds) && seconds > 0 ? seconds : undefined;
}

export function windowOf({ window, windowUnit }: Filled): number | undefined {
  const seconds = /^[0-9]{1,9}$/.test(window.trim()) ? Number(window) * Number(windowUnit) : 0;
  return Number.isSafeInteger(seconds) && seconds > 0 ? seconds : undefined;
}

/**
 * The field of the form in which an issue is to be corrected, and what it shows there; undefined where there is none. Lines
 * are counted from the first one of the text, before which the page has `linesBefore`.
 */
export function placed(
  { path, message }: Issue,
  linesBefore: number,
): { readonly field: keyof Filled; readonly text: string } | undefined {
  const entry = ENTRY.exec(path);
  const field = FIELD_OF[entry?.[1] ?? path];
  if (field === undefined) return undefined;
  const [, line, said = message] = LINE.exec(message) ?? [];
  const text = `${said.charAt(0).toUpperCase()}${said.slice(1)}`;
  if (entry !== null) return { field, text: `Entry ${Number(entry[2]) + 1}: ${text}` };
  return { field, text: field === "body" && line !== undefined ? `Line ${Number(line) - linesBefore}: ${text}` : text };
}

/** How many lines of a page come before its text. */
export function linesBeforeText(page: string): number {
  return /^---\n[\s\S]*?\n---\n/.exec(page)?.[0].match(/\n/g)?.length ?? 0;
}

function list(name: string, text: string): string[] {
  const lines = text.split(/\r\n?|\n/).map((line) => line.trim().replace(/^[-*] /, "").trim()); // as people type lists
  const entries = lines.filter((line) => line !== "");
  return entries.length === 0 ? [`${name}: []`] : [`${name}:`, ...entries.map((entry) => `  - ${quoted(entry)}`)];
}

function scalar(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return PLAIN.test(line) ? line : quoted(line);
}

function quoted(text: string): string {
  return JSON.stringify(text).replace(LINE_BREAKS, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
