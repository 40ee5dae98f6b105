/** What came of an act: what happened, what comes next, the transaction that shows it, and the page as it is since. */

import type { Hex } from "viem";
import type { Acting } from "./context.js";
import { element, pause } from "./dom.js";
import type { FoundEvent } from "./node.js";
import type { Settings } from "./settings.js";
import { short } from "./text.js";

/** The parts of a page that its server writes, and that an act can change. */
const PARTS = "[data-part]";
/** What a bounty's state is read from. */
const STATE = ".headline .tag";
const POLL_MILLISECONDS = 2_000;
/** The index follows the chain by some seconds; a reader who waits longer can reload the page. */
const MOST_POLLS = 45;

/** What an act came to: what happened, what comes next, and what else is shown. */
export type Result = readonly [what: string, next: string, ...more: Node[]];

/** Ends an act with its transaction and the next step; the rest of the page then follows the chain. */
export function finished({ settings, stage }: Acting, { transactionHash: hash }: FoundEvent, [what, next, ...more]: Result): void {
  stage.done(what, element("p", {}, next), ...more, transactionLine(settings, hash));
  void refreshParts(hash);
}

/** Shows a transaction, short; its whole hash is copied by a button and, with an explorer, shown behind a link. */
export function transactionLine({ explorerUrl }: Settings, hash: Hex): HTMLElement {
  const rel = "noopener noreferrer external";
  const shown =
    explorerUrl === undefined
      ? element("code", { class: "hash", title: hash }, short(hash))
      : element("a", { class: "hash", href: `${explorerUrl}/tx/${hash}`, rel, title: hash }, short(hash));
  return element("p", { class: "muted" }, "Transaction", " ", shown);
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
    const page = await loaded();
    const shown = [...(page?.querySelectorAll<HTMLElement>(PARTS) ?? [])];
    const isNew = page?.querySelector(STATE)?.textContent !== before || shown.some((part) => part.innerHTML.includes(hash));
    if (page === undefined || !isNew) continue;
    for (const part of shown) {
      const old = document.querySelector(`[data-part="${part.dataset["part"]}"]`);
      if (old !== null && !old.contains(document.activeElement)) old.replaceWith(document.importNode(part, true));
    }
    return;
  }
}

/** Loads this page anew. The browser itself parses the answer; its scripts do not run. */
function loaded(): Promise<Document | undefined> {
  return new Promise((resolve) => {
    const request = new XMLHttpRequest();
    request.responseType = "document";
    request.open("GET", location.pathname);
    request.onload = () => resolve(request.status === 200 ? (request.responseXML ?? undefined) : undefined);
    request.onerror = () => resolve(undefined);
    request.send();
  });
}
