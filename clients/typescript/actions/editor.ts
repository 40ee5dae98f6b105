/**
 * Where a challenge page is written: in fields of which the page is made, or as a finished page. Everything that is typed
 * is kept in this browser, and a remark stands beside its field until the field is edited.
 */

import { pageTerms, ServiceError, type Issue } from "../src/acting.js";
import { requireNoKey } from "./api.js";
import { element, labelled } from "./dom.js";
import { feesOf, refundDay, type Conditions } from "./funding.js";
import type { Journal } from "./journal.js";
import { deadlineOf, escrowOf, linesBeforeText, missing, pageOf, placed, windowOf } from "./page.js";
import type { Filled } from "./page.js";
import { factList, problem, type Fact } from "./stage.js";
import { amount, counted, moment, type Token } from "./text.js";

const DRAFT = "page";
const MAX_BYTES = 256 * 1024;
const DAY = 86_400;
/** What a form begins with, and by how many days its deadline is to come. */
const BEGINNING: Partial<Filled> = { window: "3", windowUnit: String(DAY) };
const DEADLINE_DAYS = 7;
/** Refusals that are about what is on the page, so that it is corrected there. */
const ABOUT_PAGE = new Set([
  ...["invalid_bounty_challenge", "bounty_challenge_not_ready", "page_not_ready", "terms_refused"],
  ...["page_incomplete", "payload_too_large", "secret_in_document"],
]);

type Field = HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement;

/** What a form works with; a wallet brings better ones. */
export interface Desk {
  readonly drafts: Pick<Journal, "get" | "write" | "remove">;
  readonly token: Token;
  /** What is taken of an escrow, and when the work can be opened. */
  readonly figures: Pick<Conditions, "protocolFeeBps" | "guardianFeeBps" | "revealDelay">;
  /** What an amount is refused for, once an account is there. */
  readonly bounds?: Bounds;
}

type Bounds = Pick<Conditions, "held" | "minEscrow">;

/** Forgets what was written, once it is funded; another page, which another account may have begun since, is kept. */
export async function forgetPage({ drafts, token }: Pick<Desk, "drafts" | "token">, page: string): Promise<void> {
  const draft = await draftIn(drafts);
  if (draft !== undefined && pageOf(draft, token) === page) await drafts.remove(DRAFT);
}

/** Whether a refusal is about what is on the page. */
export function isAboutPage(error: unknown): error is ServiceError {
  return error instanceof ServiceError && ABOUT_PAGE.has(error.code);
}

export class Editor {
  readonly shown: readonly HTMLElement[];
  #desk: Desk;
  readonly #fields = {} as Record<keyof Filled, Field>;
  readonly #lists = new Map<keyof Filled, HTMLElement>();
  /** Why the page was not taken, by field, until the field is edited. */
  readonly #refused = new Map<keyof Filled, readonly string[]>();
  readonly #refusal = element("div", { role: "alert" });
  readonly #sums = element("div", { class: "sums" });

  /** Makes an editor with what was written before. */
  static async open(desk: Desk): Promise<Editor> {
    return new Editor(desk, await draftIn(desk.drafts));
  }

