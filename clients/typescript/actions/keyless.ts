/** Texts that everybody is to read, which hold no private key. */

import { AGE_KEY, KEY_FORMS, ServiceError } from "../src/acting.js";

/** Refuses a text that holds a private key of age, before anything of it leaves the browser: `secret_in_document`. */
export function requireNoKey(what: string, text: string): void {
  if (AGE_KEY.test(text)) throw secretIn(what, "a private key");
}

/** The same of a page, and of what else the service's rules never let be published: it is sent nowhere. */
export function requireNoSecret(page: string): void {
  requireNoKey("The page holds", page);
  for (const block of blocksOf(page)) {
    for (const [what, form, before] of KEY_FORMS) {
      const isFound = ({ index }: RegExpExecArray) => before === undefined || !before.test(block.slice(0, index));
      if ([...block.matchAll(form)].some(isFound)) throw secretIn("The page holds what looks like", what);
    }
  }
}

function secretIn(what: string, secret: string): ServiceError {
  const message = `${what} ${secret}, which everybody could read.`;
  return new ServiceError("secret_in_document", message, { nextAction: "Take it out; nothing was sent." });
}

/**
 * A page in pieces none of which is larger than what the rules look at as one, so that nothing is refused that they would
 * take: headings, paragraphs, entries of lists and cells of tables; letters that are not English as the rules read them.
 */
function blocksOf(page: string): string[] {
  const apart = page.replace(/^ *#.*$/gm, "\n$&\n").replace(/^[ >]*(?:[-*+>[]|\d+[.)])/gm, "\n$&");
  const blocks = apart.split(/\n[ \t]*\n|\|/).filter((block) => !/^\s*\[[^\]]*\]:/.test(block)); // where a link leads
  return blocks.map((block) => block.replace(/[^\x00-\x7f]/gu, (letter) => (/[\p{L}\p{N}]/u.test(letter) ? "_" : letter)));
}
