/**
 * Where a challenge page is written: in fields of which the page is made, or as a finished page. Everything that is typed is
 * kept in this browser, and what the service's rules find stands beside its field.
 */

import { pageTerms, ServiceError } from "../src/acting.js";
import type { Issue } from "../src/acting.js";
import { LiveCheck, requirePage } from "./checking.js";
import type { Context } from "./context.js";
import { button, element, labelled } from "./dom.js";
import type { Field } from "./journal.js";
import { requireNoKey, requireNoSecret } from "./keyless.js";
import { deadlineOf, entriesOf, escrowOf, linesBeforeText, missing, pageForChecks, pageOf, placed, windowOf } from "./page.js";
import type { Filled } from "./page.js";
import { problem } from "./stage.js";
import type { Fact, Stage } from "./stage.js";
import { counted, moment } from "./text.js";

const DRAFT = "page-draft";
const MADE = "page-made";
const MAX_BYTES = 256 * 1024;
/** Where the text goes before anything is signed. */
const LEAVES =
  "Before anything is signed it leaves this browser: the service checks it by its rules while you write, and keeps it " +
  "nowhere until you publish it.";
const NAMES = [
  ...(["title", "summary", "escrow", "deadline", "window", "windowUnit"] as const),
  ...(["criteria", "deliverables", "language", "contact", "tags", "body"] as const),
];
const DAY = 86_400;
/** What is in a field in which nothing was written yet, where that is not nothing. */
const INITIAL: Partial<Filled> = { windowUnit: String(DAY) };

/** The page that was made of these fields. */
interface Made {
  readonly filled: Filled;
  readonly page: string;
}

/** What the terms come to, as far as they are filled in. */
export type Outlook = (escrow: bigint | undefined, deadline: number | undefined, window: number | undefined) => Fact[];

/** Has the page written, and gives its text. `refused` is why the last one was not taken; it stays until the next try. */
export async function writtenPage(
  context: Context,
  stage: Stage,
  outlook: Outlook,
  refused?: ServiceError,
): Promise<string> {
  const editor = await Editor.open(context, outlook);
  if (refused !== undefined) editor.refuse(refused);
  try {
    return await stage.ask("The challenge page", editor.shown, "Go on", () => editor.page());
  } finally {
    editor.close();
  }
}

/** Forgets what was written, once it is funded; another page, which another account may have begun since, is kept. */
export async function forgetPage({ journal }: Context, page: string): Promise<void> {
  const made = await journal.get<Made>(MADE);
  const isFinished = (await journal.written(`${DRAFT} mode`)) === "finished";
  const values = await Promise.all(NAMES.map((name) => journal.written(`${DRAFT} ${name}`)));
  const isSame = (name: keyof Filled, at: number) => (values[at] || (INITIAL[name] ?? "")) === made?.filled[name];
  const isOfFields = made?.page === page && NAMES.every(isSame);
  if (!(isFinished ? unixLines(await journal.written(DRAFT)) === page : isOfFields)) return;
  for (const name of ["", " mode", ...NAMES.map((each) => ` ${each}`)]) await journal.forgetWritten(DRAFT + name);
  await journal.remove(MADE);
}

/** Whether a refusal is about what is on the page, so that it is corrected there. */
export function isAboutPage(error: unknown): error is ServiceError {
  const codes = [
    ...["invalid_bounty_challenge", "bounty_challenge_not_ready", "page_not_ready", "terms_refused"],
    ...["page_incomplete", "payload_too_large", "secret_in_document"],
  ];
  return error instanceof ServiceError && codes.includes(error.code);
}

class Editor {
  readonly shown: readonly HTMLElement[];
  readonly #context: Context;
  readonly #outlook: Outlook;
  readonly #fields: Readonly<Record<keyof Filled, Field>>;
  readonly #remarks = new Map<keyof Filled, HTMLElement>();
  readonly #touched = new Set<keyof Filled>();
  readonly #mode = element("input", { type: "hidden" });
  readonly #text = element("textarea", { rows: "20", spellcheck: "true" });
  readonly #refusal = element("div", { role: "alert" });
  readonly #state = element("p", { role: "status", class: "muted" });
  readonly #sums = element("dl", { class: "proofs" });
  readonly #preview = element("div");
  readonly #live: LiveCheck;

