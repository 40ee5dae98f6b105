/** Whether sealed work opens as far as its first kilobytes show, before it is downloaded. */

import { chunksOf } from "./bytes.js";
import { ServiceError } from "./errors.js";
import { plaintextOf } from "./open.js";

const BEGIN_MILLISECONDS = 60_000;
/** The longest header of an age file, and the nonce after it. */
const BEGIN_BYTES = 16 * 1024 + 64;

/**
 * Opens the header of a ciphertext, of which only the first kilobytes are read. `begin_not_opened` where it does not:
 * nobody has hashed these bytes, so the storage may have caused it. `storage_refused` where it has none to send,
 * `storage_unreachable` where it does not answer.
 */
export async function openBegin(url: string, identity: string, byteLength: number): Promise<void> {
  const count = Math.min(BEGIN_BYTES, byteLength);
  const headers = { Range: `bytes=0-${count - 1}` };
  const signal = AbortSignal.timeout(BEGIN_MILLISECONDS);
  const response = await fetch(url, { headers, redirect: "error", signal }).catch(() => undefined);
  if (response?.body == null || !response.ok) {
    await response?.body?.cancel();
    throw notSent(response !== undefined && response.status < 500 ? "storage_refused" : "storage_unreachable");
  }
  const source = firstOf(response.body, count);
  try {
    await plaintextOf(source, identity);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw notSent("storage_unreachable"); // it ended within them
    const message = `The first bytes of its ciphertext do not open: ${error.message}. Open it to know who caused that.`;
    throw new ServiceError("begin_not_opened", message);
  } finally {
    await source.return(undefined);
  }
}

function notSent(code: "storage_refused" | "storage_unreachable"): ServiceError {
  return new ServiceError(code, "The storage did not send the begin of the sealed work.", {
    nextAction: "Try again; what was found before is kept.",
  });
}

/** At most so many bytes; a storage that sends all of it is left after them. */
async function* firstOf(body: ReadableStream<Uint8Array>, count: number): AsyncGenerator<Uint8Array> {
  let left = count;
  for await (const chunk of chunksOf(body)) {
    yield chunk.subarray(0, left);
    left -= chunk.length;
    if (left <= 0) return;
  }
}
