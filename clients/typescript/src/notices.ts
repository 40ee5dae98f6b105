/**
 * Notices about the Hub: while one is in effect nobody should fund a bounty (docs/authentication.md). An API is not
 * believed: who may sign one, and whether it is signed, is read from the chain. Times are seconds since 1970.
 */

import { decodeAbiParameters, encodeFunctionData, hashTypedData, isAddressEqual } from "viem";
import { keccak256, parseAbi, recoverAddress } from "viem";
import type { Address, Hex } from "viem";
import type { Schemas } from "./api.js";
import { utf8 } from "./bytes.js";
import { ServiceError } from "./errors.js";
import type { Issue } from "./errors.js";
import { NOTICE_AHEAD_SECONDS, NOTICE_LIFETIME_SECONDS, NOTICE_SIGNATURE_BYTES } from "./generated/witnesses.js";
import { NOTICE_STATES } from "./generated/witnesses.js";
import type { Deployment } from "./requests.js";

export { NOTICE_STATES } from "./generated/witnesses.js";

/** A notice with its signature, as the API shows it. */
export type HubNotice = Schemas["HubNotice"];

/** What is read of a chain about a notice. */
export interface NoticeReader {
  /** What an account answers to a call: `0x` where it has no code or reverts. Raises where the chain does not answer. */
  readonly answer: (to: Address, data: Hex) => Promise<Hex>;
}

const CANCELLER_ROLE = keccak256(utf8("CANCELLER_ROLE"));
const ABI = parseAbi([
  "function owner() view returns (address)",
  "function hasRole(bytes32 role, address account) view returns (bool)",
  "function isValidSignature(bytes32 digest, bytes signature) view returns (bytes4)",
]);
const TRUE: Hex = `0x${"1".padStart(64, "0")}`;
const ACCEPTED: Hex = `0x${"1626ba7e".padEnd(64, "0")}`;
const HALF_ORDER = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n;
const TYPES = {
  HubNotice: [
    { name: "reason", type: "string" },
    { name: "issuedAt", type: "uint256" },
    { name: "expiresAt", type: "uint256" },
  ],
} as const;
const NOT_OF_HUB = "must be this deployment's";

/** The typed data of a notice, for any wallet; its signature is not looked at. */
export function noticeTypedData(notice: HubNotice) {
  const verifyingContract = notice.hub_address as Address;
  return {
    domain: { name: "Service", version: "1", chainId: notice.chain_id, verifyingContract },
    types: TYPES,
    primaryType: "HubNotice",
    message: { reason: notice.reason, issuedAt: BigInt(notice.issued_at), expiresAt: BigInt(notice.expires_at) },
  } as const;
}

/** A notice read from JSON; `hub_notice_malformed` for anything else. */
export function parseNotice(value: unknown): HubNotice {
  const found = (typeof value === "object" && value !== null ? value : {}) as Readonly<Record<string, unknown>>;
  const account = (name: string) => /^0x[0-9a-f]{40}$/.test(String(found[name]));
  const whole = (name: string) => Number.isSafeInteger(found[name]) && (found[name] as number) >= 0;
  const signature = found["signature"];
  const isSigned =
    typeof signature === "string" &&
    signature.length <= 2 + 2 * NOTICE_SIGNATURE_BYTES &&
    /^0x([0-9a-f]{2})+$/.test(signature);
  const isKnown = typeof found["reason"] === "string" && Object.hasOwn(NOTICE_STATES, found["reason"]);
  const isWhole = ["chain_id", "issued_at", "expires_at"].every(whole);
  if (!(isSigned && isKnown && isWhole && account("hub_address") && account("signer"))) {
    throw new ServiceError("hub_notice_malformed", "This is no notice about a Hub.");
  }
  return value as HubNotice;
}

/** Why a notice does not count for this Hub now; none where it does. What costs nothing is checked first. */
export async function whyVoid(
  chain: NoticeReader,
  deployment: Deployment,
  notice: HubNotice,
  now: number,
): Promise<readonly Issue[]> {
  const issues = noticeIssues(notice, deployment, now);
  if (issues.length > 0) return issues;
  if (!(await maySign(chain, deployment.hubAddress, notice.signer as Address))) {
    return [{ path: "signer", message: "must be a canceller of the timelock that owns the Hub, or its owner itself" }];
  }
  if (await isSigned(chain, notice)) return [];
  return [{ path: "signature", message: "is not the signer's over this notice" }];
}

