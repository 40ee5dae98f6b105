/** The chains on which the service is deployed: as viem reads them, and as a wallet is given one that it does not know. */

import type { Chain } from "viem";

const CHAINS = new Map([
  [8_453, { name: "Base", node: "https://mainnet.base.org", explorer: "https://basescan.org" }],
  [84_532, { name: "Base Sepolia", node: "https://sepolia.base.org", explorer: "https://sepolia.basescan.org" }],
]);
const MULTICALL = "0xcA11bde05977b3631167028862bE2a173976CA11";

/** Gives a chain with its Multicall3 and its public node; undefined for one that people run themselves. */
export function chainOf(id: number): Chain | undefined {
  const known = CHAINS.get(id);
  return (
    known && {
      ...{ id, name: known.name, nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 } },
      rpcUrls: { default: { http: [known.node] } },
      blockExplorers: { default: { name: "Basescan", url: known.explorer } },
      contracts: { multicall3: { address: MULTICALL } },
    }
  );
}
