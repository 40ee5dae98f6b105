/**
 * What a page is about: the deployment it was made for, which is the process's own configuration, and what the API
 * stated of its bounty, which is compared with the chain (services/api, `pages/wallets.py`).
 */

import type { Address, Hex } from "viem";
import type { Deployment } from "../src/acting.js";
import type { Beacon } from "../src/opening.js";

/** A bounty as the page states it. */
export interface StatedBounty {
  readonly bounty_id: string;
  readonly poster_address: Address;
  readonly escrow_amount: string;
  readonly spec_commitment: Hex;
  readonly guardian_roster_hash: Hex;
  readonly submission_deadline: number;
  readonly reveal_at: number;
  readonly judging_deadline: number;
  readonly protocol_fee: string;
  readonly guardian_fee: string;
  readonly roster_version: number;
}

/** What the contract takes and keeps of a bounty, as the page states it to a form without a wallet. */
export interface StatedTerms {
  readonly token: { readonly symbol: string; readonly decimals: number };
  readonly protocol_fee_bps: number;
  readonly guardian_fee_bps: number;
  readonly reveal_delay_seconds: number;
}

/** The settings that a page carries for its wallet. */
export interface Settings {
  readonly actions: "bounty" | "guardians" | "publish";
  readonly deployment: Deployment;
  readonly apiUrl: string;
  /** Below which ciphertexts are uploaded and downloaded; ends with a slash. */
  readonly bucketUrl: string;
  /** A block explorer with the paths `/tx/…` and `/address/…`; without one nothing is linked. */
  readonly explorerUrl?: string;
  /** Left out while its clock is not known. */
  readonly beacon?: Beacon;
  readonly bounty?: StatedBounty;
  /** For the form of a page; left out where they are not known, or there is no form. */
  readonly terms?: StatedTerms;
  /** Whether the chain's time is moved by hand, as a local one's is: then this machine's clock says nothing. */
  readonly hasMovedTime: boolean;
}
