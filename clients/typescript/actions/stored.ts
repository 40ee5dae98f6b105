/**
 * Where sealed work waits until it is recorded: a file of the origin's private file system, or this page's memory where
 * the browser keeps no files, as in private windows of some.
 */

const inMemory = new Map<string, Blob>();

/** Whether the browser keeps files for a page. */
export async function keepsFiles(): Promise<boolean> {
  try {
    await navigator.storage.getDirectory();
    return true;
  } catch {
    return false;
  }
}

/** Holds it until the page is closed. */
export function holdInMemory(name: string, content: Blob): void {
  inMemory.set(name, content);
}

/** What is kept under a name; undefined where it is not there any more. */
export async function storedAt(name: string): Promise<Blob | undefined> {
  try {
    return inMemory.get(name) ?? (await (await (await folder()).getFileHandle(name)).getFile());
  } catch {
    return undefined;
  }
}

/** Removes what is kept under a name, if there is anything. */
export async function removeStored(name: string): Promise<void> {
  inMemory.delete(name);
  await folder()
    .then((found) => found.removeEntry(name))
    .catch(() => undefined);
}

/** Removes what is kept under names that begin so, but one: its visit was closed too early, or other work was chosen. */
export async function removeOthers(begin: string, kept: string): Promise<void> {
  const isOther = (name: string) => name.startsWith(begin) && name !== kept;
  for (const name of [...inMemory.keys()].filter(isOther)) inMemory.delete(name);
  if (!(await keepsFiles())) return;
  for await (const name of (await folder()).keys()) if (isOther(name)) await removeStored(name);
}

async function folder(): Promise<FileSystemDirectoryHandle> {
  return navigator.storage.getDirectory();
}