/** Why a notice is none of this Hub at this moment, whoever signed it. */
export function noticeIssues(notice: HubNotice, { chainId, hubAddress }: Deployment, now: number): readonly Issue[] {
  const { issued_at: issued, expires_at: ends } = notice;
  const isBounded = issued < ends && ends <= issued + NOTICE_LIFETIME_SECONDS;
  const checks: readonly (readonly [boolean, string, string])[] = [
    [notice.chain_id !== chainId, "chain_id", NOT_OF_HUB],
    [notice.hub_address.toLowerCase() !== hubAddress.toLowerCase(), "hub_address", NOT_OF_HUB],
    [issued > now + NOTICE_AHEAD_SECONDS, "issued_at", "is in the future"],
    [!isBounded, "expires_at", `must be after issued_at by at most ${NOTICE_LIFETIME_SECONDS} seconds`],
    [isBounded && ends <= now, "expires_at", "has passed: the notice is over"],
  ];
  return checks.filter(([isWrong]) => isWrong).map(([, path, message]) => ({ path, message }));
}

/** The latest notice of each signer, the newest first; of two of the same second the one that came first. */
export function latestOfEach(notices: readonly HubNotice[]): readonly HubNotice[] {
  const latest = new Map<string, HubNotice>();
  for (const notice of notices) {
    const known = latest.get(notice.signer);
    if (known === undefined || notice.issued_at > known.issued_at) latest.set(notice.signer, notice);
  }
  return [...latest.values()].sort(
    (left, right) => right.issued_at - left.issued_at || (left.signer < right.signer ? -1 : 1),
  );
}

/** The newest that asks nobody to fund a bounty. */
export function inEffect(notices: readonly HubNotice[]): HubNotice | undefined {
  return latestOfEach(notices).find(({ reason }) => reason !== "withdrawn");
}

/** What is asked of viem's public client. */
export interface CallingClient {
  /** What a contract answers to a call; raises where it reverts. */
  call(question: { readonly to: Address; readonly data: Hex }): Promise<{ readonly data?: Hex | undefined }>;
}

/** A client of viem as what is read of a chain. */
export function noticeReader(client: CallingClient): NoticeReader {
  return {
    answer: async (to, data) => {
      try {
        return (await client.call({ to, data })).data ?? "0x";
      } catch (error) {
        if (error instanceof Error && /revert/i.test(error.message)) return "0x";
        throw error;
      }
    },
  };
}

/** Whether the Hub's owner, as it is now, names this account for notices. */
async function maySign(chain: NoticeReader, hub: Address, account: Address): Promise<boolean> {
  const answer = await chain.answer(hub, encodeFunctionData({ abi: ABI, functionName: "owner" }));
  const [owner] = decodeAbiParameters([{ type: "address" }], answer);
  if (isAddressEqual(owner, account)) return true;
  const question = encodeFunctionData({ abi: ABI, functionName: "hasRole", args: [CANCELLER_ROLE, account] });
  return (await chain.answer(owner, question)) === TRUE;
}

/** Whether the signer's key signed a notice, or the signer's own code takes the signature (ERC-1271). */
async function isSigned(chain: NoticeReader, notice: HubNotice): Promise<boolean> {
  const digest = hashTypedData(noticeTypedData(notice));
  const signature = notice.signature as Hex;
  const signer = notice.signer as Address;
  if (isPlain(signature)) {
    const account = await recoverAddress({ hash: digest, signature }).catch(() => undefined);
    if (account !== undefined && isAddressEqual(account, signer)) return true;
  }
  const question = encodeFunctionData({ abi: ABI, functionName: "isValidSignature", args: [digest, signature] });
  return (await chain.answer(signer, question)) === ACCEPTED;
}

/** A plain key's signature in its one form: 65 bytes, `v` of 27 or 28, `s` in the lower half. */
function isPlain(signature: Hex): boolean {
  if (signature.length !== 132 || !/1[bc]$/.test(signature)) return false;
  return BigInt(`0x${signature.slice(66, 130)}`) <= HALF_ORDER;
}
