/** A ciphertext to the storage, which takes it whole in one request, once. */

import { ServiceError } from "./errors.js";
import type { Schemas } from "./api.js";
import { streamOf } from "./bytes.js";
import { paused, PAUSES_MILLISECONDS, storageMayPass, watched } from "./transfer.js";
import type { TransferOptions } from "./transfer.js";

const IS_THERE = 412;
const MEBIBYTE = 1024 * 1024;
const nextAction = "Get a new upload address and try again.";

/**
 * Uploads a ciphertext to the address that `artifact-upload-url` gave. A Blob is read as it is sent: `openAsBlob` of Node, a
 * File of a browser. It takes as long as the storage does, unless a signal ends it.
 *
 * The storage keeps nothing of a request that broke off or met a status that may pass, so that going on means sending it again, up to
 * three times after pauses: `onProgress` begins anew then. A storage that has the object after such an attempt was reached by it. Raises
 * `storage_unreachable`, and `storage_refused` with the status: 412 where the object was there before.
 */
export async function uploadCiphertext(
  target: Schemas["UploadTarget"],
  ciphertext: Blob,
  options: TransferOptions = {},
): Promise<void> {
  for (let broken = 0; ; ) {
    let status: number;
    try {
      options.signal?.throwIfAborted();
      status = await put(target, ciphertext, options);
      if (storageMayPass(status)) throw new TypeError(`the storage answered ${status}`);
    } catch (cause) {
      options.signal?.throwIfAborted();
      broken += 1;
      if (broken > PAUSES_MILLISECONDS.length) {
        throw new ServiceError("storage_unreachable", "the storage did not take the ciphertext", { nextAction, cause });
      }
      await paused(broken, options.signal);
      continue;
    }
    if ((status >= 200 && status < 300) || (status === IS_THERE && broken > 0)) return;
    throw new ServiceError("storage_refused", `the storage answered ${status}`, { status, nextAction });
  }
}

/** One request; gives the status of its answer. */
function put(target: Schemas["UploadTarget"], ciphertext: Blob, options: TransferOptions): Promise<number> {
  if (options.onProgress === undefined) return fetched(target, ciphertext, options);
  const watching = typeof XMLHttpRequest === "undefined" ? streamed : observed;
  return watching(target, ciphertext, options);
}

async function fetched(
  { upload_url, upload_method: method, upload_headers: headers }: Schemas["UploadTarget"],
  body: Blob,
  { signal }: TransferOptions,
  as: RequestInit & { readonly duplex?: "half" } = { headers, body },
): Promise<number> {
  const response = await fetch(upload_url, { method, redirect: "error", signal: signal ?? null, ...as });
  await response.body?.cancel();
  return response.status;
}

/** Outside of browsers a stream may be the body, and is sent with the length that is stated. */
function streamed(target: Schemas["UploadTarget"], ciphertext: Blob, options: TransferOptions): Promise<number> {
  const body = streamOf(watched(piecesOf(ciphertext), ciphertext.size, options));
  const headers = { ...target.upload_headers, "Content-Length": String(ciphertext.size) };
  return fetched(target, ciphertext, options, { headers, body, duplex: "half" });
}

/** Pieces of one size, which a stream of a Blob has not everywhere. */
async function* piecesOf(ciphertext: Blob): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < ciphertext.size; at += MEBIBYTE) {
    yield new Uint8Array(await ciphertext.slice(at, at + MEBIBYTE).arrayBuffer());
  }
}

/** In browsers only XMLHttpRequest says how much was sent. */
function observed(
  { upload_url, upload_method, upload_headers }: Schemas["UploadTarget"],
  ciphertext: Blob,
  { signal, onProgress }: TransferOptions,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const end = (): void => request.abort();
    request.open(upload_method, upload_url);
    for (const [name, value] of Object.entries(upload_headers)) request.setRequestHeader(name, value);
    request.upload.onprogress = ({ loaded }) => onProgress?.({ done: loaded, total: ciphertext.size });
    request.onload = () => {
      if (request.responseURL === upload_url) resolve(request.status);
      else reject(new TypeError("the storage led elsewhere"));
    };
    request.onerror = request.onabort = () => reject(new TypeError("the request broke off"));
    request.onloadend = () => signal?.removeEventListener("abort", end);
    signal?.addEventListener("abort", end);
    request.send(ciphertext);
  });
}
