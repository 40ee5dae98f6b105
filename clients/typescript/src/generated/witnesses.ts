// Made by tools/generate/typescript.py. Do not edit.

/** What an act rests on, in words, and the code when two who vouch for it differ. */
export const FACTS = {
  time: ["the moment from which an authorization's hour is counted", "time_disagrees"],
  conditions: ["the roster, fees and token that a bounty created now would pin", "publication_mismatch"],
  unfunded: ["the bounties that this account has funded with this page", "sources_disagree"],
  authorization_over: ["whether an authorization signed for this page can still be used", "authorization_outstanding"],
  terms: ["a bounty's page, escrow and deadlines", "read_model_mismatch"],
  reveal_point: ["the moment from which sealed work can be opened", "reveal_point_wrong"],
  roster: ["the Guardians whose keys open sealed work", "read_model_mismatch"],
  submission: ["which Submission is meant", "sources_disagree"],
  winner: ["the outcome of a bounty and its winner", "read_model_mismatch"],
  delivery_key: ["the key to which a winning key is sealed", "sources_disagree"],
  done: ["what an earlier run reported as done", "sources_disagree"],
} as const;

/** How far a clock and the newest block may be apart, in seconds. */
export const CLOCK_SECONDS = 600n;
/** How long an authorization is good at most, in seconds. */
export const AUTHORIZATION_SECONDS = 3600n;
/** How long before its end an authorization is used no more, in seconds. */
export const MARGIN_SECONDS = 60n;
/** How far back the Hub's log is read for what cannot be older, in seconds. */
export const RECENT_SECONDS = 86400n;
/** The Hub's reveal delay in seconds, by chain id, where the network's record has it. */
export const REVEAL_DELAYS: Readonly<Record<number, bigint>> = { 8453: 3600n, 84532: 2700n };

/** Asks the API for the bounties of an account on a page. */
export const FUNDED_QUERY =
  "query Funded($poster: String!, $page: String!, $first: Int!) { bounties(where: {poster_address: $poster, spec_commitment: $page}, first: $first) { bounty_id authorization_nonce block_number } }";
/** Bounties of one account on one page that are looked through. */
export const MOST_LISTED = 100;

/** Submissions that one signed request reads. */
export const MOST_CONTENTS = 50;