  private constructor(context: Context, outlook: Outlook) {
    this.#context = context;
    this.#outlook = outlook;
    const { token } = context;
    const unit = element("select", { "aria-label": "Unit of the judging window" });
    for (const [seconds, name] of [[60, "minutes"], [3_600, "hours"], [DAY, "days"]] as const) {
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
    this.#live = new LiveCheck(context, () => this.#checked(), (found) => this.#show(found));
    const written = this.#writtenHere(token.symbol);
    const finished = this.#finished();
    this.shown = [this.#refusal, this.#ways(written, finished), written, finished, this.#state];
  }

  /** The editor with what was written before. */
  static async open(context: Context, outlook: Outlook): Promise<Editor> {
    const made = new Editor(context, outlook);
    await made.#keep();
    return made;
  }

  close(): void {
    this.#live.stop();
  }

  /** The page's exact text; raises what it cannot be published for, as far as that shows here. */
  async page(): Promise<string> {
    this.#refusal.replaceChildren();
    this.#mark([]);
    try {
      const page = this.#isFinished ? unixLines(this.#text.value) : await this.#made();
      requireNoKey("The page holds", page);
      pageTerms(page);
      if (new TextEncoder().encode(page).length > MAX_BYTES) {
        throw new ServiceError("payload_too_large", "The page is larger than 256 KiB.", { nextAction: "Shorten it." });
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
    const { title, summary, escrow, deadline, window, windowUnit, criteria, deliverables } = this.#fields;
    const { language, contact, tags, body } = this.#fields;
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

  /** The same text for the same fields, also where the reader's clock has another zone since. */
  async #made(): Promise<string> {
    const { journal, token } = this.#context;
    const filled = this.#filled;
    const issues = missing(filled, token);
    if (issues.length > 0) {
      throw new ServiceError("page_incomplete", "Something is still to be filled in.", {
        issues,
        nextAction: "Nothing was sent.",
      });
    }
    const kept = await journal.get<Made>(MADE);
    if (kept !== undefined && NAMES.every((name) => kept.filled[name] === filled[name])) return kept.page;
    const page = pageOf(filled, token);
    await journal.put(MADE, { filled, page });
    return page;
  }

  /** A refusal whose issues stand beside their fields, and no longer in its own list. */
  #beside(error: ServiceError): ServiceError {
    if (this.#isFinished) return error;
    this.#mark(error.issues);
    const issues = error.issues.filter((issue) => placed(issue, 0) === undefined);
    const count = error.issues.length - issues.length;
    const message = count === 0 ? error.message : `${error.message} ${counted(count, "remark")} below, each beside its field.`;
    return new ServiceError(error.code, message, { issues, nextAction: error.nextAction });
  }

  /** What the rules look at while somebody writes. */
  #checked(): string {
    if (this.#isFinished) return unixLines(this.#text.value);
    return pageForChecks(this.#filled, this.#context.token, Math.floor(Date.now() / 1_000));
  }

  /** Shows what the rules found, in fields in which something was typed, or why they were not asked. */
  #show(found: readonly Issue[] | ServiceError | undefined): void {
    if (found === undefined || found instanceof ServiceError) {
      const unchecked = "The service does not check the page at the moment. It is checked when you go on.";
      this.#state.textContent = found === undefined ? unchecked : `${found.message} ${found.nextAction}`;
      return;
    }
    const own = this.#isFinished ? found : found.filter((issue) => this.#isTyped(issue));
    if (!this.#isFinished) this.#mark(own);
    const list = element("ul", {}, ...own.map(({ path, message }) => element("li", {}, `${path}: ${message}`)));
    const some = `The service's rules have ${counted(own.length, "remark")}.`;
    const text = own.length === 0 ? "The service's rules have no remark on what is written so far." : some;
    this.#state.replaceChildren(text, ...(this.#isFinished && own.length > 0 ? [list] : []));
  }

  #isTyped(issue: Issue): boolean {
    const field = placed(issue, 0)?.field;
    return field !== undefined && this.#touched.has(field) && this.#fields[field].value.trim() !== "";
  }

  /** Puts these issues beside their fields, in the place of all others. */
  #mark(issues: readonly Issue[]): void {
    const before = linesBeforeText(this.#checked());
    const all = issues.flatMap((issue) => placed(issue, before) ?? []);
    for (const [name, list] of this.#remarks) {
      const texts = all.filter(({ field }) => field === name);
      list.replaceChildren(...texts.map(({ text }) => element("li", {}, text)));
      if (texts.length > 0) this.#fields[name].setAttribute("aria-invalid", "true");
      else this.#fields[name].removeAttribute("aria-invalid");
    }
  }

  #writtenHere(symbol: string): HTMLElement {
    const clock = new Intl.DateTimeFormat("en", { timeZoneName: "longGeneric" });
    const name = clock.formatToParts(new Date()).find(({ type }) => type === "timeZoneName")?.value ?? "";
    const zone = `${name} (${clock.resolvedOptions().timeZone})`;
    const entry = "One on each line. Each decides on its own, and two people must come to the same answer.";
    const window = this.#part("window", "Judging window", "How long the Guardians have, once they can open the work.");
    this.#fields.window.insertAdjacentElement("afterend", this.#fields.windowUnit as HTMLElement);
    const look = button("Show a preview", () => void this.#showPreview());
    look.className = "quiet";
    return element(
      "div",
      { class: "editor" },
      this.#part("title", "Title", "What is to be made, in one line."),
      this.#part("summary", "Summary", "What it does and for whom, in two or three sentences. Lists show it."),
      this.#part("escrow", `Escrow in ${symbol}`, "What you pay. The winner gets it less the fees that are shown below."),
      this.#part("deadline", "Deadline", `Until when work is taken, by your clock: ${zone}.`),
      window,
      this.#sums,
      this.#part("criteria", "Acceptance criteria", entry),
      this.#part("deliverables", "Deliverables", "What the work contains, by name: one on each line."),
      this.#part("body", "Text", "What is needed and why, what exists already, and how it will be judged. Markdown."),
      element("p", {}, look),
      this.#preview,
      element(
        "details",
        {},
        element("summary", {}, "Language, contact and tags"),
        this.#part("language", "Language", "A tag such as en or pt-BR; may be left out."),
        this.#part("contact", "Contact", "Public for ever; may be left out."),
        this.#part("tags", "Tags", "Up to five words such as parser or data, with commas; may be left out."),
      ),
      element("p", { class: "muted" }, LEAVES),
    );
  }

  #part(name: keyof Filled, label: string, hint: string): HTMLElement {
    const field = this.#fields[name];
    const remarks = element("ul", { class: "remarks", id: `remarks-${name}` });
    this.#remarks.set(name, remarks);
    const part = labelled(label, field, hint);
    field.setAttribute("aria-describedby", `${field.getAttribute("aria-describedby")} ${remarks.id}`);
    part.append(remarks);
    return part;
  }

  #finished(): HTMLElement {
    const file = element("input", { type: "file", accept: ".md,text/markdown,text/plain" });
    const read = (from: File | undefined) => {
      if (from === undefined) return;
      void from.text().then((found) => {
        try {
          requirePage(unixLines(found)); // what is in the field is kept in the browser
          requireNoKey("The file holds", found);
        } catch (error) {
          this.#show(error as ServiceError);
          file.value = ""; // once it is corrected, the same file can be chosen again
          return;
        }
        this.#text.value = found;
        this.#text.dispatchEvent(new Event("input"));
      });
    };
    file.addEventListener("change", () => read(file.files?.[0]));
    this.#text.addEventListener("drop", (event) => {
      const [from] = event.dataTransfer?.files ?? [];
      if (from === undefined) return;
      event.preventDefault();
      read(from);
    });
    return element(
      "div",
      {},
      labelled("File", file, "Or drop it on the field below, or paste the page there."),
      labelled("Page", this.#text, `Markdown with frontmatter, exactly as it will be published. ${LEAVES}`),
    );
  }

  /** The two ways in; what is in the other one is kept. */
  #ways(written: HTMLElement, finished: HTMLElement): HTMLElement {
    const ways = [["written", "Write it here", written], ["finished", "Use a finished page", finished]] as const;
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
    return element("fieldset", { class: "ways" }, element("legend", {}, "How the page is written"), ...labels);
  }

