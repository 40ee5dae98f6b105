/** Texts that everybody is to read, which hold no private key. */

import { AGE_KEY, KEY_FORMS, ServiceError } from "../src/acting.js";
import type { Stage } from "./stage.js";
import { t } from "./words.js";

/** So many letters before what looks like a secret show where it is. */
const CONTEXT_LETTERS = 40;
/** What may be part of a key, in the words that are shown. */
const PART_OF_KEY = /\b(?:0x)?[0-9a-f]{16,}/gi;

/** Refuses a text that holds a private key of age, before anything of it leaves the browser: `secret_in_document`. */
export function requireNoKey(what: string, text: string): void {
  if (!AGE_KEY.test(text)) return;
  const nextAction = t`Take it out; nothing was sent.`;
  throw new ServiceError("secret_in_document", t`${what} a private key, which everybody could read.`, { nextAction });
}

/** Has the person decide about each, before a page is sent for the first time. */
export async function confirmNoSecret(stage: Stage, page: string): Promise<void> {
  const found = secretsIn(page);
  if (found.length === 0) return;
  stage.say("");
  await stage.confirm(
    t`The page may hold a secret`,
    [
      ...found.map((each) => [t`It looks like`, each] as const),
      [t`If it is one`, t`go back and take it out: everybody could read it`],
      [t`If you go on`, t`the page is sent to the service, whose rules decide whether it may be published`],
    ],
    t`It is no secret: go on`,
  );
}

/** What they look like, each with the words before it, and nothing of itself. */
function secretsIn(text: string): string[] {
  const found = new Map<string, string>();
  for (const read of readings(text)) {
    for (const [what, form, before] of KEY_FORMS) {
      for (const { 0: match, index } of read.matchAll(form)) {
        const words = read.slice(Math.max(0, index - CONTEXT_LETTERS), index);
        const place = words.replace(PART_OF_KEY, "…").replace(/\s+/g, " ").trim();
        const itself = match.replace(/[^0-9a-z]/gi, "");
        if (!before?.test(words) && !found.has(itself)) found.set(itself, t`${what}, after “${place}”`);
      }
    }
  }
  return [...found.values()];
}

/**
 * The text as it is; without emphasis and quotes' backslashes; and with compatibility forms, quotations, written line breaks
 * and the frontmatter's folded lines as they are read.
 */
function readings(text: string): readonly string[] {
  const frontmatter = /^---\n[^]*?\n---$/m;
  const read = text
    .normalize("NFKC")
    .replace(/^[ \t>]+/gm, "")
    .replace(/\\[nrt]/g, "\n");
  return [text, text.replace(/[\\*]/g, ""), read, read.replace(frontmatter, (lines) => lines.replace(/\n/g, " "))];
}
