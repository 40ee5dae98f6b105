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
import { TimeLimit } from "./transfer.js";

/** Every answer and body of the API, by its name in the OpenAPI document. */
export type Schemas = components["schemas"];

/** The API: `GET` and `POST` with the paths of the OpenAPI document. */
export type Api = Client<paths>;

/** Who signs the requests that need it, for which deployment, over a block of which chain. */
export interface Signing {
  readonly deployment: Deployment;
  readonly signer: RequestSigner;
  readonly chain: BlockReader;
}

/** How many bytes of an answer are read. */
const MAX_ANSWER_BYTES = 8 * 1024 * 1024;
const TIMEOUT_MILLISECONDS = 60_000;

/**
 * The API at a base address, such as `https://bounties.example`. Requests that need a signature get a new one each;
 * without `signing` they raise `invalid_request`; with it, what the API of another deployment's Hub answers is
 * `deployment_mismatch`, since the same number is another bounty there. Every refusal is a ServiceError with the API's own code; an endpoint
 * that does not answer as the API does is `api_unreachable`, one that answers too much, or no JSON, `answer_malformed`. Nothing is sent twice, and no redirect is followed.
 */
export function createApi(baseUrl: string, signing?: Signing): Api {
  const fetch = (request: Request) => answered(request, signing?.deployment);
  // Markdown is sent as it is, everything else as canonical JSON, which an envelope must be.
  const bodySerializer = (body: unknown) => (typeof body === "string" ? body : canonicalJson(body));
  const api = createClient<paths>({ baseUrl, fetch, bodySerializer });
  api.use({
    async onRequest({ request, schemaPath }) {
      if (!SIGNED_OPERATIONS.has(`${request.method} ${schemaPath}`)) return undefined;
      if (signing === undefined) throw new ServiceError("invalid_request", `${schemaPath} needs a signature`);
      const body = new Uint8Array(await request.clone().arrayBuffer());
      request.headers.set(
        "Authorization",
        await signRequest({ method: request.method, url: request.url, body }, signing),
      );
      return request;
    },
  });
  return api;
}

/** What a call answered: `await answerOf(api.GET("/api/status"))`. */
export async function answerOf<Data>(call: Promise<{ data?: Data; response: Response }>): Promise<Data> {
  const { data } = await call.catch((cause: unknown) => {
    throw cause instanceof SyntaxError ? new ServiceError("answer_malformed", "the answer is no JSON", { cause }) : cause;
  });
  if (data === undefined) throw unavailable("the answer is empty");
  return data;
}

async function answered(request: Request, deployment: Deployment | undefined): Promise<Response> {
  let response: Response;
  let text: string;
  const limit = new TimeLimit(TIMEOUT_MILLISECONDS, request.signal);
  try {
    response = await fetch(new Request(request, { redirect: "error", signal: limit.signal }));
    text = await readText(response, MAX_ANSWER_BYTES);
  } catch (cause) {
    request.signal.throwIfAborted(); // the caller's own end of it
    if (cause instanceof ServiceError) throw cause; // it does answer, too much
    throw unavailable("the API does not answer", { cause });
  } finally {
    limit.close();
  }
  requireHub(response, deployment);
  if (!response.ok) throw refusalOf(response, text);
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
  if (![502, 503, 504].includes(status)) return unavailable(`the answer ${status} is not the API's`, { status });
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
    nextAction: "Try again in a minute; check the base address if you set it.",
    ...details,
  });
}
