/** The one error of this package, with the codes of docs/formats.md and docs/interface.md. */

import type { ApiCode } from "./generated/codes.js";
import type { FACTS } from "./generated/witnesses.js";

/** One concern of a refused document or request: the field, and what it must be. */
export interface Issue {
  readonly path: string;
  readonly message: string;
}

/** Why sealed data, a key, a beacon or an archive is refused; the same names as in the vectors of `tests/vectors`. */
export type Failure =
  | "key_invalid"
  | "age_malformed"
  | "age_recipients_refused"
  | "age_no_matching_key"
  | "age_tampered"
  | "age_truncated"
  | "age_trailing_data"
  | "timelock_malformed"
  | "timelock_wrong_chain"
  | "timelock_wrong_round"
  | "timelock_tampered"
  | "beacon_invalid"
  | "beacon_unavailable"
  | "capsule_malformed"
  | "capsule_wrong_recipients"
  | "capsule_not_for_this_key"
  | "capsule_wrong_identity"
  | "binding_missing"
  | "sealed_for_another"
  | "archive_refused"
  | "archive_malformed"
  | "ciphertext_mismatch"
  | "delivery_wrap_invalid";

/** What the client itself refuses, beside sealed data. */
export type ClientCode =
  | "account_not_deployed"
  | "answer_malformed"
  | "api_unreachable"
  | "deployment_mismatch"
  | "guardian_roster_mismatch"
  | "storage_refused"
  | "storage_unreachable";

/**
 * Every code of this version, to switch over: the API's, those of sealed data, those of facts on which two who vouch for
 * them differ, and the client's own. `hasCode` narrows an error to some of them.
 */
export type ErrorCode = ApiCode | Failure | (typeof FACTS)[keyof typeof FACTS][1] | ClientCode;

/** What else an error carries. */
export interface ErrorDetails {
  /** What it follows from, such as the error of `fetch`: for a log of yours. Never one of decrypted bytes or of keys. */
  readonly cause?: unknown;
  readonly issues?: readonly Issue[];
  /** What to do next, for a person. */
  readonly nextAction?: string;
  /** The HTTP status, where the API answered. */
  readonly status?: number;
  /** Seconds to wait before the next attempt, where the API named them. */
  readonly retryAfter?: number;
}

const REFETCH = "Fetch the bytes again, from another source if this repeats.";
const NEXT_ACTIONS: Readonly<Record<string, string>> = {
  age_truncated: REFETCH,
  answer_malformed: "Check the address that is asked, and try again.",
  ciphertext_mismatch: REFETCH,
  key_invalid: "Use a key in the form AGE-SECRET-KEY-1... or age1..., as age-keygen prints it.",
  beacon_invalid: "Ask other relays for the round; a beacon signature is the same everywhere.",
  beacon_unavailable: "Try again, or name other relays.",
  capsule_not_for_this_key: "Add retired encryption keys, or leave it to the Guardians who can open it.",
  archive_refused: "Change the files as the message describes and seal them again.",
  delivery_wrap_invalid: "Ask a Guardian of the roster to deliver the key again.",
};

/** Everything that this package refuses. `message` never holds a secret, a library's message or decrypted bytes. */
export class ServiceError extends Error {
  override readonly name = "ServiceError";
  /** One of ErrorCode; the API may be newer than this package, and have others. */
  readonly code: ErrorCode | (string & Record<never, never>);
  readonly issues: readonly Issue[];
  readonly nextAction: string;
  readonly status: number | undefined;
  readonly retryAfter: number | undefined;

  constructor(code: string, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.issues = details.issues ?? [];
    this.nextAction = details.nextAction ?? NEXT_ACTIONS[code] ?? "";
    this.status = details.status;
    this.retryAfter = details.retryAfter;
  }
}

/** Whether this is a refusal with one of these codes: `if (hasCode(error, "bounty_not_found")) …`. */
export function hasCode<const Code extends ErrorCode>(
  error: unknown,
  ...codes: readonly Code[]
): error is ServiceError & { readonly code: Code } {
  return error instanceof ServiceError && codes.some((code) => code === error.code);
}

/** A refusal of sealed data. */
export function refusal(failure: Failure, message: string): ServiceError {
  return new ServiceError(failure, message);
}
