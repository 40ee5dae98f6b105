/** Commitments and the hashes over Solidity's ABI encoding (docs/formats.md). */

import { concat as concatHex, encodeAbiParameters, keccak256, parseAbiParameters, stringToHex } from "viem";
import type { Address, Hex } from "viem";
import { utf8 } from "./bytes.js";

/** The terms that a Poster funds, as the Hub takes them: amounts in smallest units, times and windows in seconds. */
export interface Terms {
  readonly specCommitment: Hex;
  readonly expectedRosterHash: Hex;
  readonly escrowAmount: bigint;
  readonly submissionDeadline: bigint;
  readonly judgingWindow: bigint;
  readonly maxProtocolFee: bigint;
  readonly maxGuardianFee: bigint;
  readonly salt: Hex;
}

/** A Guardian roster as the Hub pins it; accounts and keys in roster order, one key of 32 bytes for each account. */
export interface Roster {
  readonly version: bigint;
  readonly accounts: readonly Address[];
  readonly encryptionKeys: readonly Hex[];
  readonly quorum: bigint;
}

const AUTHORIZATION_TYPE =
  "ServiceBounty(uint256 chainId,address hub,address poster,bytes32 specCommitment,bytes32 expectedRosterHash," +
  "uint256 escrowAmount,uint256 submissionDeadline,uint256 judgingWindow,uint256 maxProtocolFee," +
  "uint256 maxGuardianFee,bytes32 salt)";

const SALT_TYPE =
  "ServiceBountySalt(uint256 chainId,address hub,address poster,bytes32 specCommitment,uint256 number)";

/**
 * keccak256 of exact bytes: the `spec_commitment` of a challenge page, the `report_commitment` of a written Verdict,
 * the `submission_commitment` of an envelope's canonical JSON. A string stands for its UTF-8 bytes; nothing is
 * normalized.
 */
export function commitmentOf(data: Uint8Array | string): Hex {
  return keccak256(typeof data === "string" ? utf8(data) : data);
}

/** The hash that a bounty pins: chain, Hub, version, accounts, encryption keys and quorum. */
export function guardianRosterHash(chainId: bigint | number, hub: Address, roster: Roster): Hex {
  const types = parseAbiParameters("uint256, address, uint256, address[], bytes32[], uint256");
  return keccak256(
    encodeAbiParameters(types, [
      BigInt(chainId),
      hub,
      roster.version,
      roster.accounts,
      roster.encryptionKeys,
      roster.quorum,
    ]),
  );
}

/** Over the pinned roster's hash and its encryption keys in roster order; part of the envelope. */
export function recipientsCommitment(rosterHash: Hex, encryptionKeys: readonly Hex[]): Hex {
  return keccak256(encodeAbiParameters(parseAbiParameters("bytes32, bytes32[]"), [rosterHash, encryptionKeys]));
}

/** The EIP-3009 nonce that binds a token authorization to exactly these terms. */
export function authorizationNonce(chainId: bigint | number, hub: Address, poster: Address, terms: Terms): Hex {
  const types = parseAbiParameters(
    "bytes32, uint256, address, address, bytes32, bytes32, uint256, uint256, uint256, uint256, uint256, bytes32",
  );
  return keccak256(
    encodeAbiParameters(types, [
      keccak256(stringToHex(AUTHORIZATION_TYPE)),
      BigInt(chainId),
      hub,
      poster,
      terms.specCommitment,
      terms.expectedRosterHash,
      terms.escrowAmount,
      terms.submissionDeadline,
      terms.judgingWindow,
      terms.maxProtocolFee,
      terms.maxGuardianFee,
      terms.salt,
    ]),
  );
}

/**
 * The salt of the terms with which a Poster funds a page; `number` is 1 for the first bounty on it. It follows from what
 * every machine of the Poster knows, so that the same terms are the same authorization on each, and the token takes it
 * once.
 */
export function fundingSalt(
  chainId: bigint | number,
  hub: Address,
  poster: Address,
  specCommitment: Hex,
  number: bigint | number,
): Hex {
  const types = parseAbiParameters("bytes32, uint256, address, address, bytes32, uint256");
  const typeHash = keccak256(stringToHex(SALT_TYPE));
  return keccak256(
    encodeAbiParameters(types, [typeHash, BigInt(chainId), hub, poster, specCommitment, BigInt(number)]),
  );
}

/** The `log_digest` of a VerificationRecord, over the Hub's logs of one bounty in the order of block and log index. */
export function logDigest(logs: readonly { readonly topics: readonly Hex[]; readonly data: Hex }[]): Hex {
  const parts = logs.flatMap((log) => [keccak256(concatHex(log.topics)), keccak256(log.data)]);
  return keccak256(concatHex(parts));
}
