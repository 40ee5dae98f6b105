/** The part of the page in which one action happens: what it shows, and what it waits for. */

import { ServiceError } from "../src/acting.js";
import { button, element, labelled } from "./dom.js";
import { printable } from "./text.js";

/** A name and a value, both in plain text. */
export type Fact = readonly [name: string, value: string];

/** An action that a person can start, once what it needs is known to be so. */
export interface Offer {
  readonly title: string;
  readonly text: string;
  readonly button: string;
  /** Whether nothing is left to do once it was done. */
  readonly isOnce?: boolean;
  /** Whether it begins by itself: always, or where a person has just connected a wallet and can do nothing else. */
  readonly begins?: "always" | "alone";
  readonly run: (stage: Stage) => Promise<void>;
}

const CANCELLED = "cancelled";
/** A wait that is over by then needs no button to end it. */
const STOP_MILLISECONDS = 2_000;
const MOST_ISSUES = 50;
/** Of what the API wrote: its own issues have at most 1,500. */
const MOST_LETTERS = 1_600;

export class Stage {
  readonly place = element("div", { class: "stage" });
  readonly #message = element("p", { role: "status", tabindex: "-1" });
  readonly #stop = element("p");
  readonly #body = element("div");
  readonly #over: Promise<never>;
  #waiting: AbortController | undefined;
  #isOver = false;
  #giveUp: (reason: ServiceError) => void = () => undefined;

  constructor() {
    this.place.append(this.#message, this.#stop, this.#body);
    this.#over = new Promise((_, reject) => (this.#giveUp = reject));
    this.#over.catch(() => undefined); // also where nothing waits
  }

  /** Ends the action, as when its place is not on the page any more: whatever it waits for, now or later, is `cancelled`. */
  end(): void {
    this.#isOver = true;
    this.#giveUp(cancelled());
    this.#waiting?.abort();
  }

  /** Begins with nothing shown. */
  clear(): void {
    this.say("");
    this.#body.replaceChildren();
  }

  /** What is happening now. */
  say(text: string): void {
    this.#message.textContent = text;
  }

  /** Shows facts and waits for one of the buttons, whose text is returned; "Not now" raises `cancelled`. */
  confirm(title: string, facts: readonly Fact[], ...buttons: readonly string[]): Promise<string> {
    const list = element("dl", { class: "proofs" });
    for (const [name, value] of facts) {
      list.append(element("div", {}, element("dt", {}, name), element("dd", {}, value)));
    }
    return this.#waited((resolve, reject) => [
      element("h4", { tabindex: "-1" }, title),
      list,
      element(
        "p",
        {},
        ...buttons.flatMap((text) => [button(text, () => resolve(text)), " "]),
        quiet("Not now", reject),
      ),
    ]);
  }

  /** Shows fields and waits until `read` makes something of them; what it raises is shown beside them. */
  ask<Value>(title: string, fields: readonly Node[], yes: string, read: () => Value | Promise<Value>): Promise<Value> {
    return this.#waited((resolve, reject) => {
      const wrong = element("div", { role: "alert" });
      const form = element("form", {}, ...fields, wrong, element("p", {}, element("button", {}, yes), " "));
      form.lastElementChild?.append(quiet("Not now", reject));
      form.addEventListener("submit", (event) => {
        event.preventDefault();
        wrong.replaceChildren();
        void Promise.resolve()
          .then(read)
          .then(resolve, (error: unknown) => wrong.replaceChildren(...problem(error)));
      });
      return [element("h4", {}, title), form];
    });
  }

  /** One of a few choices. */
  choose<Value>(title: string, choices: readonly (readonly [string, Value])[], yes: string): Promise<Value> {
    const select = element("select");
    for (const [text] of choices) select.append(element("option", {}, text));
    return this.ask(title, [labelled(title, select)], yes, () => {
      const chosen = choices[select.selectedIndex];
      if (chosen === undefined) throw new ServiceError("nothing_chosen", "Choose one.");
      return chosen[1];
    });
  }

  /**
   * Waits for what may never come, such as a wallet that shows nothing, beside a button that ends the wait: `stopped`.
   * What was begun may still happen. Work that asks again and again looks at the signal. A wait within another one is
   * ended with it.
   */
  async until<Value>(work: (signal: AbortSignal) => Promise<Value>): Promise<Value> {
    if (this.#isOver) throw cancelled();
    if (this.#waiting !== undefined) return work(this.#waiting.signal);
    const stopping = new AbortController();
    const stopped = new Promise<never>((_, reject) => {
      stopping.signal.addEventListener("abort", () => reject(noLonger()));
    });
    const shown = setTimeout(() => {
      this.#stop.replaceChildren(quiet("Stop waiting", () => stopping.abort()));
    }, STOP_MILLISECONDS);
    this.#waiting = stopping;
    try {
      return await Promise.race([this.#over, work(stopping.signal), stopped]);
    } finally {
      this.#waiting = undefined;
      clearTimeout(shown);
      this.#stop.replaceChildren();
    }
  }

  /** Shows something while the action goes on. */
  show(...shown: readonly Node[]): void {
    this.#body.replaceChildren(...shown);
  }

  /** Ends with what was done, and leads who acted there. */
  done(what: string | readonly (Node | string)[], ...more: readonly Node[]): void {
    this.#message.replaceChildren(...(typeof what === "string" ? [what] : what));
    this.#body.replaceChildren(...more);
    this.#message.focus();
  }

  /** Ends with why it did not go on. */
  fail(error: unknown): void {
    this.say("");
    if (error instanceof ServiceError && error.code === CANCELLED) this.#body.replaceChildren();
    else {
      const alert = element("div", { role: "alert", class: "notice", tabindex: "-1" }, ...problem(error));
      this.#body.replaceChildren(alert);
      alert.focus();
    }
  }

  async #waited<Value>(make: (resolve: (value: Value) => void, reject: () => void) => readonly Node[]): Promise<Value> {
    try {
      const answered = new Promise<Value>((resolve, reject) => {
        this.#body.replaceChildren(...make(resolve, () => reject(cancelled())));
        this.#body.querySelector<HTMLElement>("input, textarea, select, h4[tabindex]")?.focus(); // facts come first
      });
      return await Promise.race([this.#over, answered]);
    } finally {
      this.#body.replaceChildren();
    }
  }
}

function cancelled(): ServiceError {
  return new ServiceError(CANCELLED, "Nothing was signed or sent.");
}

function noLonger(): ServiceError {
  return new ServiceError("stopped", "This page has stopped waiting.", {
    nextAction:
      "What the wallet was asked, or what was sent, may still happen. Press the button again to go on: it is looked for first.",
  });
}

function quiet(text: string, pressed: () => void): HTMLButtonElement {
  const made = button(text, pressed);
  made.className = "quiet";
  return made;
}

/** An error as a person reads it: what happened, what is wrong, what to do next. */
export function problem(error: unknown): Node[] {
  if (!(error instanceof ServiceError)) {
    return [element("p", {}, "Something went wrong in this page. Reload it and try again; what was begun continues.")];
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
