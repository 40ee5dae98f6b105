/**
 * Calls of the HTTP API, typed by its own OpenAPI document; what is signed there is signed here (docs/interface.md).
 */

import createClient from "openapi-fetch";
import type { Client } from "openapi-fetch";
import { readText } from "./answers.js";
import { canonicalJson } from "./canonical.js";
import { ServiceError } from "./errors.js";
import type { ErrorDetails, Issue } from "./errors.js";
import type { components, paths } from "./generated/openapi.js";
import { SIGNED_OPERATIONS } from "./generated/signed.js";
import { signRequest } from "./requests.js";
import type { BlockReader, Deployment, RequestSigner } from "./requests.js";
import { mayPass, paused, PAUSES_MILLISECONDS, TimeLimit } from "./transfer.js";

/** Every answer and body of the API, by its name in the OpenAPI document. */
export type Schemas = components["schemas"];

/** The API: `GET` and `POST` with the paths of the OpenAPI document. */
export type Api = Client<paths>;

/** Who signs the requests that need it, for which deployment, over a block of which chain. */
export interface Signing {
  readonly deployment: Deployment;
  readonly signer: RequestSigner;
  readonly chain: BlockReader;
  /** Whether a person is asked before each signature: then the caller, who explains it, also repeats signed requests. */
  readonly asksFirst?: boolean;
}

/** How many bytes of an answer are read. */
const MAX_ANSWER_BYTES = 8 * 1024 * 1024;
const TIMEOUT_MILLISECONDS = 60_000;
/** Of one request. */
const MOST_SIGNATURES = 3;
/** A longer wait, which the API may name, is the caller's. */
const MOST_WAIT_SECONDS = 60;
/** Is not repeated here: another review of a page may be charged. */
const PUBLICATION = "POST /api/bounty-challenge-specs/prepare-publication";
/** The operations that need a signature, and how their requests look at any base address. */
const SIGNED = [...SIGNED_OPERATIONS].map((operation) => {
  const [method, path = ""] = operation.split(" ");
  return { operation, method, path: new RegExp(`${path.replace(/\{\w+\}/g, "[^/]+")}$`) };
});

const UNAVAILABLE = "Try again in a minute; check the base address if you set it.";

/** The connection broke before the whole answer came, or brought nothing. */
class Broken extends ServiceError {}

/**
 * The API at a base address, such as `https://bounties.example`. Requests that need a signature get a new one each;
 * without `signing` they raise `invalid_request`; with it, what the API of another deployment's Hub answers is
 * `deployment_mismatch`, since the same number is another bounty there. Every refusal is a ServiceError with the API's own code; an endpoint
 * that does not answer as the API does is `api_unreachable`, one that answers too much, or no JSON, `answer_malformed`. No redirect is followed.
 *
 * What may pass is repeated after pauses, up to three times: a status of a server or CDN that is limited or down, or a connection that broke. A signed
 * request is signed anew for each attempt, three times at most, once the API answers an unsigned one; publishing a page is never repeated.
 */
export function createApi(baseUrl: string, signing?: Signing): Api {
  const fetch = (request: Request) => exchanged(request, baseUrl, signing);
  // Markdown is sent as it is, everything else as canonical JSON, which an envelope must be.
  const bodySerializer = (body: unknown) => (typeof body === "string" ? body : canonicalJson(body));
  return createClient<paths>({ baseUrl, fetch, bodySerializer });
}

/** Whether a request that ended so may succeed in a moment: by the status, or as the connection broke. */
export function mayRepeat(error: unknown): error is ServiceError {
  if (!(error instanceof ServiceError)) return false;
  return error instanceof Broken || (error.status !== undefined && mayPass(error.status));
}

/** What a call answered: `await answerOf(api.GET("/api/status"))`. */
export async function answerOf<Data>(call: Promise<{ data?: Data; response: Response }>): Promise<Data> {
  const { data } = await call.catch((cause: unknown) => {
    throw cause instanceof SyntaxError ? new ServiceError("answer_malformed", "the answer is no JSON", { cause }) : cause;
  });
  if (data === undefined) throw unavailable("the answer is empty");
  return data;
}

/** Sends a request, signed where it has to be, until its answer is not one that may pass. */
async function exchanged(request: Request, baseUrl: string, signing: Signing | undefined): Promise<Response> {
  const { pathname } = new URL(request.url);
  const operation = SIGNED.find(({ method, path }) => method === request.method && path.test(pathname))?.operation;
  const isOnce = operation === PUBLICATION || (operation !== undefined && signing?.asksFirst === true);
  const most = operation === undefined ? PAUSES_MILLISECONDS.length + 1 : isOnce ? 1 : MOST_SIGNATURES;
  const used = new Set<bigint>();
  for (let attempt = 1; ; attempt += 1) {
    try {
      const sent = operation === undefined ? request.clone() : await withSignature(request, signing, used);
      return await answered(sent, signing?.deployment);
    } catch (error) {
      if (attempt === most || !mayRepeat(error) || (error.retryAfter ?? 0) > MOST_WAIT_SECONDS) throw error;
      await paused(attempt, request.signal, error.retryAfter);
    }
    if (operation === undefined) continue;
    const unsigned = new Request(`${baseUrl.replace(/\/$/, "")}/api/status`, { signal: request.signal });
    await exchanged(unsigned, baseUrl, signing).catch((error: unknown) => {
      const answers = error instanceof ServiceError && error.status !== undefined && !mayPass(error.status);
      if (!answers) throw error;
    });
  }
}

