/** The Submissions of a bounty: as the API lists them, each held against the Hub, and as a numbered table. */

import type { Address } from "viem";
import { disagreement } from "../src/acting.js";
import { detailOf } from "./api.js";
import type { Bounty } from "./bounty.js";
import type { Acting } from "./context.js";
import { button, element } from "./dom.js";
import { counted, short } from "./text.js";
import { activeOf } from "./witnesses.js";
import type { Recorded } from "./witnesses.js";
import { t } from "./words.js";

/** A Submission that the Hub records, by its number on the page: the earliest is the first. */
export interface Numbered extends Recorded {
  readonly number: number;
}

/** What is known of a bounty's Submissions. */
export interface Listing {
  readonly recorded: readonly Numbered[];
  /** How many further ones the API counts, and lists nowhere: a stranger can record a thousand for a few dollars. */
  readonly unlisted: number;
}

/** In the place of a number: the earliest Submission is the first. */
const NONE = 0;

/**
 * Lists the Submissions of a bounty: of its detail, which has the first thousand, each looked up in the Hub and numbered as
 * the page does. `sources_disagree` where the wallet's node has another one of a Solver: a Verdict would be for work that
 * nobody opened.
 */
export async function listingOf(context: Acting, bounty: Bounty): Promise<Listing> {
  const { active_submissions: listed, active_submission_count: count } = await detailOf(context, bounty);
  const sorted = [...listed].sort(
    (left, right) =>
      Number(left.submitted_at) - Number(right.submitted_at) || (left.solver_address < right.solver_address ? -1 : 1),
  );
  const looked = sorted.map(async ({ solver_address, submission_commitment }, at) => {
    const solver = solver_address as Address;
    const commitment = await activeOf(context, bounty.id, solver);
    if (commitment !== submission_commitment) {
      const theirs = t`the API lists Submission ${submission_commitment} of ${solver}`;
      throw disagreement("submission", theirs, t`the wallet's node has ${commitment}`);
    }
    return { solver, commitment, number: at + 1 };
  });
  return { recorded: await Promise.all(looked), unlisted: Math.max(0, Number(count) - listed.length) };
}

/** Says what is missing from a choice among them. */
export function unlistedNote({ unlisted }: Listing): HTMLElement[] {
  if (unlisted === 0) return [];
  const text = t`${counted(unlisted, "Submission")} cannot be chosen: the service counts and does not list them. service-cli guardian:open reads all from the chain.`;
  return [element("p", { class: "warning" }, text)];
}

/** Names a Submission as every part of the pages does. */
export function submissionName({ number, solver }: Numbered): string {
  return t`Submission ${number} · ${short(solver)}`;
}

/** Makes a table of Submissions, each to be opened or awarded. */
export function workTable(recorded: readonly Numbered[], opened: ReadonlySet<number>, open: (work: Numbered) => void): HTMLElement {
  const group = `verdict-${crypto.randomUUID()}`;
  const award = (number: number, text: string, title = ""): HTMLElement => {
    const radio = element("input", { type: "radio", name: group, value: String(number), id: `${group}-${number}` });
    return element("th", { scope: "row" }, radio, " ", element("label", { for: radio.id, title }, text));
  };
  const body = element("tbody");
  for (const work of recorded) {
    const { number, commitment } = work;
    const go = button(t`Open`, () => open(work));
    go.className = "quiet";
    go.setAttribute("aria-label", t`Open ${submissionName(work)}`);
    const hash = element("code", { class: "hash", title: commitment }, short(commitment));
    const seen = element("td", { "data-opened": String(number) }, opened.has(number) ? openedHere() : "");
    body.append(element("tr", {}, award(number, submissionName(work), commitment), element("td", {}, hash), seen, element("td", {}, go)));
  }
  body.append(element("tr", {}, award(NONE, t`No valid Submission`), element("td", { colspan: "3" })));
  return element("table", { class: "works" }, body);
}

/** Shows in a table that one was opened in this browser. */
export function showOpened(table: HTMLElement, { number }: Numbered): void {
  table.querySelector(`[data-opened="${number}"]`)?.replaceChildren(openedHere());
}

/** Gives what is chosen in a table: undefined where nothing is, else a list that is empty for no valid Submission. */
export function chosenIn(table: HTMLElement, recorded: readonly Numbered[]): readonly Numbered[] | undefined {
  const chosen = table.querySelector<HTMLInputElement>("input:checked");
  return chosen === null ? undefined : recorded.filter(({ number }) => number === Number(chosen.value));
}

function openedHere(): HTMLElement {
  return element("span", { class: "yes" }, t`opened here`);
}
