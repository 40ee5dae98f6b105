/** A wallet of this browser: found by EIP-6963, asked by EIP-1193, and never by anything else. */

import { compactSignatureToSignature, getTypesForEIP712Domain, hashTypedData, parseCompactSignature, parseSignature } from "viem";
import { recoverAddress, ResourceUnavailableRpcError, serializeSignature, serializeTypedData, size, SwitchChainError } from "viem";
import { UserRejectedRequestError, withTimeout } from "viem";
import type { Address, Chain, Hex, TypedDataDefinition } from "viem";
import { ServiceError } from "../src/acting.js";
import { isCode } from "./answers.js";
import { refusedBy, revertData } from "./refused.js";
import { printable } from "./text.js";

/** What EIP-1193 requires of a wallet. */
export interface Provider {
  request(question: { readonly method: string; readonly params?: readonly unknown[] }): Promise<unknown>;
  on?(event: string, listener: (value?: unknown) => void): unknown;
}

/** A wallet that announced itself. Its name is what it calls itself, `id` the same for programs. */
export interface Announced {
  readonly id: string;
  readonly name: string;
  readonly provider: Provider;
}

const NAME_LENGTH = 40;
const MOST_ANNOUNCED = 20;
const MOST_MILLISECONDS = 30_000;

/** The chains on which the service is deployed; all of viem's would come with one of them. */
const CHAINS = [
  { id: 8_453, name: "Base", node: "https://mainnet.base.org", explorer: "https://basescan.org" },
  { id: 84_532, name: "Base Sepolia", node: "https://sepolia.base.org", explorer: "https://sepolia.basescan.org" },
];

/** Gives a chain with its Multicall3 and its public node; undefined for one that people run themselves. */
export function chainOf(chainId: number): Chain | undefined {
  const known = CHAINS.find(({ id }) => id === chainId);
  if (known === undefined) return undefined;
  return {
    id: known.id,
    name: known.name,
    nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 },
    rpcUrls: { default: { http: [known.node] } },
    blockExplorers: { default: { name: "Basescan", url: known.explorer } },
    contracts: { multicall3: { address: "0xcA11bde05977b3631167028862bE2a173976CA11" } },
  };
}

/** Calls `found` for each wallet as it announces itself, each once. */
export function discover(found: (wallet: Announced) => void): void {
  const seen = new Set<string>();
  addEventListener("eip6963:announceProvider", (event) => {
    const { info, provider } = (
      event as CustomEvent<{ info?: { uuid?: unknown; name?: unknown; rdns?: unknown }; provider?: Provider }>
    ).detail;
    if (typeof info?.uuid !== "string" || typeof info.name !== "string" || provider === undefined) return;
    if (seen.has(info.uuid) || seen.size >= MOST_ANNOUNCED) return;
    seen.add(info.uuid);
    const name = printable(info.name, NAME_LENGTH) || "A wallet without a name";
    found({ id: typeof info.rdns === "string" ? info.rdns : name, name, provider });
  });
  dispatchEvent(new Event("eip6963:requestProvider"));
}

/** One account of a wallet, which acts on one chain. */
export class Wallet {
  readonly address: Address;
  readonly name: string;
  readonly chainId: number;
  readonly #provider: Provider;
  #isStale = false;

  private constructor({ name, provider }: Announced, address: Address, chainId: number) {
    this.name = name;
    this.address = address;
    this.#provider = provider;
    this.chainId = chainId;
    provider.on?.("chainChanged", (chain) => {
      if (Number(chain) !== chainId) this.#isStale = true; // what was read since may be another chain's
    });
  }

  /** The account that the person chooses in the wallet. */
  static async connect(announced: Announced, chainId: number): Promise<Wallet> {
    const account = firstOf(await ask(announced.provider, "eth_requestAccounts"));
    if (account !== undefined) return new Wallet(announced, account, chainId);
    throw new ServiceError("wallet_failed", "The wallet shows no account.", {
      nextAction: "Allow this page to see an account, and connect again.",
    });
  }

  /** The account that the wallet shows this page without asking anybody; undefined where it shows none. */
  static async connectAgain(announced: Announced, chainId: number): Promise<Wallet | undefined> {
    const account = firstOf(await askedNobody(announced.provider, "eth_accounts"));
    return account && new Wallet(announced, account, chainId);
  }

  /** Calls `changed` when the wallet's account or chain is another one. */
  onChange(changed: () => void): void {
    for (const event of ["accountsChanged", "chainChanged"]) {
      this.#provider.on?.(event, () => void this.requireReady().catch(changed)); // some report the account they had
    }
  }

