/** What the network takes for a step, said before it is sent, in ether. */

import { formatUnits } from "viem";
import type { Context } from "./context.js";
import type { Call } from "./provider.js";
import { t } from "./words.js";

const ETHER_DECIMALS = 18;
const DIGITS = 2;

/** The fee of a call at the node's present price, as text; undefined where the node cannot say. */
export async function feeText({ node, account }: Context, call: Call): Promise<string | undefined> {
  try {
    const [price, gas] = await Promise.all([node.gasPrice(), node.gasOf(account, call)]);
    return t`about ${rounded(gas * price, ETHER_DECIMALS)} ether`;
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

/** With two digits that say something, rounded up. */
function rounded(value: bigint, decimals: number): string {
  const unit = 10n ** BigInt(Math.max(0, value.toString().length - DIGITS));
  return formatUnits(((value + unit - 1n) / unit) * unit, decimals);
}
