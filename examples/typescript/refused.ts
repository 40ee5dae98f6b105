import { ServiceError } from "bounty-escrow-client";
import { BaseError } from "viem";

/** What somebody reads who runs a program: what was refused and what to do; of anything else where it happened. */
function said(error: unknown): unknown {
  if (error instanceof ServiceError) {
    const issues = error.issues.map(({ path, message }) => `${path}: ${message}`);
    return [`${error.code}: ${error.message}`, ...issues, error.nextAction].join("\n");
  }
  if (error instanceof BaseError) return [error.shortMessage, ...(error.metaMessages ?? []).slice(0, 1)].join("\n");
  return error;
}

process.on("uncaughtException", (error) => {
  console.error(said(error));
  process.exit(1);
});
