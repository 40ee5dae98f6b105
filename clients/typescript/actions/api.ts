/**
 * The API as actions use it: what it states is held against the chain first, and each request that a wallet signs is
 * explained before, signed once the API answers an unsigned one, and signed again before each attempt.
 */

import { AGE_KEY, answerOf, mayRepeat, ServiceError, type Schemas } from "../src/acting.js";
import { noneIf, refuseDifferences } from "./answers.js";
import type { Bounty } from "./bounty.js";
import type { Acting, Context } from "./context.js";
import { pause } from "./dom.js";
import type { Fact } from "./stage.js";

const POLL_MILLISECONDS = 1_000;
/** A fact that is not final yet takes as long; more is the wait of another day. */
const MOST_WAIT_SECONDS = 600;
/** Of one request: a node on another chain, or a clock that is wrong makes each further one useless. */
const MOST_SIGNATURES = 3;
const NO_INDEX: readonly unknown[] = ["unavailable", "starting"];
/** Why a wallet is asked for another signature. */
const REFUSED =
  "The service did not accept the request that you signed, or is not ready for it yet. The same request needs another signature, since each is valid for one attempt.";
/** Refusals after which the same request with another signature may be taken, also where another review may be charged. */
const REPEATABLE = new Set([
  "unauthorized",
  "storage_verification_pending",
  "bounty_chain_state_unavailable",
  "bounty_submission_content_authority_unavailable", // the same, of a read of sealed work
  "publication_review_unavailable", // signed over the same block as an earlier one
]);

/**
 * The API's detail of a bounty once the chain has finalized its last change, so that no signature is wasted on an index
 * that is not there yet. Its terms are those of the page, which were compared with the chain.
 */
export function detailOf({ api, stage }: Acting, bounty: Bounty): Promise<Schemas["BountyDetail"]> {
  const path = { bounty_id: bounty.id.toString() };
  const asked = () => answerOf(api.GET("/api/bounties/{bounty_id}", { params: { path } }));
  return stage.until(async (signal) => {
    for (;;) {
      const found = await asked().catch(noneIf("bounty_not_found")); // not indexed yet
      if (found?.finality === "finalized") return found;
      signal.throwIfAborted();
      stage.say("Waiting until the chain has finalized the bounty's last change and the service has read it.");
      await pause(POLL_MILLISECONDS);
    }
  });
}

/** Refuses a reveal delay of the node that the service does not state: `deployment_mismatch`. */
export async function requireStatedDelay({ api, stage }: Acting, delay: bigint): Promise<void> {
  const found = await stage.until(() => answerOf(api.GET("/api/deployment")));
  refuseDifferences("deployment_mismatch", [["reveal_delay_seconds", found.reveal_delay_seconds, Number(delay)]]);
}

/** A request that a wallet signs, as its person reads it before: `name` is its method and path. */
export interface SignedRequest {
  readonly title: string;
  readonly name: string;
  readonly facts: readonly Fact[];
  /** Whether doing it twice may be charged: then it is repeated only where the API's own words allow it. */
  readonly isCharged?: boolean;
}

/** Waits until the service answers unsigned requests and has an index: a signature would be wasted before. */
async function answering({ api, stage }: Acting): Promise<void> {
  await stage.until(async (signal) => {
    for (;;) {
      const asked = answerOf(api.GET("/api/status", { signal }));
      const isReady = await asked.then(({ state }) => !NO_INDEX.includes(state), answers);
      if (isReady) return;
      signal.throwIfAborted();
      stage.say("Waiting until the service answers. The wallet is asked for a signature then.");
      await pause(POLL_MILLISECONDS);
    }
  });
}

/** Whether an error is of a service that answers; raises one that no wait ends. */
function answers(error: unknown): boolean {
  if (mayRepeat(error)) return false;
  if (error instanceof ServiceError && error.status !== undefined) return true;
  throw error;
}

/**
 * Explains a request, has it signed, and sends it. Where another signature may help, it is asked for again, and why is
 * shown above the button. What was explained with the request before it (`following`) is signed without another question.
 */
export async function signed<Value>(
  context: Acting,
  { title, name, facts, isCharged = false }: SignedRequest,
  send: () => Promise<Value>,
  isExplained = false,
): Promise<Value> {
  const { account, settings, stage } = context;
  const shown: Fact[] = [
    ...facts,
    ["Signed by", account],
    ["What a signature allows", "this one request, for five minutes; it moves no money and grants no other rights"],
    ["Request", name],
    ["Sent to", new URL(settings.apiUrl).host],
  ];
  let why: readonly Fact[] = [];
  for (let signatures = 1; ; signatures += 1) {
    const sending = async () => {
      await answering(context);
      stage.say("Asking the wallet for a signature, then sending the request.");
      return stage.until(send);
    };
    try {
      return await stage.attempt(title, [...why, ...shown], "Sign with the wallet", sending, isExplained && why.length === 0);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      const isAgain = REPEATABLE.has(error.code) || (!isCharged && mayRepeat(error));
      const seconds = error.retryAfter ?? 3;
      if (!isAgain || signatures === MOST_SIGNATURES || seconds > MOST_WAIT_SECONDS) throw error;
      stage.say(`${error.message} This page tries again in ${seconds} seconds, with another signature.`);
      await stage.until(() => pause(seconds * 1_000));
      why = [["Why again", REFUSED, "warning"]];
    }
  }
}

/** Refuses a text that holds a private key of age, before anything of it leaves the browser: `secret_in_document`. */
export function requireNoKey(what: string, text: string): void {
  if (!AGE_KEY.test(text)) return;
  const nextAction = "Remove it; nothing was sent.";
  throw new ServiceError("secret_in_document", `${what} a private key, which everyone could read.`, { nextAction });
}

/** Facts of a request that the wallet signs right after another one, shown with that one. */
export function following({ name, facts }: SignedRequest): Fact[] {
  return [["Then the wallet asks once more", "for the signature of a second request"], ...facts, ["Second request", name]];
}

/** Refuses an address outside of the deployment's bucket, whatever the API says: `storage_mismatch`. */
export function requireBucket({ settings }: Context, url: string): void {
  if (url.startsWith(settings.bucketUrl)) return;
  throw new ServiceError("storage_mismatch", "The service names an address outside this deployment's storage.", {
    nextAction: "Nothing was sent there. Report it to the operator.",
  });
}
