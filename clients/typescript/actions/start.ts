/** The wallets of this browser, and what the connected account can do on this page. */

import type { Address } from "viem";
import { ServiceError } from "../src/acting.js";
import { readState } from "./bounty.js";
import { heartbeat, hubOffers } from "./claims.js";
import type { Context } from "./context.js";
import { makeContext } from "./context.js";
import { button, element, labelled } from "./dom.js";
import { openingOffers } from "./opening.js";
import { pause } from "./paced.js";
import { publishOffer } from "./publish.js";
import { forgetWallet, rememberWallet, rememberedWallet } from "./remembered.js";
import { readSettings } from "./settings.js";
import type { Settings } from "./settings.js";
import { Stage, problem } from "./stage.js";
import type { Offer } from "./stage.js";
import { submitOffers } from "./submit.js";
import { verdictOffers } from "./verdict.js";
import { whyNothing } from "./waiting.js";
import { Wallet, discover } from "./wallet.js";
import type { Announced } from "./wallet.js";

const PATIENCE_MILLISECONDS = 500;
/** A second wallet announces itself by then. */
const SINGLE_MILLISECONDS = 200;
/** A wallet that shows nothing by then is locked, or waits behind the window. */
const HINT_MILLISECONDS = 2_000;
/** An action that is ended is over by then, unless it waits for a node that is silent. */
const ENDING_MILLISECONDS = 2_000;
const FIND_WALLET = "https://ethereum.org/wallets/find-wallet/";

/** The actions that were begun on this page and are not over. */
const running = new Map<Stage, Promise<void>>();

/** Shows the wallets that announce themselves; the person chooses one. Where there is a single one, it is that. */
export async function start(place: HTMLElement, acting: HTMLElement): Promise<void> {
  if (!isSecureContext) {
    acting.textContent = "Wallets work on pages that are read by https only.";
    return;
  }
  const settings = readSettings(place);
  const { wallets, list, session } = choices(settings, acting);
  await pause(wallets.length === 0 ? PATIENCE_MILLISECONDS : SINGLE_MILLISECONDS);
  const [only] = wallets;
  if (only === undefined) {
    list.hidden = true;
    session.replaceChildren(...withoutWallet());
  } else if (wallets.length === 1 && session.childElementCount === 0) {
    void connected(settings, only, session);
  }
}

/** Connects the wallet of an earlier visit, where it shows its account unasked; whether it does. */
export async function startAgain(place: HTMLElement, acting: HTMLElement): Promise<boolean> {
  if (!isSecureContext) return false;
  const settings = readSettings(place);
  const { wallets, session } = choices(settings, acting);
  const known = () => wallets.find(({ id }) => id === rememberedWallet());
  if (known() === undefined) await pause(PATIENCE_MILLISECONDS);
  const announced = known();
  if (announced !== undefined) {
    const wallet = await Wallet.connectAgain(announced, settings.deployment.chainId).catch(() => undefined);
    if (wallet !== undefined && session.childElementCount === 0) {
      void connected(settings, announced, session, wallet);
      return true;
    }
  }
  if (session.childElementCount > 0) return true; // another one was chosen while it kept silent
  acting.replaceChildren();
  return false;
}

/** The wallets as they announce themselves, each with a button, and where the chosen one acts. */
function choices(settings: Settings, acting: HTMLElement) {
  const wallets: Announced[] = [];
  const list = element("p", { class: "choices" });
  const session = element("div");
  acting.replaceChildren(list, session);
  discover((wallet) => {
    if (wallets.push(wallet) === 1) list.replaceChildren("Use ");
    list.append(
      button(wallet.name, () => void connected(settings, wallet, session)),
      " ",
    );
  });
  return { wallets, list, session };
}

/** What a wallet is, and how to come by one. */
function withoutWallet(): HTMLElement[] {
  const found = element("a", { href: FIND_WALLET, rel: "noopener noreferrer external" }, "a list of wallets");
  return [
    element("p", { role: "status" }, element("strong", {}, "No wallet was found in this browser.")),
    element(
      "p",
      {},
      "A wallet is a program that keeps the keys of your account on the chain and asks you before anything is signed or paid. " +
        "On a computer it is an extension of the browser; on a phone it is an app, which has a browser of its own.",
    ),
    element(
      "ol",
      {},
      element("li", {}, "Choose one, for example from ", found, ", and install it from its maker's own site."),
      element("li", {}, "Make an account in it. What it shows you to write down once is the account: give it to nobody."),
      element("li", {}, "Come back to this page, on a phone within the wallet's browser, and reload it."),
    ),
    element("p", {}, "Everything that these pages show can be read without one."),
  ];
}

/** Connects a wallet and shows what its account can do; again whenever account or chain change. */
async function connected(
  settings: Settings,
  announced: Announced,
  session: HTMLElement,
  known?: Wallet,
): Promise<void> {
  const shown = element("div");
  session.replaceChildren(shown);
  const ending = endUnseen();
  let wallet = known;
  try {
    wallet ??= await hinted(shown, Wallet.connect(announced, settings.deployment.chainId));
    rememberWallet(announced.id);
    const again = element("p");
    wallet.onChange(() => {
      if (!shown.isConnected) return;
      again.replaceChildren(
        "The wallet's account or chain changed. ",
        button("Connect again", () => void connected(settings, announced, session)),
      );
    });
    shown.textContent = "The chain is read through the wallet's node.";
    const context = await makeContext(settings, wallet);
    const { chainId } = settings.deployment;
    const own = element("a", { href: `/people/${wallet.address}` }, "Its bounties, and what waits for it");
    shown.replaceChildren(
      element("p", { class: "account" }, `${wallet.name}: account ${wallet.address} on chain ${chainId}. `, own),
      element("p", {}, forgetting()),
      again,
    );
    const offers = await offersOf(context);
    await ending;
    if (!shown.isConnected) return; // another wallet was chosen meanwhile
    show(shown, known === undefined, ...offers);
    if (settings.actions !== "publish") shown.append(forSafe(settings, wallet));
  } catch (error) {
    shown.replaceChildren(element("div", { role: "alert", class: "notice" }, ...problem(error)));
    const chosen = wallet;
    if (chosen !== undefined && error instanceof ServiceError && error.code === "wrong_chain") {
      shown.append(element("p", {}, switching(chosen, settings, announced, session, shown)));
    }
  }
}

