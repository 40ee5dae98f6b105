/** What the service's rules find in a page, asked before it is published, and while somebody writes it. */

import { answerOf, isIssue, ServiceError } from "../src/acting.js";
import type { Api, Issue } from "../src/acting.js";
import { typed } from "./answers.js";
import { requireNoSecret } from "./keyless.js";
import { t } from "./words.js";

/** A pause in typing after which a page is checked. */
const PAUSE_MILLISECONDS = 1_200;
/** Between two checks: it grows with each, since a network address has 120 in an hour. */
const LEAST_SECONDS = 4;
const MOST_SECONDS = 40;
const AFTER_FAILURE_SECONDS = 60;
/** Why a page is not sent. */
const UNSENT = new Set(["not_a_page", "secret_in_document"]);

/** Refuses another file, which may be a key's. */
export function requirePage(text: string): void {
  if (text.startsWith("---\n")) return;
  const nextAction = t`What was chosen or written begins otherwise, as another file does; nothing was sent.`;
  throw new ServiceError("not_a_page", t`A page begins with a line of ---.`, { nextAction });
}

/** The rules' issues with a page; nothing of it is kept there. Raises what the service refuses. */
export async function findingsOf({ api }: { readonly api: Api }, page: string): Promise<readonly Issue[]> {
  const headers = { "Content-Type": "text/markdown" };
  const found: unknown = await typed(
    "PageFindings",
    answerOf(api.POST("/api/bounty-challenge-specs/check", { body: page, headers })),
  );
  const issues = typeof found === "object" && found !== null && "issues" in found ? found.issues : undefined;
  if (Array.isArray(issues) && issues.every(isIssue)) return issues;
  throw new ServiceError("api_malformed", t`The service's answer to it cannot be read.`);
}

/** Checks what somebody writes after each pause: one page at a time, the newest, within what the service allows. */
export class LiveCheck {
  readonly #desk: () => { readonly api: Api };
  readonly #page: () => string;
  readonly #found: (found: readonly Issue[] | ServiceError | undefined) => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #count = 0;
  #notBefore = 0;
  #isAsking = false;

  /**
   * `found` gets the issues with what `page` gives; why it may not be sent; undefined where the service could not check
   * it.
   */
  constructor(
    desk: () => { readonly api: Api },
    page: () => string,
    found: (found: readonly Issue[] | ServiceError | undefined) => void,
  ) {
    this.#desk = desk;
    this.#page = page;
    this.#found = found;
  }

  /** Something was typed. */
  touch(): void {
    clearTimeout(this.#timer);
    const wait = Math.max(PAUSE_MILLISECONDS, this.#notBefore - Date.now());
    this.#timer = setTimeout(() => void this.#ask(), wait);
  }

  /** No page is checked any more. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#notBefore = Infinity;
  }

  async #ask(): Promise<void> {
    if (this.#isAsking) return this.touch();
    const page = this.#page();
    this.#isAsking = true;
    this.#count += 1;
    let seconds = Math.min(LEAST_SECONDS + this.#count, MOST_SECONDS);
    const begun = Date.now();
    try {
      requirePage(page);
      requireNoSecret(page);
      const issues = await findingsOf(this.#desk(), page);
      if (this.#page() === page) this.#found(issues);
    } catch (error) {
      const isUnsent = error instanceof ServiceError && UNSENT.has(error.code);
      if (!isUnsent) seconds = AFTER_FAILURE_SECONDS;
      this.#found(isUnsent ? error : undefined);
    } finally {
      this.#isAsking = false;
      if (this.#notBefore !== Infinity) this.#notBefore = begun + seconds * 1_000;
    }
  }
}
