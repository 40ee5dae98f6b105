/**
 * The only script that a page names: it shows times as the reader's clock has them, and loads the other scripts when
 * somebody presses a button for a wallet, connected one here before, or has a form to fill in. The stylesheet shows
 * these buttons where scripts run; the class is for browsers whose stylesheets do not know whether they do.
 */

import { improve } from "./reading.js";
import { rememberedWallet } from "./remembered.js";
import type { Session } from "./start.js";

const place = document.getElementById("wallet");
const acting = document.getElementById("acting");
const switcher = document.getElementById("zone");

if (switcher instanceof HTMLButtonElement) improve(switcher);

if (place !== null && acting !== null) {
  place.classList.add("ready");
  document.documentElement.classList.add("scripted");
  for (const each of document.querySelectorAll<HTMLButtonElement>("#connect, [data-begin]")) {
    each.addEventListener("click", () => void connect(place, acting, false, each));
  }
  if (rememberedWallet() !== undefined || place.dataset["form"] !== undefined) void connect(place, acting, true);
}

let session: Promise<Session> | undefined;

/** Loads the scripts and has a wallet chosen; again unasked where one was before. */
async function connect(place: HTMLElement, acting: HTMLElement, isAgain: boolean, pressed?: HTMLButtonElement): Promise<void> {
  const buttons = [pressed, document.getElementById("connect")].filter((each) => each instanceof HTMLButtonElement);
  for (const each of buttons) each.disabled = true;
  try {
    session ??= import("./start.js").then(({ Session }) => new Session(place, acting));
    const made = await session;
    await (isAgain ? made.chooseAgain() : made.choose());
  } catch {
    session = undefined;
    acting.textContent = "The wallet script could not be loaded. Reload the page and try again.";
  } finally {
    for (const each of buttons) each.disabled = false;
  }
}
