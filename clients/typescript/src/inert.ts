/** Names under which opened work is laid out, so that no tool obeys what its Solver put there (docs/formats.md, Archive). */

import { sha256 } from "@noble/hashes/sha2.js";
import { toHex, utf8 } from "./bytes.js";
import { HARMLESS, JOINERS, OBEYED, SELECTORS, UNSEEN } from "./generated/names.js";
import { MAX_NAME_BYTES, folded } from "./names.js";

const MARK = "inert_";
const CUT_MARK = "inert~";
const KEPT_OF_CUT = 150;
const ANY_KIND = whole(OBEYED.filter(([, filesOnly]) => !filesOnly));
const FILES = whole(OBEYED);
const ANY_UNSEEN = new RegExp(`[${UNSEEN}${JOINERS}${SELECTORS}]`, "gu");
const FOREIGN = String.raw`[^\x00-\x7f]`;
const HIDING = new RegExp(
  `[${UNSEEN}]|(?<![^\\x00-\\x7f${JOINERS}])[${JOINERS}]|[${JOINERS}](?!${FOREIGN})` +
    `|(?<![^\\x00-\\x7f${JOINERS}${SELECTORS}])[${SELECTORS}](?!\\u20e3)`,
  "gu",
);

/** Where an entry of an archive is laid out, part by part; the same path where no tool obeys any of it. */
export function inertPath(path: string, directory: boolean): string {
  return new InertPaths().of(path, directory);
}

/** The same for the entries of one archive: what is above them is looked at once. */
export class InertPaths {
  readonly #directories = new Map<string, string>();

  of(path: string, directory: boolean): string {
    if (!directory) return this.#laidOut(path, false);
    const known = this.#directories.get(path) ?? this.#laidOut(path, true);
    this.#directories.set(path, known);
    return known;
  }

  #laidOut(path: string, directory: boolean): string {
    const end = path.lastIndexOf("/");
    const name = inertName(path.slice(end + 1), directory);
    return end < 0 ? name : `${this.of(path.slice(0, end), true)}/${name}`;
  }
}

function inertName(name: string, directory: boolean): string {
  if (!isObeyed(name, directory)) return name;
  const laidOut = `${MARK}${shown(name)}_`;
  if (utf8(laidOut).length <= MAX_NAME_BYTES) return laidOut;
  const kept = new TextDecoder().decode(utf8(shown(name)).subarray(0, KEPT_OF_CUT), { stream: true });
  return `${CUT_MARK}${kept}~${toHex(sha256(utf8(name))).slice(2, 18)}_`;
}

function isObeyed(name: string, directory: boolean): boolean {
  if (name.search(HIDING) >= 0) return true;
  const compared = folded(name.replace(ANY_UNSEEN, "").normalize("NFKC")).replace(/:.*$/su, "").replace(/[. ]+$/u, "");
  if (compared.startsWith(MARK) || compared.startsWith(CUT_MARK)) return true;
  return !HARMLESS.has(name) && (directory ? ANY_KIND : FILES).test(compared);
}

/**
 * With the number of each character that nobody sees; a brace of the name itself counts as one. A joiner beside one that
 * became a number joins nothing any more, and becomes one itself.
 */
function shown(name: string): string {
  const number = (found: string): string =>
    `{U+${(found.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}}`;
  let text = name.replaceAll("{", "{U+007B}");
  while (text.search(HIDING) >= 0) text = text.replace(HIDING, number);
  return text;
}

function whole(some: readonly (readonly [string, boolean])[]): RegExp {
  return new RegExp(`^(?:${some.map(([pattern]) => `(?:${pattern})`).join("|")})$`, "su");
}
