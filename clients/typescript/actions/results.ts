/** What came of an action: the transaction that shows it, what to do next, and the page as it is since. */

import type { Hex } from "viem";
import { button, element } from "./dom.js";
import { pause } from "./paced.js";
import type { Settings } from "./settings.js";
import type { Stage } from "./stage.js";
import type { Done } from "./transactions.js";

/** The parts of a page that its server writes, and that an action can change. */
const PARTS = "[data-part]";
/** What a bounty's state is read from. */
const STATE = ".headline .tag";
const POLL_MILLISECONDS = 2_000;
/** The index follows the chain by some seconds; a reader who waits longer can reload the page. */
const MOST_POLLS = 45;
const OVERTAKEN =
  "The wallet's node does not show it as the one that counts: a later one of this account took its place, the chain lost " +
  "its block, or the node is behind. Reload the page in a minute to see which.";

/** Ends an action with its transaction and the next step; the rest of the page then follows the chain. */
export function finished(
  settings: Settings,
  stage: Stage,
  what: string,
  { hash, paid, isOvertaken }: Done,
  next: string,
  ...more: readonly Node[]
): void {
  const shown = byTransaction(settings, what, hash);
  const doubt = told(isOvertaken === true ? OVERTAKEN : undefined);
  stage.done(shown, ...doubt, ...told(paid), element("p", {}, next), ...more, copying(hash));
  void refreshParts(hash);
}

/** A sentence in a paragraph of its own, where there is one. */
export function told(sentence: string | undefined): readonly Node[] {
  return sentence === undefined ? [] : [element("p", {}, sentence)];
}

/** A sentence that ends with a transaction. */
export function byTransaction(settings: Settings, what: string, hash: Hex): readonly (Node | string)[] {
  return [`${what} `, transactionLink(settings, hash), "."];
}

/** A transaction, whole; where the deployment names a block explorer, it leads there. */
function transactionLink({ explorerUrl }: Settings, hash: Hex): HTMLElement {
  if (explorerUrl === undefined) return element("code", { class: "hash" }, hash);
  const href = `${explorerUrl}/tx/${hash}`;
  return element("a", { class: "hash", href, rel: "noopener noreferrer external" }, hash);
}

function copying(hash: Hex): HTMLElement {
  const copied = element("span", { role: "status" });
  const copy = button("Copy the transaction's hash", () => {
    navigator.clipboard.writeText(hash).then(
      () => (copied.textContent = "Copied."),
      () => (copied.textContent = "This browser does not let the page copy. Select the hash above."),
    );
  });
  copy.className = "quiet";
  return element("p", {}, copy, copied);
}

/**
 * Puts the server's parts of this page in the place of the older ones, until one of them shows the transaction or the
 * bounty has another state. A part in which somebody is, stays.
 */
async function refreshParts(hash: Hex): Promise<void> {
  const before = document.querySelector(STATE)?.textContent;
  if (document.querySelector(PARTS) === null) return;
  for (let poll = 0; poll < MOST_POLLS; poll += 1) {
    await pause(POLL_MILLISECONDS);
    const page = await newPage();
    if (page === undefined) continue;
    const shown = [...page.querySelectorAll<HTMLElement>(PARTS)];
    const isNew = page.querySelector(STATE)?.textContent !== before || shown.some((part) => part.innerHTML.includes(hash));
    if (!isNew) continue;
    for (const part of shown) {
      const old = document.querySelector(`[data-part="${part.dataset["part"]}"]`);
      if (old !== null && !old.contains(document.activeElement)) old.replaceWith(document.importNode(part, true));
    }
    return;
  }
}

/** This page as its server writes it now. The browser itself parses the answer; its scripts do not run. */
function newPage(): Promise<Document | undefined> {
  return new Promise((resolve) => {
    const request = new XMLHttpRequest();
    request.responseType = "document";
    request.open("GET", location.pathname);
    request.onload = () => resolve(request.status === 200 ? (request.responseXML ?? undefined) : undefined);
    request.onerror = () => resolve(undefined);
    request.send();
  });
}
