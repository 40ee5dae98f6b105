/** What should not be passed on with work. */

import type { ArtifactEntry } from "./archive.js";
import { BEGIN_BYTES, KEY_LINE, SECRET_NAMES } from "./generated/secrets.js";

/**
 * The paths of files, or of directories above them, that look like secrets: by their names (`.env`, `id_rsa`, `*.pem`), or
 * since they begin as a private key does. They are guesses, on which a person decides; `service-cli` has the same.
 */
export async function likelySecrets(entries: readonly ArtifactEntry[]): Promise<string[]> {
  const found = new Set<string>();
  for (const entry of entries) {
    const parts = entry.path.split("/");
    const at = parts.findIndex((part) => SECRET_NAMES.some((pattern) => pattern.test(part.toLowerCase())));
    if (at >= 0) found.add(parts.slice(0, at + 1).join("/"));
    else if ("content" in entry && (await beginsAsKey(entry.content))) found.add(entry.path);
  }
  return [...found];
}

async function beginsAsKey(content: Blob | Uint8Array): Promise<boolean> {
  const begin = content instanceof Blob ? content.slice(0, BEGIN_BYTES) : new Blob([content.slice(0, BEGIN_BYTES)]);
  const lines = (await begin.text()).split(/\r?\n/).map((line) => line.trim());
  return KEY_LINE.test(lines.find((line) => line !== "" && !line.startsWith("#")) ?? "");
}
