/** What every action works with: one account of a wallet, the chain as its node shows it, and the API. */

import { erc20Abi, type Address } from "viem";
import { answerOf, createApi, hubAbi, type Api } from "../src/acting.js";
import { refuseDifferences } from "./answers.js";
import { Journal } from "./journal.js";
import { Node } from "./node.js";
import type { Settings } from "./settings.js";
import type { Stage } from "./stage.js";
import type { Token } from "./text.js";
import type { Wallet } from "./wallet.js";

/** How long a claim waits for a service that it does not need. */
const OPTIONAL_MILLISECONDS = 3_000;
const MOST_SYMBOL = 20;

export interface Context {
  readonly settings: Settings;
  readonly wallet: Wallet;
  readonly account: Address;
  readonly node: Node;
  readonly api: Api;
  readonly journal: Journal;
  /** What is typed, for any account of this browser. */
  readonly drafts: Journal;
  readonly token: Token & { readonly address: Address };
  /** The Hub, as `readContract` takes it. */
  readonly hub: { readonly address: Address; readonly abi: typeof hubAbi };
}

/** One act of the account: what it works with, and the stage on which it happens. */
export interface Acting extends Context {
  readonly stage: Stage;
}

/**
 * Makes the context of a connected wallet. Raises what is wrong with wallet or chain,
 * and `deployment_mismatch` where node and service differ on the token: amounts could not be shown as what they are.
 */
export async function makeContext(settings: Settings, wallet: Wallet): Promise<Context> {
  const { deployment, apiUrl } = settings;
  const account = wallet.address;
  const hub = { address: deployment.hubAddress, abi: hubAbi } as const;
  const signal = AbortSignal.timeout(OPTIONAL_MILLISECONDS);
  const [token, journal, drafts, stated] = await Promise.all([
    tokenOf({ node: new Node(wallet, hub.address), hub }),
    Journal.open(deployment, account),
    Journal.open(deployment),
    answerOf(createApi(apiUrl).GET("/api/deployment", { signal })).catch(() => undefined),
  ]);
  const node = new Node(wallet, hub.address, token);
  if (typeof stated?.escrow_token?.address === "string") { // else a proxy may have answered
    const { address, symbol, decimals } = stated.escrow_token;
    refuseDifferences("deployment_mismatch", [
      ["chain_id", stated.chain_id, deployment.chainId],
      ["hub_address", stated.hub_address, deployment.hubAddress.toLowerCase()],
      ["escrow_token.address", address, token.address.toLowerCase()],
      ["escrow_token.symbol", symbol.slice(0, MOST_SYMBOL), token.symbol],
      ["escrow_token.decimals", decimals, token.decimals],
    ]);
  }
  const api = createApi(apiUrl, { deployment, signer: wallet, chain: node });
  return { settings, account, node, hub, wallet, api, journal, drafts, token };
}

/** Reads the Hub's token. */
async function tokenOf({ node, hub }: Pick<Context, "node" | "hub">): Promise<Context["token"]> {
  const address = await node.readContract({ ...hub, functionName: "token" });
  const token = { address, abi: erc20Abi } as const;
  const [symbol, decimals] = await Promise.all([
    node.readContract({ ...token, functionName: "symbol" }),
    node.readContract({ ...token, functionName: "decimals" }),
  ]);
  return { address, symbol: symbol.slice(0, MOST_SYMBOL), decimals };
}
