/** What every action works with: one account of a wallet, the chain as its node shows it, and the API. */

import { erc20Abi } from "viem";
import type { Address } from "viem";
import { answerOf, createApi, hubAbi } from "../src/acting.js";
import type { Api, ApprovalTypedData, Schemas } from "../src/acting.js";
import { deploymentIn, refuseDifferences, typed } from "./answers.js";
import { Journal } from "./journal.js";
import { Node } from "./node.js";
import type { Settings } from "./settings.js";
import type { Token } from "./text.js";
import type { TypedData, Wallet } from "./wallet.js";

/** How long a claim waits for a service that it does not need. */
const OPTIONAL_MILLISECONDS = 3_000;

export interface Context {
  readonly settings: Settings;
  readonly wallet: Wallet;
  readonly account: Address;
  /** Whether the account is a Safe that is not connected: its transactions are saved for its owners. */
  readonly isPrepared: boolean;
  readonly node: Node;
  readonly api: Api;
  readonly journal: Journal;
  readonly token: Token & { readonly address: Address };
  /** What the service states of the deployment; undefined where it does not answer at once: claims need no service. */
  readonly stated: Schemas["Deployment"] | undefined;
  /** The Hub, as `readContract` takes it. */
  readonly hub: { readonly address: Address; readonly abi: typeof hubAbi };
}

/**
 * The context of a connected wallet, or of a Safe for which it reads. Raises what is wrong with wallet or chain, and
 * `deployment_mismatch` where node and service differ on the token: amounts could not be shown as what they are.
 */
export async function makeContext(settings: Settings, wallet: Wallet, safe?: Address): Promise<Context> {
  const account = safe ?? wallet.address;
  await wallet.requireReady();
  const { deployment, apiUrl } = settings;
  const node = new Node(wallet, deployment.hubAddress);
  const hub = { address: deployment.hubAddress, abi: hubAbi } as const;
  const address = await node.readContract({ ...hub, functionName: "token" });
  const token = { address, abi: erc20Abi } as const;
  const signal = AbortSignal.timeout(OPTIONAL_MILLISECONDS);
  const [symbol, decimals, journal, answer] = await Promise.all([
    node.readContract({ ...token, functionName: "symbol" }),
    node.readContract({ ...token, functionName: "decimals" }),
    Journal.open(deployment, account),
    typed("Deployment", answerOf(createApi(apiUrl).GET("/api/deployment", { signal }))).catch(() => undefined),
  ]);
  node.useToken({ symbol: symbol.slice(0, 20), decimals });
  const stated = deploymentIn(answer);
  if (stated !== undefined) {
    const { address: theirs, ...shown } = stated.escrow_token;
    refuseDifferences("deployment_mismatch", [
      ["chain_id", stated.chain_id, deployment.chainId],
      ["hub_address", stated.hub_address, deployment.hubAddress.toLowerCase()],
      ["escrow_token.address", theirs, address.toLowerCase()],
      ["escrow_token.symbol", shown.symbol, symbol],
      ["escrow_token.decimals", shown.decimals, decimals],
    ]);
  }
  const signer = {
    address: wallet.address,
    signTypedData: (typedData: ApprovalTypedData) => wallet.signTypedData(typedData as TypedData),
  };
  const api = createApi(apiUrl, { deployment, signer, chain: node });
  return {
    settings,
    wallet,
    account,
    isPrepared: safe !== undefined,
    node,
    api,
    journal,
    token: { address, symbol: symbol.slice(0, 20), decimals },
    stated,
    hub,
  };
}