  private constructor(desk: Desk, draft: Filled | undefined) {
    this.#desk = desk;
    const form = this.#form(desk.token.symbol);
    for (const [name, value] of Object.entries(draft ?? BEGINNING)) {
      if (name !== "deadline") this.#fields[name as keyof Filled].value = value as string;
    }
    const deadline = draft === undefined ? Math.floor(Date.now() / 3_600_000) * 3_600 + DEADLINE_DAYS * DAY : draft.deadline;
    this.#fields.deadline.value = deadline === undefined ? "" : localText(deadline);
    const note = element("p", { class: "muted" }, "Nothing is sent before you continue, and nothing is published before you sign.");
    if (this.#fields.finished.value !== "") openFold(this.#fields.finished);
    this.shown = [this.#refusal, form, this.#sums, note];
    for (const [name, field] of Object.entries(this.#fields)) {
      field.addEventListener("input", () => this.#edited(name === "windowUnit" ? "window" : (name as keyof Filled)));
    }
    this.#mark();
  }

  /** Works with this from now on, as once a wallet is connected. */
  use(desk: Desk): void {
    this.#desk = desk;
    this.#mark();
  }

  /** Gives the page's exact text; raises what it cannot be published for, as far as that shows here. */
  async page(): Promise<string> {
    const { drafts, token } = this.#desk;
    this.#refusal.replaceChildren();
    this.#refused.clear();
    this.#mark();
    const filled = this.#filled;
    const issues = missing(filled, token);
    try {
      if (issues.length > 0) {
        const nextAction = "Nothing was sent.";
        throw new ServiceError("page_incomplete", "Some fields are not filled in yet.", { issues, nextAction });
      }
      const page = pageOf(filled, token);
      requireNoKey("The page holds", page);
      pageTerms(page);
      if (new TextEncoder().encode(page).length > MAX_BYTES) {
        throw new ServiceError("payload_too_large", "The page is larger than 256 KiB.", { nextAction: "Shorten it." });
      }
      await drafts.write(DRAFT, JSON.stringify(filled)); // the same text of the same fields, on each visit
      return page;
    } catch (error) {
      throw isAboutPage(error) ? this.#beside(error) : error;
    }
  }

  /** Shows why the page was not taken. */
  refuse(error: ServiceError): void {
    this.#refusal.replaceChildren(element("div", { class: "notice" }, ...problem(this.#beside(error))));
  }

  get #filled(): Filled {
    const values = Object.entries(this.#fields).map(([name, field]) => [name, field.value]);
    return { ...(Object.fromEntries(values) as Filled), deadline: deadlineOf(this.#fields.deadline.value) };
  }

  /** Gives a refusal whose issues stand beside their fields, and no longer in its own list. */
  #beside(error: ServiceError): ServiceError {
    const filled = this.#filled;
    if (filled.finished !== "") return error;
    const before = linesBeforeText(pageOf(filled, this.#desk.token));
    const left: Issue[] = [];
    for (const issue of error.issues) {
      const found = placed(issue, before);
      if (found === undefined) left.push(issue);
      else this.#refused.set(found.field, [...new Set([...(this.#refused.get(found.field) ?? []), found.text])]);
    }
    this.#mark();
    const count = error.issues.length - left.length;
    const message = count === 0 ? error.message : `${error.message} See ${counted(count, "remark")} below, each beside its field.`;
    return new ServiceError(error.code, message, { issues: left, nextAction: error.nextAction });
  }

  /** Puts beside each field what is wrong with it, as it is typed or by the last refusal; and what the terms come to. */
  #mark(): void {
    const filled = this.#filled;
    for (const [name, list] of this.#lists) {
      const typed = this.#wrongAsTyped(name, filled);
      const refused = filled.finished === "" || name === "finished" ? (this.#refused.get(name) ?? []) : [];
      const texts = typed === undefined ? refused : [typed];
      list.replaceChildren(...texts.map((each) => element("li", {}, each)));
      if (texts.length > 0) openFold(list);
      this.#fields[name].setAttribute("aria-invalid", String(texts.length > 0));
    }
    this.#sums.hidden = filled.finished !== "";
    this.#sums.replaceChildren(factList(outlookOf(this.#desk, filled), "totals"));
  }

  /**
   * Says what is wrong with a field as it is typed; nothing of one that is empty or replaced by a finished page, nor of the
   * deadline, whose year is another one with each digit.
   */
  #wrongAsTyped(name: keyof Filled, filled: Filled): string | undefined {
    const { token, bounds } = this.#desk;
    if (filled.finished !== "" || name === "deadline" || this.#fields[name].value.trim() === "") return undefined;
    const wrong = missing(filled, token).map((issue) => placed(issue, 0)).find((found) => found?.field === name);
    if (wrong !== undefined) return wrong.text;
    const escrow = name === "escrow" ? escrowOf(filled.escrow, token) : undefined;
    return escrow !== undefined && bounds !== undefined ? against(escrow, bounds, token) : undefined;
  }

  /** Makes the fields, each with its label, what it is for, and the place for what is wrong with it. */
  #form(symbol: string): HTMLElement {
    const clock = new Intl.DateTimeFormat("en", { timeZoneName: "longGeneric" });
    const name = clock.formatToParts(new Date()).find(({ type }) => type === "timeZoneName")?.value ?? "";
    const zone = `${name} (${clock.resolvedOptions().timeZone})`;
    const line = (attributes: Readonly<Record<string, string>>) => element("input", { type: "text", autocomplete: "off", ...attributes });
    const text = (rows: string, attributes = {}) => element("textarea", { rows, ...attributes });
    const window = this.#part("window", line({ inputmode: "numeric" }), "Judging window", "How long the Guardians have, once they can open the work.");
    const unit = (this.#fields.windowUnit = element("select", { "aria-label": "Unit of the judging window" }));
    for (const [seconds, name] of [[60, "minutes"], [3_600, "hours"], [DAY, "days"]] as const) {
      unit.append(element("option", { value: String(seconds) }, name));
    }
    this.#fields.window.insertAdjacentElement("afterend", unit);
    const entry = "One on each line. Each criterion stands alone, and two people must come to the same answer.";
    const whole = "Markdown with frontmatter, exactly as it will be published. It replaces all fields above.";
    return element(
      "div",
      { class: "editor" },
      this.#part("title", line({ maxlength: "200" }), "Title", "What is to be made, in one line."),
      this.#part("summary", text("3", { maxlength: "2000" }), "Summary", "What it does and for whom, in two or three sentences. It stands below the title."),
      this.#part("escrow", line({ inputmode: "decimal" }), `Escrow in ${symbol}`, "What you pay. The winner gets it less the fees."),
      this.#part("deadline", element("input", { type: "datetime-local" }), "Deadline", `Until when work is taken, by your clock: ${zone}.`),
      window,
      this.#part("criteria", text("5"), "Acceptance criteria", entry),
      this.#part("deliverables", text("3"), "Deliverables", "What the work contains, by name: one on each line."),
      this.#part("body", text("14"), "Text", "What is needed and why, what exists already, and how it will be judged. Markdown."),
      element(
        "details",
        {},
        element("summary", {}, "Language, contact and tags"),
        this.#part("language", line({ maxlength: "35", placeholder: "en" }), "Language", "A tag such as en or pt-BR; may be left out."),
        this.#part("contact", line({ maxlength: "200" }), "Contact", "Public for ever; may be left out."),
        this.#part("tags", line({ maxlength: "160" }), "Tags", "Up to five words such as parser or data, with commas; may be left out."),
      ),
      element("details", {}, element("summary", {}, "Use a finished page"), this.#part("finished", text("20"), "Page", whole)),
    );
  }

  #part(name: keyof Filled, field: Field, label: string, hint: string): HTMLElement {
    this.#fields[name] = field;
    const list = element("ul", { class: "remarks", id: `remarks-${name}` });
    this.#lists.set(name, list);
    const part = labelled(label, field, hint);
    field.setAttribute("aria-describedby", `${field.getAttribute("aria-describedby")} ${list.id}`);
    part.append(list);
    return part;
  }

  /** Keeps what is typed as it is: a reload, another account and a closed tab lose nothing of it. */
  #edited(name: keyof Filled): void {
    this.#refused.delete(name);
    this.#mark();
    void this.#desk.drafts.write(DRAFT, JSON.stringify(this.#filled)).catch(() => undefined); // it is still shown
  }
}

/** Says what contract and account have against an amount; undefined for nothing. */
export function against(escrow: bigint, { held, minEscrow }: Bounds, token: Token): string | undefined {
  if (escrow < minEscrow) return `Write at least ${amount(minEscrow, token)}.`;
  return escrow > held ? `Your account holds ${amount(held, token)} only.` : undefined;
}

/** Says what terms come to while they are written, with a wallet or without; nothing of it is signed. */
function outlookOf({ token, figures, bounds }: Desk, filled: Filled): Fact[] {
  const [escrow, deadline, window] = [escrowOf(filled.escrow, token), filled.deadline, windowOf(filled)];
  const shown: Fact[] = [];
  if (escrow !== undefined) {
    const { protocolFee, guardianFee } = feesOf(escrow, figures);
    shown.push(["You pay", amount(escrow, token)], ["The winner gets", amount(escrow - protocolFee - guardianFee, token)]);
  }
  if (bounds !== undefined) shown.push(["Your balance", amount(bounds.held, token)]);
  if (deadline !== undefined) shown.push(["Closes", moment(deadline)]);
  if (deadline !== undefined && window !== undefined) {
    const ends = BigInt(deadline) + figures.revealDelay + BigInt(window);
    shown.push(["Judged until", moment(ends)], ["If nobody wins", refundDay(ends)]);
  }
  return shown;
}

async function draftIn(drafts: Desk["drafts"]): Promise<Filled | undefined> {
  const text = await drafts.get<string>(DRAFT);
  return text === undefined ? undefined : (JSON.parse(text) as Filled);
}

/** Opens what a part of the form is folded into, if it is. */
function openFold(part: HTMLElement): void {
  part.closest("details")?.setAttribute("open", "");
}

/** Gives a moment by the reader's clock, as a field for days and times takes it. */
function localText(seconds: number): string {
  const at = new Date(seconds * 1_000);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
