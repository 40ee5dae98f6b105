/**
 * Opening work; loaded only by an action that does, since its cryptography is most of the scripts' size.
 * A content identity and a Guardian's keys exist here while an action runs, and go nowhere.
 */

import { archiveStream, downloadCiphertext, openArtifact, ServiceError } from "../src/opening.js";
import type { ArtifactEntry, Envelope, TransferOptions } from "../src/opening.js";

export { archiveStream, envelopeDifferences, fetchBeacon, generateIdentity, openContentKey, parseEnvelope } from "../src/opening.js";
export { publicKeyOf, unwrapContentKey, wrapContentKey } from "../src/opening.js";

const IDENTITY = /AGE-SECRET-KEY-1[0-9A-Z]{58}/g;
const FLUSH_BYTES = 8 * 1024 * 1024;

/** The age identities in the text of a file: as age-keygen writes them, or a JSON list of them. */
export function identitiesOf(text: string): string[] {
  const found = text.toUpperCase().match(IDENTITY) ?? [];
  if (found.length > 0) return [...new Set(found)];
  throw new ServiceError("key_invalid", "The file contains no age identity.", {
    nextAction: "Choose the file with your Guardian's encryption keys: lines that begin with AGE-SECRET-KEY-1.",
  });
}

/**
 * What was opened: the paths and sizes of its files, and all of it as a tar archive, made anew here. A person unpacks it
 * into a directory, so it has the names that no tool obeys.
 */
export interface Opened {
  readonly files: readonly { readonly path: string; readonly size: number }[];
  readonly archive: Blob;
  /** How many entries have another path than the Solver's archive has. */
  readonly renamed: number;
}

/** Downloads and opens a ciphertext; nothing is passed on unless all of it was what the Submission commits to. */
export async function openWork(
  url: string,
  identity: string,
  envelope: Envelope,
  options: TransferOptions,
): Promise<Opened> {
  const ciphertext = downloadCiphertext(url, envelope, options);
  const entries: ArtifactEntry[] = [];
  const files: { path: string; size: number }[] = [];
  let renamed = 0;
  await openArtifact(ciphertext, identity, envelope, async ({ path: sealed, inertPath: path, ...entry }) => {
    const { directory, size, content } = entry;
    if (path !== sealed) renamed += 1;
    if (directory) {
      entries.push({ path, directory: true });
      return;
    }
    entries.push({ path, content: await blobOf(content) });
    files.push({ path, size });
  });
  return { files, renamed, archive: await new Response(archiveStream(entries)).blob() };
}

/** The browser keeps what is in a Blob wherever it wants, so that little of a large file is held at a time. */
async function blobOf(content: AsyncIterable<Uint8Array>): Promise<Blob> {
  const parts: Blob[] = [];
  let [chunks, size]: [Uint8Array<ArrayBuffer>[], number] = [[], 0];
  for await (const chunk of content) {
    chunks.push(chunk.slice());
    size += chunk.length;
    if (size >= FLUSH_BYTES) {
      parts.push(new Blob(chunks));
      [chunks, size] = [[], 0];
    }
  }
  return new Blob([...parts, ...chunks]);
}
