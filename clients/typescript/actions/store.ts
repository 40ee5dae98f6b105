/** What a page knows of its wallet and of what can be done with it: one state, from which all of it is shown. */

import type { Offer } from "./acts.js";
import type { Context } from "./context.js";
import type { Announced, Wallet } from "./wallet.js";

/** How far a page has come with a wallet. */
export type State =
  | { readonly is: "choosing" }
  | { readonly is: "absent" }
  | { readonly is: "connecting"; readonly isSlow: boolean }
  | { readonly is: "reading"; readonly wallet: Wallet }
  | { readonly is: "refused"; readonly error: unknown; readonly announced: Announced; readonly wallet: Wallet | undefined }
  | Ready;

/** A wallet that is connected, and what its account can do now. */
export interface Ready {
  readonly is: "ready";
  readonly announced: Announced;
  readonly context: Context;
  readonly offers: readonly Offer[];
  /** Why there are none. */
  readonly why: string;
  /** Whether the wallet has another account or chain since, while an act was running. */
  readonly isChanged: boolean;
}

/** The state, and the one who shows it. */
export class Store {
  #state: State = { is: "choosing" };
  readonly #shows: (state: State) => void;

  constructor(shows: (state: State) => void) {
    this.#shows = shows;
  }

  get state(): State {
    return this.#state;
  }

  /** Puts another state in the place of this one, and shows it. */
  set(state: State): void {
    this.#state = state;
    this.#shows(state);
  }
}
