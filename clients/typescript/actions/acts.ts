/** What an account can do on a page: each act with its button and, once it is pressed, the stage that it happens on. */

import { button, element } from "./dom.js";
import { pause } from "./paced.js";
import { Stage } from "./stage.js";
import { t } from "./words.js";

/** An act that a person can begin, once what it needs is known to be so. */
export interface Offer {
  /** The same for the same act, whatever else is offered meanwhile. */
  readonly key: string;
  readonly title: string;
  readonly text: string;
  readonly button: string;
  /** Whether nothing is left to do once it was done. */
  readonly isOnce?: boolean;
  /** Whether it begins by itself: always, or where a person has just connected a wallet and can do nothing else. */
  readonly begins?: "always" | "alone";
  readonly run: (stage: Stage) => Promise<void>;
}

/** One act on the page: what is offered, and what became of it. */
interface Shown {
  offer: Offer;
  readonly place: HTMLElement;
  readonly head: HTMLElement;
  readonly go: HTMLButtonElement;
  readonly stage: Stage;
  run: Promise<void> | undefined;
  /** How it ended: why it failed is still to be read once it is no longer offered. */
  end: "done" | "failed" | undefined;
}

/** An act that is ended is over by then, unless it waits for a node that is silent. */
const ENDING_MILLISECONDS = 2_000;

/** The acts of one account. What came of an act stays on the page when others take its place. */
export class Acts {
  readonly place = element("div", { class: "acts" });
  readonly #shown = new Map<string, Shown>();
  readonly #ended: () => void;

  /** `ended` is called after each act, also one that failed: what can be done may be something else then. */
  constructor(ended: () => void) {
    this.#ended = ended;
  }

  get isBusy(): boolean {
    return [...this.#shown.values()].some(({ run }) => run !== undefined);
  }

  /** Shows these acts in the place of the former ones; one that is running, and what came of one, stays. */
  show(offers: readonly Offer[], why: string): void {
    const offered = new Set(offers.map(({ key }) => key));
    for (const [key, { run, end, place, go, head }] of this.#shown) {
      if (offered.has(key)) continue;
      go.hidden = head.hidden = true;
      if (run !== undefined || end !== undefined) continue;
      this.#shown.delete(key);
      place.remove();
    }
    const results = [...this.#shown.values()].filter(({ offer }) => !offered.has(offer.key));
    const open = offers.map((offer) => this.#placed(offer));
    const nothing = element("p", { class: "nothing" }, `${t`This account can do nothing here at the moment.`} ${why}`);
    const isNothing = open.length === 0 && results.length === 0;
    open.forEach(({ place }, at) => place.classList.toggle("main", at === 0));
    arrange(this.place, isNothing ? [nothing] : [...results, ...open].map(({ place }) => place));
  }

  /** Begins an act, unless it is running. */
  begin(key: string): void {
    const shown = this.#shown.get(key);
    if (shown !== undefined && shown.run === undefined && !shown.go.hidden) shown.go.click();
  }

  /** Ends all that is running, so that it can be begun again elsewhere: each act is held by one at a time. */
  async end(): Promise<void> {
    const running = [...this.#shown.values()].filter(({ run }) => run !== undefined);
    for (const { stage } of running) stage.end();
    await Promise.race([Promise.all(running.map(({ run }) => run)), pause(ENDING_MILLISECONDS)]);
    this.#shown.clear();
    this.place.replaceChildren();
  }

  #placed(offer: Offer): Shown {
    const shown = this.#shown.get(offer.key) ?? this.#made(offer);
    shown.offer = offer;
    shown.head.hidden = false;
    shown.head.replaceChildren(element("h3", {}, offer.title), element("p", {}, offer.text));
    shown.go.textContent = offer.button;
    shown.go.hidden = shown.run !== undefined || (shown.end === "done" && offer.isOnce === true);
    return shown;
  }

  #made(offer: Offer): Shown {
    const stage = new Stage();
    const head = element("div");
    const go = button(offer.button, () => void this.#run(shown));
    const place = element("section", { class: "action" }, head, element("p", { class: "go" }, go), stage.place);
    const shown: Shown = { offer, place, head, go, stage, run: undefined, end: undefined };
    this.#shown.set(offer.key, shown);
    return shown;
  }

  async #run(shown: Shown): Promise<void> {
    const { go, stage, place } = shown;
    go.hidden = true;
    shown.end = undefined;
    stage.say("");
    stage.show();
    place.classList.add("running");
    let end: Shown["end"] = "done";
    shown.run = shown.offer.run(stage).catch((error: unknown) => {
      end = "failed";
      stage.fail(error);
    });
    await shown.run;
    Object.assign(shown, { run: undefined, end });
    place.classList.remove("running");
    go.hidden = shown.end === "done" && shown.offer.isOnce === true;
    this.#ended();
  }
}

/** Puts the places in this order, moving none that is there already: what moves loses the person's focus. */
function arrange(parent: HTMLElement, places: readonly HTMLElement[]): void {
  for (const each of [...parent.children]) if (!places.includes(each as HTMLElement)) each.remove();
  places.forEach((place, at) => {
    if (parent.children[at] !== place) parent.insertBefore(place, parent.children[at] ?? null);
  });
}
