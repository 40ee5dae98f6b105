/**
 * Sealing as a page starts it: in a worker of its own, which ends with it. Sealed work waits in a file of the origin's
 * private file system until it is recorded.
 */

import { ServiceError } from "../src/acting.js";
import type { SealingOrder, SealingReport } from "./sealer.js";

/** The worker's script, beside this one; the build names it. */
declare const SEALER: string;

interface ScriptPolicy {
  createScriptURL(text: string): unknown;
}

interface PolicyFactory {
  createPolicy(name: string, rules: { createScriptURL: () => string }): ScriptPolicy;
}

/** The page's policy allows one trusted type, which makes the address of this one script and no other. */
const factory = (globalThis as { trustedTypes?: PolicyFactory }).trustedTypes;
const address = new URL(SEALER, import.meta.url).href;
const script = factory?.createPolicy("sealer", { createScriptURL: () => address }).createScriptURL("") ?? address;

/** Seals files until the signal ends it, and gives the envelope; `onWritten` gets the bytes written so far. */
export async function sealInWorker(
  order: SealingOrder,
  onWritten: (bytes: number) => void,
  signal: AbortSignal,
): Promise<Uint8Array<ArrayBuffer>> {
  const worker = new Worker(script as string, { type: "module" });
  try {
    return await new Promise((resolve, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason as Error)); // a file may never be read to its end
      const early = "The script that seals did not start, or ended early.";
      worker.onerror = () => reject(new ServiceError("sealing_failed", early, { nextAction: "Reload the page and try again." }));
      worker.onmessage = ({ data }: MessageEvent<SealingReport>) => {
        if ("written" in data) onWritten(data.written);
        else if ("envelope" in data) resolve(data.envelope);
        else reject(new ServiceError(data.failure.code, data.failure.message, data.failure.details));
      };
      worker.postMessage(order);
    });
  } finally {
    worker.terminate();
  }
}

/** Refuses a browser that keeps no files for a page, as private windows of some do not, or that has no such API at all. */
export async function requireFiles(): Promise<void> {
  try {
    await navigator.storage.getDirectory();
  } catch {
    throw new ServiceError("no_files", "This browser lets no page keep files, as in a private window: sealed work would be lost when you close it.", {
      nextAction: "Use a window that is not private.",
    });
  }
}

/** What is kept under a name; undefined where it is not there any more. */
export async function storedAt(name: string): Promise<Blob | undefined> {
  try {
    const folder = await navigator.storage.getDirectory();
    return await (await folder.getFileHandle(name)).getFile();
  } catch {
    return undefined;
  }
}

/** Removes what is kept under names that begin so, but one: its visit was closed too early, or other work was chosen. */
export async function removeOthers(begin: string, kept: string): Promise<void> {
  const folder = await navigator.storage.getDirectory();
  for await (const name of folder.keys()) {
    if (name.startsWith(begin) && name !== kept) await folder.removeEntry(name).catch(() => undefined);
  }
}