  /** Refuses a wallet that is on another chain, or has another account selected: `wrong_chain`, `wrong_account`. */
  async requireReady(): Promise<void> {
    this.#requireFresh();
    const chainId = Number(await askedNobody(this.#provider, "eth_chainId"));
    if (chainId !== this.chainId) {
      const message = `The wallet is on chain ${chainId}; this page acts on chain ${this.chainId} only.`;
      throw new ServiceError("wrong_chain", message, { nextAction: "Switch the wallet to that chain." });
    }
    if (firstOf(await askedNobody(this.#provider, "eth_accounts")) !== this.address) {
      const message = `The wallet has switched to another account; this page is connected to ${this.address}.`;
      throw new ServiceError("wrong_account", message, { nextAction: "Select that account, or connect again." });
    }
  }

  /** Asks the wallet to change to the deployment's chain; one that it does not know is given to it first. */
  async switchChain(): Promise<void> {
    const chainId = `0x${this.chainId.toString(16)}`;
    const change = () => ask(this.#provider, "wallet_switchEthereumChain", [{ chainId }]);
    try {
      await change();
    } catch (error) {
      const chain = chainOf(this.chainId);
      if (!isCode(error, "unknown_chain") || chain === undefined) throw error;
      const { name: chainName, nativeCurrency, rpcUrls, blockExplorers } = chain;
      const urls = { rpcUrls: rpcUrls.default.http, blockExplorerUrls: [blockExplorers?.default.url] };
      await ask(this.#provider, "wallet_addEthereumChain", [{ chainId, chainName, nativeCurrency, ...urls }]);
      await change(); // a wallet may add a chain and stay where it is
    }
  }

  /** A question to the wallet's own node; `wrong_chain` once the wallet has changed it for another chain's. */
  async read(method: string, params: readonly unknown[]): Promise<unknown> {
    this.#requireFresh();
    const answer = await this.#provider.request({ method, params });
    this.#requireFresh();
    return answer;
  }

  #requireFresh(): void {
    if (!this.#isStale) return;
    const message = "The wallet has changed its chain since this page read it.";
    throw new ServiceError("wrong_chain", message, { nextAction: "Connect the wallet again." });
  }

  /** The person's signature of typed data, which was explained before. */
  async signTypedData(typedData: TypedDataDefinition): Promise<Hex> {
    await this.requireReady();
    const { domain, types } = typedData;
    const whole: object = { ...typedData, types: { EIP712Domain: getTypesForEIP712Domain({ domain }), ...types } };
    const given = hexOf(await ask(this.#provider, "eth_signTypedData_v4", [this.address, serializeTypedData(whole as TypedDataDefinition)]));
    return wholeSignature(this.address, hashTypedData(typedData), given);
  }

  /** Has a transaction without ether sent; what the wallet names it by, which for a contract account is no hash. */
  async send(to: Address, data: Hex): Promise<Hex> {
    await this.requireReady();
    const chainId = `0x${this.chainId.toString(16)}`; // a wallet that is switched meanwhile refuses it
    const transaction = { from: this.address, to, data, value: "0x0", chainId };
    return hexOf(await ask(this.#provider, "eth_sendTransaction", [transaction]));
  }
}

/** A question that a wallet answers without its person, and so at once; one that hangs is told as that. */
function askedNobody(provider: Provider, method: string): Promise<unknown> {
  const nextAction = "Open the wallet and see whether it works, then reload this page.";
  const errorInstance = new ServiceError("wallet_failed", "The wallet does not answer.", { nextAction });
  return withTimeout(() => ask(provider, method), { timeout: MOST_MILLISECONDS, errorInstance });
}

async function ask(provider: Provider, method: string, params: readonly unknown[] = []): Promise<unknown> {
  try {
    return await provider.request({ method, params });
  } catch (error) {
    throw walletRefusal(error);
  }
}

/** A wallet's refusal in a sentence: the Hub's, where the wallet tried the call and names it; else its own text is shown below. */
export function walletRefusal(error: unknown): ServiceError {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  if (code === UserRejectedRequestError.code) {
    const nextAction = "Nothing was signed or sent. Press the button again to continue.";
    return new ServiceError("declined", "You declined in the wallet.", { nextAction });
  }
  if (code === SwitchChainError.code) {
    const nextAction = "Add the chain and a node's address in the wallet's settings, and connect again.";
    return new ServiceError("unknown_chain", "The wallet does not know this chain.", { nextAction });
  }
  if (code === ResourceUnavailableRpcError.code) {
    const nextAction = "Answer it in the wallet, then try again.";
    return new ServiceError("wallet_busy", "The wallet is waiting for your answer to another request.", { nextAction });
  }
  const data = revertData(error);
  if (data !== undefined) {
    const { message: sentence, nextAction } = refusedBy(data, undefined);
    return new ServiceError("wallet_failed", sentence, { nextAction });
  }
  const issues = typeof message === "string" ? [{ path: "wallet", message: printable(message, 300) }] : [];
  const nextAction = "As far as this page knows, nothing was signed or sent; check the wallet before trying again.";
  return new ServiceError("wallet_failed", "The wallet could not do this.", { issues, nextAction });
}

/**
 * Gives a key's signature as the token and the API take it: 65 bytes that end with 27 or 28. Some wallets give 0 or 1, or
 * the 64 bytes of EIP-2098; what is not the account's own key's, such as a Safe's, stays as it is.
 */
export async function wholeSignature(account: Address, digest: Hex, given: Hex): Promise<Hex> {
  try {
    const isCompact = size(given) === 64;
    if (!isCompact && size(given) !== 65) return given;
    const parsed = isCompact ? compactSignatureToSignature(parseCompactSignature(given)) : parseSignature(given);
    const whole = serializeSignature(parsed);
    return (await recoverAddress({ hash: digest, signature: whole })).toLowerCase() === account ? whole : given;
  } catch {
    return given;
  }
}

/** The first account of a wallet's answer, in lower case. */
function firstOf(accounts: unknown): Address | undefined {
  const [first] = Array.isArray(accounts) ? (accounts as unknown[]) : [];
  if (typeof first !== "string" || !/^0x[0-9a-fA-F]{40}$/.test(first)) return undefined;
  return first.toLowerCase() as Address;
}

function hexOf(value: unknown): Hex {
  if (typeof value === "string" && /^0x([0-9a-fA-F]{2})*$/.test(value)) return value.toLowerCase() as Hex;
  throw new ServiceError("wallet_failed", "The wallet returned neither a signature nor a transaction.", {
    nextAction: "Check the wallet before trying again.",
  });
}
