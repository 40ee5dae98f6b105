/** Canonical JSON (RFC 8785) of strings, integers, lists and objects, written and read. */

import { utf8 } from "./bytes.js";

const MAX_CONTAINERS = 500;

/** The RFC 8785 encoding of a JSON value of strings, integers, lists and objects. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (typeof value === "object" && value !== null) {
    const entries = Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1));
    return `{${entries.map(([key, item]) => `${canonicalJson(key)}:${canonicalJson(item)}`).join(",")}}`;
  }
  if (typeof value === "number" && !Number.isSafeInteger(value)) {
    throw new RangeError("numbers must be integers between -(2^53 - 1) and 2^53 - 1");
  }
  if (typeof value === "string" && /\p{Surrogate}/u.test(value)) throw new RangeError("half a surrogate pair");
  return JSON.stringify(value);
}

/** Reads canonical JSON; raises RangeError or SyntaxError for every other encoding of a value. */
export function parseCanonicalJson(data: Uint8Array | string, maxBytes: number): unknown {
  const bytes = typeof data === "string" ? utf8(data) : data;
  if (bytes.length > maxBytes) throw new RangeError(`larger than ${maxBytes} bytes`);
  const containers = bytes.reduce((count, byte) => count + (byte === 0x5b || byte === 0x7b ? 1 : 0), 0);
  if (containers > MAX_CONTAINERS) throw new RangeError("nested too deeply or with too many parts");
  const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  const value: unknown = JSON.parse(text);
  if (canonicalJson(value) !== text) throw new RangeError("not in the canonical form of RFC 8785");
  return value;
}
