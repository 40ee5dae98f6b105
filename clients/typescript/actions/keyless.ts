/** Texts that everybody is to read, which hold no private key of age. */

import { ServiceError } from "../src/acting.js";

const AGE_KEY = /AGE-SECRET-KEY-(?:PQ-)?1/i;

/** Refuses a text that holds a private key of age, before anything of it leaves the browser: `secret_in_document`. */
export function requireNoKey(what: string, text: string): void {
  if (!AGE_KEY.test(text)) return;
  const message = `${what} a private key, which everybody could read.`;
  throw new ServiceError("secret_in_document", message, { nextAction: "Take it out; nothing was sent." });
}
