/** Opening sealed work, in memory that does not grow with it. */

import { sha256 } from "@noble/hashes/sha2.js";
import { openHeader, payloadOf, publicKeyOf, readHeader, requireX25519 } from "./age.js";
import { unpack } from "./archive.js";
import type { OpenedEntry, Unpacked } from "./archive.js";
import { checkBinding } from "./binding.js";
import { ByteSource, chunksOf, toHex } from "./bytes.js";
import { capsuleOf, bindingOf } from "./envelope.js";
import type { Envelope } from "./envelope.js";
import { checkIdentity, openCapsule } from "./capsule.js";
import type { CapsuleKeys } from "./capsule.js";
import { ServiceError, refusal } from "./errors.js";
import { DEFAULT_LIMITS } from "./names.js";
import type { ArchiveLimits } from "./names.js";
import { watched } from "./transfer.js";
import type { TransferOptions } from "./transfer.js";

/**
 * The content identity of a Submission, with one Guardian's keys and the beacon's signature of the envelope's round.
 * The envelope is one that `envelopeDifferences` found nothing against. Raises a failure of the capsule.
 */
export async function openContentKey(envelope: Envelope, keys: Omit<CapsuleKeys, "round">): Promise<string> {
  const capsuleKeys = { ...keys, round: envelope.reveal_policy.round };
  return openCapsule(capsuleOf(envelope), capsuleKeys, envelope.content_public_key, bindingOf(envelope));
}

/** How work is opened: the most that is taken of an archive, and what is reported on the way. */
export interface OpenOptions extends TransferOptions {
  readonly limits?: ArchiveLimits;
}

/**
 * Opens a ciphertext with its content identity and passes on every file and directory. **Nothing that was passed on may
 * be used before this has returned**: only then the whole ciphertext was the committed one, every chunk authentic, and
 * the archive sealed for this bounty by this Solver. Bytes that are not the committed ones are always
 * `ciphertext_mismatch`, so that a bad download is never taken for a bad Submission. Progress is in bytes of the ciphertext.
 */
export async function openArtifact(
  ciphertext: ReadableStream<Uint8Array>,
  identity: string,
  envelope: Envelope,
  onEntry: (entry: OpenedEntry) => void | Promise<void>,
  { limits = DEFAULT_LIMITS, ...watching }: OpenOptions = {},
): Promise<Unpacked> {
  try {
    await checkIdentity(identity, envelope.content_public_key);
  } catch (error) {
    await ciphertext.cancel().catch(() => undefined); // it may hold a connection
    throw error;
  }
  const download = new Download(ciphertext, envelope, watching);
  try {
    const unpacked = await unpack(await plaintextOf(download.chunks, identity), onEntry, limits);
    await download.finish();
    checkBinding(bindingOf(envelope), unpacked.binding, "the archive");
    return unpacked;
  } catch (error) {
    if (error instanceof ServiceError) await download.finish();
    throw error;
  } finally {
    await download.close();
  }
}

/** The payload of an age file with exactly one X25519 stanza. */
export async function plaintextOf(
  chunks: AsyncIterable<Uint8Array>,
  identity: string,
): Promise<AsyncGenerator<Uint8Array>> {
  await publicKeyOf(identity);
  const source = new ByteSource(chunks);
  const header = await readHeader(source);
  requireX25519(header, 1);
  return payloadOf(source, await openHeader(header, [identity]));
}

/** The ciphertext as it arrives, held against the digest and length of the envelope; never more is read than that. */
class Download {
  /** Each chunk, hashed and counted. */
  readonly chunks: AsyncGenerator<Uint8Array>;
  readonly #source: AsyncGenerator<Uint8Array>;
  readonly #digest = sha256.create();
  readonly #wanted: Envelope["ciphertext"];
  #byteLength = 0;
  #committed: boolean | undefined;
  #failure: { readonly cause: unknown } | undefined;

  constructor(ciphertext: ReadableStream<Uint8Array>, envelope: Envelope, watching: TransferOptions) {
    this.#wanted = envelope.ciphertext;
    this.#source = watched(chunksOf(ciphertext), this.#wanted.byte_length, watching);
    this.chunks = this.#counted();
  }

  /**
   * Reads what is left, and raises `ciphertext_mismatch` unless this was the committed ciphertext; of a download that
   * failed, which shows nothing about the bytes, its own failure.
   */
  async finish(): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure.cause;
    for await (const _ of this.chunks);
    this.#committed ??=
      this.#byteLength === this.#wanted.byte_length && toHex(this.#digest.digest()) === this.#wanted.sha256;
    if (!this.#committed) throw mismatch();
  }

  /** Leaves the stream. */
  async close(): Promise<void> {
    await this.#source.return(undefined);
  }

  async *#counted(): AsyncGenerator<Uint8Array> {
    for (;;) {
      const { done, value } = await this.#next();
      if (done) return;
      this.#byteLength += value.length;
      if (this.#byteLength > this.#wanted.byte_length) throw mismatch();
      this.#digest.update(value);
      yield value;
    }
  }

  async #next(): Promise<IteratorResult<Uint8Array, void>> {
    try {
      return await this.#source.next();
    } catch (cause) {
      this.#failure = { cause };
      throw cause;
    }
  }
}

function mismatch(): Error {
  return refusal(
    "ciphertext_mismatch",
    "the ciphertext is not the one the envelope commits to: digest or length differs",
  );
}
