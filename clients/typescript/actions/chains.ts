/** The chains on which the service is deployed: as a wallet is given one that it does not know, and as viem reads it. */

import type { Chain } from "viem";

/** A chain as `wallet_addEthereumChain` takes it. */
export interface AddedChain {
  readonly chainId: string;
  readonly chainName: string;
  readonly nativeCurrency: { readonly name: string; readonly symbol: string; readonly decimals: number };
  readonly rpcUrls: readonly string[];
  readonly blockExplorerUrls: readonly string[];
}

const ETHER = { name: "Ether", symbol: "ETH", decimals: 18 } as const;
const CHAINS = new Map([
  [8_453, { name: "Base", node: "https://mainnet.base.org", explorer: "https://basescan.org" }],
  [84_532, { name: "Base Sepolia", node: "https://sepolia.base.org", explorer: "https://sepolia.basescan.org" }],
]);
const MULTICALL = "0xcA11bde05977b3631167028862bE2a173976CA11";

/** Gives a chain by its number, with its public node; undefined for one that people run themselves. */
export function addedChain(chainId: number): AddedChain | undefined {
  const known = CHAINS.get(chainId);
  if (known === undefined) return undefined;
  const { name, node, explorer } = known;
  const urls = { rpcUrls: [node], blockExplorerUrls: [explorer] };
  return { chainId: `0x${chainId.toString(16)}`, chainName: name, nativeCurrency: ETHER, ...urls };
}

/** Gives a chain as viem reads it, with its Multicall3; undefined for one of which nothing is known. */
export function readChain(chainId: number): Chain | undefined {
  const known = CHAINS.get(chainId);
  if (known === undefined) return undefined;
  const rpcUrls = { default: { http: [known.node] } };
  return { id: chainId, name: known.name, nativeCurrency: ETHER, rpcUrls, contracts: { multicall3: { address: MULTICALL } } };
}
