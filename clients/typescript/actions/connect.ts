/**
 * The only script that a page names: it shows times as the reader's clock has them, and loads the other scripts when
 * somebody presses the button, or connected a wallet here before. The stylesheet shows that button where scripts run; the class is for browsers whose
 * stylesheets do not know whether they do.
 */

import { improve } from "./reading.js";
import { rememberedWallet } from "./remembered.js";

const place = document.getElementById("wallet");
const button = document.getElementById("connect");
const acting = document.getElementById("acting");
const switcher = document.getElementById("zone");

if (switcher instanceof HTMLButtonElement) improve(switcher);

if (place !== null && acting !== null && button instanceof HTMLButtonElement) {
  place.classList.add("ready");
  button.addEventListener("click", () => void connect(place, button, acting, false));
  if (rememberedWallet() !== undefined) void connect(place, button, acting, true);
}

async function connect(
  place: HTMLElement,
  button: HTMLButtonElement,
  acting: HTMLElement,
  isAgain: boolean,
): Promise<void> {
  button.disabled = true;
  try {
    const { start, startAgain } = await import("./start.js");
    if (!isAgain) await start(place, acting);
    else button.hidden = await startAgain(place, acting);
  } catch {
    acting.textContent = "The script for wallets could not be loaded. Reload the page and try again.";
  } finally {
    button.disabled = false;
  }
}
