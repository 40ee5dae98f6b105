/** What a long piece of work reports on its way, and how it is ended. */

/** How far it is, in bytes; `total` is undefined where nobody knows it. */
export interface Progress {
  readonly done: number;
  readonly total: number | undefined;
}

/** Of everything that takes as long as its bytes do. */
export interface TransferOptions {
  /** Ends it early: what was asked for then raises the signal's own reason. */
  readonly signal?: AbortSignal | undefined;
  /** Called after each piece, with numbers that only grow. */
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}

/** The same pieces, counted and reported, until a signal ends them. */
export async function* watched(
  pieces: AsyncIterable<Uint8Array>,
  total: number | undefined,
  { signal, onProgress }: TransferOptions,
): AsyncGenerator<Uint8Array> {
  let done = 0;
  signal?.throwIfAborted();
  for await (const piece of pieces) {
    signal?.throwIfAborted();
    done += piece.length;
    yield piece;
    onProgress?.({ done, total });
  }
}
