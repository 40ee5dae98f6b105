/** What the pages do with an error by its code, and with an answer that is not what was derived here. */

import { ServiceError, type Issue } from "../src/acting.js";

/** Whether it is an error with this code, of the library's or of these pages'. */
export function isCode(error: unknown, code: string): error is ServiceError {
  return error instanceof ServiceError && error.code === code;
}

/** Makes undefined of an error with this code, as of what is not there. */
export function noneIf(code: string): (error: unknown) => undefined {
  return (error) => {
    if (!isCode(error, code)) throw error;
    return undefined;
  };
}

/** Raises where the API's values differ from what was derived here. */
export function refuseDifferences(code: string, pairs: readonly (readonly [string, unknown, unknown])[]): void {
  const issues: Issue[] = pairs
    .filter(([, theirs, ours]) => theirs !== ours)
    .map(([path, theirs, ours]) => ({
      path,
      message: `the service says ${String(theirs)}; this page derived ${String(ours)}`,
    }));
  if (issues.length === 0) return;
  throw new ServiceError(code, "The service's answer differs from what this page derived itself.", {
    issues,
    nextAction: "Sign nothing more here, and report it to the operator.",
  });
}