/** Ends the actions that nobody sees any more, so that they can be begun again: each is held by one at a time. */
async function endUnseen(): Promise<void> {
  const unseen = [...running].filter(([stage]) => !stage.place.isConnected);
  for (const [stage] of unseen) stage.end();
  await Promise.race([Promise.all(unseen.map(([, run]) => run)), pause(ENDING_MILLISECONDS)]);
}

/** The end of connecting by itself. */
function forgetting(): HTMLButtonElement {
  const forget = button("Ask before connecting again", () => {
    forgetWallet();
    forget.replaceWith("The next page connects only when you press its button.");
  });
  forget.className = "plain";
  return forget;
}

/** Waits for the wallet's account; once that takes long, says what the wallet may be waiting for. */
async function hinted(shown: HTMLElement, connecting: Promise<Wallet>): Promise<Wallet> {
  const hint = element("p", { role: "status" });
  shown.replaceChildren(element("p", {}, "The wallet is asked for an account."), hint);
  const timer = setTimeout(() => {
    hint.textContent =
      "The wallet has not answered yet. It may be locked, or its window may be behind this one: " +
      "press the wallet's sign beside the browser's address bar, unlock it, and allow this page to see an account.";
  }, HINT_MILLISECONDS);
  try {
    return await connecting;
  } finally {
    clearTimeout(timer);
  }
}

function switching(
  wallet: Wallet,
  settings: Settings,
  announced: Announced,
  session: HTMLElement,
  shown: HTMLElement,
): HTMLButtonElement {
  return button(`Switch the wallet to chain ${settings.deployment.chainId}`, () => {
    wallet.switchChain().then(
      () => connected(settings, announced, session),
      (error: unknown) => shown.append(element("div", { role: "alert", class: "notice" }, ...problem(error))),
    );
  });
}

/** Claims, settling and signs of life for a Safe whose owners sign elsewhere: they need its transactions alone. */
function forSafe(settings: Settings, wallet: Wallet): HTMLElement {
  const field = element("input", { size: "44", autocomplete: "off", spellcheck: "false" });
  const shown = element("div");
  const prepare = async () => {
    const address = field.value.trim().toLowerCase() as Address;
    if (!/^0x[0-9a-f]{40}$/.test(address)) throw new ServiceError("no_address", "This is not an address.");
    const context = await makeContext(settings, wallet, address);
    if (!(await context.node.isContract(address))) {
      throw new ServiceError("not_a_safe", "There is no contract at this address on the wallet's chain.");
    }
    const offers = await preparedOffers(context);
    shown.replaceChildren();
    await endUnseen();
    show(shown, true, ...offers);
  };
  const go = button("Show what it can do", () => {
    shown.replaceChildren();
    prepare().catch((error: unknown) => {
      shown.replaceChildren(element("div", { role: "alert", class: "notice" }, ...problem(error)));
    });
  });
  const hint =
    "Its claims, and what anyone may do, as files for its Transaction Builder. Everything else it does connected.";
  return element(
    "details",
    {},
    element("summary", {}, "Prepare a transaction for a Safe"),
    labelled("Address of the Safe", field, hint),
    element("p", {}, go),
    shown,
  );
}

/** Shows what the account can do; where that is nothing, why. `isAsked`: by a button that a person has just pressed. */
function show(shown: HTMLElement, isAsked: boolean, offers: readonly Offer[], why: string): void {
  if (offers.length === 0) shown.append(element("p", {}, `This account can do nothing here at the moment. ${why}`));
  for (const offer of offers) {
    const stage = new Stage();
    const go = button(offer.button, () => {
      go.hidden = true;
      stage.clear();
      const run = offer.run(stage).then(
        () => {
          go.hidden = offer.isOnce ?? false;
        },
        (error: unknown) => {
          stage.fail(error);
          go.hidden = false;
        },
      );
      running.set(stage, run);
      void run.then(() => running.delete(stage));
    });
    const parts = [element("h3", {}, offer.title), element("p", {}, offer.text), element("p", {}, go), stage.place];
    shown.append(element("section", { class: "action" }, ...parts));
    if (offer.begins === "always" || (offer.begins === "alone" && isAsked && offers.length === 1)) go.click();
  }
}

/** What needs no signature of the account but its transaction; and why that may be nothing. */
async function preparedOffers(context: Context): Promise<[Offer[], string]> {
  const { bounty: stated } = context.settings;
  if (stated === undefined) return [[heartbeat(context)], ""];
  const bounty = await readState(context, stated);
  return [hubOffers(context, bounty), whyNothing(context.account, bounty)];
}

/** What the account can do on this page now; and why that may be nothing. */
async function offersOf(context: Context): Promise<[Offer[], string]> {
  const { settings } = context;
  if (settings.actions === "guardians") return [[heartbeat(context)], ""];
  if (settings.actions === "publish") return [[publishOffer(context)], ""];
  if (settings.bounty === undefined) return [[], ""];
  const bounty = await readState(context, settings.bounty);
  const all = [hubOffers, submitOffers, verdictOffers, openingOffers].flatMap((offers) => offers(context, bounty));
  return [all, whyNothing(context.account, bounty)];
}
