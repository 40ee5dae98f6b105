/**
 * Where a challenge page is written: in fields of which the page is made, or as a finished page. Everything that is typed
 * is kept in this browser, and a remark stands beside its field until the field is edited.
 */

import { pageTerms, ServiceError } from "../src/acting.js";
import type { Api, Issue } from "../src/acting.js";
import { LiveCheck, requirePage } from "./checking.js";
import { button, element, labelled } from "./dom.js";
import type { Field, Journal } from "./journal.js";
import { requireNoKey, requireNoSecret } from "./keyless.js";
import { deadlineOf, entriesOf, escrowHint, escrowOf, linesBeforeText, missing, pageForChecks, pageOf, placed, windowOf } from "./page.js";
import type { Filled } from "./page.js";
import { loaded } from "./results.js";
import { factList, problem } from "./stage.js";
import type { Fact } from "./stage.js";
import { amount, counted } from "./text.js";
import type { Token } from "./text.js";
import { t } from "./words.js";

const DRAFT = "page-draft";
const MADE = "page-made";
const MAX_BYTES = 256 * 1024;
const DAY = 86_400;
const NAMES = [
  ...(["title", "summary", "escrow", "deadline", "window", "windowUnit"] as const),
  ...(["criteria", "deliverables", "language", "contact", "tags", "body"] as const),
];
/** Fields in which something is before anybody wrote in them. */
const FILLED_IN: ReadonlySet<keyof Filled> = new Set(["deadline", "window", "windowUnit"]);
const DEFAULT_DAYS = { deadline: 7, window: 3 };

/** The page that was made of these fields. */
interface Made {
  readonly filled: Filled;
  readonly page: string;
}

/** What the terms come to, as far as they are filled in; and the amounts that the account and the contract take. */
export interface Outlook {
  readonly facts: (escrow: bigint | undefined, deadline: number | undefined, window: number | undefined) => Fact[];
  readonly held: bigint | undefined;
  readonly least: bigint | undefined;
}

/** What a form works with; a wallet brings better ones. */
export interface Desk {
  readonly api: Api;
  readonly journal: Pick<Journal, "keepWritten" | "written" | "write">;
  readonly token: Token;
  readonly outlook: Outlook;
}

/** Forgets what was written, once it is funded; another page, which another account may have begun since, is kept. */
export async function forgetPage({ journal }: { journal: Pick<Journal, "written" | "forgetWritten"> }, page: string): Promise<void> {
  const made = madeOf(await journal.written(MADE));
  const isFinished = (await journal.written(`${DRAFT} mode`)) === "finished";
  const values = await Promise.all(NAMES.map((name) => journal.written(`${DRAFT} ${name}`)));
  const isSame = (name: keyof Filled, at: number) => values[at] === made?.filled[name] || (values[at] === "" && FILLED_IN.has(name));
  const isOfFields = made?.page === page && NAMES.every(isSame);
  if (!(isFinished ? unixLines(await journal.written(DRAFT)) === page : isOfFields)) return;
  for (const name of ["", " mode", ...NAMES.map((each) => ` ${each}`)]) await journal.forgetWritten(DRAFT + name);
  await journal.forgetWritten(MADE);
}

/** Whether a refusal is about what is on the page, so that it is corrected there. */
export function isAboutPage(error: unknown): error is ServiceError {
  const codes = [
    ...["invalid_bounty_challenge", "bounty_challenge_not_ready", "page_not_ready", "terms_refused"],
    ...["page_incomplete", "payload_too_large", "secret_in_document"],
  ];
  return error instanceof ServiceError && codes.includes(error.code);
}

export class Editor {
  readonly shown: readonly HTMLElement[];
  #desk: Desk;
  readonly #fields: Readonly<Record<keyof Filled, Field>>;
  readonly #lists = new Map<keyof Filled, HTMLElement>();
  /** Why the page was not taken, by field, until the field is edited; and what the last check found. */
  readonly #refused = new Map<keyof Filled, readonly string[]>();
  #found: ReadonlyMap<keyof Filled, readonly string[]> = new Map();
  readonly #touched = new Set<keyof Filled>();
  readonly #mode = element("input", { type: "hidden" });
  readonly #text = element("textarea", { rows: "20", spellcheck: "true" });
  readonly #refusal = element("div", { role: "alert" });
  readonly #state = element("p", { role: "status", class: "muted" });
  readonly #sums = element("div", { class: "sums" });
  readonly #preview = element("div");
  readonly #live: LiveCheck;

