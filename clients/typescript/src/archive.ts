/** Files as a deterministic tar stream, and the tar of any tool read back, trusting nothing in it (docs/formats.md). */

import { takeComment } from "./binding.js";
import type { Binding } from "./binding.js";
import { ByteSource, chunksOf, concat, streamOf, utf8 } from "./bytes.js";
import type { Bytes } from "./bytes.js";
import { refusal } from "./errors.js";
import { InertPaths } from "./inert.js";
import { DEFAULT_LIMITS, Names, archiveRefused, shown } from "./names.js";
import type { ArchiveLimits } from "./names.js";

/** A file to seal. Its path is relative, parts joined by `/`; the directories above it need no entry of their own. */
export interface ArtifactFile {
  readonly path: string;
  readonly content: Blob | Uint8Array;
  readonly executable?: boolean;
}

/** A directory to seal, which may be empty. */
export interface ArtifactDirectory {
  readonly path: string;
  readonly directory: true;
}

/** What is sealed: a file or a directory, by its path. */
export type ArtifactEntry = ArtifactFile | ArtifactDirectory;

/** An entry of an archive that is being opened. `content` is read at once or not at all; of a directory it is empty. */
export interface OpenedEntry {
  /** As the archive has it. */
  readonly path: string;
  /** Where it is laid out, so that no tool obeys it: `.git/config` becomes `inert_.git_/config`. */
  readonly inertPath: string;
  readonly directory: boolean;
  readonly size: number;
  readonly content: AsyncIterable<Uint8Array>;
}

/** What an archive held. */
export interface Unpacked {
  readonly fileCount: number;
  readonly byteLength: number;
  /** What its global headers name as its bounty and Solver. */
  readonly binding: Binding | undefined;
}

const BLOCK = 512;
const NAME_FIELD = 100;
const MAX_FILE_BYTES = 8 ** 11 - 1;
const MAX_EXTENSION = 64 * 1024;
const MAX_DIGITS = 19;
/** Header blocks of every kind: a tar program writes two for an entry, and repeats a directory it adds to. */
const HEADERS_PER_ENTRY = 4;
const DECODER = new TextDecoder("utf-8", { ignoreBOM: true });
const STRICT_DECODER = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * The entries as they stand in the archive: every directory above a file added, in the byte order of their paths.
 * Raises `archive_refused` for names the format refuses, repeated names, no file at all, and more than the limits.
 */
export function arrange(entries: readonly ArtifactEntry[], limits: ArchiveLimits = DEFAULT_LIMITS): ArtifactEntry[] {
  const names = new Names(limits);
  const found = new Map<string, ArtifactEntry>();
  let total = 0;
  for (const entry of entries) {
    names.add(entry.path, "directory" in entry);
    found.set(entry.path, entry);
    total += sizeOf(entry);
    if (sizeOf(entry) > MAX_FILE_BYTES) throw archiveRefused(`${shown(entry.path)} is 8 GiB or larger`);
    for (let end = entry.path.lastIndexOf("/"); end > 0; end = entry.path.lastIndexOf("/", end - 1)) {
      const path = entry.path.slice(0, end);
      if (!found.has(path)) found.set(path, { path, directory: true });
    }
  }
  if (total > limits.maxBytes) throw archiveRefused(`more than ${limits.maxBytes} bytes of files`);
  const arranged = [...found.values()];
  if (arranged.every((entry) => "directory" in entry)) throw archiveRefused("there is no file in it");
  const order = new Map(arranged.map((entry) => [entry.path, utf8(entry.path)]));
  return arranged.sort((left, right) => compareBytes(order.get(left.path), order.get(right.path)));
}

/** Entries as one tar archive, in their order and unchecked: to save opened work as one file. */
export function archiveStream(entries: readonly ArtifactEntry[]): ReadableStream<Uint8Array> {
  return streamOf(tarOf(entries));
}

