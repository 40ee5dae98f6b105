/** Bytes, hex, and streams taken in exact amounts. */

import { bytesToHex, hexToBytes } from "@noble/hashes/utils.js";
import type { Hex } from "viem";

/** Bytes in memory of their own, as Blob and the streams of a browser take them. */
export type Bytes = Uint8Array<ArrayBuffer>;

/** `0x` and lowercase digits. */
export function toHex(data: Uint8Array): Hex {
  return `0x${bytesToHex(data)}`;
}

/** The bytes behind 0x-hex. */
export function fromHex(text: string): Bytes {
  return hexToBytes(text.slice(2)) as Bytes;
}

export function utf8(text: string): Bytes {
  return new TextEncoder().encode(text);
}

export function concat(parts: readonly Uint8Array[]): Bytes {
  const whole = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let start = 0;
  for (const part of parts) {
    whole.set(part, start);
    start += part.length;
  }
  return whole;
}

export function equal(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && left.every((byte, index) => byte === right[index]);
}

/** The chunks of a stream; leaving the loop early cancels it. Not every browser iterates over streams itself. */
export async function* chunksOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader();
  let ended = false;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) {
        ended = true;
        return;
      }
      yield value;
    }
  } finally {
    if (!ended) await reader.cancel().catch(() => undefined);
  }
}

/** A stream of chunks that are made when they are wanted. */
export function streamOf(chunks: AsyncGenerator<Uint8Array>): ReadableStream<Uint8Array> {
  const source: UnderlyingDefaultSource<Uint8Array> = {
    async pull(controller) {
      const { done, value } = await chunks.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await chunks.return(undefined);
    },
  };
  return new ReadableStream(source, { highWaterMark: 0 }); // else the first is made before anybody reads
}

/** Chunks of any size, taken in exact amounts; memory does not grow with what has passed. */
export class ByteSource {
  readonly #chunks: AsyncIterator<Uint8Array>;
  #rest: Uint8Array = new Uint8Array();

  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.#chunks = chunks[Symbol.asyncIterator]();
  }

  /** The next bytes, at most `limit` of them, none at the end. */
  async some(limit: number): Promise<Uint8Array> {
    while (this.#rest.length === 0) {
      const { done, value } = await this.#chunks.next();
      if (done) return this.#rest;
      this.#rest = value;
    }
    const part = this.#rest.subarray(0, limit);
    this.#rest = this.#rest.subarray(part.length);
    return part;
  }

  /** Exactly `size` bytes, fewer only at the end. */
  async take(size: number): Promise<Bytes> {
    const whole = new Uint8Array(size);
    return whole.subarray(0, await this.fill(whole));
  }

  /** Writes the next bytes over `whole`; returns how many, fewer than it takes only at the end. */
  async fill(whole: Uint8Array): Promise<number> {
    let filled = 0;
    while (filled < whole.length) {
      const part = await this.some(whole.length - filled);
      if (part.length === 0) break;
      whole.set(part, filled);
      filled += part.length;
    }
    return filled;
  }

  /** The next line with its line feed; without one where the source ends or `limit` bytes have none. */
  async line(limit: number): Promise<Uint8Array> {
    const parts: Uint8Array[] = [];
    let size = 0;
    while (size < limit) {
      const part = await this.some(limit - size);
      const end = part.indexOf(10) + 1;
      parts.push(end > 0 ? part.subarray(0, end) : part);
      size += part.length;
      if (end > 0) this.#putBack(part.length - end);
      if (end > 0 || part.length === 0) break;
    }
    return concat(parts);
  }

  /** Makes the bytes before `#rest`, which lie in the same memory, the next ones again. */
  #putBack(size: number): void {
    const { buffer, byteOffset, length } = this.#rest;
    this.#rest = new Uint8Array(buffer, byteOffset - size, length + size);
  }
}
