/** A page and its wallet, from the first button to what the account can do: each step puts a new state into the store. */

import { ServiceError } from "../src/acting.js";
import { readState, whyNothing } from "./bounty.js";
import { heartbeat, hubOffers } from "./claims.js";
import { makeContext, type Context } from "./context.js";
import { pause } from "./dom.js";
import { deliveredOf, openingOffers } from "./opening.js";
import { PUBLISHING, showForm } from "./publish.js";
import { rememberWallet, rememberedWallet } from "./remembered.js";
import type { Settings } from "./settings.js";
import { notice, Stage } from "./stage.js";
import { submitOffers } from "./submit.js";
import { verdictOffers } from "./verdict.js";
import { View, type Offer, type State } from "./view.js";
import { Wallet, discover, type Announced } from "./wallet.js";

const PATIENCE_MILLISECONDS = 500;
/** A second wallet announces itself by then. */
const SINGLE_MILLISECONDS = 200;
/** A wallet that shows nothing by then is locked, or waits behind the window. */
const HINT_MILLISECONDS = 2_000;
/** An act that is ended is over by then, unless it waits for a node that is silent. */
const ENDING_MILLISECONDS = 2_000;

/** One page with its wallets. */
export class Session {
  readonly #settings: Settings;
  readonly #wallets: Announced[] = [];
  #state: State = { is: "left" };
  #running: Promise<void> | undefined;
  readonly #view: View;
  /** Counts connections: what an older one reads comes too late. */
  #turn = 0;

