/** Texts that everybody is to read, which hold no private key. */

import { AGE_KEY, KEY_FORMS, ServiceError } from "../src/acting.js";
import type { Stage } from "./stage.js";

/** So many letters before what looks like a secret show where it is. */
const CONTEXT_LETTERS = 40;

/** Refuses a text that holds a private key of age, before anything of it leaves the browser: `secret_in_document`. */
export function requireNoKey(what: string, text: string): void {
  if (AGE_KEY.test(text)) throw refusal(`${what} a private key, which everybody could read.`);
}

/**
 * The same of a text with what looks like any other secret: it goes nowhere until the person says that it is none. What
 * the rules take apart is one text here, without quotes' backslashes: rather asked about than sent.
 */
export function requireNoSecret(text: string): void {
  const [first] = secretsIn(text);
  if (first !== undefined) throw refusal(`The page holds what looks like ${first}.`);
}

/** Has the person decide about each, before a page is sent for the first time. */
export async function confirmNoSecret(stage: Stage, page: string): Promise<void> {
  const found = secretsIn(page);
  if (found.length === 0) return;
  stage.say("");
  await stage.confirm(
    "The page may hold a secret",
    [
      ...found.map((each) => ["It looks like", each] as const),
      ["If it is one", "go back and take it out: everybody could read it"],
      ["If you go on", "the page is sent to the service, whose rules decide whether it may be published"],
    ],
    "It is no secret: go on",
  );
}

/** What they look like, each with the words before it, and nothing of itself but what it is called. */
function secretsIn(text: string): string[] {
  const plain = text.replace(/[\\*]/g, "");
  const found = KEY_FORMS.flatMap(([what, form, before]) =>
    [...plain.matchAll(form)].flatMap(({ 0: match, index }) => {
      const words = plain.slice(Math.max(0, index - CONTEXT_LETTERS), index);
      const [name] = /^(?:[a-z]{1,12}(?:[ _-](?:key|phrase|words))?)?/i.exec(match) ?? [""];
      return before?.test(words) ? [] : [`${what}, at “${(words + name).replace(/\s+/g, " ").trim()}”`];
    }),
  );
  return [...new Set(found)];
}

function refusal(message: string): ServiceError {
  return new ServiceError("secret_in_document", message, { nextAction: "Take it out; nothing was sent." });
}
