/** What a long piece of work reports on its way, how it is ended, and what of it is tried again. */

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

/**
 * Aborts its signal once so many milliseconds have passed, or with an outer one, whichever is first. Made of timers, since
 * wallets' browsers of before 2024 have no `AbortSignal.any`.
 */
export class TimeLimit {
  readonly #controller = new AbortController();
  readonly #milliseconds: number;
  readonly #outer: AbortSignal | undefined;
  readonly #end = () => this.#controller.abort(this.#outer?.reason);
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** The time begins to pass at once. */
  constructor(milliseconds: number, outer?: AbortSignal) {
    this.#milliseconds = milliseconds;
    this.#outer = outer;
    if (outer?.aborted === true) this.#end();
    outer?.addEventListener("abort", this.#end);
    this.restart();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Gives it the whole time anew. */
  restart(): void {
    this.stop();
    const passed = () => this.#controller.abort(new DOMException("it took too long", "TimeoutError"));
    this.#timer = setTimeout(passed, this.#milliseconds);
  }

  /** Lets no time pass until it is restarted. */
  stop(): void {
    clearTimeout(this.#timer);
  }

  /** Ends it without aborting anything. */
  close(): void {
    this.stop();
    this.#outer?.removeEventListener("abort", this.#end);
  }
}

/** How long each attempt waits that follows one which brought nothing: together as long as a phone needs for another network. */
export const PAUSES_MILLISECONDS: readonly number[] = [1_000, 4_000, 10_000];

/** Waits before the attempt after so many fruitless ones, at least so many seconds; a signal ends it with its reason. */
export async function paused(fruitless: number, signal: AbortSignal | undefined, leastSeconds = 0): Promise<void> {
  const limit = new TimeLimit(Math.max(PAUSES_MILLISECONDS[fruitless - 1] ?? 0, leastSeconds * 1_000), signal);
  if (!limit.signal.aborted) await new Promise((resolve) => limit.signal.addEventListener("abort", resolve));
  limit.close();
  signal?.throwIfAborted();
}

/**
 * Whether a status is of a server that is limited or down, or of the proxy or CDN before one: the same request may succeed
 * in a moment. Whether it may be sent again is the caller's decision.
 */
export function mayPass(status: number): boolean {
  const isGateways = (status >= 502 && status <= 504) || (status >= 520 && status <= 530);
  return status === 408 || status === 429 || isGateways;
}

/** The same of a storage: Google's answers 500 for a fault of its own. */
export function storageMayPass(status: number): boolean {
  return status === 500 || mayPass(status);
}
