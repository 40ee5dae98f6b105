/** What an archive may contain, the same when it is made and when it is opened (docs/formats.md, Archive). */

import { utf8 } from "./bytes.js";
import { refusal } from "./errors.js";
import { RUNS } from "./generated/names.js";

/** How much an archive may hold: entries (directories included) and bytes of file content. */
export interface ArchiveLimits {
  readonly maxEntries: number;
  readonly maxBytes: number;
}

/** 20,000 entries and 1 GiB. */
export const DEFAULT_LIMITS: ArchiveLimits = { maxEntries: 20_000, maxBytes: 1024 ** 3 };

export const MAX_NAME_BYTES = 255;
const MAX_PATH_BYTES = 1_024;
const MAX_DEPTH = 32;
const UNWANTED = /[\x00-\x1f\x7f-\x9f\\\u2028\u2029]|\p{Surrogate}/u;
const UNASSIGNED = unassigned();

/** Accepts paths one by one and remembers them, each directory once: an archive's time is linear in its names. */
export class Names {
  readonly #limits: ArchiveLimits;
  readonly #keys = new Set<string>();
  /** What accepted directories fold to, by their exact paths. */
  readonly #directories = new Map<string, string>();

  constructor(limits: ArchiveLimits) {
    this.#limits = limits;
  }

  /** Accepts an entry's path (parts joined by `/`) and its parents, or raises `archive_refused`. */
  add(path: string, directory: boolean): void {
    if (path.split("/").length > MAX_DEPTH || utf8(path).length > MAX_PATH_BYTES) {
      throw archiveRefused(`a path that is too long or too deep: ${shown(path)}`);
    }
    if (directory) this.#directory(path);
    else this.#remember(path, this.#foldedOf(path));
    if (this.#keys.size > this.#limits.maxEntries) {
      throw archiveRefused(`more than ${this.#limits.maxEntries} files and directories`);
    }
  }

  /** What a directory folds to, once it and those above it are accepted. */
  #directory(path: string): string {
    const known = this.#directories.get(path);
    if (known !== undefined) return known;
    const key = this.#foldedOf(path);
    this.#remember(path, key);
    this.#directories.set(path, key);
    return key;
  }

  /** What a path folds to: its parts do so one by one, since nothing composes with a `/`. */
  #foldedOf(path: string): string {
    const end = path.lastIndexOf("/");
    const name = path.slice(end + 1);
    checkName(name);
    return end < 0 ? folded(name) : `${this.#directory(path.slice(0, end))}/${folded(name)}`;
  }

  #remember(path: string, key: string): void {
    if (this.#keys.has(key)) {
      throw archiveRefused(`two entries whose names are equal or differ only in letter case: ${shown(path)}`);
    }
    this.#keys.add(key);
  }
}

/** A path as a message may show it: escaped and cut. */
export function shown(path: string): string {
  return JSON.stringify(path.slice(0, 200));
}

export function archiveRefused(what: string): Error {
  return refusal("archive_refused", `the archive is refused: ${what}`);
}

function checkName(name: string): void {
  if (name === "" || name === "." || name === "..") {
    throw archiveRefused("a path that is absolute, leads upwards or has empty parts");
  }
  if (UNWANTED.test(name)) {
    throw archiveRefused(`a name with control characters, a backslash or bytes that are not UTF-8: ${shown(name)}`);
  }
  if (UNASSIGNED.test(name)) {
    throw archiveRefused(`a name with characters that Unicode 14 does not have: ${shown(name)}`);
  }
  if (utf8(name).length > MAX_NAME_BYTES) {
    throw archiveRefused(`a name longer than ${MAX_NAME_BYTES} bytes: ${shown(name)}`);
  }
}

/** Code points that Unicode 14 assigns to no character: a runtime with another version may fold them to others. */
function unassigned(): RegExp {
  const hex = (code: number): string => `\\u{${code.toString(16)}}`;
  let [range, start] = ["", 0];
  for (const [index, length] of RUNS.entries()) {
    if (index % 2 === 1) range += `${hex(start)}-${hex(start + length - 1)}`;
    start += length;
  }
  return new RegExp(`[${range}]`, "u");
}

/** A path as file systems compare it that ignore letter case: NFD, Unicode's full case folding, NFC. JavaScript has no folding: these three steps give the same classes,
 * in every version of Unicode where `checkName` accepts the names. */
export function folded(path: string): string {
  const fold = (letter: string): string =>
    letter === "\u0131" ? letter : letter.toLowerCase().toUpperCase().toLowerCase();
  return /^[\x20-\x7e]*$/.test(path)
    ? path.toLowerCase()
    : Array.from(path.normalize("NFD"), fold).join("").normalize("NFC");
}
