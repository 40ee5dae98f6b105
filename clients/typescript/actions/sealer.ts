/**
 * The dedicated worker in which files are sealed, so that the page stays responsive. It is the only script that may run
 * WebAssembly, and it may send nothing anywhere: the policy of its own answer says so (services/api, `pages/policy.py`).
 */

import { sealSubmission, ServiceError, type ArtifactFile, type ErrorDetails, type SealFor } from "../src/sealing.js";
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

/** Writes one piece after the other, and reports how much it is. */
function writingTo(file: SyncFile): WritableStream<Uint8Array> {
  const reportWritten = paced((bytes: number) => report({ written: bytes }));
  let written = 0;
  return new WritableStream({
    write(piece) {
      if (file.write(piece, { at: written }) !== piece.length) {
        throw new DOMException("The file takes no more.", "QuotaExceededError");
      }
      written += piece.length;
      reportWritten(written);
    },
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