  private constructor(desk: Desk) {
    this.#desk = desk;
    const unit = element("select", { "aria-label": t`Unit of the judging window` });
    for (const [seconds, name] of [[60, t`minutes`], [3_600, t`hours`], [DAY, t`days`]] as const) {
      unit.append(element("option", { value: String(seconds) }, name));
    }
    this.#fields = {
      title: element("input", { type: "text", maxlength: "200" }),
      summary: element("textarea", { rows: "3", maxlength: "2000" }),
      escrow: element("input", { type: "text", inputmode: "decimal", autocomplete: "off" }),
      deadline: element("input", { type: "datetime-local" }),
      window: element("input", { type: "text", inputmode: "numeric", autocomplete: "off" }),
      windowUnit: unit,
      criteria: element("textarea", { rows: "5" }),
      deliverables: element("textarea", { rows: "3" }),
      language: element("input", { type: "text", maxlength: "35", placeholder: "en", autocomplete: "off" }),
      contact: element("input", { type: "text", maxlength: "200", autocomplete: "off" }),
      tags: element("input", { type: "text", maxlength: "160", autocomplete: "off" }),
      body: element("textarea", { rows: "14", spellcheck: "true" }),
    };
    this.#live = new LiveCheck(() => this.#desk, () => this.#checked(), (found) => this.#show(found));
    const written = this.#writtenHere(desk.token.symbol);
    const finished = this.#finished();
    const leaves = t`While you write, the service checks the text by its rules and keeps nothing of it. Nothing is published before you sign.`;
    const note = element("p", { class: "muted" }, leaves);
    this.shown = [this.#refusal, this.#ways(written, finished), written, finished, this.#sums, note, this.#state];
  }

  /** Makes an editor with what was written before. */
  static async open(desk: Desk): Promise<Editor> {
    const made = new Editor(desk);
    await made.#keep();
    return made;
  }

  /** Works with this from now on, as once a wallet is connected. */
  use(desk: Desk): void {
    this.#desk = desk;
    this.#mark();
  }

  /** Gives the page's exact text; raises what it cannot be published for, as far as that shows here. */
  async page(): Promise<string> {
    this.#refusal.replaceChildren();
    this.#refused.clear();
    this.#mark();
    try {
      const page = this.#isFinished ? unixLines(this.#text.value) : await this.#made();
      requireNoKey(t`The page holds`, page);
      pageTerms(page);
      if (new TextEncoder().encode(page).length > MAX_BYTES) {
        throw new ServiceError("payload_too_large", t`The page is larger than 256 KiB.`, { nextAction: t`Shorten it.` });
      }
      return page;
    } catch (error) {
      throw isAboutPage(error) ? this.#beside(error) : error;
    }
  }

  /** Shows why the page was not taken. */
  refuse(error: ServiceError): void {
    this.#refusal.replaceChildren(element("div", { class: "notice" }, ...problem(this.#beside(error))));
  }

