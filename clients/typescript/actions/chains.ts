/** The chains that a wallet can be given where it does not know them: those on which the service is deployed. */

/** A chain as `wallet_addEthereumChain` takes it. */
export interface AddedChain {
  readonly chainId: string;
  readonly chainName: string;
  readonly nativeCurrency: { readonly name: string; readonly symbol: string; readonly decimals: number };
  readonly rpcUrls: readonly string[];
  readonly blockExplorerUrls: readonly string[];
}

const ETHER = { name: "Ether", symbol: "ETH", decimals: 18 } as const;
const CHAINS = new Map<number, Omit<AddedChain, "chainId" | "nativeCurrency">>([
  [
    8_453,
    { chainName: "Base", rpcUrls: ["https://mainnet.base.org"], blockExplorerUrls: ["https://basescan.org"] },
  ],
  [
    84_532,
    {
      chainName: "Base Sepolia",
      rpcUrls: ["https://sepolia.base.org"],
      blockExplorerUrls: ["https://sepolia.basescan.org"],
    },
  ],
]);

/** A chain by its number, with its public node; undefined for one that people run themselves. */
export function addedChain(chainId: number): AddedChain | undefined {
  const known = CHAINS.get(chainId);
  return known && { chainId: `0x${chainId.toString(16)}`, nativeCurrency: ETHER, ...known };
}
