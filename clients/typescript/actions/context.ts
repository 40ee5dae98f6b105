/** What every action works with: one account of a wallet, the chain as its node shows it, and the API. */

import { erc20Abi, hashTypedData, recoverAddress, type Address, type Hex } from "viem";
import { answerOf, createApi, fundingPath, hubAbi, ServiceError, type Api, type RequestSigner } from "../src/acting.js";
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
  const signer: RequestSigner = {
    address: account,
    async signTypedData(typedData) {
      const signature = await wallet.signTypedData(typedData);
      await requireAccepted(node, account, hashTypedData(typedData), signature);
      return signature;
    },
  };
  const api = createApi(apiUrl, { deployment, signer, chain: node, asksFirst: true });
  return { settings, account, node, hub, wallet, api, journal, drafts, token };
}

/**
 * Refuses a signature that neither the account's key made nor its own code accepts, before it is sent: another one of the
 * same wallet would be refused, too. The API decides for an account that is not on the chain yet: `signature_mismatch`.
 */
export async function requireAccepted(node: Pick<Node, "getCode" | "call">, account: Address, digest: Hex, signature: Hex): Promise<void> {
  if (signature.endsWith("6492".repeat(16))) return;
  const signer = await recoverAddress({ hash: digest, signature }).catch(() => undefined);
  if (signer?.toLowerCase() === account) return;
  const path = await fundingPath(node, account, digest, signature).catch(() => undefined); // the API has its own node
  if (path !== "allowance") return;
  throw new ServiceError("signature_mismatch", "The account's own contract does not accept the wallet's signature.", {
    nextAction: "Nothing was sent. Check in the wallet that enough of the account's owners signed, and try again.",
  });
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
