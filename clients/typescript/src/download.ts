/** A ciphertext from a storage that may end early, answer nothing for a while, or send other bytes. */

import { sha256 } from "@noble/hashes/sha2.js";
import { chunksOf, streamOf, toHex } from "./bytes.js";
import type { Envelope } from "./envelope.js";
import { ServiceError, refusal } from "./errors.js";
import { paused, PAUSES_MILLISECONDS, storageMayPass, TimeLimit, watched } from "./transfer.js";
import type { TransferOptions } from "./transfer.js";

/** A storage that sends no byte for so long has ended its answer. */
const IDLE_MILLISECONDS = 60_000;

/**
 * The ciphertext that an envelope commits to, from the address that the API gave (`download_url`). Where the connection
 * ends early the rest is requested by Range, and appended unless the storage says that it answers with something else; one that
 * begins again is read again, past the bytes that are there. After four attempts in a row that brought nothing, with pauses of
 * a quarter of a minute in all, the stream fails with `storage_unreachable` or `storage_refused`. It ends well only if length and SHA-256 of the whole are the
 * committed ones, and fails with `ciphertext_mismatch` otherwise. Nothing is requested before it is read.
 */
export function downloadCiphertext(
  url: string,
  { ciphertext }: Pick<Envelope, "ciphertext">,
  options: TransferOptions = {},
): ReadableStream<Uint8Array> {
  return streamOf(watched(committed(url, ciphertext, options.signal), ciphertext.byte_length, options));
}

async function* committed(
  url: string,
  { byte_length: length, sha256: wanted }: Envelope["ciphertext"],
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  const digest = sha256.create();
  let have = 0;
  for (let fruitless = 0; have < length; ) {
    const before = have;
    try {
      for await (const piece of piecesFrom(url, have, length, signal)) {
        have += piece.length;
        if (have > length) throw mismatch();
        digest.update(piece);
        yield piece;
      }
      if (have === before) throw unreachable("the storage ended the ciphertext early");
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof ServiceError && error.code !== "storage_unreachable") throw error;
      fruitless = have > before ? 0 : fruitless + 1;
      if (fruitless > PAUSES_MILLISECONDS.length) throw error;
      if (fruitless > 0) await paused(fruitless, signal);
    }
  }
  if (toHex(digest.digest()) !== wanted) throw mismatch();
}

/** What one answer has from `start` on, until it brings nothing for a while. */
async function* piecesFrom(
  url: string,
  start: number,
  length: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  const limit = new TimeLimit(IDLE_MILLISECONDS, signal);
  const rest = `bytes ${start}-${length - 1}/${length}`;
  try {
    const headers = start > 0 ? { Range: `bytes=${start}-` } : {};
    const response = await fetch(url, { headers, redirect: "error", signal: limit.signal }).catch((cause: unknown) => {
      throw unreachable("the storage does not answer", cause);
    });
    const { body, status } = response;
    const range = response.headers.get("Content-Range"); // null in a page that the storage's CORS rule does not show it
    const isRest = status === 206 && (range ?? rest) === rest;
    if (body === null || !(status === 200 || isRest)) {
      await body?.cancel();
      if (storageMayPass(status)) throw unreachable(`the storage answered ${status}`);
      if (status === 206 || status === 416) throw mismatch(); // it has another file
      const nextAction = "Get a new download address from the API and try again.";
      throw new ServiceError("storage_refused", `the storage answered ${status}`, { status, nextAction });
    }
    let skip = status === 200 ? start : 0;
    for await (const chunk of chunksOf(body)) {
      const piece = chunk.subarray(Math.min(skip, chunk.length));
      skip -= chunk.length - piece.length;
      limit.stop(); // while nobody reads, nothing is waited for
      if (piece.length > 0) yield piece;
      limit.restart();
    }
  } catch (cause) {
    throw cause instanceof ServiceError ? cause : unreachable("the storage ended the ciphertext early", cause);
  } finally {
    limit.close();
  }
}

function unreachable(message: string, cause?: unknown): ServiceError {
  return new ServiceError("storage_unreachable", message, { nextAction: "Try again.", cause });
}

function mismatch(): ServiceError {
  return refusal("ciphertext_mismatch", "the storage has another ciphertext than the one the envelope commits to");
}
