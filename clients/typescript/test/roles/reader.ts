// Reads: what a page commits to, the query that is signed, the Hub's events in a receipt, and what viem's client gives.
import { canonicalQuery, commitmentOf, createApi, hubEvents } from "bounty-escrow-client/acting";
import { readBounty, signRequest } from "bounty-escrow-client/acting";
import type { Api, Deployment } from "bounty-escrow-client/acting";
import { createPublicClient, http } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { base } from "viem/chains";

const deployment: Deployment = { chainId: 8453, hubAddress: "0x00000000000000000000000000000000000000aa" };

export async function reader(): Promise<string> {
  const events = hubEvents(deployment.hubAddress, []);
  return `${commitmentOf("# A page\n").slice(0, 10)} ${canonicalQuery("a=1&b=%20")} ${events.length}`;
}

/** With a chain and an API, which this machine need not have; it only has to compile. */
export async function connected(apiUrl: string, rpcUrl: string, key: `0x${string}`): Promise<Api> {
  const chain = createPublicClient({ chain: base, transport: http(rpcUrl) });
  const anyChain = createPublicClient({ transport: http(rpcUrl) });
  const signer = privateKeyToAccount(key);
  await signRequest({ method: "GET", url: apiUrl }, { deployment, signer, chain });
  await Promise.all([readBounty(chain, deployment, 7n), readBounty(anyChain, deployment, 7n)]);
  return createApi(apiUrl, { deployment, signer, chain: anyChain });
}