/** The same request with a new signature. */
async function withSignature(request: Request, signing: Signing | undefined, used: Set<bigint>): Promise<Request> {
  const { method, url } = request;
  if (signing === undefined) {
    throw new ServiceError("invalid_request", `${new URL(url).pathname} needs a signature`);
  }
  const sent = request.clone();
  const body = new Uint8Array(await request.clone().arrayBuffer());
  sent.headers.set("Authorization", await signRequest({ method, url, body }, signing, used));
  return sent;
}

async function answered(request: Request, deployment: Deployment | undefined): Promise<Response> {
  let response: Response;
  let text: string;
  const limit = new TimeLimit(TIMEOUT_MILLISECONDS, request.signal);
  try {
    response = await fetch(new Request(request, { redirect: "manual", signal: limit.signal }));
    text = await readText(response, MAX_ANSWER_BYTES);
  } catch (cause) {
    request.signal.throwIfAborted(); // the caller's own end of it
    if (cause instanceof ServiceError) throw cause; // it does answer, too much
    const kind = limit.signal.aborted ? ServiceError : Broken;
    throw new kind("api_unreachable", "the API does not answer", { nextAction: UNAVAILABLE, cause });
  } finally {
    limit.close();
  }
  requireHub(response, deployment);
  if (!response.ok) throw refusalOf(response, text);
  if (text === "") throw new Broken("api_unreachable", "the answer is empty", { nextAction: UNAVAILABLE });
  return new Response(text, { status: response.status, headers: response.headers });
}

/** Refuses what the API of another Hub answers, errors included; a proxy before it names none. */
function requireHub({ headers }: Response, deployment: Deployment | undefined): void {
  const served = headers.get("X-Hub")?.slice(0, 100).toLowerCase();
  if (deployment === undefined || !served) return;
  const expected = `eip155:${deployment.chainId}:${deployment.hubAddress.toLowerCase()}`;
  if (served === expected) return;
  throw new ServiceError("deployment_mismatch", `the API serves the Hub ${served}, not ${expected}`, {
    nextAction: "Take the deployment and the API's address from the same place: one deployment's client.env.",
  });
}

/** The API's own error, as far as it has the shape of one. */
function refusalOf({ status, headers }: Response, text: string): ServiceError {
  const error = parsed(text);
  const wait = Number(headers.get("Retry-After") ?? Number.NaN);
  const retry = Number.isFinite(wait) ? { retryAfter: wait } : {};
  if (error === undefined) return wordless(status, retry);
  return new ServiceError(error.code, error.message, {
    issues: error.issues,
    nextAction: error.next_action,
    status,
    ...retry,
  });
}

/** An error status without the API's own words: of a proxy before it, or of another program. */
function wordless(status: number, retry: ErrorDetails): ServiceError {
  if (status === 413) {
    return new ServiceError("payload_too_large", "a proxy before the API refuses a request of this length", {
      nextAction: "Send less at once, or ask the operator to let the proxy accept 512 KiB.",
      status,
    });
  }
  if (!mayPass(status)) return unavailable(`the answer ${status} is not the API's`, { status });
  return unavailable(`the API does not answer: a proxy before it does, with ${status}`, {
    nextAction: "Try again in a minute: it may be restarting.",
    status,
    ...retry,
  });
}

function parsed(text: string): { code: string; message: string; issues: Issue[]; next_action: string } | undefined {
  try {
    const { error } = JSON.parse(text) as { error: Record<string, unknown> };
    const { code, message, issues, next_action } = error;
    if (typeof code !== "string" || !/^[a-z_]{1,64}$/.test(code) || typeof message !== "string") return undefined;
    if (typeof next_action !== "string" || !Array.isArray(issues) || !issues.every(isIssue)) return undefined;
    return { code, message, issues, next_action };
  } catch {
    return undefined;
  }
}

/** Whether a value of an answer is one concern of it: a path and a message. */
export function isIssue(value: unknown): value is Issue {
  const { path, message } = (value ?? {}) as Record<string, unknown>;
  return typeof path === "string" && typeof message === "string";
}

function unavailable(message: string, details: ErrorDetails = {}): ServiceError {
  return new ServiceError("api_unreachable", message, {
    nextAction: UNAVAILABLE,
    ...details,
  });
}