  #setMode(mode: "written" | "finished"): void {
    if (this.#mode.value === mode) return;
    this.#mode.value = mode;
    this.#mode.dispatchEvent(new Event("input"));
  }

  /** Fills in what was written before, and keeps what is typed from now on. */
  async #keep(): Promise<void> {
    const { journal } = this.#context;
    await journal.keepWritten(DRAFT, this.#text);
    await journal.keepWritten(`${DRAFT} mode`, this.#mode);
    for (const name of NAMES) {
      const field = this.#fields[name];
      await journal.keepWritten(`${DRAFT} ${name}`, field);
      if (field.value !== "") this.#touched.add(name);
      field.value ||= INITIAL[name] ?? "";
      field.addEventListener("input", () => {
        this.#touched.add(name);
        this.#count();
        this.#live.touch();
      });
    }
    this.#text.addEventListener("input", () => {
      this.#setMode("finished");
      this.#live.touch();
    });
    if (this.#mode.value === "") this.#mode.value = this.#text.value === "" ? "written" : "finished"; // of earlier releases
    this.#mode.dispatchEvent(new Event("input"));
    this.#count();
    if (this.#touched.size > 1 || this.#isFinished) this.#live.touch();
  }

  #count(): void {
    const filled = this.#filled;
    const deadline = deadlineOf(filled.deadline);
    const facts: Fact[] = deadline === undefined ? [] : [["Deadline in UTC", moment(deadline)]];
    facts.push(...this.#outlook(escrowOf(filled.escrow, this.#context.token), deadline, windowOf(filled)));
    this.#sums.replaceChildren(
      ...facts.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))),
    );
  }

  /** The text as the bounty's page will show it, which the pages' own server makes of it; `approved` holds no secret. */
  async #showPreview(approved?: string): Promise<void> {
    const { criteria, deliverables, body } = this.#filled;
    const list = (title: string, text: string) => [`# ${title}`, "", ...entriesOf(text).map((each) => `- ${each}`), ""];
    const text = [...list("Acceptance criteria", criteria), ...list("Deliverables", deliverables), body].join("\n");
    const refuse = (error: unknown, ...more: readonly Node[]) => this.#preview.replaceChildren(...problem(error), ...more);
    try {
      requireNoKey("The text holds", text);
    } catch (error) {
      return refuse(error);
    }
    try {
      if (text !== approved) requireNoSecret(text);
    } catch (error) {
      return refuse(error, button("It is no secret: show it", () => void this.#showPreview(text)));
    }
    const failed = element("p", { role: "status" }, "The preview cannot be had at the moment. Try again in a minute.");
    this.#preview.replaceChildren((await previewOf(text)) ?? failed);
  }
}

function unixLines(text: string): string {
  return text.replace(/\r\n?/g, "\n");
}

/** What the server's page shows of a text; the browser itself parses the answer, whose scripts do not run. */
function previewOf(text: string): Promise<Node | undefined> {
  return new Promise((resolve) => {
    const request = new XMLHttpRequest();
    request.responseType = "document";
    request.open("POST", "/publish/preview");
    request.setRequestHeader("Content-Type", "text/markdown");
    request.onload = () => {
      const found = request.status === 200 ? request.responseXML?.getElementById("preview") : undefined;
      resolve(found == null ? undefined : document.importNode(found, true));
    };
    request.onerror = () => resolve(undefined);
    request.send(text);
  });
}
