/** How the state of a page and its wallet is shown: the wallet in the page's header, and what can be done with it. */

import { isCode } from "./answers.js";
import type { Acting, Context } from "./context.js";
import { button, element } from "./dom.js";
import { notice, type Stage } from "./stage.js";
import { short } from "./text.js";
import type { Announced, Wallet } from "./wallet.js";

const SLOW = "The wallet has not answered yet. It may be locked, or its window may be behind this one: press the wallet's icon beside the browser's address bar, unlock it, and allow this page to see an account.";
const FIND_WALLET = "https://ethereum.org/wallets/find-wallet/";

/** An act that a person can begin, once what it needs is known to be so. */
export interface Offer {
  readonly title: string;
  readonly text: string;
  readonly button: string;
  /**
   * `always`: it begins by itself; `alone`: it does once a wallet is connected, where nothing else can be done; `again`:
   * it repeats what is done, so it is not shown as what comes next.
   */
  readonly begins?: "always" | "alone" | "again";
  readonly run: (acting: Acting) => Promise<void>;
}

/** How far a page has come with a wallet: all of it is shown from this. */
export type State =
  | { readonly is: "choosing" }
  | { readonly is: "left" }
  | { readonly is: "absent" }
  | { readonly is: "connecting"; readonly isSlow: boolean }
  | { readonly is: "reading"; readonly wallet: Wallet }
  | { readonly is: "refused"; readonly error: unknown; readonly announced: Announced; readonly wallet: Wallet | undefined }
  | Ready;

/** A wallet that is connected, and what its account can do now. */
export interface Ready {
  readonly is: "ready";
  readonly announced: Announced;
  readonly context: Context;
  readonly offers: readonly Offer[];
  /** Why there are none. */
  readonly why: string;
  /** Where the last act happened: while it runs, nothing else is offered, and what came of it stays. */
  readonly stage: Stage | undefined;
  readonly isRunning: boolean;
  /** Whether the wallet has another account or chain since, while an act was running. */
  readonly isChanged: boolean;
}

/** What a person can do about a wallet, and with it. */
export interface Choices {
  readonly connect: (announced: Announced) => void;
  readonly disconnect: () => void;
  readonly switchChain: () => void;
  readonly begin: (offer: Offer) => void;
}

export class View {
  readonly #acting: HTMLElement;
  readonly #choices: Choices;
  readonly #list = element("p", { class: "choices" });
  readonly #session = element("div");
  readonly #note = element("div");
  readonly #running = element("section");
  readonly #offered = element("div", { class: "acts" });

  constructor(acting: HTMLElement, choices: Choices) {
    this.#acting = acting;
    this.#choices = choices;
  }

  /** Shows a wallet that announced itself. */
  offer(announced: Announced): void {
    if (this.#list.childElementCount === 0) this.#list.append("Connect with:", " ");
    this.#list.append(button(announced.name, () => this.#choices.connect(announced)), " ");
  }

  /** Shows a state. */
  show(state: State): void {
    if (this.#list.parentNode !== this.#acting) this.#acting.replaceChildren(this.#list, this.#session);
    this.#list.hidden = ["left", "absent", "reading", "ready"].includes(state.is);
    this.#chip(state);
    const isFree = state.is === "choosing" || state.is === "left";
    for (const each of document.querySelectorAll<HTMLElement>("[data-begin]")) each.hidden = !isFree;
    if (state.is === "ready") this.#ready(state);
    else this.#session.replaceChildren(...this.#waiting(state));
  }

  /** Shows what can be done, or what is being done; what a person is in stays where it is. */
  #ready({ announced, offers, why, stage, isRunning, isChanged }: Ready): void {
    const parts = [this.#note, this.#running, this.#offered];
    if (this.#offered.parentNode !== this.#session) this.#session.replaceChildren(...parts);
    const again = button("Connect again", () => this.#choices.connect(announced));
    const changed = element("p", { role: "status", class: "warning" }, "The wallet's account or chain changed.", " ", again);
    this.#note.replaceChildren(...(isChanged ? [changed] : []));
    this.#running.className = isRunning ? "action main running" : "action";
    this.#running.hidden = stage === undefined || (!isRunning && stage.isEmpty);
    if (stage === undefined) this.#running.replaceChildren();
    else if (stage.place.parentNode !== this.#running) this.#running.replaceChildren(stage.place);
    const nothing = element("p", { class: "nothing" }, `${"This account has nothing to do here at the moment."} ${why}`);
    const shown = offers.map((offer, at) => this.#offer(offer, at === 0 && offer.begins !== "again"));
    if (shown.length === 0 && this.#running.hidden) shown.push(nothing);
    this.#offered.replaceChildren(...(isRunning ? [] : shown));
  }

  #offer(offer: Offer, isMain: boolean): HTMLElement {
    const go = element("p", { class: "go" }, button(offer.button, () => this.#choices.begin(offer)));
    const head = element("div", {}, element("h3", {}, offer.title), element("p", {}, offer.text));
    return element("section", { class: isMain ? "action main" : "action" }, head, go);
  }

  #waiting(state: State): readonly Node[] {
    const status = (...texts: readonly string[]) => texts.map((text) => element("p", { role: "status" }, text));
    switch (state.is) {
      case "absent":
        return withoutWallet();
      case "connecting":
        return status("Asking the wallet for an account.", ...(state.isSlow ? [SLOW] : []));
      case "reading":
        return status("Reading the chain through the wallet's node.");
      case "refused": {
        const { error, wallet } = state;
        const isWrong = wallet !== undefined && isCode(error, "wrong_chain");
        const change = button(`Switch the wallet to chain ${wallet?.chainId ?? 0}`, () => this.#choices.switchChain());
        return [notice(error), ...(isWrong ? [element("p", {}, change)] : [])];
      }
      default:
        return [];
    }
  }

  /** Shows the account in the page's header. */
  #chip(state: State): void {
    const place = document.getElementById("chip");
    const connect = document.getElementById("connect");
    const wallet = state.is === "ready" ? state.context.wallet : state.is === "reading" ? state.wallet : undefined;
    place?.querySelector("details")?.remove();
    if (connect !== null) connect.hidden = wallet !== undefined;
    if (place === null || wallet === undefined) return;
    const own = element("a", { href: `/people/${wallet.address}` }, "My bounties");
    const leave = button("Disconnect", this.#choices.disconnect, "quiet");
    const whole = element("p", { class: "hash" }, wallet.address);
    const on = element("p", { class: "muted" }, `${wallet.name}, chain ${wallet.chainId}`);
    const menu = element("div", {}, whole, on, element("p", {}, own), leave);
    place.append(element("details", {}, element("summary", {}, short(wallet.address)), menu));
  }
}

/** Explains what a wallet is, and how to get one. */
function withoutWallet(): HTMLElement[] {
  const found = element("a", { href: FIND_WALLET, rel: "noopener noreferrer external" }, "A list of wallets");
  return [
    element("p", { role: "status" }, element("strong", {}, "No wallet was found in this browser.")),
    element(
      "p",
      {},
      "A wallet is a program that keeps the keys of your account on the chain, and asks you before it signs or pays anything. On a computer it is a browser extension; on a phone it is an app with its own browser.",
    ),
    element("p", {}, "Install one from its maker's own site, make an account in it, and reload this page.", " ", found),
  ];
}
