/** Where sealed work waits until it is recorded: a file of the origin's private file system. */

import { ServiceError } from "../src/acting.js";
import { t } from "./words.js";

/** Refuses a browser that keeps no files for a page, as private windows of some do not, or that has no such API at all. */
export async function requireFiles(): Promise<void> {
  try {
    await navigator.storage.getDirectory();
  } catch {
    throw new ServiceError("no_files", t`This browser lets no page keep files, as in a private window: sealed work would be lost when you close it.`, {
      nextAction: t`Use a window that is not private.`,
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
