/** Texts that everybody is to read, which hold no private key. */

import { AGE_KEY, KEY_FORMS, ServiceError } from "../src/acting.js";
import type { Stage } from "./stage.js";

/** So many letters before what looks like a secret show where it is. */
const CONTEXT_LETTERS = 40;

/** Refuses a text that holds a private key of age, before anything of it leaves the browser: `secret_in_document`. */
export function requireNoKey(what: string, text: string): void {
  if (AGE_KEY.test(text)) throw secretIn(`${what} a private key, which everybody could read.`);
}

/**
 * The same of a text with what looks like any other secret: it goes nowhere until the person says that it is none. What
 * the rules take apart is one text here, without quotes' backslashes: rather asked about than sent.
 */
export function requireNoSecret(text: string): void {
  const found = likelySecret(text);
  if (found !== undefined) throw secretIn(`The page holds what looks like ${found}.`);
}

/** Has the person decide about it, before a page is sent for the first time. */
export async function confirmNoSecret(stage: Stage, page: string): Promise<void> {
  const found = likelySecret(page);
  if (found === undefined) return;
  stage.say("");
  await stage.confirm(
    "The page may hold a secret",
    [
      ["It looks like", found],
      ["If it is one", "go back and take it out: everybody could read it"],
      ["If you go on", "the page is sent to the service, whose rules decide whether it may be published"],
    ],
    "It is no secret: go on",
  );
}

/** What it looks like, with the words before it. */
function likelySecret(text: string): string | undefined {
  const plain = text.replace(/[\\*]/g, "");
  for (const [what, form, before] of KEY_FORMS) {
    for (const { 0: match, index } of plain.matchAll(form)) {
      const words = plain.slice(0, index);
      if (before?.test(words)) continue;
      const name = /^[a-z _-]*/i.exec(match)?.[0] ?? "";
      return `${what}, at “${(words.slice(-CONTEXT_LETTERS) + name).replace(/\s+/g, " ").trim()}”`;
    }
  }
  return undefined;
}

function secretIn(message: string): ServiceError {
  return new ServiceError("secret_in_document", message, { nextAction: "Take it out; nothing was sent." });
}
