/** The part of the page in which one act happens: what it shows, what it asks, and what it waits for. */

import { ServiceError } from "../src/acting.js";
import { isCode } from "./answers.js";
import { button, element } from "./dom.js";
import { printable } from "./text.js";

/** A name and a value, both in plain text; a warning comes first and is never folded. */
export type Fact = readonly [name: string, value: string, kind?: "warning"];

const CANCELLED = "cancelled";
/** A wait that is over by then needs no button to end it. */
const STOP_MILLISECONDS = 2_000;
/** Facts that are all shown; of more, only the first three: what, how much, to whom. */
const MOST_UNFOLDED = 4;
const MOST_ISSUES = 50;
/** Of what the API wrote: its own issues have at most 1,500. */
const MOST_LETTERS = 1_600;

export class Stage {
  readonly place = element("div", { class: "stage" });
  readonly #message = element("div", { role: "status", tabindex: "-1" });
  readonly #stop = element("p");
  readonly #body = element("div");
  /** What the act waits for: a person, a wallet or an answer. */
  #waiting: AbortController | undefined;
  #isOver = false;
  /** Whether the act succeeded. */
  isDone = false;

  constructor() {
    this.place.append(this.#message, this.#stop, this.#body);
  }

  /** Ends the act, as when its place is not on the page any more: whatever it waits for, now or later, is `cancelled`. */
  end(): void {
    this.#isOver = true;
    this.#waiting?.abort(cancelled());
  }

  /** Says what is happening now. */
  say(text: string): void {
    this.#message.className = "";
    this.#message.textContent = text;
  }

  /**
   * Explains a step and does it. Declined in the wallet, the step stays, and its button says "Try again". What `isExplained`
   * already, with the step before, begins at once.
   */
  async attempt<Value>(
    title: string,
    facts: readonly Fact[],
    button: string,
    work: () => Promise<Value>,
    isExplained = false,
  ): Promise<Value> {
    for (let isDeclined = false; ; isDeclined = true) {
      const text = isDeclined ? "Try again" : button;
      if (isDeclined || !isExplained) await this.confirm(title, facts, [text], isDeclined);
      try {
        return await work();
      } catch (error) {
        if (!isCode(error, "declined")) throw error;
      }
    }
  }

  /**
   * Shows facts and waits for one of the buttons, whose text is returned; "Not now" raises `cancelled`. `isDeclined`: the
   * wallet was asked before.
   */
  confirm(title: string, facts: readonly Fact[], buttons: readonly string[], isDeclined = false): Promise<string> {
    const warnings = facts.filter(([, , kind]) => kind === "warning");
    const plain = facts.filter(([, , kind]) => kind === undefined);
    const shown = plain.slice(0, plain.length > MOST_UNFOLDED ? 3 : MOST_UNFOLDED);
    const folded = plain.slice(shown.length);
    const declined = "You declined in the wallet. Nothing was signed or sent.";
    return this.#waited((resolve, reject) => [
      element("h3", { tabindex: "-1" }, title),
      ...(isDeclined ? [element("p", { role: "alert", class: "declined" }, declined)] : []),
      ...(warnings.length > 0 ? [factList(warnings, "proofs warned")] : []),
      factList(shown),
      ...(folded.length > 0 ? [element("details", {}, element("summary", {}, "All details"), factList(folded))] : []),
      element(
        "p",
        { class: "buttons" },
        ...buttons.map((text) => button(text, () => resolve(text))),
        button("Not now", reject, "quiet"),
      ),
    ]);
  }

  /** Shows fields and waits until `read` makes something of them; what it raises is shown beside them. */
  ask<Value>(
    title: string,
    fields: readonly Node[],
    yes: string,
    read: () => Value | Promise<Value>,
    isEndable = true,
  ): Promise<Value> {
    return this.#waited((resolve, reject) => {
      const wrong = element("div", { role: "alert" });
      const buttons = element("p", { class: "buttons" }, element("button", {}, yes));
      if (isEndable) buttons.append(button("Not now", reject, "quiet"));
      const form = element("form", {}, ...fields, wrong, buttons);
      form.addEventListener("submit", (event) => {
        event.preventDefault();
        wrong.replaceChildren();
        void Promise.resolve()
          .then(read)
          .then(resolve, (error: unknown) => wrong.replaceChildren(...problem(error)));
      });
      return [...(title === "" ? [] : [element("h3", {}, title)]), form];
    });
  }

  /**
   * Waits for what may never come, such as a wallet that shows nothing, beside a button that ends the wait: `stopped`.
   * What was begun may still happen. Work that asks again and again looks at the signal.
   */
  async until<Value>(work: (signal: AbortSignal) => Promise<Value>): Promise<Value> {
    const stop = button("Stop waiting", () => this.#waiting?.abort(noLonger()), "quiet");
    const shown = setTimeout(() => this.#stop.replaceChildren(stop), STOP_MILLISECONDS);
    try {
      return await this.#unlessOver(work);
    } finally {
      clearTimeout(shown);
      this.#stop.replaceChildren();
    }
  }

  /** Shows something while the act goes on. */
  show(...shown: readonly Node[]): void {
    this.#body.replaceChildren(...shown);
  }

  /** Whether it shows nothing, as after "Not now". */
  get isEmpty(): boolean {
    return this.place.textContent === "";
  }

  /** Ends with what was done, and leads the person there. */
  done(what: string, ...more: readonly Node[]): void {
    this.isDone = true;
    this.#message.className = "done";
    this.#message.replaceChildren(element("strong", {}, what));
    this.#body.replaceChildren(...more);
    this.#message.focus();
  }

  /** Ends with why it did not go on. */
  fail(error: unknown): void {
    this.say("");
    this.#body.replaceChildren();
    if (isCode(error, CANCELLED)) return;
    const alert = notice(error);
    this.#body.append(alert);
    alert.focus();
  }

  /** Asks the person: what was said before is answered by what is shown now. */
  async #waited<Value>(make: (resolve: (value: Value) => void, reject: () => void) => readonly Node[]): Promise<Value> {
    try {
      return await this.#unlessOver(
        () =>
          new Promise<Value>((resolve, reject) => {
            this.say("");
            this.#body.replaceChildren(...make(resolve, () => reject(cancelled())));
            this.#body.querySelector<HTMLElement>("input, textarea, select, h3[tabindex]")?.focus(); // facts come first
          }),
      );
    } finally {
      this.#body.replaceChildren();
    }
  }

  async #unlessOver<Value>(work: (signal: AbortSignal) => Promise<Value>): Promise<Value> {
    if (this.#isOver) throw cancelled();
    const { signal } = (this.#waiting = new AbortController());
    const over = new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
    return Promise.race([work(signal), over]);
  }
}