  constructor(place: HTMLElement, acting: HTMLElement) {
    this.#settings = JSON.parse(place.dataset["wallet"] ?? "") as Settings;
    this.#view = new View(acting, {
      connect: (announced) => void this.#connect(announced, true),
      disconnect: () => void this.#leave(),
      switchChain: () => void this.#switchChain(),
      begin: (offer) => void this.#begin(offer),
    });
    if (this.#settings.actions === "publish") showForm(this.#settings, place, () => void this.choose());
    discover((wallet) => {
      this.#wallets.push(wallet);
      this.#view.offer(wallet);
    });
  }

  #set(state: State): void {
    this.#state = state;
    this.#view.show(state);
  }

  /** Shows the wallets that announced themselves; the person chooses one. Where there is a single one, it is that. */
  async choose(): Promise<void> {
    if (!isSecureContext) {
      const insecure = new ServiceError("insecure", "Wallets work only on pages loaded over https.");
      document.getElementById("acting")?.replaceChildren(notice(insecure));
      return;
    }
    if (this.#state.is === "ready") return;
    this.#set({ is: "choosing" });
    await pause(this.#wallets.length === 0 ? PATIENCE_MILLISECONDS : SINGLE_MILLISECONDS);
    const [only] = this.#wallets;
    if (only === undefined) this.#set({ is: "absent" });
    else if (this.#wallets.length === 1 && this.#state.is === "choosing") void this.#connect(only, true);
  }

  /** Connects the wallet of an earlier visit, where it shows its account unasked. */
  async chooseAgain(): Promise<void> {
    const known = () => this.#wallets.find(({ id }) => id === rememberedWallet());
    if (known() === undefined) await pause(PATIENCE_MILLISECONDS);
    const announced = known();
    if (announced !== undefined && this.#turn === 0) void this.#connect(announced, false);
  }

  /** Connects a wallet and shows what its account can do. `isAsked`: by a button that a person has just pressed. */
  async #connect(announced: Announced, isAsked: boolean): Promise<void> {
    const turn = (this.#turn += 1);
    const { chainId } = this.#settings.deployment;
    const ending = this.#end();
    let wallet: Wallet | undefined;
    try {
      wallet = isAsked ? await this.#asked(announced, chainId) : await Wallet.connectAgain(announced, chainId);
      if (this.#turn !== turn) return; // another wallet was chosen meanwhile
      if (wallet === undefined) return this.#set({ is: "left" });
      rememberWallet(announced.id);
      wallet.onChange(() => {
        if (this.#turn === turn) this.#changed();
      });
      this.#set({ is: "reading", wallet });
      await wallet.requireReady();
      const context = await makeContext(this.#settings, wallet);
      const [offers, why] = await offersOf(context);
      await ending;
      if (this.#turn !== turn) return;
      this.#set({ is: "ready", announced, context, offers, why, stage: undefined, isRunning: false, isChanged: false });
      const [first] = offers;
      const isAlone = first?.begins === "alone" && isAsked && offers.length === 1;
      if (first?.begins === "always" || isAlone) void this.#begin(first as Offer);
    } catch (error) {
      if (this.#turn === turn) this.#set({ is: "refused", error, announced, wallet });
    }
  }

  /** Asks the wallet for an account; once that takes long, shows what the wallet may be waiting for. */
  async #asked(announced: Announced, chainId: number): Promise<Wallet> {
    this.#set({ is: "connecting", isSlow: false });
    const timer = setTimeout(() => this.#set({ is: "connecting", isSlow: true }), HINT_MILLISECONDS);
    try {
      return await Wallet.connect(announced, chainId);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Does what is offered, and reads again what can be done: a Verdict may have ended the bounty. */
  async #begin(offer: Offer): Promise<void> {
    const before = this.#state;
    if (before.is !== "ready" || before.isRunning) return;
    const turn = this.#turn;
    const stage = new Stage();
    this.#set({ ...before, stage, isRunning: true });
    this.#running = offer.run({ ...before.context, stage }).catch((error: unknown) => stage.fail(error));
    await this.#running;
    const [left, why] = await offersOf(before.context).catch(() => [before.offers, before.why] as const);
    const isDone = (each: Offer) => stage.isDone && each.title === offer.title;
    const offers = left.map((each): Offer => (isDone(each) ? { ...each, begins: "again" } : each));
    const state = this.#state;
    if (state.is === "ready" && this.#turn === turn) this.#set({ ...state, offers, why, isRunning: false });
  }

  /** Ends what is running, so that it can be begun again elsewhere: each act is held by one at a time. */
  async #end(): Promise<void> {
    if (this.#state.is !== "ready") return;
    this.#state.stage?.end();
    await Promise.race([this.#running, pause(ENDING_MILLISECONDS)]);
  }

  /** The wallet has another account or chain: an act that is running is not taken away, all else is read anew. */
  #changed(): void {
    const state = this.#state;
    if (state.is !== "ready") return;
    if (state.isRunning) this.#set({ ...state, isChanged: true });
    else void this.#connect(state.announced, false);
  }

  async #switchChain(): Promise<void> {
    const state = this.#state;
    if (state.is !== "refused" || state.wallet === undefined) return;
    this.#set({ is: "connecting", isSlow: false });
    try {
      await state.wallet.switchChain();
      await this.#connect(state.announced, true);
    } catch (error) {
      this.#set({ ...state, error });
    }
  }

  /** Ends connecting by itself, and shows nothing of the account any more. */
  async #leave(): Promise<void> {
    rememberWallet(undefined);
    this.#turn += 1;
    await this.#end();
    this.#set({ is: "left" });
  }
}

/** What the account can do on this page now, what matters most first; and why that may be nothing. */
async function offersOf(context: Context): Promise<readonly [readonly Offer[], string]> {
  const { actions, bounty: stated } = context.settings;
  if (actions === "guardians") return [[heartbeat(context)], ""];
  if (actions === "publish") return [[PUBLISHING], ""];
  if (stated === undefined) return [[], ""];
  const bounty = await readState(context, stated);
  const all = [
    ...hubOffers(context, bounty),
    ...submitOffers(context, bounty),
    ...verdictOffers(context, bounty),
    ...openingOffers(context, bounty, await deliveredOf(context, bounty)),
  ];
  return [all, whyNothing(context.account, bounty)];
}