/** The tar stream of arranged entries, after a comment where one is given. */
export async function* tarOf(entries: readonly ArtifactEntry[], comment?: string): AsyncGenerator<Uint8Array> {
  if (comment !== undefined) yield extension("g", "comment", utf8(comment));
  for (const entry of entries) {
    const size = sizeOf(entry);
    yield headerOf(entry, size);
    if (!("directory" in entry)) yield* contentOf(entry, size);
    yield new Uint8Array(-size & (BLOCK - 1));
  }
  yield new Uint8Array(2 * BLOCK);
}

/**
 * Reads a tar stream to its end and passes on each file and directory. Nothing that was passed on may be used before
 * this has returned: what is wrong may come last. Raises `archive_refused` and `archive_malformed`.
 */
export async function unpack(
  chunks: AsyncIterable<Uint8Array>,
  onEntry: (entry: OpenedEntry) => void | Promise<void>,
  limits: ArchiveLimits = DEFAULT_LIMITS,
): Promise<Unpacked> {
  const reader = new TarReader(new ByteSource(chunks), HEADERS_PER_ENTRY * limits.maxEntries);
  const [names, inertPaths] = [new Names(limits), new InertPaths()];
  let [fileCount, byteLength] = [0, 0];
  for (let entry = await reader.next(); entry !== undefined; entry = await reader.next()) {
    const { name, size, directory } = entry;
    if (directory && (name === "." || name === "./")) continue;
    const path = name.replace(/^\.\//, "").replace(directory ? /\/$/ : /(?!)/, "");
    names.add(path, directory);
    if (!directory) [fileCount, byteLength] = [fileCount + 1, byteLength + size];
    if (byteLength > limits.maxBytes) throw archiveRefused(`more than ${limits.maxBytes} bytes of files`);
    const content = reader.content(size);
    await onEntry({ path, inertPath: inertPaths.of(path, directory), directory, size, content: content.chunks() });
    await content.skip();
  }
  await reader.expectOnlyZeros();
  if (fileCount === 0) throw archiveRefused("there is no file in it");
  return { fileCount, byteLength, binding: reader.binding };
}

function sizeOf(entry: ArtifactEntry): number {
  if ("directory" in entry) return 0;
  return entry.content instanceof Uint8Array ? entry.content.length : entry.content.size;
}

async function* contentOf(file: ArtifactFile, size: number): AsyncGenerator<Uint8Array> {
  if (file.content instanceof Uint8Array) {
    yield file.content;
    return;
  }
  let taken = 0;
  try {
    for await (const chunk of chunksOf(file.content.stream())) {
      taken += chunk.length;
      yield chunk;
    }
  } catch {
    taken = -1;
  }
  if (taken !== size) throw archiveRefused(`${shown(file.path)} cannot be read, or changed while it was read`);
}

function compareBytes(left: Uint8Array = new Uint8Array(), right: Uint8Array = new Uint8Array()): number {
  for (let index = 0; index < left.length && index < right.length; index += 1) {
    const difference = (left[index] ?? 0) - (right[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}

/** An entry's header; a pax record carries a path that is long or not ASCII. */
function headerOf(entry: ArtifactEntry, size: number): Bytes {
  const directory = "directory" in entry;
  const name = utf8(directory ? `${entry.path}/` : entry.path);
  const executable = !directory && entry.executable === true;
  const block = header(name, directory || executable ? "0000755" : "0000644", size, directory ? "5" : "0", "0000000");
  const plain = name.length <= NAME_FIELD && name.every((byte) => byte < 128);
  return plain ? block : concat([extension("x", "path", name), block]);
}

/** The blocks of a pax header with one record, `<length> <key>=<value>\n`, whose length counts its own digits. */
function extension(kind: "g" | "x", key: string, value: Uint8Array): Bytes {
  const rest = concat([utf8(` ${key}=`), value, utf8("\n")]);
  let length = rest.length + 1;
  while (String(length).length + rest.length !== length) length += 1;
  const padding = new Uint8Array(-length & (BLOCK - 1));
  return concat([header(utf8("@PaxHeader"), "0000644", length, kind, ""), utf8(String(length)), rest, padding]);
}

function header(name: Uint8Array, mode: string, size: number, kind: string, device: string): Bytes {
  const block = new Uint8Array(BLOCK);
  block.set(name.subarray(0, NAME_FIELD));
  const write = (at: number, text: string): void => block.set(utf8(text), at);
  write(100, mode);
  write(108, "0000000");
  write(116, "0000000");
  write(124, size.toString(8).padStart(11, "0"));
  write(136, "00000000000");
  write(148, "        ");
  write(156, kind);
  write(257, "ustar\x0000");
  write(329, device);
  write(337, device);
  const checksum = block.reduce((sum, byte) => sum + byte, 0);
  write(148, `${checksum.toString(8).padStart(6, "0")}\0 `);
  return block;
}

interface TarEntry {
  readonly name: string;
  readonly size: number;
  readonly directory: boolean;
}

/** Files and directories of a tar stream, with names and sizes of extension headers applied. */
class TarReader {
  binding: Binding | undefined;
  readonly #source: ByteSource;
  readonly #maxHeaders: number;
  #headers = 0;

  constructor(source: ByteSource, maxHeaders: number) {
    this.#source = source;
    this.#maxHeaders = maxHeaders;
  }

  /** The next entry, none at the archive's end. */
  async next(): Promise<TarEntry | undefined> {
    let longName: string | undefined;
    let records = new Map<string, string>();
    for (;;) {
      const block = await this.#take(BLOCK);
      if (block.every((byte) => byte === 0)) {
        const second = await this.#take(BLOCK);
        if (second.some((byte) => byte !== 0) || longName !== undefined || records.size > 0) {
          throw malformed("its end mark is incomplete");
        }
        return undefined;
      }
      this.#headers += 1;
      if (this.#headers > this.#maxHeaders) throw archiveRefused(`more than ${this.#maxHeaders} headers`);
      const { kind, name, size, directory } = parseHeader(block);
      if (kind === "L") {
        longName = decode(trimZeros(await this.#extension(size)));
      } else if (kind === "x") {
        records = new Map(paxRecords(await this.#extension(size)));
      } else if (kind === "g") {
        this.#takeGlobal(paxRecords(await this.#extension(size)));
      } else if (kind === "0" || kind === "\0" || directory) {
        const applied = records.get("path") ?? longName ?? name;
        return { name: applied, size: directory ? 0 : sizeIn(records, size), directory };
      } else {
        throw archiveRefused(`${shown(name)} is a link, a device or another special entry`);
      }
    }
  }

  content(size: number): EntryContent {
    return new EntryContent(this.#source, size);
  }

  async expectOnlyZeros(): Promise<void> {
    for (;;) {
      const part = await this.#source.some(64 * 1024);
      if (part.length === 0) return;
      if (part.some((byte) => byte !== 0)) throw malformed("data follows its end");
    }
  }

  #takeGlobal(records: readonly (readonly [string, string])[]): void {
    for (const [key, value] of records) {
      if (["path", "size", "linkpath"].includes(key)) throw archiveRefused("a global header that names files");
      if (key === "comment") this.binding = takeComment(this.binding, value, "archive_malformed");
    }
  }

  async #extension(size: number): Promise<Bytes> {
    if (size > MAX_EXTENSION) throw archiveRefused("an extension header that is too large");
    const data = await this.#take(size);
    await this.#take(-size & (BLOCK - 1));
    return data;
  }

  async #take(size: number): Promise<Bytes> {
    const data = await this.#source.take(size);
    if (data.length !== size) throw endsEarly();
    return data;
  }
}

/** One file's bytes in the stream, with the padding after them. */
class EntryContent {
  readonly #source: ByteSource;
  readonly #padding: number;
  #missing: number;

  constructor(source: ByteSource, size: number) {
    this.#source = source;
    this.#missing = size;
    this.#padding = -size & (BLOCK - 1);
  }

  async *chunks(): AsyncGenerator<Uint8Array> {
    while (this.#missing > 0) {
      const part = await this.#source.some(this.#missing);
      if (part.length === 0) throw endsEarly();
      this.#missing -= part.length;
      yield part;
    }
  }

  /** Passes over what was not read, so that nobody can read it later. */
  async skip(): Promise<void> {
    for await (const _ of this.chunks());
    this.#missing = this.#padding;
    for await (const _ of this.chunks());
  }
}

function parseHeader(block: Uint8Array): TarEntry & { readonly kind: string } {
  const sum = block.reduce((total, byte) => total + byte, 0);
  const field = block.subarray(148, 156);
  const unsigned = sum - field.reduce((total, byte) => total + byte, 0) + 8 * 32;
  const high = block.reduce((count, byte, index) => count + (byte > 127 && (index < 148 || index > 155) ? 1 : 0), 0);
  const checksum = number(field);
  if (checksum !== unsigned && checksum !== unsigned - 256 * high) throw unreadable();
  for (const [start, end] of [
    [100, 108],
    [108, 116],
    [116, 124],
    [136, 148],
    [329, 337],
    [337, 345],
  ] as const) {
    number(block.subarray(start, end));
  }
  const size = number(block.subarray(124, 136));
  if (size < 0) throw malformed("an entry has a negative size");
  const kind = String.fromCharCode(block[156] ?? 0);
  const own = text(block.subarray(0, 100));
  const prefix = text(block.subarray(345, 500));
  const directory = kind === "5" || (kind === "\0" && own.endsWith("/"));
  const plain = directory ? own.replace(/\/+$/, "") : own;
  const name = prefix !== "" && !["L", "K", "S"].includes(kind) ? `${prefix}/${plain}` : plain;
  return { kind, name, size, directory };
}

/** An octal number, or a binary one as GNU tar writes large ones; beyond 2^53 it is near, and above every limit. */
function number(field: Uint8Array): number {
  const first = field[0] ?? 0;
  if (first === 0x80 || first === 0xff) {
    const bits = field.subarray(1).reduce((sum, byte) => sum * 256n + BigInt(byte), 0n);
    return Number(first === 0xff ? bits - 256n ** BigInt(field.length - 1) : bits);
  }
  const digits = text(field);
  if (!/^ *[0-7]* *$/.test(digits)) throw unreadable();
  return Number.parseInt(digits.trim() || "0", 8);
}

/** Records `<length> <key>=<value>\n`, each exactly as long as it states. */
function paxRecords(data: Uint8Array): [string, string][] {
  const records: [string, string][] = [];
  for (let start = 0; start < data.length;) {
    const space = data.subarray(start, start + MAX_DIGITS + 1).indexOf(32) + start;
    const digits = space > start ? decode(data.subarray(start, space)) : "";
    const end = /^\d+$/.test(digits) ? start + Number(digits) : -1;
    if (!(space < end && end <= data.length)) throw malformed("a pax record states a wrong length");
    const equals = data.subarray(space + 1, end).indexOf(61) + space + 1;
    if (equals === space || data[end - 1] !== 10) throw malformed("a pax record cannot be read");
    records.push([decode(data.subarray(space + 1, equals)), decode(data.subarray(equals + 1, end - 1))]);
    start = end;
  }
  if (records.some(([key]) => key.startsWith("GNU.sparse."))) throw archiveRefused("a sparse file");
  return records;
}

function sizeIn(records: ReadonlyMap<string, string>, size: number): number {
  const given = records.get("size");
  if (given === undefined) return size;
  if (!/^\d{1,18}$/.test(given)) throw malformed("a pax size cannot be read");
  return Number(given);
}

/** Text up to the first NUL. */
function text(field: Uint8Array): string {
  const end = field.indexOf(0);
  return decode(end < 0 ? field : field.subarray(0, end));
}

function trimZeros(data: Uint8Array): Uint8Array {
  let end = data.length;
  while (end > 0 && data[end - 1] === 0) end -= 1;
  return data.subarray(0, end);
}

/** UTF-8; other bytes become a text that ends in half a surrogate pair, which no name and no binding may hold. */
function decode(data: Uint8Array): string {
  try {
    return STRICT_DECODER.decode(data);
  } catch {
    return `${DECODER.decode(data)}\ud800`;
  }
}

function endsEarly(): Error {
  return malformed("it ends early");
}

function unreadable(): Error {
  return malformed("an entry's header cannot be read");
}

function malformed(what: string): Error {
  return refusal("archive_malformed", `the archive cannot be read: ${what}`);
}
