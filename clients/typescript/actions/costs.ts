/** What the network takes for a step, said before it is sent: in ether, and in the token where there is a rate. */

import { formatUnits, parseAbi } from "viem";
import type { Address } from "viem";
import type { Context } from "./context.js";
import type { Call } from "./provider.js";
import { amount, duration } from "./text.js";
import { t } from "./words.js";

/** Round, answer, begun at, updated at, and the round in which it was answered. */
const FEED = parseAbi([
  "function decimals() view returns (uint8)",
  "function latestRoundData() view returns (uint80, int256, uint256, uint256, uint80)",
]);
const ETHER_DECIMALS = 18;
const DIGITS = 2;

/** The fee of calls at the node's present price, as text; undefined where the node cannot say. */
export async function feeText(context: Context, calls: readonly Call[]): Promise<string | undefined> {
  const { node, account } = context;
  try {
    const [price, ...gas] = await Promise.all([node.gasPrice(), ...calls.map((call) => node.gasOf(account, call))]);
    const wei = gas.reduce((sum, each) => sum + each, 0n) * price;
    return t`about ${rounded(wei, ETHER_DECIMALS)} ether${await inToken(context, wei)}`;
  } catch {
    return undefined;
  }
}

/** A sentence where the account has no ether to pay with. */
export async function withoutEther({ node, account, settings }: Context): Promise<string | undefined> {
  try {
    if ((await node.balance(account)) > 0n || (await node.isContract(account))) return undefined;
  } catch {
    return undefined;
  }
  const faucet = settings.faucetUrl === undefined ? "" : t` ${settings.faucetUrl} gives ether of this test network away.`;
  return t`none, so that it cannot pay.${faucet}`;
}

/** The same in the escrow token, with where the rate is from and how old it is. */
async function inToken({ node, settings, token }: Context, wei: bigint): Promise<string> {
  const address: Address | undefined = settings.rateFeed;
  if (address === undefined) return "";
  try {
    const feed = { address, abi: FEED } as const;
    const [decimals, [, rate, , updatedAt], { timestamp }] = await Promise.all([
      node.readContract({ ...feed, functionName: "decimals" }),
      node.readContract({ ...feed, functionName: "latestRoundData" }),
      node.getBlock(),
    ]);
    if (rate <= 0n) return "";
    const units = (wei * rate * 10n ** BigInt(token.decimals)) / 10n ** BigInt(ETHER_DECIMALS + decimals);
    const age = timestamp > updatedAt ? Number(timestamp - updatedAt) : 0;
    const worth = units === 0n ? t`less than ${amount(1n, token)}` : amount(units, token);
    return t` (${worth}, by the rate of ${address}, ${duration(age < 120 ? age : age - (age % 60))} old)`;
  } catch {
    return "";
  }
}

/** With two digits that say something, rounded up. */
function rounded(value: bigint, decimals: number): string {
  const unit = 10n ** BigInt(Math.max(0, value.toString().length - DIGITS));
  return formatUnits(((value + unit - 1n) / unit) * unit, decimals);
}
