/** The Submissions of a bounty: as the API lists them, each held against the Hub, and as a numbered table. */

import type { Address } from "viem";
import { disagreement, ServiceError } from "../src/acting.js";
import { detailOf } from "./api.js";
import type { Bounty } from "./bounty.js";
import type { Acting } from "./context.js";
import { button, element } from "./dom.js";
import { short } from "./text.js";
import { activeOf } from "./witnesses.js";
import type { Recorded } from "./witnesses.js";
import { t } from "./words.js";

/** A Submission that the Hub records, by its number on the page: the earliest is the first. */
export interface Numbered extends Recorded {
  readonly number: number;
}

/**
 * Lists the Submissions of a bounty: of its detail, which has the first thousand, each looked up in the Hub and numbered as
 * the page does. `sources_disagree` where the wallet's node has another one of a Solver: a Verdict would be for work that
 * nobody opened.
 */
export async function listingOf(context: Acting, bounty: Bounty): Promise<readonly Numbered[]> {
  const { active_submissions: listed, active_submission_count: count } = await detailOf(context, bounty);
  if (Number(count) > listed.length) {
    throw new ServiceError("submissions_unlisted", t`The bounty has more Submissions than this page can show.`, {
      nextAction: t`Judge it with service-cli, which reads all of them from the chain.`,
    });
  }
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
  return Promise.all(looked);
}

/** Names a Submission as every part of the pages does. */
export function submissionName({ number, solver }: Numbered): string {
  return t`Submission ${number} · ${short(solver)}`;
}

/** A table of Submissions, each to be opened or awarded. */
export class WorkTable {
  readonly place = element("table", { class: "works" });
  readonly #opened = new Map<number, HTMLElement>();
  readonly #awards = new Map<HTMLInputElement, Numbered | undefined>();

  constructor(recorded: readonly Numbered[], opened: ReadonlySet<number>, open: (work: Numbered) => void) {
    const group = `verdict-${crypto.randomUUID()}`;
    const body = element("tbody");
    const award = (work: Numbered | undefined, text: string): HTMLElement => {
      const radio = element("input", { type: "radio", name: group, id: `${group}-${this.#awards.size}` });
      this.#awards.set(radio, work);
      const label = element("label", { for: radio.id, ...(work && { title: work.commitment }) }, text);
      return element("th", { scope: "row" }, radio, " ", label);
    };
    for (const work of recorded) {
      const isOpened = element("span", { class: "yes" }, t`opened here`);
      isOpened.hidden = !opened.has(work.number);
      this.#opened.set(work.number, isOpened);
      const go = button(t`Open`, () => open(work));
      go.className = "quiet";
      go.setAttribute("aria-label", t`Open ${submissionName(work)}`);
      const hash = element("code", { class: "hash", title: work.commitment }, short(work.commitment));
      const cells = [award(work, submissionName(work)), element("td", {}, hash), element("td", {}, isOpened), element("td", {}, go)];
      body.append(element("tr", {}, ...cells));
    }
    body.append(element("tr", {}, award(undefined, t`No valid Submission`), element("td", { colspan: "3" })));
    this.place.append(body);
  }

  /** Shows that one was opened in this browser. */
  open({ number }: Numbered): void {
    const shown = this.#opened.get(number);
    if (shown !== undefined) shown.hidden = false;
  }

  /** Gives what is chosen: undefined where nothing is, else a list that is empty for no valid Submission. */
  get chosen(): readonly Numbered[] | undefined {
    for (const [radio, work] of this.#awards) if (radio.checked) return work === undefined ? [] : [work];
    return undefined;
  }
}
