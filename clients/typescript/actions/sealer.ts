/**
 * The dedicated worker in which files are sealed, so that the page stays responsive. It is the only script that may run
 * WebAssembly, and it may send nothing anywhere: the policy of its own answer says so (services/api, `pages/policy.py`).
 */

import { sealSubmission, ServiceError } from "../src/sealing.js";
import type { ArtifactFile, ErrorDetails, SealFor } from "../src/sealing.js";
import { paced } from "./dom.js";

/** What to seal, and the file of the origin's private file system that takes the ciphertext. */
export interface SealingOrder {
  readonly files: readonly ArtifactFile[];
  readonly sealFor: SealFor;
  readonly target: string;
}

/** How much is written; at the end the envelope's bytes, or why there are none. */
export type SealingReport =
  | { readonly written: number }
  | { readonly envelope: Uint8Array<ArrayBuffer> }
  | { readonly failure: { readonly code: string; readonly message: string; readonly details: ErrorDetails } };

/** A file that only a worker may open so; TypeScript has it in another library than the page's types. */
interface SyncFile {
  truncate(size: number): void;
  write(data: Uint8Array, options: { at: number }): number;
  flush(): void;
  close(): void;
}

declare global {
  interface FileSystemFileHandle {
    createSyncAccessHandle(): Promise<SyncFile>;
  }
}

const MEBIBYTE = 1024 * 1024;
const report = (what: SealingReport): void => globalThis.postMessage(what);

globalThis.onmessage = async ({ data }: MessageEvent<SealingOrder>) => {
  try {
    report({ envelope: await seal(data) });
  } catch (error) {
    const { code, message, nextAction } = error instanceof ServiceError ? error : notSealed(error);
    report({ failure: { code, message, details: { nextAction } } });
  }
};

async function seal({ files, sealFor, target }: SealingOrder): Promise<Uint8Array<ArrayBuffer>> {
  const folder = await navigator.storage.getDirectory();
  const handle = await folder.getFileHandle(target, { create: true });
  const file = await handle.createSyncAccessHandle();
  try {
    file.truncate(0);
    const { bytes } = await sealSubmission(files, sealFor, writingTo(file));
    file.flush();
    file.close();
    return bytes;
  } catch (error) {
    file.close();
    await folder.removeEntry(target).catch(() => undefined);
    throw error;
  }
}

/** Writes a mebibyte at a time, since each write costs time of its own. */
function writingTo(file: SyncFile): WritableStream<Uint8Array> {
  const gathered = new Uint8Array(MEBIBYTE);
  const reportWritten = paced((bytes: number) => report({ written: bytes }));
  let [size, written] = [0, 0];
  const writeGathered = (): void => {
    if (file.write(gathered.subarray(0, size), { at: written }) !== size) {
      throw new DOMException("The file takes no more.", "QuotaExceededError");
    }
    [written, size] = [written + size, 0];
    reportWritten(written);
  };
  return new WritableStream({
    write(piece) {
      for (let taken = 0; taken < piece.length; ) {
        const part = piece.subarray(taken, taken + MEBIBYTE - size);
        gathered.set(part, size);
        [taken, size] = [taken + part.length, size + part.length];
        if (size === MEBIBYTE) writeGathered();
      }
    },
    close: writeGathered,
  });
}

function notSealed(error: unknown): ServiceError {
  const isFull = error instanceof DOMException && error.name === "QuotaExceededError";
  const message = isFull
    ? "The browser has no space for the sealed work."
    : "A file could not be read, or not be sealed.";
  const nextAction = isFull
    ? "Free some disk space and try again."
    : "Choose the directory again; it may have changed.";
  return new ServiceError("sealing_failed", message, { nextAction });
}
