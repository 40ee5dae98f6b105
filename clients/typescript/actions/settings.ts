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

export interface Settings {
  readonly actions: "bounty" | "guardians" | "publish";
  readonly deployment: Deployment;
  readonly apiUrl: string;
  /** Below which ciphertexts are uploaded and downloaded; ends with a slash. */
  readonly bucketUrl: string;
  /** A block explorer with the paths `/tx/…` and `/address/…`; without one nothing is linked. */
  readonly explorerUrl: string | undefined;
  /** Where ether of a test network is given away. */
  readonly faucetUrl: string | undefined;
  /** Undefined while its clock is not known. */
  readonly beacon: Beacon | undefined;
  /** Where this origin has the beacon's rounds. */
  readonly beaconUrl: string;
  readonly bounty: StatedBounty | undefined;
  /** The escrow token, which the Hub has to name, too. */
  readonly tokenAddress: Address | undefined;
  /** For the form of a page; undefined where they are not known, or there is no form. */
  readonly terms: StatedTerms | undefined;
  /** Whether the chain's time is moved by hand, as a local one's is: then this machine's clock says nothing. */
  readonly hasMovedTime: boolean;
}

interface Written {
  readonly actions: Settings["actions"];
  readonly chain_id: number;
  readonly hub_address: Address;
  readonly api_url: string;
  readonly bucket_url: string;
  readonly explorer_url: string | null;
  readonly faucet_url: string | null;
  readonly beacon: {
    readonly chain_hash: Hex;
    readonly public_key: string;
    readonly genesis_time: number;
    readonly period_seconds: number;
  } | null;
  readonly bounty: StatedBounty | null;
  readonly token_address: Address | null;
  readonly terms: StatedTerms | null;
  readonly has_moved_time: boolean;
}

/** The settings of the element that carries them. */
export function readSettings(place: HTMLElement): Settings {
  const written = JSON.parse(place.dataset["wallet"] ?? "") as Written;
  const { beacon } = written;
  return {
    actions: written.actions,
    deployment: { chainId: written.chain_id, hubAddress: written.hub_address },
    apiUrl: written.api_url,
    bucketUrl: written.bucket_url,
    explorerUrl: written.explorer_url ?? undefined,
    faucetUrl: written.faucet_url ?? undefined,
    beaconUrl: `${location.origin}/beacon`,
    beacon:
      beacon === null
        ? undefined
        : {
            chainHash: beacon.chain_hash,
            publicKey: beacon.public_key,
            genesisTime: beacon.genesis_time,
            periodSeconds: beacon.period_seconds,
          },
    bounty: written.bounty ?? undefined,
    tokenAddress: written.token_address ?? undefined,
    terms: written.terms ?? undefined,
    hasMovedTime: written.has_moved_time,
  };
}
