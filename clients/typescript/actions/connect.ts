/**
 * The only script that a page names: it loads the others when somebody presses the button. The stylesheet shows that
 * button where scripts run; the class is for browsers whose stylesheets do not know whether they do.
 */

const place = document.getElementById("wallet");
const button = document.getElementById("connect");
const acting = document.getElementById("acting");

if (place !== null && acting !== null && button instanceof HTMLButtonElement) {
  place.classList.add("ready");
  button.addEventListener("click", () => void connect(place, button, acting));
}

async function connect(place: HTMLElement, button: HTMLButtonElement, acting: HTMLElement): Promise<void> {
  button.disabled = true;
  try {
    const { start } = await import("./start.js");
    await start(place, acting);
  } catch {
    acting.textContent = "The script for wallets could not be loaded. Reload the page and try again.";
  } finally {
    button.disabled = false;
  }
}
