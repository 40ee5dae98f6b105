/** The Submissions of a bounty: as the API lists them, each held against the Hub, and as a numbered table. */

import type { Address } from "viem";
import { disagreement } from "../src/acting.js";
import { detailOf } from "./api.js";
import type { Bounty } from "./bounty.js";
import type { Acting } from "./context.js";
import { button, element } from "./dom.js";
import { counted, short } from "./text.js";
import { activeOf, type Recorded } from "./witnesses.js";

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
      const theirs = `the API lists Submission ${submission_commitment} of ${solver}`;
      throw disagreement("submission", theirs, `the wallet's node has ${commitment}`);
    }
    return { solver, commitment, number: at + 1 };
  });
  return { recorded: await Promise.all(looked), unlisted: Math.max(0, Number(count) - listed.length) };
}

/** Says what is missing from a choice among them. */
export function unlistedNote({ unlisted }: Listing): HTMLElement[] {
  if (unlisted === 0) return [];
  const text = `${counted(unlisted, "Submission")} cannot be chosen: the service counts and does not list them. service-cli guardian:open reads all from the chain.`;
  return [element("p", { class: "warning" }, text)];
}

/** Names a Submission as every part of the pages does. */
export function submissionName({ number, solver }: Numbered): string {
  return `Submission ${number} · ${short(solver)}`;
}

/** A table in which each Submission is opened or awarded; without a choice of the person nothing is chosen. */
export function workTable(recorded: readonly Numbered[], opened: ReadonlySet<number>, open: (work: Numbered) => void) {
  const name = `verdict-${crypto.randomUUID()}`;
  const body = element("tbody");
  const radios = new Map<HTMLInputElement, Numbered | undefined>();
  const seen = new Map<Numbered, HTMLElement>();
  const award = (work: Numbered | undefined, text: string): HTMLElement => {
    const radio = element("input", { type: "radio", name, id: `${name}-${radios.size}` });
    radios.set(radio, work);
    return element("th", { scope: "row" }, radio, " ", element("label", { for: radio.id, title: work?.commitment ?? "" }, text));
  };
  const showOpened = (work: Numbered) => seen.get(work)?.replaceChildren(element("span", { class: "yes" }, "opened here"));
  for (const work of recorded) {
    const go = button("Open", () => open(work), "quiet");
    go.setAttribute("aria-label", `Open ${submissionName(work)}`);
    const hash = element("code", { class: "hash", title: work.commitment }, short(work.commitment));
    const cell = element("td");
    seen.set(work, cell);
    if (opened.has(work.number)) showOpened(work);
    body.append(element("tr", {}, award(work, submissionName(work)), element("td", {}, hash), cell, element("td", {}, go)));
  }
  body.append(element("tr", {}, award(undefined, "No valid Submission"), element("td", { colspan: "3" })));
  /** Gives what is chosen, if anything is; of that undefined is no valid Submission. */
  const chosen = (): readonly [Numbered | undefined] | undefined => {
    const checked = [...radios.keys()].find((radio) => radio.checked);
    return checked && [radios.get(checked)];
  };
  return { place: element("table", { class: "works" }, body), chosen, showOpened };
}
