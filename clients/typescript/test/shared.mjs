// What several tests need: the published vectors, and the code with which something is refused.
import { readFileSync } from "node:fs";
import { ServiceError } from "bounty-escrow-client";

/** The vectors of `tests/vectors` by the name of their file. */
export const load = (name) =>
  JSON.parse(readFileSync(new URL(`../../../tests/vectors/${name}.json`, import.meta.url), "utf8"));

/** The code with which an attempt is refused; "accepted" where it is not. Anything else that it throws is a fault. */
export async function failureOf(attempt) {
  try {
    await attempt();
  } catch (error) {
    if (error instanceof ServiceError) return error.code;
    throw error;
  }
  return "accepted";
}
