/** A page and its wallet, from the first button to what the account can do: each step puts a new state into the store. */

import { ServiceError } from "../src/acting.js";
import { Acts } from "./acts.js";
import type { Offer } from "./acts.js";
import { readState, whyNothing } from "./bounty.js";
import type { Bounty } from "./bounty.js";
import { heartbeat, hubOffers } from "./claims.js";
import { makeContext, readerOf } from "./context.js";
import type { Context } from "./context.js";
import { deliveredOf, openingOffers } from "./opening.js";
import { pause } from "./paced.js";
import { publishOffer, showForm } from "./publish.js";
import { rememberWallet, rememberedWallet } from "./remembered.js";
import { readSettings } from "./settings.js";
import type { Settings } from "./settings.js";
import { notice } from "./stage.js";
import { submitOffers } from "./submit.js";
import { verdictOffers } from "./verdict.js";
import { View } from "./view.js";
import type { State } from "./view.js";
import { Wallet, discover } from "./wallet.js";
import type { Announced } from "./wallet.js";
import { t } from "./words.js";

const PATIENCE_MILLISECONDS = 500;
/** A second wallet announces itself by then. */
const SINGLE_MILLISECONDS = 200;
/** A wallet that shows nothing by then is locked, or waits behind the window. */
const HINT_MILLISECONDS = 2_000;

/** One page with its wallets. */
export class Session {
  readonly #place: HTMLElement;
  #settings: Settings;
  readonly #wallets: Announced[] = [];
  readonly #acts = new Acts(() => void this.#refresh());
  #state: State = { is: "choosing" };
  readonly #view: View;
  /** Counts connections: what an older one reads comes too late. */
  #turn = 0;

  constructor(place: HTMLElement, acting: HTMLElement) {
    this.#place = place;
    this.#settings = readSettings(place);
    const choices = {
      connect: (announced: Announced) => void this.#connect(announced, true),
      disconnect: () => void this.#disconnect(),
      switchChain: () => void this.#switchChain(),
    };
    this.#view = new View(acting, this.#acts, choices);
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
      const insecure = new ServiceError("insecure", t`Wallets work on pages that are read by https only.`);
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
    if (!isSecureContext) return;
    const known = () => this.#wallets.find(({ id }) => id === rememberedWallet());
    if (known() === undefined) await pause(PATIENCE_MILLISECONDS);
    const announced = known();
    const { chainId } = this.#settings.deployment;
    const wallet = announced && (await Wallet.connectAgain(announced, chainId).catch(() => undefined));
    if (announced !== undefined && wallet !== undefined && this.#turn === 0) void this.#connect(announced, false, wallet);
  }

  /** Connects a wallet and shows what its account can do. `isAsked`: by a button that a person has just pressed. */
  async #connect(announced: Announced, isAsked: boolean, known?: Wallet): Promise<void> {
    const turn = (this.#turn += 1);
    this.#settings = readSettings(this.#place);
    const ending = this.#acts.end();
    let wallet = known;
    try {
      wallet ??= await this.#asked(announced);
      rememberWallet(announced.id);
      wallet.onChange(() => {
        if (this.#turn === turn) void this.#changed();
      });
      this.#set({ is: "reading", wallet });
      await wallet.requireReady();
      const reader = readerOf(this.#settings, wallet);
      const stated = this.#settings.bounty;
      const [context, bounty] = await Promise.all([makeContext(reader, wallet), stated && readState(reader, stated)]);
      const [offers, why] = await offersOf(context, bounty);
      await ending;
      if (this.#turn !== turn) return; // another wallet was chosen meanwhile
      this.#set({ is: "ready", announced, context, offers, why, isChanged: false });
      const [first] = offers;
      const begins = first?.begins === "always" || (first?.begins === "alone" && isAsked && offers.length === 1);
      if (first !== undefined && begins) this.#acts.begin(first.key);
    } catch (error) {
      if (this.#turn === turn) this.#set({ is: "refused", error, announced, wallet });
    }
  }

  /** Asks the wallet for an account; once that takes long, shows what the wallet may be waiting for. */
  async #asked(announced: Announced): Promise<Wallet> {
    this.#set({ is: "connecting", isSlow: false });
    const timer = setTimeout(() => this.#set({ is: "connecting", isSlow: true }), HINT_MILLISECONDS);
    try {
      return await Wallet.connect(announced, this.#settings.deployment.chainId);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Reads again what can be done, after an act: a Verdict may have ended the bounty. */
  async #refresh(): Promise<void> {
    const state = this.#state;
    if (state.is !== "ready") return;
    const turn = this.#turn;
    const { context } = state;
    const { bounty: stated } = context.settings;
    const read = async () => offersOf(context, stated && (await readState(context, stated)));
    const found = await read().catch(() => undefined);
    const now = this.#state;
    if (found === undefined || now.is !== "ready" || this.#turn !== turn) return;
    this.#set({ ...now, offers: found[0], why: found[1] });
  }

  /** The wallet has another account or chain: an act that is running is not taken away, all else is read anew. */
  async #changed(): Promise<void> {
    const state = this.#state;
    if (state.is !== "ready") return;
    if (this.#acts.isBusy) this.#set({ ...state, isChanged: true });
    else {
      const { announced } = state;
      const wallet = await Wallet.connectAgain(announced, this.#settings.deployment.chainId).catch(() => undefined);
      if (wallet === undefined) await this.#left();
      else await this.#connect(announced, false, wallet);
    }
  }

  async #switchChain(): Promise<void> {
    const state = this.#state;
    if (state.is !== "refused" || state.wallet === undefined) return;
    try {
      await state.wallet.switchChain();
      await this.#connect(state.announced, true);
    } catch (error) {
      this.#set({ ...state, error });
    }
  }

  /** Ends connecting by itself, and shows nothing of the account any more. */
  async #disconnect(): Promise<void> {
    rememberWallet(undefined);
    await this.#left();
  }

  async #left(): Promise<void> {
    this.#turn += 1;
    await this.#acts.end();
    this.#set({ is: "choosing" });
  }
}

/** What the account can do on this page now, what matters most first; and why that may be nothing. */
async function offersOf(context: Context, bounty: Bounty | undefined): Promise<[Offer[], string]> {
  const { settings } = context;
  if (settings.actions === "guardians") return [[heartbeat(context)], ""];
  if (settings.actions === "publish") return [[publishOffer(context)], ""];
  if (bounty === undefined) return [[], ""];
  const isDelivered = await deliveredOf(context, bounty);
  const all = [
    ...hubOffers(context, bounty),
    ...submitOffers(context, bounty),
    ...verdictOffers(context, bounty),
    ...openingOffers(context, bounty, isDelivered),
  ];
  return [all, whyNothing(context.account, bounty)];
}