  get #isFinished(): boolean {
    return this.#mode.value === "finished";
  }

  get #filled(): Filled {
    const { title, summary, escrow, deadline, window, windowUnit } = this.#fields;
    const { criteria, deliverables, language, contact, tags, body } = this.#fields;
    return {
      title: title.value,
      summary: summary.value,
      escrow: escrow.value,
      deadline: deadline.value,
      window: window.value,
      windowUnit: windowUnit.value,
      criteria: criteria.value,
      deliverables: deliverables.value,
      language: language.value,
      contact: contact.value,
      tags: tags.value,
      body: body.value,
    };
  }

  /** Makes the same text of the same fields, also where the reader's clock has another zone since. */
  async #made(): Promise<string> {
    const { journal, token } = this.#desk;
    const filled = this.#filled;
    const issues = missing(filled, token);
    if (issues.length > 0) {
      const nextAction = t`Nothing was sent.`;
      throw new ServiceError("page_incomplete", t`Something is still to be filled in.`, { issues, nextAction });
    }
    const kept = madeOf(await journal.written(MADE));
    if (kept !== undefined && NAMES.every((name) => kept.filled[name] === filled[name])) return kept.page;
    const page = pageOf(filled, token);
    await journal.write(MADE, JSON.stringify({ filled, page }));
    return page;
  }

  /** Gives a refusal whose issues stand beside their fields, and no longer in its own list. */
  #beside(error: ServiceError): ServiceError {
    if (this.#isFinished) return error;
    for (const [field, texts] of this.#byField(error.issues)) this.#refused.set(field, texts);
    this.#mark();
    const issues = error.issues.filter((issue) => placed(issue, 0) === undefined);
    const count = error.issues.length - issues.length;
    const message = count === 0 ? error.message : t`${error.message} ${counted(count, "remark")} below, each beside its field.`;
    return new ServiceError(error.code, message, { issues, nextAction: error.nextAction });
  }

  #byField(issues: readonly Issue[]): ReadonlyMap<keyof Filled, readonly string[]> {
    const before = linesBeforeText(this.#checked());
    const found = new Map<keyof Filled, string[]>();
    for (const { field, text } of issues.flatMap((issue) => placed(issue, before) ?? [])) {
      found.set(field, [...(found.get(field) ?? []), text]);
    }
    return found;
  }

  /** Gives what the rules look at while somebody writes. */
  #checked(): string {
    if (this.#isFinished) return unixLines(this.#text.value);
    return pageForChecks(this.#filled, this.#desk.token, Math.floor(Date.now() / 1_000));
  }

  /** Shows what the rules found, in fields in which something was typed, or why they were not asked. */
  #show(found: readonly Issue[] | ServiceError | undefined): void {
    if (found === undefined || found instanceof ServiceError) {
      const unchecked = t`The service does not check the page at the moment. It is checked when you go on.`;
      this.#state.textContent = found === undefined ? unchecked : `${found.message} ${found.nextAction}`;
      return;
    }
    const own = this.#isFinished ? found : found.filter((issue) => this.#isTyped(issue));
    if (!this.#isFinished) this.#found = this.#byField(own);
    this.#mark();
    const list = element("ul", {}, ...own.map(({ path, message }) => element("li", {}, `${path}: ${message}`)));
    const none = t`The service's rules have no remark on what is written so far.`;
    const text = own.length === 0 ? none : t`The service's rules have ${counted(own.length, "remark")}.`;
    this.#state.replaceChildren(text, ...(this.#isFinished && own.length > 0 ? [list] : []));
  }

  #isTyped(issue: Issue): boolean {
    const field = placed(issue, 0)?.field;
    return field !== undefined && this.#touched.has(field) && this.#fields[field].value.trim() !== "";
  }

  /** Puts beside each field what is wrong with it: as it is typed, by the last refusal, and by the last check. */
  #mark(): void {
    for (const [name, list] of this.#lists) {
      const own = this.#wrongHere(name);
      const texts = own === undefined ? [...(this.#refused.get(name) ?? []), ...(this.#found.get(name) ?? [])] : [own];
      list.replaceChildren(...[...new Set(texts)].map((text) => element("li", {}, text)));
      const folded = list.closest("details");
      if (texts.length > 0 && folded !== null) folded.open = true;
      if (texts.length > 0) this.#fields[name].setAttribute("aria-invalid", "true");
      else this.#fields[name].removeAttribute("aria-invalid");
    }
    const { escrow, deadline } = this.#filled;
    const page = this.#isFinished ? termsIn(this.#text.value) : undefined;
    const terms = [escrowOf(escrow, this.#desk.token), deadlineOf(deadline), windowOf(this.#filled)] as const;
    this.#sums.replaceChildren(factList(this.#desk.outlook.facts(...(page ?? terms)), "totals"));
  }

  /** Says what is wrong with an amount or a number as it is typed; undefined where nothing shows. */
  #wrongHere(name: keyof Filled): string | undefined {
    const { token, outlook } = this.#desk;
    const filled = this.#filled;
    const isTyped = filled[name].trim() !== "";
    if (name === "window" && isTyped && windowOf(filled) === undefined) return t`Write a whole number above 0.`;
    if (name !== "escrow" || !isTyped) return undefined;
    const escrow = escrowOf(filled.escrow, token);
    if (escrow === undefined) return escrowHint(token);
    if (outlook.least !== undefined && escrow < outlook.least) return t`Write at least ${amount(outlook.least, token)}.`;
    if (outlook.held !== undefined && escrow > outlook.held) return t`Your account holds ${amount(outlook.held, token)} only.`;
    return undefined;
  }

  #writtenHere(symbol: string): HTMLElement {
    const clock = new Intl.DateTimeFormat("en", { timeZoneName: "longGeneric" });
    const name = clock.formatToParts(new Date()).find(({ type }) => type === "timeZoneName")?.value ?? "";
    const zone = `${name} (${clock.resolvedOptions().timeZone})`;
    const entry = t`One on each line. Each decides on its own, and two people must come to the same answer.`;
    const window = this.#part("window", t`Judging window`, t`How long the Guardians have, once they can open the work.`);
    this.#fields.window.insertAdjacentElement("afterend", this.#fields.windowUnit as HTMLElement);
    const look = button(t`Show a preview`, () => void this.#showPreview());
    look.className = "quiet";
    return element(
      "div",
      { class: "editor" },
      this.#part("title", t`Title`, t`What is to be made, in one line.`),
      this.#part("summary", t`Summary`, t`What it does and for whom, in two or three sentences. Lists show it.`),
      this.#part("escrow", t`Escrow in ${symbol}`, t`What you pay. The winner gets it less the fees that are shown below.`),
      this.#part("deadline", t`Deadline`, t`Until when work is taken, by your clock: ${zone}.`),
      window,
      this.#part("criteria", t`Acceptance criteria`, entry),
      this.#part("deliverables", t`Deliverables`, t`What the work contains, by name: one on each line.`),
      this.#part("body", t`Text`, t`What is needed and why, what exists already, and how it will be judged. Markdown.`),
      element("p", {}, look),
      this.#preview,
      element(
        "details",
        {},
        element("summary", {}, t`Language, contact and tags`),
        this.#part("language", t`Language`, t`A tag such as en or pt-BR; may be left out.`),
        this.#part("contact", t`Contact`, t`Public for ever; may be left out.`),
        this.#part("tags", t`Tags`, t`Up to five words such as parser or data, with commas; may be left out.`),
      ),
    );
  }

  #part(name: keyof Filled, label: string, hint: string): HTMLElement {
    const field = this.#fields[name];
    const list = element("ul", { class: "remarks", id: `remarks-${name}` });
    this.#lists.set(name, list);
    const part = labelled(label, field, hint);
    field.setAttribute("aria-describedby", `${field.getAttribute("aria-describedby")} ${list.id}`);
    part.append(list);
    return part;
  }

  #finished(): HTMLElement {
    const file = element("input", { type: "file", accept: ".md,text/markdown,text/plain" });
    const read = async (from: File | undefined) => {
      if (from === undefined) return;
      const found = await from.text();
      try {
        requirePage(unixLines(found)); // what is in the field is kept in the browser
        requireNoKey(t`The file holds`, found);
      } catch (error) {
        this.#show(error as ServiceError);
        file.value = ""; // once it is corrected, the same file can be chosen again
        return;
      }
      this.#text.value = found;
      this.#text.dispatchEvent(new Event("input"));
    };
    file.addEventListener("change", () => void read(file.files?.[0]));
    this.#text.addEventListener("drop", (event) => {
      const [from] = event.dataTransfer?.files ?? [];
      if (from === undefined) return;
      event.preventDefault();
      void read(from);
    });
    return element(
      "div",
      {},
      labelled(t`File`, file, t`Or drop it on the field below, or paste the page there.`),
      labelled(t`Page`, this.#text, t`Markdown with frontmatter, exactly as it will be published.`),
    );
  }

  /** Makes the two ways in; what is in the other one is kept. */
  #ways(written: HTMLElement, finished: HTMLElement): HTMLElement {
    const ways = [["written", t`Write it here`, written], ["finished", t`Use a finished page`, finished]] as const;
    const choices = ways.map(([value, text]) => {
      const choice = element("input", { type: "radio", name: "way", value });
      choice.addEventListener("change", () => this.#setMode(value));
      return [choice, element("label", { class: "way" }, choice, ` ${text}`)] as const;
    });
    this.#mode.addEventListener("input", () => {
      for (const [value, , place] of ways) place.hidden = value !== this.#mode.value;
      for (const [choice] of choices) choice.checked = choice.value === this.#mode.value;
      this.#state.textContent = "";
    });
    const labels = choices.map(([, label]) => label);
    return element("fieldset", { class: "ways" }, element("legend", {}, t`How the page is written`), ...labels);
  }

  #setMode(mode: "written" | "finished"): void {
    if (this.#mode.value === mode) return;
    this.#mode.value = mode;
    this.#mode.dispatchEvent(new Event("input"));
    this.#mark();
  }

  /** Fills in what was written before, and keeps what is typed from now on. */
  async #keep(): Promise<void> {
    const { journal } = this.#desk;
    await journal.keepWritten(DRAFT, this.#text);
    await journal.keepWritten(`${DRAFT} mode`, this.#mode);
    const initial: Partial<Filled> = { windowUnit: String(DAY), window: String(DEFAULT_DAYS.window), deadline: localDay(DEFAULT_DAYS.deadline) };
    for (const name of NAMES) {
      const field = this.#fields[name];
      await journal.keepWritten(`${DRAFT} ${name}`, field);
      if (field.value !== "") this.#touched.add(name);
      field.value ||= initial[name] ?? "";
      field.addEventListener("input", () => this.#edited(name));
    }
    this.#text.addEventListener("input", () => {
      this.#setMode("finished");
      this.#mark();
      this.#live.touch();
    });
    if (this.#mode.value === "") this.#mode.value = "written";
    this.#mode.dispatchEvent(new Event("input"));
    this.#mark();
    if (this.#touched.size > 1 || this.#isFinished) this.#live.touch();
  }

  #edited(name: keyof Filled): void {
    this.#touched.add(name);
    for (const each of name === "windowUnit" ? (["window"] as const) : [name]) {
      this.#refused.delete(each);
      this.#found = new Map([...this.#found].filter(([field]) => field !== each));
    }
    this.#mark();
    this.#live.touch();
  }

  /** Shows the text as the bounty's page will, which the pages' own server makes of it; `approved` holds no secret. */
  async #showPreview(approved?: string): Promise<void> {
    const { criteria, deliverables, body } = this.#filled;
    const list = (title: string, text: string) => [`# ${title}`, "", ...entriesOf(text).map((each) => `- ${each}`), ""];
    const text = [...list(t`Acceptance criteria`, criteria), ...list(t`Deliverables`, deliverables), body].join("\n");
    const refuse = (error: unknown, ...more: readonly Node[]) => this.#preview.replaceChildren(...problem(error), ...more);
    try {
      requireNoKey(t`The text holds`, text);
    } catch (error) {
      return refuse(error);
    }
    try {
      if (text !== approved) requireNoSecret(text);
    } catch (error) {
      return refuse(error, button(t`It is no secret: show it`, () => void this.#showPreview(text)));
    }
    const found = (await loaded("POST", "/publish/preview", text))?.getElementById("preview");
    const failed = element("p", { role: "status" }, t`The preview is not available at the moment. Try again in a minute.`);
    this.#preview.replaceChildren(found == null ? failed : document.importNode(found, true));
  }
}

function unixLines(text: string): string {
  return text.replace(/\r\n?/g, "\n");
}

function madeOf(text: string): Made | undefined {
  return text === "" ? undefined : (JSON.parse(text) as Made);
}

/** Reads the terms out of a finished page, as far as it has them. */
function termsIn(page: string): readonly [bigint | undefined, number | undefined, number | undefined] {
  try {
    const { escrowAmount, submissionDeadline, judgingWindow } = pageTerms(unixLines(page));
    return [escrowAmount, Number(submissionDeadline), Number(judgingWindow)];
  } catch {
    return [undefined, undefined, undefined];
  }
}

/** Gives a day so many days from now by the reader's clock, as a field for days and times takes it. */
function localDay(days: number): string {
  const at = new Date(Date.now() + days * DAY * 1_000);
  at.setMinutes(0);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