/** Makes a list of facts. */
export function factList(facts: readonly Fact[], kind = "proofs"): HTMLElement {
  const rows = facts.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value)));
  return element("dl", { class: kind }, ...rows);
}

function cancelled(): ServiceError {
  return new ServiceError(CANCELLED, "Nothing was signed or sent.");
}

function noLonger(): ServiceError {
  const nextAction = "A request to the wallet, or a transaction already sent, may still go through. Press the button again to continue: the page first checks whether it happened.";
  return new ServiceError("stopped", "This page has stopped waiting.", { nextAction });
}

/** Shows an error as a person reads it: what happened, what is wrong, what to do next. */
export function problem(error: unknown): Node[] {
  if (!(error instanceof ServiceError)) {
    return [element("p", {}, "Something went wrong in this page. Reload it and try again; the page continues where it stopped.")];
  }
  const text = (value: string) => printable(value, MOST_LETTERS);
  const issues = error.issues
    .slice(0, MOST_ISSUES)
    .map(({ path, message }) => element("li", {}, `${text(path)}: ${text(message)}`));
  const shown: Node[] = [element("p", {}, element("strong", {}, text(error.message)))];
  if (issues.length > 0) shown.push(element("ul", {}, ...issues));
  if (error.nextAction !== "") shown.push(element("p", {}, text(error.nextAction)));
  return shown;
}

/** Shows an error in a notice. */
export function notice(error: unknown): HTMLElement {
  return element("div", { role: "alert", class: "notice", tabindex: "-1" }, ...problem(error));
}
